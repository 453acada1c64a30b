/**
 * node bench/filings-parse.bench.ts [rounds]: how long the event loop is held while reader processes read large documents
 * of the filing system, and how long a name takes to be found among 800,000.
 *
 * The service itself answers, its bodies in files; only its upstream is a table here. `cpu_ms` is the CPU time of the
 * service's own process, without the readers; the delay of the loop is as Node sees it, beside that of a loop that does
 * nothing at the same time of day. Documents are made up, as large as the largest that were
 * seen: facts of 23 MB, submissions of 30,060 rows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { sqliteNameIndex } from "../actors/sources/filings/adapters/name-index.sqlite.ts";
import type { CallerContext } from "../actors/sources/filings/results.ts";
import { filingsService } from "../actors/sources/filings/service.ts";
import { foldName } from "../actors/sources/filings/ticker-lists.ts";
import { fileBlobs } from "../cluster/adapters/blobs/blobs.file.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { memoryDocuments } from "../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../cluster/adapters/time/random.seeded.ts";
import { SILENT_LOG } from "../cluster/ports/log.ts";
import { SILENT_METRICS } from "../cluster/ports/metrics.ts";
import { openReaders } from "../ops/extraction.ts";
import type { SourceAnswer } from "../schemas/upstream.ts";
import { machine } from "./harness.ts";

const ROUNDS = Number(process.argv[2] ?? 5);
const random = seededRandom(6);
const pick = (most: number): number => Math.floor(random.next() * most);

/** Concepts with some hundred figures each, until it is as large as wanted. */
function madeFacts(bytes: number): Buffer {
  const concepts: string[] = [];
  let size = 0;
  for (let n = 0; size < bytes; n++) {
    const figures = Array.from({ length: 130 }, () => {
      const year = 2009 + pick(17);
      return (
        `{"start":"${year}-01-01","end":"${year}-12-31","val":${pick(1e9)},` +
        `"accn":"0009000001-24-${String(pick(1e6)).padStart(6, "0")}","fy":${year},"fp":"FY","form":"10-K",` +
        `"filed":"${year + 1}-02-15","frame":"CY${year}"}`
      );
    });
    const concept =
      `"Concept${n}":{"label":"A \\"label\\" {${n}}","description":"What [it] means, and\\nwhat not",` +
      `"units":{"USD":[${figures.join(",")}]}}`;
    concepts.push(concept);
    size += concept.length;
  }
  return Buffer.from(`{"cik":9000001,"entityName":"Made Up","facts":{"us-gaap":{${concepts.join(",")}}}}`);
}

function madeSubmissions(rows: number): Buffer {
  const each = <T>(of: (n: number) => T): T[] => Array.from({ length: rows }, (_, n) => of(n));
  const day = (n: number): string => new Date(Date.UTC(2025, 0, 1) - n * 3_600_000).toISOString();
  const recent = {
    accessionNumber: each((n) => `0009000001-24-${String(n).padStart(6, "0")}`),
    filingDate: each((n) => day(n).slice(0, 10)),
    reportDate: each((n) => (n % 3 === 0 ? "" : day(n).slice(0, 10))),
    acceptanceDateTime: each((n) => day(n)),
    act: each((n) => (n % 2 === 0 ? "34" : "")),
    form: each((n) => ["10-K", "10-Q", "8-K", "4", "SC 13G/A"][n % 5]),
    fileNumber: each((n) => `001-${10_000 + (n % 90_000)}`),
    filmNumber: each((n) => String(24_000_000 + n)),
    items: each((n) => (n % 5 === 2 ? "2.02,9.01" : "")),
    core_type: each((n) => (n % 5 < 3 ? "XBRL" : "4")),
    size: each((n) => 1_000 + n),
    isXBRL: each((n) => n % 2),
    isInlineXBRL: each((n) => n % 2),
    primaryDocument: each((n) => (n % 5 === 3 ? `xslF345X05/wk-form4_${n}.xml` : `made-${n}.htm`)),
    primaryDocDescription: each((n) => `Document ${n}`),
  };
  return Buffer.from(
    JSON.stringify({
      cik: "9000001",
      name: "Made Up",
      tickers: [],
      exchanges: [],
      filings: { recent, files: [] },
    }),
  );
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const summary = (values_ms: readonly number[]) => {
  const sorted = values_ms.toSorted((a, b) => a - b);
  const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
  return {
    n: sorted.length,
    p50_ms: round(at(sorted, 0.5)),
    p99_ms: round(at(sorted, 0.99)),
    most_ms: round(sorted.at(-1) ?? 0),
  };
};

/** The work, its CPU, and what the loop looked like meanwhile. */
async function watched<T>(work: () => Promise<T>) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  const began = performance.now();
  delays.enable();
  await work();
  delays.disable();
  const { user, system } = process.cpuUsage(cpu);
  // Node counts from when a timer was due, with a resolution of a millisecond.
  const loop = (ms: number): number => Math.round(ms / 10_000) / 100 - 1;
  return {
    wall_ms: Math.round(performance.now() - began),
    cpu_ms: Math.round((user + system) / 1_000),
    loop: {
      p50_ms: loop(delays.percentile(50)),
      p99_ms: loop(delays.percentile(99)),
      most_ms: loop(delays.max),
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
const blobs = fileBlobs(join(folder, "bodies"));
const clock = systemClock();
const storedByPath = new Map<string, { readonly sha256: string; readonly bytes: number }>();
/** CPU of the whole process, all its threads: an upper bound of what this one spent, whatever else runs on the machine. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const POOL = { heap_mb: 512, max_rss_mb: 1_536, cpu_ms: 30_000, warm: 1, size: 1 };
const readers = openReaders(
  {
    tasks: new URL("../actors/sources/filings/adapters/reader-tasks.ts", import.meta.url),
    pools: { document: POOL, filers: POOL },
  },
  { clock, log: SILENT_LOG, metrics: SILENT_METRICS },
);

const service = filingsService({
  register: async () => ({ kind: "unknown" }),
  clock,
  blobs,
  readers,
  log: SILENT_LOG,
  documents: memoryDocuments(),
  ask: async () => {
    throw new Error("No document is read here");
  },
  www_url: "https://www.filings.test",
  source: {
    async get({ path, host }): Promise<SourceAnswer> {
      const { sha256, bytes } = storedByPath.get(path)!;
      const url = `https://${host}.filings.test${path}`;
      return {
        kind: "got",
        url,
        final_url: url,
        redirects: [],
        status: 200,
        headers: {},
        content_type: "application/json",
        sha256,
        bytes,
        retrieved_at: "2026-01-01T00:00:00.000Z",
        cached: false,
        revalidated: false,
        requests: 1,
      };
    },
    async discard() {},
  },
});
const caller: CallerContext = { project: "bench", lane: "sync", deadline_ms: Infinity, id: "bench" };
const results: Record<string, unknown> = { machine: machine(), rounds: ROUNDS };

const idle = await watched(async () => sleep(3_000));
results["idle_loop"] = idle.loop;

const work = async (at_once: number, one: (n: number) => Promise<unknown>) => {
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) {
    runs.push(
      await watched(async () => {
        await Promise.all(Array.from({ length: at_once }, async (_, n) => one(round * at_once + n)));
      }),
    );
  }
  return runs.toSorted((a, b) => a.loop.p99_ms - b.loop.p99_ms)[Math.floor(runs.length / 2)]!;
};

/** Stores so many of a document, each other bytes by its white space, and answers what JSON.parse alone takes of CPU. */
async function hold(path: (cik: string) => string, content: Buffer, count: number): Promise<number> {
  for (let n = 1; n <= count; n++) {
    const variant = Buffer.concat([content, Buffer.alloc(n, " ")]);
    storedByPath.set(path(String(n).padStart(10, "0")), await blobs.put(variant));
  }
  const began_ms = cpuMs();
  JSON.parse(content.toString());
  return Math.round(cpuMs() - began_ms);
}

{
  const content = madeFacts(23 * 2 ** 20);
  results["facts_mb"] = Math.round((content.length / 2 ** 20) * 10) / 10;
  const path = (cik: string): string => `/api/xbrl/companyfacts/CIK${cik}.json`;
  results["facts_json_parse_cpu_ms"] = await hold(path, content, ROUNDS * 5);
  results["facts_one"] = await work(1, async (n) => service.facts({ cik: n + 1 }, caller));
  results["facts_four_at_once"] = await work(4, async (n) => service.facts({ cik: n + 1 + ROUNDS }, caller));
}
{
  const content = madeSubmissions(30_060);
  results["submissions_mb"] = Math.round((content.length / 2 ** 20) * 10) / 10;
  const path = (cik: string): string => `/submissions/CIK${cik}.json`;
  results["submissions_json_parse_cpu_ms"] = await hold(path, content, ROUNDS * 2);
  results["submissions_100_of_a_form"] = await work(1, async (n) =>
    service.submissions({ cik: n + 1 }, { forms: "10-K" }, caller),
  );
  results["submissions_10000"] = await work(1, async (n) =>
    service.submissions({ cik: n + 1 + ROUNDS }, { limit: 10_000 }, caller),
  );
}

{
  const NAMES = 800_000;
  const words = Array.from({ length: 40_000 }, () =>
    Array.from({ length: 3 + pick(8) }, () => "ABCDEFGHIJKLMNOPRSTUVWY"[pick(23)]).join(""),
  );
  const forms = ["INC", "CORP", "LLC", "LTD", "TRUST", "FUND LP", "HOLDINGS INC", "PARTNERS LP"];
  // Common words are common: the square makes the first of the list turn up again and again.
  const word = (): string => words[Math.floor(random.next() ** 2 * words.length)]!;
  const names = Array.from({ length: NAMES }, () => `${word()} ${word()} ${forms[pick(forms.length)]}`);
  const memory = (): number => {
    globalThis.gc?.();
    return process.memoryUsage.rss() / 2 ** 20;
  };
  const before_mb = memory();
  const build_began_ms = cpuMs();
  const index = sqliteNameIndex(names);
  const build_cpu_ms = Math.round(cpuMs() - build_began_ms);
  const asked = (how: "whole" | "start" | "within", of: () => string) => {
    const times: number[] = [];
    let found = 0;
    for (let n = 0; n < 2_000; n++) {
      const wanted = foldName(of());
      const began_ms = cpuMs();
      const seen = new Set<number>();
      for (const place of index.find(how, wanted)) if (seen.add(place).size >= 10) break;
      times.push(cpuMs() - began_ms);
      if (seen.size > 0) found++;
    }
    return { ...summary(times), found_share: found / times.length };
  };
  const randomName = (): string => names[pick(NAMES)]!;
  results["names"] = {
    count: NAMES,
    build_cpu_ms,
    index_mb: Math.round(memory() - before_mb),
    exact: asked("whole", randomName),
    prefix: asked("start", () => randomName().slice(0, 1 + pick(12))),
    contains: asked("within", () => randomName().slice(2, 8 + pick(8))),
    contains_two_letters: asked("within", () => randomName().slice(2, 4)),
    none: asked("within", () => `${word()}Q${word()}`),
    none_of_common_words: asked(
      "within",
      () => `${forms[pick(forms.length)]} ${words[pick(50)]} ${forms[pick(forms.length)]}`,
    ),
  };
  const joined = `\n${names.join("\n")}\n`;
  const plain: number[] = [];
  for (let n = 0; n < 200; n++) {
    const began_ms = cpuMs();
    joined.indexOf(`${word()}Q${word()}`);
    plain.push(cpuMs() - began_ms);
  }
  results["names_by_indexof_none"] = summary(plain);
}

console.log(JSON.stringify(results, null, 2));
await readers.close();
rmSync(folder, { recursive: true });
