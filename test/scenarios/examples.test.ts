/**
 * The programs of examples/ as a user has them: copied into a folder in which the packed client was installed, and run beside a
 * service over the demo site, sites on loopback, and the simulators of the filing system and of GLEIF. The clients' samples in the
 * API document (gateway/openapi/client-samples.ts) are programs of the same kind.
 */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALLS } from "../../gateway/openapi/client-samples.ts";
import { packClient } from "../../ops/release/client-package.ts";
import { installed } from "../../ops/release/start-installed.ts";
import { type Edgar, edgar } from "../harness/edgar.ts";
import { type Gleif, gleif, leiOf } from "../harness/gleif.ts";
import { findProgram } from "../harness/programs.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { readZip } from "../harness/warc-reader.ts";
import { article } from "../harness/web.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const ALPINA = leiOf("529900T8BM49AURSDO");
/** Where CI has mypy, and what the Python client needs (.ci/run). */
const wacz = findProgram("wacz", "/opt/warc-tools/bin/wacz");
const MYPY = join(process.env["PYTHON_CLIENT"] ?? "/opt/python-client", "bin/mypy");
/** The cache of packages that mypy has read in earlier runs. */
const MYPY_CACHE = `--cache-dir=${join(tmpdir(), "trawl-mypy-samples")}`;
const PROGRAMS = readdirSync(join(ROOT, "examples")).filter((file) => file.endsWith(".ts"));
const NOTEBOOKS = readdirSync(join(ROOT, "examples")).filter((file) => file.endsWith(".ipynb"));
const MAX_NOTEBOOK_BYTES = 60_000;
const JUPYTER = join(process.env["PYTHON_CLIENT"] ?? "/opt/python-client", "bin/jupyter-execute");
/** The runtime of each language, and a program that runs the samples which it is given; each ends with the error of its first request. */
const EACH_SAMPLE = {
  TypeScript: [
    process.execPath,
    "for (const name of process.argv.slice(2)) await import(`./${name}.ts`).catch(() => {});\n",
  ],
  Python: [
    join(process.env["PYTHON_CLIENT"] ?? "/opt/python-client", "bin/python"),
    `import importlib, sys
from trawl_client import TrawlError
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except TrawlError:
        pass
`,
  ],
} as const;

interface Asked {
  readonly method: string;
  /** With its query. */
  readonly address: string;
  readonly body: string;
}

function ofCurl(source: string): Asked {
  const [, method, url] = /^curl(?: -X (\w+))? '([^']+)'/.exec(source)!;
  const [, body] = /--data-raw '([^]*)'$/.exec(source) ?? [];
  const { pathname, search } = new URL(url!);
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    address: pathname + search,
    body: body?.replaceAll(String.raw`'\''`, "'") ?? "{}",
  };
}

const dist = mkdtempSync(join(tmpdir(), "trawl-examples-"));
let folder = "";

describe("examples", () => {
  let filings: Edgar;
  let companies: Gleif;
  const { sites, service } = scenario(SETUPS.find(({ setup }) => setup === "embedded")!.start, async () => {
    filings = await edgar();
    companies = await gleif();
    companies.companies.set(ALPINA, {
      lei: ALPINA,
      name: "Alpina Maschinenbau AG",
      former: ["Alpina Werke AG"],
    });
    return { ...filings.environment, TRAWL_GLEIF_URL: companies.url, TRAWL_DEMO: "on" };
  });
  beforeAll(async () => {
    folder = await installed(packClient(ROOT, dist), {
      PATH: process.env["PATH"]!,
      HOME: process.env["HOME"]!,
    });
    const manifest = join(folder, "package.json");
    const packages = JSON.parse(readFileSync(manifest, "utf8")) as object;
    writeFileSync(manifest, JSON.stringify({ ...packages, type: "module" }));
    for (const file of PROGRAMS) copyFileSync(join(ROOT, "examples", file), join(folder, file));
  }, 300_000);
  afterAll(async () => {
    await filings.close();
    await companies.close();
    for (const each of [dist, folder]) rmSync(each, { recursive: true, force: true });
  });

  interface Operation {
    readonly operationId: string;
    readonly "x-codeSamples": readonly { readonly lang: string; readonly source: string }[];
  }

  async function operations(): Promise<readonly Operation[]> {
    const { paths } = (await service.call("GET", "/openapi.json", { key: null })).json;
    return Object.values<object>(paths).flatMap((each) => Object.values(each) as Operation[]);
  }

  /** Writes the samples of the language as programs, and returns their operations. */
  async function writeSamples(
    lang: "TypeScript" | "Python",
    ending: string,
    addressOf: (operation: string) => string = () => service.url,
  ): Promise<string[]> {
    mkdirSync(join(folder, "samples"), { recursive: true });
    return (await operations()).flatMap(({ operationId, "x-codeSamples": samples }) => {
      const sample = samples.find((each) => each.lang === lang);
      if (sample === undefined) return [];
      const program = sample.source.replace(service.url, addressOf(operationId));
      writeFileSync(join(folder, "samples", `${operationId}.${ending}`), `${program}\n`);
      return [operationId];
    });
  }

  /** Runs the program; resolves with what it prints. Rejects with its errors when it fails. */
  async function run(program: string, ...words: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], {
      cwd: folder,
      env: { PATH: process.env["PATH"]!, TRAWL_URL: service.url, TRAWL_KEY: service.key },
    });
    return stdout;
  }

  test("each of them is described, and has its usage", async () => {
    const readme = readFileSync(join(ROOT, "examples/README.md"), "utf8");
    expect([...PROGRAMS, ...NOTEBOOKS].filter((file) => !readme.includes(`\`${file}\``))).toEqual([]);
    for (const program of PROGRAMS) await expect(run(program)).rejects.toThrow(`Usage: node ${program}`);
  });

  test("site-archive.ts writes the pages of a site to a WACZ file, which is valid and is shown by the service", async () => {
    const site = sites.site({
      "/": { body: article("Island").replace("/about", "/harbour") },
      "/harbour": { body: article("Harbour").replace("/about", "/") },
    });
    const printed = await run("site-archive.ts", `${site.origin}/`, "island.wacz");
    expect(printed).toBe(`200 ${site.origin}/\n200 ${site.origin}/harbour\nWritten to island.wacz\n`);
    const entries = readZip(readFileSync(join(folder, "island.wacz")));
    const [, ...pages] = entries
      .get("pages/pages.jsonl")!
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { url: string; title: string });
    expect(pages.map(({ url, title }) => [url, title])).toEqual([
      [`${site.origin}/`, "Island"],
      [`${site.origin}/harbour`, "Harbour"],
    ]);
    const { json } = await service.call("GET", `/v1/archive/view?url=${site.origin}/harbour`);
    const shown = await service.call("GET", json.view_url, { key: null });
    expect([shown.status, shown.bytes.toString()]).toEqual([
      200,
      expect.stringContaining("<h1>Harbour</h1>"),
    ]);
    if (wacz === null) return;
    const { stdout, stderr } = await promisify(execFile)(wacz, [
      "validate",
      "-f",
      join(folder, "island.wacz"),
    ]);
    expect(`${stdout}${stderr}`).toMatch(/valid/i);
    expect(`${stdout}${stderr}`).not.toMatch(/invalid|failed|error/i);
  });

  test("price-watch.ts prints the prices, and then what has changed", async () => {
    const shop = (price: string): string =>
      article("Lamps").replace(
        "</body>",
        `<p class="lamp"><a href="/1">Storm lamp</a> <span class="price">${price} €</span></p></body>`,
      );
    let price = "24.50";
    const site = sites.site({ "/lamps": () => ({ body: shop(price) }) });
    const page = `${site.origin}/lamps`;
    const monitor = async (): Promise<any> =>
      (await service.call("GET", "/v1/monitors")).json.monitors.find(({ url }: any) => url === page);
    const visited = async (checks: number): Promise<void> => {
      await expect
        .poll(async () => (await monitor())?.checks, { timeout: 60_000, interval: 100 })
        .toBe(checks);
    };
    expect(await run("price-watch.ts", page)).toBe(
      "Storm lamp: 24.5\nWatching every 3600 seconds from now on\n",
    );
    await visited(1);
    price = "19.50";
    await service.call("POST", `/v1/monitors/${(await monitor()).id}/run`);
    await visited(2);
    const [now, seen, ...diff] = (await run("price-watch.ts", page)).trim().split("\n");
    expect([now, seen]).toEqual(["Storm lamp: 19.5", expect.stringMatching(/^Changed, seen 20.*Z:$/)]);
    expect(diff.filter((line) => /^[-+](?![-+])/.test(line))).toEqual([
      expect.stringMatching(/^-.*24\.50/),
      expect.stringMatching(/^\+.*19\.50/),
    ]);
  });

  test("research-agent.ts cites what it has read", async () => {
    const printed = await run("research-agent.ts", "when was the lighthouse lit");
    expect(printed).toMatch(/^# when was the lighthouse lit\n\n> .*lit.* \[1\]\n/i);
    const sources = printed.split("## Sources\n\n")[1]!.trim().split("\n");
    expect(sources[0]).toMatch(
      /^1\. The lighthouse at Skarn Head, 20\d\d-\d\d-\d\d\. http:.*\/demo\/lighthouse, read 20/,
    );
    expect(printed.match(/\[\d+\]$/gm)).toEqual(sources.map((_, at) => `[${at + 1}]`));
  });

  test("company-dossier.ts says what is known, and who says so", async () => {
    const printed = await run("company-dossier.ts", `lei:${ALPINA}`);
    expect(printed).toMatch(/^# Alpina Maschinenbau AG\n\nactive, CH\n/);
    expect(printed).toContain("- formerly Alpina Werke AG\n");
    expect(printed).toContain(`- lei: ${ALPINA}\n`);
    expect(printed).toMatch(/## Who says so\n[^]*- names\.legal: gleif, 20/);
  });

  test("filings-table.ts makes one row of each ticker", async () => {
    const [head, ...rows] = (await run("filings-table.ts", "HLI", "NONE")).trim().split("\n");
    expect(head).toBe("ticker,company,cik,form,filed,period,accession,document,error");
    expect(rows).toEqual([
      expect.stringMatching(
        /^HLI,Harbour Lights Inc\.,9000001,10-K,2024-11-01,2024-09-28,0009000001-24-000007,http/,
      ),
      expect.stringMatching(/^NONE,,,,,,,,\w+$/),
    ]);
  });

  interface Notebook {
    readonly cells: readonly {
      readonly outputs?: readonly {
        readonly output_type: string;
        readonly data?: Readonly<Record<string, unknown>>;
      }[];
    }[];
  }

  /** The kinds of what each cell of code has given. */
  const kindsIn = (path: string): readonly (readonly string[])[] =>
    (JSON.parse(readFileSync(path, "utf8")) as Notebook).cells.flatMap(({ outputs }) =>
      outputs
        ? [outputs.flatMap(({ data, output_type }) => Object.keys(data ?? { [output_type]: null }))]
        : [],
    );

  test("the notebook has its table and its picture, and is small", () => {
    const path = join(ROOT, "examples/pages-as-a-table.ipynb");
    expect(statSync(path).size).toBeLessThan(MAX_NOTEBOOK_BYTES);
    const table = ["text/html", "text/plain"];
    expect(kindsIn(path)).toEqual([[], table, table, ["image/png", "text/plain"], table]);
  });

  test.skipIf(!existsSync(JUPYTER))(
    "the notebook runs from its first cell to its last",
    { timeout: 120_000 },
    async () => {
      const [notebook, result] = [
        join(ROOT, "examples/pages-as-a-table.ipynb"),
        join(folder, "result.ipynb"),
      ];
      const program = join(ROOT, "test/harness/clients/run_notebook.py");
      await promisify(execFile)(EACH_SAMPLE.Python[0], [program, notebook, result], {
        cwd: folder,
        env: {
          ...process.env,
          TRAWL_URL: service.url,
          TRAWL_KEY: service.key,
          PYTHONPATH: join(ROOT, "clients/python/src"),
        },
      });
      expect(kindsIn(result)).toEqual(kindsIn(notebook));
      expect(readFileSync(result, "utf8")).toContain("How the tide mill works");
    },
  );

  test(
    "the programs and the samples in TypeScript compile, and those of reads run",
    { timeout: 120_000 },
    async () => {
      const written = await writeSamples("TypeScript", "ts");
      expect(written.toSorted()).toEqual(Object.keys(CALLS).toSorted());
      const compilerOptions = {
        strict: true,
        noEmit: true,
        target: "es2024",
        lib: ["es2024", "es2025.collection", "dom", "dom.asynciterable"],
        module: "nodenext",
        types: ["node"],
        typeRoots: [join(ROOT, "node_modules/@types")],
      };
      const include = ["*.ts", "samples/*.ts"];
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
      const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
      const compiled = await promisify(execFile)(process.execPath, [tsc, "-p", folder]).catch(
        (problem: { stdout: string }) => problem,
      );
      expect(compiled.stdout).toBe("");
      expect(await run("samples/getQuota.ts")).toContain("key:");
      expect(await run("samples/listMonitors.ts")).toContain("monitors:");
      // Without a job it prints nothing, but ends well.
      expect(await run("samples/listJobs.ts")).toMatch(/^$|job_id:/);
    },
  );

  /** Runs all samples of the language as one program, beside a server that answers 404, and returns what each asked first. */
  async function askedBy(lang: "TypeScript" | "Python", ending: string): Promise<ReadonlyMap<string, Asked>> {
    const asked = new Map<string, Asked>();
    const server = createServer((request, response) => {
      const [, operation, ...rest] = request.url!.split("/");
      void text(request).then((body) => {
        if (!asked.has(operation!))
          asked.set(operation!, { method: request.method!, address: `/${rest.join("/")}`, body });
        response.writeHead(404, { "content-type": "application/json" }).end('{"detail":"Not here"}');
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const written = await writeSamples(lang, ending, (name) => `${address}/${name}`);
    const [command, program] = EACH_SAMPLE[lang];
    writeFileSync(join(folder, `samples/all.${ending}`), program);
    await promisify(execFile)(command, [join(folder, `samples/all.${ending}`), ...written], {
      cwd: join(folder, "samples"),
      env: { TRAWL_KEY: "sk_sample", PYTHONPATH: join(ROOT, "clients/python/src") },
    });
    server.close();
    return asked;
  }

  test.each([
    ["TypeScript", "ts"],
    ["Python", "py"],
  ] as const)("the samples in %s ask what those in curl ask", async (lang, ending) => {
    if (!existsSync(EACH_SAMPLE[lang][0])) return;
    const asked = await askedBy(lang, ending);
    for (const { operationId, "x-codeSamples": samples } of await operations()) {
      if (!(operationId in CALLS)) continue;
      const { method, address, body } = ofCurl(samples[0]!.source);
      const found = asked.get(operationId)!;
      const [path, query] = decodeURIComponent(address).split("?");
      const [foundPath, foundQuery] = decodeURIComponent(found.address).split("?");
      expect([operationId, found.method, foundPath]).toEqual([operationId, method, path]);
      const parameters = Object.fromEntries(new URLSearchParams(foundQuery));
      expect(parameters).toMatchObject(Object.fromEntries(new URLSearchParams(query)));
      expect(JSON.parse(found.body || "{}")).toMatchObject(JSON.parse(body));
    }
  });

  test.skipIf(!existsSync(MYPY))(
    "the samples in Python pass mypy --strict",
    { timeout: 120_000 },
    async () => {
      const written = await writeSamples("Python", "py");
      expect(written.toSorted()).toEqual(Object.keys(CALLS).toSorted());
      const files = written.map((name) => join(folder, "samples", `${name}.py`));
      const words = [MYPY_CACHE, "--strict", "--scripts-are-modules", ...files];
      const checked = await promisify(execFile)(MYPY, words, {
        cwd: folder,
        env: { ...process.env, MYPYPATH: join(ROOT, "clients/python/src") },
      }).catch((problem: { stdout: string }) => problem);
      expect(checked.stdout).toMatch(/^Success: no issues found/);
    },
  );
});
