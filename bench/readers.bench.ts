/**
 * node bench/readers.bench.ts: how long a 1 KB page of one project takes to be read beside 20 hostile documents of
 * another, with the pools of the service. Beside wall time it prints how many of the hostile documents had ended by then:
 * on a shared machine only that says whose turn it was.
 */
import { openExtraction } from "../ops/extraction.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { SILENT_LOG } from "../cluster/ports/log.ts";
import { SILENT_METRICS } from "../cluster/ports/metrics.ts";
import type { ExtractTask } from "../actors/reading/extraction-result.ts";
import { writePdf } from "../test/actors/reading/content/pdf-writer.ts";
import { machine } from "./harness.ts";

const clock = systemClock();
const task = (kind: "html" | "pdf", bytes: Buffer): ExtractTask => ({
  bytes,
  url: "http://pages.test/",
  content_type: null,
  kind,
  now_ms: clock.now(),
});
const line = "The harbour office said on Tuesday that the two cranes will return before the autumn.";
const scripts = (bytes: number): Buffer =>
  Buffer.alloc(bytes, '<script type="application/ld+json">{"@type":"Article"}</script>');
const HOSTILE: Readonly<Record<string, ExtractTask>> = {
  "pages of 1 MB": task("html", scripts(2 ** 20)),
  "pages of 50 MB, nested tags": task("html", Buffer.alloc(50_000_000, "<div>")),
  "PDFs of 5,000 pages": task(
    "pdf",
    writePdf({ pages: Array.from({ length: 5_000 }, () => ({ lines: Array(12).fill(line) as string[] })) }),
  ),
};
const SMALL = task(
  "html",
  Buffer.from(`<title>Cranes</title><article><p>${line}</p></article>`.padEnd(1_024)),
);

const results: Record<string, unknown> = { machine: machine() };
for (const [name, hostile] of Object.entries(HOSTILE)) {
  const { extract, close } = openExtraction({ clock, log: SILENT_LOG, metrics: SILENT_METRICS });
  const read = async (of: ExtractTask, project: string, signal: AbortSignal): Promise<number> => {
    const began_ms = performance.now();
    await extract(of, { project, signal });
    return performance.now() - began_ms;
  };
  const { signal } = new AbortController();
  await read(SMALL, "quiet", signal);
  const alone_ms = await read(SMALL, "quiet", signal);
  const cancel = new AbortController();
  const ended: number[] = [];
  const loud = Array.from({ length: 20 }, async () => {
    const took_ms = await read(hostile, "loud", cancel.signal);
    if (!cancel.signal.aborted) ended.push(took_ms);
  });
  const times: number[] = [];
  const ended_by_then: number[] = [];
  for (let page = 0; page < 5; page++) {
    times.push(await read(SMALL, "quiet", signal));
    ended_by_then.push(ended.length);
  }
  cancel.abort();
  await Promise.all(loud);
  await close();
  const rounded = (ms: number): number => Math.round(ms * 10) / 10;
  results[name] = {
    alone_ms: rounded(alone_ms),
    beside_ms: times.map(rounded),
    hostile_ended_by_then: ended_by_then,
  };
}
console.log(JSON.stringify(results, null, 2));
