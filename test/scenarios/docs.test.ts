/**
 * The documents do what they say: the commands of each are given to one shell beside a running service, in their order, and what
 * they print is the JSON or text that follows them. Addresses of the documents stand for those of the test: the service's own,
 * and sites below example.org. Blocks that say `not-run` are those of test/docs/documents.test.ts, each with its reason.
 */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DOCUMENTS } from "../docs/documents.ts";
import { type Block, blocksOf, examplesOf } from "../docs/blocks.ts";
import { differences, isText, lastJson } from "../docs/compare.ts";
import { ENGINES } from "../../ops/engines/engine.ts";
import { edgar } from "../harness/edgar.ts";
import { engineProgram } from "../harness/engines.ts";
import { freePort } from "../harness/free-port.ts";
import { modelServer, type Say, saying } from "../harness/model-server.ts";
import { profileSite } from "../harness/profile-site.ts";
import { findProgram } from "../harness/programs.ts";
import { type Environment, type Service, SETUPS } from "../harness/service.ts";
import { type Shell, shell } from "../harness/shell.ts";
import { type Arrival, article, type Page, prose, type Web, web } from "../harness/web.ts";

type Pairs = (readonly [documented: string, actual: string])[];

/** A world for the documents of one kind, which run against it one after the other. */
interface World {
  readonly environment?: Environment;
  /** Without a service: the document starts its own. */
  readonly isAlone?: boolean;
  /** Variables of the shell beside the service's own. */
  readonly variables?: Environment;
  readonly pairs?: Pairs;
  readonly close?: () => unknown;
}

const LAMPS = article("Lamps").replace(
  "</body>",
  `<script type="application/ld+json">{"@type": "ItemList", "name": "Lamps"}</script><table class="prices"><caption>Lamps</caption>
   <tr><th>Lamp<th>Price</tr><tr class="lamp"><td><a href="/lamps/1">Storm lamp</a><td class="price">24.50 €</tr>
   <tr class="lamp"><td><a href="/lamps/2">Deck lamp</a><td class="price">31.00 €</tr></table></body>`,
);

const DISCUSSED = article("Ferry news").replace(
  "</body>",
  `<div class="comments"><div class="comment"><b class="author">Ada Berg</b> <time datetime="2026-03-04T05:06:07Z">4 March 2026</time>
   <p>The late ship is the best news of the year.</p></div></div></body>`,
);

const SCRIPTED = `<!doctype html><title>Tides</title><div id="app"></div><script>
  document.getElementById("app").innerHTML = "<article><h1>Tides</h1><p>" + ${JSON.stringify(prose(12))} + "</p></article>";
</script>`;

/** A shop: its form, and what it has found. */
const lampsOf = (query: string | null): string =>
  query === null
    ? `<title>Lamps</title><form action="/lanterns"><input id="query" name="query"></form>`
    : article(`Lamps: ${query}`, '</p><p class="lamp">Storm lamp</p><p class="lamp">Deck lamp');

/** Pages of the sites that the documents name. */
function pages(sites: Web): World {
  const taken_ms = Date.now() - 40 * 24 * 3_600_000;
  const copied = new Date(taken_ms).toISOString().replaceAll(/\D/g, "").slice(0, 14);
  const listing = ({ path }: Arrival): Page => {
    const url = new URL(path, "http://any.example").searchParams.get("url")!;
    const header = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
    const rows = url.includes("/page") ? [["k", copied, url, "text/html", "200", "-", "1"]] : [];
    return { type: "application/json", body: JSON.stringify([header, ...rows]) };
  };
  const copy: Page = {
    headers: { "memento-datetime": new Date(taken_ms).toUTCString() },
    body: article("Kept"),
  };
  const archive = sites.site({ "/cdx/search/cdx": listing, "*": copy }, "archive");
  const tides = sites.site({ "/": { body: SCRIPTED } }, "tides");
  const closed = sites.site({ "/page": { status: 403, body: article("No") } }, "closed");
  const example = sites.site(
    {
      "/": { body: article("Example") },
      "/lamps": { body: LAMPS },
      "/ferry-news": { body: DISCUSSED },
      "/account": ({ headers }) => ({
        body: article(
          `Account of ${headers["x-api-key"]} with ${/basket=(\w+)/.exec(headers["cookie"]!)?.[1]}`,
        ),
      }),
      "/search": ({ body }) => ({ body: article(`Found: ${body}`) }),
      "/enter": ({ body }) => ({
        body: article("Entered"),
        ...(body === "word=lamp" && { headers: { "Set-Cookie": "in=1; Path=/" } }),
      }),
      "/login": { body: "<title>Log in</title><form method=post action=/enter><input name=word></form>" },
      "/room": ({ headers }) => ({
        body: article(headers["cookie"] === "in=1" ? "Room of those who entered" : "Closed"),
      }),
      "/lanterns": ({ path }) => ({
        body: lampsOf(new URL(path, "http://any.example").searchParams.get("query")),
      }),
    },
    "example",
  );
  const linked = (title: string, ...links: string[]): Page => ({
    body: article(title).replace(
      "</body>",
      `${links.map((href) => `<a href="${href}">${href}</a>`).join(" ")}</body>`,
    ),
  });
  const island = sites.site(
    {
      "/": linked("Island", "/harbour", "/lighthouse", "/pier"),
      "/harbour": linked("Harbour", "/"),
      "/lighthouse": linked("Lighthouse", "/harbour"),
      "/pier": { status: 301, headers: { Location: "/harbour" } },
    },
    "island",
  );
  return {
    environment: { TRAWL_ARCHIVE_URL: archive.origin, TRAWL_CHROMIUM_PATH: "" },
    pairs: [
      ["https://archive.example.org", archive.origin],
      ["https://tides.example.org", tides.origin],
      ["https://island.example.org", island.origin],
      ["https://closed.example.org", closed.origin],
      ["https://example.org", example.origin],
    ],
  };
}

/** Answers about the lamps as a model does that invents a maker. */
const ofTheLamps: Say = ({ body: { messages } }) => {
  const [link] = /http\S+\/lamps\/1/.exec(messages[1]!.content)!;
  const data = { name: "Storm lamp", price: 24.5, link, maker: "Lampwright" };
  const evidence = [
    { path: "/name", quote: "Storm lamp" },
    { path: "/price", quote: "24.50 €" },
    { path: "/maker", quote: "by Lampwright" },
  ];
  return saying(JSON.stringify({ data, evidence }), {}, { prompt_tokens: 1_450, completion_tokens: 120 });
};

/** A language model of the operator's own, and a paid one, which the service has. */
async function model(sites: Web): Promise<World> {
  const [own, paid] = [await modelServer(), await modelServer()];
  own.models.names = ["qwen3:8b"];
  paid.models.names = ["gpt-4.1", "gpt-4.1-mini"];
  paid.says(ofTheLamps);
  const { environment, pairs } = pages(sites);
  return {
    environment: {
      ...environment,
      TRAWL_LLM_URL: paid.url,
      TRAWL_LLM_MODEL: "gpt-4.1-mini",
      TRAWL_LLM_PRICE_IN: "0.40",
      TRAWL_LLM_PRICE_OUT: "1.60",
    },
    pairs: [
      ...pairs!,
      ["http://127.0.0.1:11434/v1", own.url],
      ["https://api.openai.com/v1", paid.url],
      ["api.openai.com", new URL(paid.url).host],
    ],
    close: () => Promise.all([own.close(), paid.close()]),
  };
}

async function filings(): Promise<World> {
  const upstream = await edgar();
  return {
    environment: {
      ...upstream.environment,
      TRAWL_FILINGS_IDENTITY: "Company name contact@company.com",
    },
    close: () => upstream.close(),
  };
}

/** The invented GLEIF as the guide starts it: the program of test/harness, whose input is the pipe `names`. */
async function companies(_: Web, folder: string): Promise<World> {
  const pipe = join(folder, "names");
  spawnSync("mkfifo", [pipe]);
  const input = openSync(pipe, "r+");
  const main = new URL("../harness/gleif.main.ts", import.meta.url).pathname;
  const program = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main], {
    stdio: [input, "pipe", "ignore"],
  }) as ChildProcessByStdio<null, Readable, null>;
  let printed = "";
  await new Promise<void>((resolve) => {
    program.stdout.on("data", (text: Buffer) => {
      printed += text.toString();
      if (printed.includes("export HOOK=")) resolve();
    });
  });
  const settings = Object.fromEntries(
    [...printed.matchAll(/export (\w+)='(.*)'/g)].map(([, k, v]) => [k!, v!]),
  );
  const { LEI, HOOK, ...environment } = settings;
  return {
    environment,
    variables: { LEI: LEI!, HOOK: HOOK! },
    pairs: [["test/fixtures/imports", join(ROOT, "test/fixtures/imports")]],
    close: () => program.kill(),
  };
}

async function profiles(sites: Web): Promise<World> {
  const site = await profileSite(sites);
  return site === null ? {} : { environment: site.environment, close: () => site.close() };
}

const WORLDS = {
  pages,
  model,
  filings,
  companies,
  profiles,
  plain: (): World => ({}),
  nothing: (): World => ({ isAlone: true }),
};

/** A world that runs. */
interface Opened {
  readonly world: World;
  /** Null: the documents start their own. */
  readonly service: Service | null;
  readonly port: number;
  /** Its files are in the folder of each reader, too. */
  readonly folder: string;
  readonly close: () => Promise<void>;
}

interface Guide {
  readonly shell: Shell;
  /** Grows with the values that answers have for documented ones. */
  readonly pairs: Pairs;
  /** How many of the pairs are addresses, which outputs are translated back to. */
  readonly fixed: number;
  /** HTTP statuses since they were asked for last. */
  readonly statuses: () => readonly number[];
  readonly close: () => Promise<void>;
}

const ROOT = new URL("../..", import.meta.url).pathname;

/** Functions that stand for the programs of the documents. Each HTTP status is written to a file. */
const preamble = (folder: string): string => `
npm() { command npm --prefix '${ROOT}' "$@"; }
curl() { command curl -sS -w '%{stderr}%{http_code}\\n%{stdout}\\n' "$@" 2>> '${folder}/statuses'; }
`;

async function openWorld(name: keyof typeof WORLDS): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-docs-"));
  symlinkSync(join(ROOT, "trawl"), join(folder, "trawl"));
  const sites = await web();
  const world: World = await WORLDS[name](sites, folder);
  const port = await freePort();
  const service = world.isAlone
    ? null
    : await SETUPS[0]!.start({
        PORT: String(port),
        TRAWL_DEMO: "on",
        TRAWL_DNS_SERVERS: sites.dns,
        TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
        ...world.environment,
      });
  return {
    world,
    service,
    port,
    folder,
    async close() {
      await service?.close();
      await world.close?.();
      await sites.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A reader with a folder and a shell of their own. */
function openGuide({ world, service, port, folder: shared }: Opened): Guide {
  const folder = mkdtempSync(join(tmpdir(), "trawl-docs-"));
  const alone = { PATH: process.env["PATH"]!, HOME: process.env["HOME"]!, PORT: String(port) };
  const environment = service
    ? { ...service.environment, HOME: folder, TRAWL_KEY: service.key, ...world.variables }
    : alone;
  for (const name of readdirSync(shared)) symlinkSync(join(shared, name), join(folder, name));
  const bash = shell(preamble(folder), folder, environment);
  mkdirSync(join(folder, "backups"));
  const pairs: Pairs = [
    ["http://127.0.0.1:8080", `http://127.0.0.1:${port}`],
    ["/backups", join(folder, "backups")],
    ["ak_…", service?.key ?? ""],
    ...(world.pairs ?? []),
  ];
  return {
    shell: bash,
    pairs,
    fixed: pairs.length,
    statuses() {
      const file = join(folder, "statuses");
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
      rmSync(file, { force: true });
      return lines.filter((line) => /^\d{3}$/.test(line)).map(Number);
    },
    async close() {
      await bash.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The text with each documented value replaced by the one of this run, or back again. */
const replaced = (text: string, pairs: Pairs): string =>
  pairs
    .toSorted(([a], [b]) => b.length - a.length)
    .reduce((rest, [from, to]) => rest.replaceAll(from, to), text);
const back = (text: string, pairs: Pairs): string =>
  replaced(
    text,
    pairs.map(([documented, actual]) => [actual, documented] as const),
  );

/** Runs the commands, and tells what their output has otherwise than documented. */
async function follow(guide: Guide, commands: Block, output: Block | null): Promise<string[]> {
  const { pairs } = guide;
  const ran = await guide.shell.run(replaced(commands.text, pairs));
  const refused = guide.statuses().filter((status) => status >= 400 && !commands.text.includes(`${status}`));
  const faults = refused.map((status) => `HTTP ${status}: ${ran.stdout}`);
  if (output === null) return faults;
  const printed = back(ran.stdout, guide.pairs.slice(0, guide.fixed));
  if (output.lang === "text") {
    const lines = (text: string) => text.replaceAll("\r", "").trim().split("\n");
    const [expected, actual] = [lines(output.text), lines(printed)];
    if (expected.length !== actual.length || expected.some((line, at) => !isText(line, actual[at]!)))
      faults.push(`documented:\n${output.text}\nwas:\n${printed}`);
    return faults;
  }
  const remember = (documented: string, actual: string): void => {
    // Values that later commands name: an id, or a digest that the documents shorten.
    if (/[0-9a-f]{8}|req_[0-9A-Z]{26}/.test(documented) && !/\s/.test(documented))
      pairs.push([documented, actual]);
  };
  return [...faults, ...differences(JSON.parse(output.text), lastJson(printed), remember)];
}

const programs = await Promise.all(ENGINES.map(engineProgram));
const hasEngines = programs.every((program) => program !== null);

/** The first example of the document that does otherwise than documented, with what. */
async function firstWrong(file: string, opened: Opened) {
  const { examples } = examplesOf(blocksOf(file, readFileSync(file, "utf8")));
  const runnable = examples.filter(({ commands }) => commands.meta !== "not-run");
  assert(runnable.length > 0, `${file} has no commands`);
  const guide = openGuide(opened);
  try {
    for (const { commands, output } of runnable) {
      const differs = await follow(guide, commands, output);
      if (differs.length > 0) return { place: commands.place, differs };
    }
    return null;
  } finally {
    await guide.close();
  }
}

/** Documents of one world share its service: none shows how many of something there are that others make, too. */
const GROUPS = [...Map.groupBy(DOCUMENTS, ({ world }) => world)].map(([world, documents]) => ({
  world,
  files: documents.map(({ file }) => file),
  // A document that starts its own service is about a cluster, and starts the engines too.
  needs: world === "nothing" ? "(needs the engines)" : world === "profiles" ? "(needs tinyproxy)" : "",
  isSkipped:
    (world === "nothing" && !hasEngines) || (world === "profiles" && findProgram("tinyproxy") === null),
}));

describe.each(GROUPS)("commands and answers of the documents, $world $needs", (group) => {
  const { world, files, isSkipped } = group;
  let opened: Opened;
  beforeAll(async () => {
    opened = await openWorld(world);
  });
  afterAll(() => opened.close());

  test.skipIf(isSkipped).each(files)("%s", async (file) => {
    expect(await firstWrong(file, opened)).toBeNull();
  });
});
