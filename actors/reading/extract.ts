/**
 * Extracts a document by its kind: the tasks that run in worker processes (cluster/ports/workers.ts; which of them reads a document
 * is in document-task.ts). Functions of their arguments: no network, no files except the libraries', and only the
 * clock that is passed in.
 */
import { type ArticleMeta, isOfficeKind } from "../../schemas/fetch.ts";
import { htmlOf } from "./article/html-source.ts";
import { charsetOf } from "./content/charset.ts";
import { decodeText } from "./content/decode-text.ts";
import { readPlain } from "./content/plain-document.ts";
import { cutText, soundText, MAX_TEXT_CHARS } from "./content/text-document.ts";
import { type DrawTask, type Extracted, type ExtractTask, NOTHING } from "./extraction-result.ts";

type Extractor = (task: ExtractTask, cpu_ms: () => number) => Promise<Extracted>;
type Painter = (task: DrawTask) => Promise<Uint8Array | null>;

/** Each loads its own parsers, once, in the child that runs it: pdf.js alone costs a child 20 MB and 0.1 s. */
export const tasks = {
  page: loadPage,
  large_page: loadPage,
  office: loadOffice,
  pdf: async (): Promise<Extractor> => {
    const { readPdf } = await import("./content/pdf.ts");
    const { pdfMarkdown } = await import("./markdown/pdf.ts");
    return async (task, cpu_ms) => {
      const with_lines = task.with_formats === true;
      const { recognised } = task;
      const read = await readPdf(task.bytes, cpu_ms, { with_lines, ...(recognised && { recognised }) });
      const { title, pages, page_count, text, truncated, unreadable, lines, note } = read;
      const pdf = { pdf_pages: pages, pdf_page_count: page_count, text_truncated: truncated };
      const formats = lines && { formats: { markdown: pdfMarkdown(lines), links: [], images: [] } };
      return { ...NOTHING, title, text, ...pdf, ...formats, ...(unreadable && { unreadable }), note };
    };
  },
  pdf_page: async (): Promise<Painter> => {
    const { drawPage } = await import("./content/pdfium.ts");
    return drawPage;
  },
};

/** About 1 s of CPU time. Twelve rounds took 0.7 s more, and pages of a first pass took no less. */
const WARM_UP_ROUNDS = 4;

/** Pages that a new reader of pages reads before its first task. */
export const warm_ups = {
  page: async (): Promise<readonly ExtractTask[]> => {
    const { variedPage, WARM_UP_PAGES } = await import("./warm-up-pages.ts");
    return Array.from({ length: WARM_UP_ROUNDS }, (_, round) =>
      WARM_UP_PAGES.map((html): ExtractTask => ({
        bytes: Buffer.from(variedPage(html, round)),
        url: "https://harbour.example/story",
        content_type: "text/html; charset=utf-8",
        kind: "html",
        now_ms: Date.UTC(2026, 0),
        // Half of the rounds, as callers ask for it.
        with_formats: round % 2 === 1,
      })),
    ).flat();
  },
};

async function loadOffice(): Promise<Extractor> {
  const { readOffice } = await import("./content/office.ts");
  return async (task) => {
    const { bytes, kind, url } = task;
    if (!isOfficeKind(kind)) throw new Error(`Cannot read "${kind}" as an office document`);
    const { truncated, ...read } = await readOffice(bytes, kind, url, task);
    return { ...NOTHING, ...read, text_truncated: truncated };
  };
}

async function loadPage(): Promise<Extractor> {
  const { readHtml } = await import("./article/article.ts");
  const { loadDetector } = await import("./article/language.ts");
  const { buildTree } = await import("./article/tree.ts");
  const { followedLinks } = await import("./markdown/links.ts");
  const { readLeads } = await import("./content/alternate-links.ts");
  const { feedEntries, findItems } = await import("./content/feed.ts");
  const { readFiled, unwrapped } = await import("./content/filing-text.ts");
  const readLinks = (task: ExtractTask): Extracted => {
    const charset = charsetOf(task) ?? "UTF-8";
    const tree = buildTree(htmlOf(task.bytes, charset));
    return { ...NOTHING, charset, followed: followedLinks(tree, task.url) };
  };
  return async (task) => {
    if (task.items) {
      const { text } = readPlain(task.bytes, task.content_type, "xml");
      return { ...NOTHING, items: findItems(text, task.items) };
    }
    if (task.filed && (task.kind === "html" || task.kind === "text"))
      return readAsFiled(task, readFiled, unwrapped);
    if (task.followed === "only") return task.kind === "html" ? readLinks(task) : NOTHING;
    if (task.kind === "html" && task.reading) {
      const { readWanted } = await import("./dom/read-wanted.ts");
      return readWanted(task, task.reading, readHtml);
    }
    if (task.kind === "html") return readAsHtml(task, readHtml, readLeads, loadDetector);
    const read = readAsItIs(task);
    if (task.kind !== "xml" || task.with_formats !== true) return read;
    const entries = feedEntries(read.text, task.url);
    return { ...read, formats: { markdown: null, links: [], images: [], entries } };
  };
}

type ReadHtml = (typeof import("./article/article.ts"))["readHtml"];
type ReadLeads = (typeof import("./content/alternate-links.ts"))["readLeads"];

async function readAsHtml(
  task: ExtractTask,
  readHtml: ReadHtml,
  readLeads: ReadLeads,
  loadDetector: () => Promise<void>,
): Promise<Extracted> {
  const charset = charsetOf(task) ?? "UTF-8";
  const html = htmlOf(task.bytes, charset);
  const options = { formats: task.with_formats === true, followed: task.followed !== undefined };
  let page = readHtml(html, task.url, task.now_ms, options);
  if (page.needs_detector) {
    await loadDetector();
    page = readHtml(html, task.url, task.now_ms, options);
  }
  // A second parse, which only the few paid pages need.
  const wanted = task.leads === true || page.paywall === "hard";
  const { text, truncated } = cutText(soundText(page.text), MAX_TEXT_CHARS);
  return {
    ...NOTHING,
    charset,
    title: page.title === null ? null : soundText(page.title),
    text,
    text_truncated: truncated || page.truncated,
    meta: soundMeta(page.meta),
    paywall: page.paywall,
    paywall_evidence: page.paywall_evidence,
    page_verdict: page.page_verdict,
    ...(page.formats && { formats: page.formats }),
    ...(page.followed && { followed: page.followed }),
    ...(wanted && { leads: readLeads(html, task.url) }),
    note: page.note,
  };
}

function readAsFiled(
  task: ExtractTask,
  readFiled: (typeof import("./content/filing-text.ts"))["readFiled"],
  unwrapped: (typeof import("./content/filing-text.ts"))["unwrapped"],
): Extracted {
  if (task.kind === "text") {
    const plain = readAsItIs(task);
    return { ...plain, text: unwrapped(plain.text) };
  }
  const charset = charsetOf(task) ?? "UTF-8";
  const { title, text, truncated } = readFiled(unwrapped(decodeText(task.bytes, charset)), MAX_TEXT_CHARS);
  const note = truncated ? `The text was read up to ${MAX_TEXT_CHARS} characters` : null;
  return {
    ...NOTHING,
    charset,
    title: title === null ? null : soundText(title),
    text: soundText(text),
    text_truncated: truncated,
    note,
  };
}

function readAsItIs(task: ExtractTask): Extracted {
  const { kind } = task;
  if (kind === "html" || kind === "pdf" || isOfficeKind(kind))
    throw new Error(`Cannot read "${kind}" as it is`);
  switch (kind) {
    case "json":
    case "xml":
    case "text": {
      const { charset, text, truncated } = readPlain(task.bytes, task.content_type, kind);
      const note = truncated ? `The text was read up to ${MAX_TEXT_CHARS} characters` : null;
      return { ...NOTHING, charset, text, text_truncated: truncated, note };
    }
    case "binary":
      return NOTHING;
  }
}

/** JSON-LD may contain half a surrogate pair, which stores refuse. */
function soundMeta(meta: ArticleMeta): ArticleMeta {
  const sound = Object.entries(meta).map(([name, value]) => [
    name,
    typeof value === "string" ? soundText(value) : value,
  ]);
  return Object.fromEntries(sound) as ArticleMeta;
}
