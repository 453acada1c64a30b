/**
 * PDFs as the children read them, a fresh process each under the pool's heap: pages per CPU second and peak memory; and beside it the
 * plain text by pdfium alone (`engine: "pdfium"`), with the time that the engine needs to start.
 *
 *   node bench/pdf.bench.ts [file.pdf …]
 *
 * Without files: those of the shared fixtures, when they are there, and some that are written here (text, 5,000 pages,
 * 200 MB of pictures, a password, a page that unpacks to 200 MB).
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { basename } from "node:path";
import { bombPage, writePdf } from "../test/actors/reading/content/pdf-writer.ts";

const HEAP_MB = 512;
const line = "The harbour office said on Tuesday that the two cranes will return before the autumn.";
const full = (lines: number) => ({ lines: Array.from({ length: lines }, () => line) });
const many = (count: number, lines: number) => Array.from({ length: count }, () => full(lines));

const WRITTEN: Record<string, () => Buffer> = {
  "written: 350 pages": () => writePdf({ pages: many(350, 45) }),
  "written: 5,000 pages": () => writePdf({ pages: many(5_000, 45) }),
  "written: 5,000 short pages": () => writePdf({ pages: many(5_000, 3) }),
  "written: 200 MB": () => {
    const picture = Buffer.alloc(2 ** 20, 90);
    return writePdf({ pages: Array.from({ length: 200 }, () => ({ ...full(3), picture })) });
  },
  "written: password": () => writePdf({ pages: many(9, 9), encrypted: { user: "a", owner: "b" } }),
  "written: owner's password only": () =>
    writePdf({ pages: many(350, 45), encrypted: { user: "", owner: "b" } }),
  "written: unpacks to 200 MB": () => writePdf({ pages: [full(3), bombPage(200 * 2 ** 20)] }),
};

interface EngineResult {
  readonly page_count: number | null;
  readonly pages: number;
  readonly chars: number;
  readonly truncated: boolean;
  readonly note: string | null;
}

type Engine = "trawl" | "pdfium";

/** Loads the engine, then reads. */
const ENGINES: Readonly<Record<Engine, () => Promise<(bytes: Uint8Array) => Promise<EngineResult>>>> = {
  trawl: async () => {
    const { readPdf } = await import("../actors/reading/content/pdf.ts");
    return async (bytes) => {
      const cpu = process.cpuUsage();
      const { pages, text, ...pdf } = await readPdf(bytes, () => process.cpuUsage(cpu).user / 1_000);
      return { ...pdf, pages: pages.length, chars: text.length };
    };
  },
  pdfium: async () => {
    const { PDFiumLibrary } = await import("@hyzyla/pdfium");
    const library = await PDFiumLibrary.init();
    return async (bytes) => {
      const document = await library.loadDocument(bytes);
      let chars = 0;
      for (const page of document.pages()) chars += page.getText().length;
      const count = document.getPageCount();
      return { page_count: count, pages: count, chars, truncated: false, note: null };
    };
  },
};

async function one(name: string, engine: Engine): Promise<void> {
  const written = WRITTEN[name]?.() ?? readFileSync(name);
  const bytes = new Uint8Array(written);
  const mb = bytes.length / 2 ** 20;
  const start = process.cpuUsage();
  const read = await ENGINES[engine]();
  const started = process.cpuUsage(start);
  const began = performance.now();
  const cpu = process.cpuUsage();
  const pdf = await read(bytes);
  const { user, system } = process.cpuUsage(cpu);
  const cpu_s = (user + system) / 1e6;
  const row = {
    name: basename(name),
    engine,
    mb: Number(mb.toFixed(1)),
    page_count: pdf.page_count,
    pages: pdf.pages,
    chars: pdf.chars,
    truncated: pdf.truncated,
    wall_s: Number(((performance.now() - began) / 1_000).toFixed(2)),
    start_cpu_s: Number(((started.user + started.system) / 1e6).toFixed(2)),
    cpu_s: Number(cpu_s.toFixed(2)),
    pages_per_cpu_s: Math.round(pdf.pages / cpu_s),
    peak_mb: Math.round(process.resourceUsage().maxRSS / 1_024),
    note: pdf.note,
  };
  console.log(JSON.stringify(row));
}

if (process.argv[2] === "--one") await one(process.argv[3]!, process.argv[4] as Engine);
else {
  const shared = await Array.fromAsync(glob("../shared/fixtures/**/*.pdf"));
  if (shared.length === 0) console.log("skipped: no PDFs in ../shared/fixtures");
  const given = process.argv.slice(2);
  const names = given.length ? given : [...shared, "test/fixtures/pdf/scripts.pdf", ...Object.keys(WRITTEN)];
  const engines = Object.keys(ENGINES) as Engine[];
  for (const [name, engine] of names.flatMap((each) => engines.map((of) => [each, of] as const))) {
    const flags = [`--max-old-space-size=${HEAP_MB}`, "--disable-warning=ExperimentalWarning"];
    const ended = spawnSync(process.execPath, [...flags, import.meta.filename, "--one", name, engine], {
      encoding: "utf8",
    });
    console.log(ended.stdout.trim() || `${name} ${engine}: ended by ${ended.signal ?? ended.status}`);
  }
}
