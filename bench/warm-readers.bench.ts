/**
 * node bench/warm-readers.bench.ts [--pages 112]: CPU time of a page in the first, second and third pass of a new reader,
 * cold beside warmed, and what the start costs. Each variant is a new process of its own; the order is that of VARIANTS and back,
 * so that a slow moment of the machine is not one variant's. Pages: every tenth of ../shared/fixtures/pages/wcxb.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { tasks, warm_ups } from "../actors/reading/extract.ts";
import type { ExtractTask } from "../actors/reading/extraction-result.ts";
import { machine } from "./harness.ts";

const FOLDER = new URL("../../shared/fixtures/pages/wcxb/html/", import.meta.url);
const MAX_BYTES = 2 ** 20;
/** Options of the readers of a node (workers.processes.ts, ops/extraction.ts). */
const READER_FLAGS = ["--max-old-space-size=256", "--max-semi-space-size=32", "--min-semi-space-size=16"];
const LESS_INLINING = "--max-inlined-bytecode-size-cumulative=150";
const VARIANTS: Readonly<Record<string, { readonly is_warmed: boolean; readonly flags: readonly string[] }>> =
  {
    cold: { is_warmed: false, flags: [LESS_INLINING] },
    warmed: { is_warmed: true, flags: [LESS_INLINING] },
    "warmed, V8's inlining": { is_warmed: true, flags: [] },
  };

const { values } = parseArgs({ options: { pages: { type: "string" }, variant: { type: "string" } } });
const wanted = Number(values.pages ?? 112);

/** CPU milliseconds of this process, its helper threads included. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const rounded = (ms: number): number => Math.round(ms * 10) / 10;

interface Pass {
  readonly ms_a_page: number;
  readonly first_ms: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

function samplePages(): Buffer[] {
  const names = readdirSync(FOLDER).filter((_, index) => index % 10 === 3);
  const pages = names.slice(0, wanted).map((name) => {
    const bytes = readFileSync(new URL(name, FOLDER));
    return name.endsWith(".gz") ? gunzipSync(bytes) : bytes;
  });
  return pages.filter(({ length }) => length < MAX_BYTES);
}

async function measure(variant: string): Promise<object> {
  const { is_warmed } = VARIANTS[variant]!;
  const pages = samplePages();
  const began_ms = cpuMs();
  const read = await tasks.page();
  const loaded_ms = cpuMs();
  if (is_warmed) for (const task of await warm_ups.page()) await read(task, () => 0);
  const warmed_ms = cpuMs();
  const passes: Pass[] = [];
  for (let pass = 0; pass < 3; pass++) {
    const times: number[] = [];
    for (const bytes of pages) {
      const task: ExtractTask = {
        bytes,
        url: "https://pages.test/",
        content_type: "text/html",
        kind: "html",
        now_ms: Date.UTC(2026, 0),
      };
      const before_ms = cpuMs();
      await read(task, () => 0);
      times.push(cpuMs() - before_ms);
    }
    const sorted = times.toSorted((a, b) => a - b);
    passes.push({
      ms_a_page: rounded(times.reduce((sum, each) => sum + each, 0) / times.length),
      first_ms: rounded(times[0]!),
      p50_ms: rounded(sorted[Math.floor(sorted.length / 2)]!),
      p99_ms: rounded(sorted[Math.floor(sorted.length * 0.99)]!),
    });
  }
  return {
    variant,
    pages: pages.length,
    load_ms: rounded(loaded_ms - began_ms),
    warm_up_ms: rounded(warmed_ms - loaded_ms),
    passes,
    rss_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
  };
}

if (values.variant !== undefined) console.log(JSON.stringify(await measure(values.variant)));
else {
  const names = Object.keys(VARIANTS);
  const results = [...names, ...names.toReversed()].map((variant): unknown => {
    const program = [fileURLToPath(import.meta.url), "--variant", variant, "--pages", String(wanted)];
    return JSON.parse(
      execFileSync(process.execPath, [...READER_FLAGS, ...VARIANTS[variant]!.flags, ...program], {
        encoding: "utf8",
      }),
    ) as unknown;
  });
  console.log(JSON.stringify({ machine: machine(), results }, null, 2));
}
