/**
 * Behaviour of every client, by one table (test/harness/clients/scenarios.jsonl): successes, every refusal, repetitions, broken connections, long results. The client
 * for JavaScript runs it on each Node, in a browser, Deno and Bun, the one for Python with and without asyncio: one process each, all scenarios at once.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REFUSAL_CODES } from "../../clients/typescript/src/generated/api.ts";
import { packClient } from "../../ops/release/client-package.ts";
import { browsers } from "../harness/browser-harness.ts";
import { startProgram } from "../harness/clients/running-program.ts";
import {
  browserFiles,
  CLIENT_SCENARIOS,
  type ClientScenario,
  type ScenarioServer,
  scenarioServer,
} from "../harness/clients/scenario-server.ts";
import { OTHER_NODES } from "../harness/other-nodes.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const HARNESS = join(ROOT, "test/harness/clients");
const RUNTIMES = process.env["RUNTIMES"] ?? "/opt/runtimes";
const PYTHON = join(process.env["PYTHON_CLIENT"] ?? "/opt/python-client", "bin/python");
/** None of 50,000 results of a kilobyte, or 50 MB, may stay. */
const MAX_HEAP_MB = 48;
const MAX_GROWTH_KIB = 64 * 1_024;
const folder = mkdtempSync(join(tmpdir(), "trawl-client-scenarios-"));
const found = (program: string): string | null => (existsSync(program) ? program : null);

interface Runtime {
  readonly name: string;
  /** Null: it is not installed. */
  readonly program: string | null;
  readonly words: readonly string[];
}

const node = (version: string, program: string | null): Runtime => ({
  name: `Node ${version}`,
  program,
  words: [`--max-old-space-size=${MAX_HEAP_MB}`, "main.mjs"],
});
const PROGRAMS: readonly Runtime[] = [
  node(process.versions.node, process.execPath),
  ...OTHER_NODES.map(({ version, node: program }) => node(version, program)),
  {
    name: "Deno",
    program: found(join(RUNTIMES, "node_modules/@deno/linux-x64-glibc/deno")),
    words: [
      "run",
      "--quiet",
      "--allow-all",
      "--no-lock",
      "--cached-only",
      `--v8-flags=--max-old-space-size=${MAX_HEAP_MB}`,
      "main.mjs",
    ],
  },
  {
    name: "Bun",
    program: found(join(RUNTIMES, "node_modules/@oven/bun-linux-x64/bin/bun")),
    words: ["main.mjs"],
  },
];
const runOf = (name: string): string => name.toLowerCase().replaceAll(/\W+/g, "-");
const needs = (program: unknown): string => (program ? "" : " (needs it: .ci/run)");

type Outcomes = Readonly<Record<string, { readonly [kind: string]: unknown }>>;

/** By the name of the run. */
const outcomes = new Map<string, Promise<Outcomes>>();
let grown_kib: Promise<number>;
let server: ScenarioServer;
const [, browser] = browsers[0] ?? [];

beforeAll(async () => {
  packClient(ROOT, folder);
  const client = join(folder, "client/dist");
  const runner = readFileSync(join(HARNESS, "scenario-runner.txt"), "utf8");
  const names = readdirSync(client, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".js"),
  );
  server = await scenarioServer(browserFiles(client, names, runner));
  mkdirSync(join(folder, "node_modules/@trawl"), { recursive: true });
  cpSync(join(folder, "client"), join(folder, "node_modules/@trawl/client"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "runner.mjs"), runner);
  writeFileSync(join(folder, "main.mjs"), MAIN);
  const env = { ...process.env, DENO_DIR: join(folder, "deno"), DENO_NO_UPDATE_CHECK: "1" };
  for (const { name, program, words } of PROGRAMS)
    if (program !== null)
      outcomes.set(
        name,
        startProgram(program, [...words, server.url, runOf(name)], folder, env)
          .ended()
          .then(([only]) => only as Outcomes),
      );
  if (browser) outcomes.set("a browser", inBrowser());
  if (found(PYTHON) === null) return;
  const python = startProgram(PYTHON, [join(HARNESS, "scenario_runner.py"), server.url], folder, {
    ...process.env,
    PYTHONPATH: join(ROOT, "clients/python/src"),
  }).ended();
  outcomes.set(
    "Python",
    python.then(([sync]) => sync as Outcomes),
  );
  outcomes.set(
    "Python with asyncio",
    python.then(([, asyncio]) => asyncio as Outcomes),
  );
  grown_kib = python.then(([, , kib]) => kib as number);
  for (const each of [...outcomes.values(), grown_kib]) each.catch(() => {});
}, 120_000);

afterAll(async () => {
  await Promise.allSettled(outcomes.values());
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const MAIN = `import * as client from "@trawl/client";
import { runScenarios } from "./runner.mjs";
const [url, run] = process.argv.slice(2);
const scenarios = await (await fetch(url + "/files/scenarios.json")).json();
console.log(JSON.stringify(await runScenarios(client, scenarios, url + "/" + run)));
`;

/** A page at the address of the service, as the service's answers to other origins are for its own pages only. */
async function inBrowser(): Promise<Outcomes> {
  const { path, env } = await browser!.ready();
  const opened = await chromium.launch({ executablePath: path, env, args: ["--no-sandbox"] });
  try {
    const page = await opened.newPage();
    await page.goto(`${server.url}/files/page`);
    const program = `(async () => {
      const client = await import("/files/client.js");
      const { runScenarios } = await import("/files/runner.mjs");
      const scenarios = await (await fetch("/files/scenarios.json")).json();
      return runScenarios(client, scenarios, ${JSON.stringify(`${server.url}/a-browser`)});
    })()`;
    return (await page.evaluate(program)) as Outcomes;
  } finally {
    await opened.close();
  }
}

/** The table has the fields of an error that it is about. */
const outcomeOf = ({ outcome: { error, ...rest } }: ClientScenario): unknown =>
  error === undefined ? rest : { ...rest, error: expect.objectContaining(error) as unknown };

/** The runs of the table: the title, the name on the server, the client, and whether the runtime is installed here. */
const RUNS: readonly (readonly [
  name: string,
  run: string,
  client: "typescript" | "python",
  is_here: boolean,
])[] = [
  ...PROGRAMS.map(({ name, program }) => [name, runOf(name), "typescript", program !== null] as const),
  ["a browser", "a-browser", "typescript", browser !== undefined],
  ["Python", "python-sync", "python", found(PYTHON) !== null],
  ["Python with asyncio", "python-async", "python", found(PYTHON) !== null],
];

describe("the table of scenarios", () => {
  test("has a row for each code of refusals", () => {
    const names = CLIENT_SCENARIOS.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(90);
    expect(names).toEqual(expect.arrayContaining(REFUSAL_CODES.map((code) => `refused: ${code}`)));
  });

  for (const [name, run, client, is_here] of RUNS)
    test.skipIf(!is_here)(`is what ${name} does${needs(is_here)}`, { timeout: 120_000 }, async () => {
      const outcome = await outcomes.get(name)!;
      const rows = CLIENT_SCENARIOS.filter(({ only }) => only === undefined || only === client);
      const expected = Object.fromEntries(rows.map((row) => [row.name, outcomeOf(row)]));
      expect(outcome).toEqual(expected);
      expect(server.problemsOf(run, client)).toEqual({});
      await expect.poll(() => server.openOf(run)).toBe(0);
    });

  test.skipIf(!found(PYTHON))("leaves Python none of 50,000 results", async () => {
    expect(await grown_kib).toBeLessThan(MAX_GROWTH_KIB);
  });
});
