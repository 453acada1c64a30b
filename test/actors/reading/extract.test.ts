import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { cutOff, taskOf } from "../../../actors/reading/document-task.ts";
import { tasks } from "../../../actors/reading/extract.ts";
import type { Extracted, ExtractTask } from "../../../actors/reading/extraction-result.ts";
import { inlineWorkers } from "../../../cluster/adapters/workers/workers.inline.ts";
import { processWorkers } from "../../../cluster/adapters/workers/workers.processes.ts";
import type { PoolSettings, TaskResult, Workers } from "../../../cluster/ports/workers.ts";
import { CONTENT_KINDS, type ContentKind, isOfficeKind } from "../../../schemas/fetch.ts";
import { bombPage, writePdf } from "./content/pdf-writer.ts";
import { silentTelemetry } from "../../../cluster/adapters/telemetry/telemetry.silent.ts";

/** As they are run, but for one child each. */
const PAGE: PoolSettings = {
  size: 1,
  warm: 1,
  idle_ms: 30_000,
  heap_mb: 256,
  max_rss_mb: 768,
  replace_above_rss_mb: 200,
  cpu_ms: 5_000,
  wall_ms: 60_000,
  stuck_ms: 15_000,
  max_tasks: 2_000,
};
const PDF: PoolSettings = {
  size: 1,
  warm: 1,
  idle_ms: 30_000,
  heap_mb: 512,
  max_rss_mb: 1_536,
  replace_above_rss_mb: 400,
  cpu_ms: 60_000,
  wall_ms: 600_000,
  stuck_ms: 15_000,
  max_tasks: 50,
};

function processes(page: Partial<PoolSettings> = {}, pdf: Partial<PoolSettings> = {}): Workers {
  const pages = { ...PAGE, ...page };
  const pools = { page: pages, large_page: { ...pages, warm: 0 }, pdf: { ...PDF, ...pdf } };
  const url = new URL("../../../actors/reading/extract.ts", import.meta.url);
  // Limits of CPU time are tried that are shorter than a page of a warm-up.
  const options = { queue_limit: 100, is_warmed: false, ...silentTelemetry() };
  const workers = processWorkers({ tasks: url, pools, ...options });
  afterAll(() => workers.close());
  return workers;
}

const task = (
  kind: ContentKind,
  bytes: Buffer | string,
  content_type: string | null = null,
): ExtractTask => ({
  bytes: Buffer.from(bytes as string),
  url: "https://news.example/cranes",
  content_type,
  kind,
  now_ms: Date.UTC(2026, 0, 1),
});

const extract = (workers: Workers, order: ExtractTask): Promise<TaskResult<Extracted>> =>
  workers.run<Extracted>(taskOf(order), order);

const PARAGRAPH =
  "The harbour office said on Tuesday that the two cranes taken out of service in spring will return before the " +
  "autumn, a month later than planned, because a gearbox had to be made anew in another town. ";
const ARTICLE = `<!doctype html><html lang="en"><head><meta charset="windows-1252"><title>Cranes</title></head>
<body><nav><a href="/">Home</a></nav><article><h1>Cranes return</h1>${`<p>${PARAGRAPH}\xa9</p>`.repeat(4)}</article></body></html>`;

const RUNS: Record<string, () => Workers> = { inline: () => inlineWorkers(tasks), processes };

describe.each(Object.entries(RUNS))("extraction %s", (_, open) => {
  const workers = open();

  test("of HTML gives its text and the name to decode it by again", async () => {
    const work = await extract(workers, task("html", Buffer.from(ARTICLE, "latin1")));
    expect(work).toMatchObject({
      kind: "done",
      value: {
        charset: "windows-1252",
        text_truncated: false,
        meta: { author: null },
        pdf_pages: null,
        pdf_page_count: null,
        paywall: "none",
      },
    });
    expect(work.kind === "done" && work.value.text).toContain("a gearbox had to be made anew");
  });

  test.each([
    ["json", '{"a": "ä"}'],
    ["xml", "<a>ä</a>"],
    ["text", "ä\u0000"],
  ] as const)("of %s gives the document", async (kind, text) => {
    const work = await extract(workers, task(kind, text));
    const value = {
      charset: "UTF-8",
      text: text.replace("\u0000", "\uFFFD"),
      title: null,
      meta: null,
      paywall: null,
    };
    expect(work).toMatchObject({ kind: "done", value });
  });

  test("of something binary gives nothing, and no error", async () => {
    const work = await extract(workers, task("binary", Buffer.from([0x89, 0x50, 0, 255]), "image/png"));
    expect(work).toMatchObject({
      kind: "done",
      value: { charset: null, text: "", note: null, pdf_pages: null },
    });
  });

  test("of a PDF gives its pages", async () => {
    const bytes = writePdf({ pages: [{ lines: ["Page one"] }, { lines: ["Page two"] }], title: "Two pages" });
    const work = await extract(workers, task("pdf", bytes, "application/pdf"));
    expect(work).toEqual({
      kind: "done",
      value: {
        charset: null,
        title: "Two pages",
        text: "Page one\n\nPage two",
        text_truncated: false,
        meta: null,
        pdf_pages: [
          { page: 1, text: "Page one" },
          { page: 2, text: "Page two" },
        ],
        pdf_page_count: 2,
        paywall: null,
        paywall_evidence: [],
        note: null,
      },
    });
    // By the second reader, whose WebAssembly the child may load.
    const scripts = readFileSync(new URL("../../fixtures/pdf/scripts.pdf", import.meta.url));
    expect(await extract(workers, task("pdf", scripts, "application/pdf"))).toMatchObject({
      value: { text: expect.stringMatching(/^وصلت العبارة الأولى/), pdf_page_count: 4, note: null },
    });
  });
});

test("describes a document whose extraction failed by its headers and bytes", async () => {
  const html = task("html", Buffer.from(ARTICLE, "latin1"));
  expect(await cutOff(html, "timeout")).toMatchObject({
    charset: "windows-1252",
    text: "",
    paywall: null,
    pdf_pages: null,
    note: "Cannot read the document: timeout",
  });
  expect(await cutOff(task("pdf", "%PDF"), "full")).toMatchObject({ charset: null, pdf_pages: [], text: "" });
});

test("sends PDFs and office documents to pools of their own, and pages above a mebibyte to that for large pages", () => {
  const poolsOf = (bytes: number) =>
    CONTENT_KINDS.map((kind) => [kind, taskOf({ kind, bytes: Buffer.alloc(bytes) })] as const);
  for (const [bytes, expected] of [
    [2 ** 20, "page"],
    [2 ** 20 + 1, "large_page"],
  ] as const)
    for (const [kind, pool] of poolsOf(bytes))
      expect(pool).toBe(kind === "pdf" ? "pdf" : isOfficeKind(kind) ? "office" : expected);
});

describe("twenty hostile documents of one project", () => {
  const linked = (bytes: number) =>
    Buffer.alloc(bytes, '<script type="application/ld+json">{"@type":"Article"}</script>');
  const page = Buffer.from(ARTICLE, "latin1");
  const hundredPages = writePdf({ pages: Array.from({ length: 100 }, () => ({ lines: [PARAGRAPH] })) });
  test.each([
    ["pages", task("html", linked(2 ** 20)), task("html", page)],
    [
      "large pages",
      task("html", linked(5 * 2 ** 20)),
      task("html", Buffer.concat([page, Buffer.alloc(5 * 2 ** 20, " ")])),
    ],
    ["PDFs", task("pdf", hundredPages), task("pdf", writePdf({ pages: [{ lines: [PARAGRAPH] }] }))],
  ])("%s: at most one is finished before a harmless one of another project", async (_, hostile, harmless) => {
    expect(taskOf(harmless)).toEqual(taskOf(hostile));
    const workers = processes();
    const cancel = new AbortController();
    const { signal } = cancel;
    let finished = 0;
    const loud = Array.from({ length: 20 }, async () => {
      const work = await workers.run(taskOf(hostile), hostile, { tenant: "loud", signal });
      if (!signal.aborted) finished++;
      return work;
    });
    const work = await workers.run<Extracted>(taskOf(harmless), harmless, { tenant: "quiet" });
    expect({ kind: work.kind, finished: Math.max(finished, 1) }).toEqual({ kind: "done", finished: 1 });
    cancel.abort();
    await Promise.all(loud);
  });
});

describe("hostile documents", () => {
  const workers = processes();
  const next = async () => {
    const work = await extract(workers, task("html", Buffer.from(ARTICLE, "latin1")));
    return work.kind === "done" && work.value.text.length > 500;
  };

  /** Whatever becomes of them, they end in time, and the next page is read. */
  test.each<[what: string, kind: ContentKind, bytes: () => Buffer]>([
    ["50 MB of nested tags", "html", () => Buffer.alloc(52_428_800, "<div>")],
    ["a paragraph of 14 MB", "html", () => Buffer.from(`<p>${"word ".repeat(2_800_000)}`)],
    [
      "a paragraph of 14 MB that nobody declared",
      "html",
      () => Buffer.alloc(14_000_000, "w\xf6rd ", "latin1"),
    ],
    ["50 MB of nested JSON", "json", () => Buffer.alloc(52_428_800, '[{"a":')],
    ["50 MB of noise", "text", () => Buffer.alloc(52_428_800, "\xe9\x81\x00\xff", "latin1")],
  ])("%s", { timeout: 60_000 }, async (_, kind, bytes) => {
    const work = await extract(workers, task(kind, bytes()));
    expect(work.kind === "done" || ["timeout", "out_of_memory"].includes(work.reason)).toBe(true);
    expect(await next()).toBe(true);
  });

  test("are cut off at their CPU time while the next page is read in a fresh child", async () => {
    const hasty = processes({ cpu_ms: 60 });
    const page = task("html", Buffer.alloc(52_428_800, "<p>word "));
    expect(await extract(hasty, page)).toMatchObject({ kind: "failed", reason: "timeout" });
    const work = await extract(hasty, task("text", "next"));
    expect(work).toMatchObject({ kind: "done", value: { text: "next" } });
  });
});

describe("PDFs that are much", () => {
  test("of 5,000 pages are read to the 2,000th", { timeout: 180_000 }, async () => {
    const lines = Array.from({ length: 12 }, () => PARAGRAPH.slice(0, 80));
    const bytes = writePdf({ pages: Array.from({ length: 5_000 }, () => ({ lines })) });
    const work = await extract(processes(), task("pdf", bytes));
    expect(work).toMatchObject({ kind: "done", value: { pdf_page_count: 5_000, text_truncated: true } });
    expect(work.kind === "done" && work.value.pdf_pages?.length).toBe(2_000);
  });

  test("of 200 MB are read", { timeout: 60_000 }, async () => {
    const picture = Buffer.alloc(2 ** 20, 90);
    const pages = Array.from({ length: 200 }, (_, n) => ({ lines: [`Sheet ${n + 1}`], picture }));
    const bytes = writePdf({ pages });
    expect(bytes.length).toBeGreaterThan(200_000_000);
    const work = await extract(processes(), task("pdf", bytes));
    expect(work).toMatchObject({ kind: "done", value: { pdf_page_count: 200, text_truncated: false } });
    expect(work.kind === "done" && work.value.pdf_pages?.[199]).toEqual({ page: 200, text: "Sheet 200" });
  });

  test("that unpack to more than a child may hold end there, within its memory, and the next is read", async () => {
    const workers = processes({}, { max_rss_mb: 400, cpu_ms: 15_000 });
    const bytes = writePdf({ pages: [{ lines: ["Before"] }, bombPage(500 * 2 ** 20)] });
    expect(bytes.length).toBeLessThan(5_000_000);
    expect(await extract(workers, task("pdf", bytes))).toMatchObject({
      kind: "done",
      value: { text: "Before", text_truncated: true },
    });
    const small = task("pdf", writePdf({ pages: [{ lines: ["After"] }] }));
    expect(await extract(workers, small)).toMatchObject({ kind: "done", value: { text: "After" } });
  });

  test("are forty at once read by one child after another, each its own", async () => {
    const workers = processes({}, { max_tasks: 15 });
    const orders = Array.from({ length: 40 }, (_, n) =>
      task("pdf", writePdf({ pages: [{ lines: [`Document ${n}`] }] })),
    );
    const works = await Promise.all(orders.map((order) => extract(workers, order)));
    expect(works.map((work) => work.kind === "done" && work.value.text)).toEqual(
      orders.map((_, n) => `Document ${n}`),
    );
  });
});
