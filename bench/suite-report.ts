/**
 * node bench/suite-report.ts: writes the table and the plot of `bench/results/suite.json` beside it. `npm run bench -- --write` does the
 * same with what it has measured.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Figures {
  readonly pages_per_cpu_s: number;
  readonly runs: readonly number[];
  readonly rss_mb: number;
}

export interface SuiteReport {
  readonly command: string;
  readonly machine: string;
  /** By program, as its manifest in bench/peers pins it. */
  readonly versions: Readonly<Record<string, string>>;
  /** By program and kind of pages, `trawl light`. */
  readonly summary: Readonly<Record<string, Figures>>;
  /** Ours to another program, `light / scrapy`. */
  readonly ratios: Readonly<Record<string, number>>;
  /** Milliseconds of one page at a time. */
  readonly latency_ms: Readonly<Record<string, object>>;
}

const KINDS: Readonly<Record<string, string>> = {
  light: "Light pages, 8 KiB",
  real: "Real pages, 231 KB on average",
  mixed: "A page of each of 1,000 hosts: light and real ones, 5 % slow, 4 % walls, 2 % of 1 MB",
  bytes: "8 KiB of bytes, which nothing reads",
  stored: "Real pages; the others store body, main text and metadata, too",
};

const PACKAGES: Readonly<Record<string, readonly [file: string, version: RegExp]>> = {
  undici: ["undici/package.json", /"undici": ?"([^"]+)"/],
  crawlee: ["crawlee/package.json", /"@crawlee\/cheerio": ?"([^"]+)"/],
  defuddle: ["crawlee/package.json", /"defuddle": ?"([^"]+)"/],
  scrapy: ["scrapy/requirements.txt", /scrapy==(\S+)/],
  trafilatura: ["scrapy/requirements.txt", /trafilatura==(\S+)/],
  colly: ["colly/go.mod", /colly\/v2 v(\S+)/],
  spider: ["spider/Cargo.toml", /spider = \{ version = "=([^"]+)"/],
};

export const suiteVersions = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(PACKAGES).map(([name, [file, version]]) => {
      const found = version.exec(readFileSync(`bench/peers/${file}`, "utf8"))?.[1];
      if (found === undefined) throw new Error(`No version of ${name} in bench/peers/${file}`);
      return [name, found];
    }),
  );

interface Row extends Figures {
  readonly program: string;
}

/** The programs that were measured on this kind of pages, the fastest first. */
const rowsOf = ({ summary }: SuiteReport, kind: string): readonly Row[] =>
  Object.entries(summary)
    .filter(([name]) => name.endsWith(` ${kind}`))
    .map(([name, figures]) => ({ ...figures, program: name.slice(0, -kind.length - 1) }))
    .toSorted((a, b) => b.pages_per_cpu_s - a.pages_per_cpu_s);

const kindsOf = (report: SuiteReport): readonly [kind: string, title: string, rows: readonly Row[]][] =>
  Object.entries(KINDS)
    .map(([kind, title]): [string, string, readonly Row[]] => [kind, title, rowsOf(report, kind)])
    .filter(([, , rows]) => rows.length > 0);

const grouped = (number: number): string => number.toLocaleString("en");

export function suiteTable(report: SuiteReport): string {
  const versions = Object.entries(report.versions).map(([name, version]) => `${name} ${version}`);
  const parts = kindsOf(report).map(([kind, title, rows]) => [
    `## ${title}`,
    "",
    "| program | pages a CPU-second | least to most | resident MB | Trawl to it |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...rows.map(({ program, pages_per_cpu_s: rate, runs, rss_mb }) => {
      const range = `${grouped(Math.min(...runs))} to ${grouped(Math.max(...runs))}`;
      const ratio = report.ratios[`${kind} / ${program}`] ?? "";
      return `| ${program} | ${grouped(rate)} | ${range} | ${grouped(rss_mb)} | ${ratio} |`;
    }),
    "",
  ]);
  const latencies = Object.entries(report.latency_ms).map(
    ([kind, times]) =>
      `${kind}: ${Object.entries(times)
        .map(([name, ms]) => `${name.replace("_p50", "")} ${ms}`)
        .join(", ")}`,
  );
  return [
    "# Pages a CPU-second, beside other crawlers",
    "",
    `\`${report.command}\`; ${report.machine}. ${versions.join(", ")}. Written by \`bench/suite-report.ts\` from \`suite.json\`.`,
    "",
    "Each program runs on one core, the synthetic web and the driver on the other, in turns; CPU time is that of all its processes. Trawl asks robots.txt and",
    "the domain, fetches, reads, and stores bytes, page, index and bill durably; the others take title and links and keep nothing, but in the last table.",
    "",
    "![Pages a CPU-second of each run, by kind of pages](suite.svg)",
    "",
    ...parts.flat(),
    `One page at a time, median milliseconds: ${latencies.join("; ")}.`,
    "",
    "Not measured: pages over a network, TLS, more than one core, runs longer than 1,000 pages, programs that render.",
    "",
  ].join("\n");
}

const LEFT = 150;
const WIDTH = 820;
const ROW = 24;
const HEAD = 44;
const [LEAST, MOST] = [1, 10_000];
const TICKS = [1, 10, 100, 1_000, 10_000];
const along = (rate: number): number =>
  LEFT + ((WIDTH - LEFT - 30) * Math.log(Math.max(rate, LEAST) / LEAST)) / Math.log(MOST / LEAST);

/** A dot for each run and a mark for the median, on a logarithmic scale: the rates differ by a thousand. */
export function suitePlot(report: SuiteReport): string {
  const parts: string[] = [];
  let top = 0;
  for (const [, title, rows] of kindsOf(report)) {
    const bottom = top + HEAD + rows.length * ROW;
    parts.push(`<text x="12" y="${top + 20}" class="title">${title}</text>`);
    for (const tick of TICKS) {
      const x = along(tick).toFixed(1);
      parts.push(`<line x1="${x}" x2="${x}" y1="${top + HEAD - 8}" y2="${bottom}" class="grid"/>`);
      parts.push(`<text x="${x}" y="${top + HEAD - 12}" class="tick">${grouped(tick)}</text>`);
    }
    for (const [n, { program, pages_per_cpu_s: rate, runs }] of rows.entries()) {
      const y = top + HEAD + n * ROW + ROW / 2;
      const who = program === "trawl" ? "ours" : "theirs";
      const x = along(rate);
      parts.push(`<text x="${LEFT - 12}" y="${y + 4}" class="name ${who}">${program}</text>`);
      for (const run of runs)
        parts.push(`<circle cx="${along(run).toFixed(1)}" cy="${y}" r="3.5" class="${who}"/>`);
      parts.push(
        `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${y - 8}" y2="${y + 8}" class="${who}"/>`,
      );
      const right = Math.max(...runs.map(along)) + 10;
      parts.push(`<text x="${right.toFixed(1)}" y="${y + 4}" class="rate">${grouped(rate)}</text>`);
    }
    top = bottom + 16;
  }
  const style =
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600}.tick{font-size:11px;fill:#777;text-anchor:middle}" +
    ".name{text-anchor:end}.name.ours{font-weight:600}.rate{font-size:12px}.grid{stroke:#e4e4e4}" +
    "circle.ours{fill:#c2410c;fill-opacity:.55}circle.theirs{fill:#64748b;fill-opacity:.5}" +
    "line.ours{stroke:#c2410c;stroke-width:2}line.theirs{stroke:#475569;stroke-width:2}";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}">`,
    `<style>${style}</style>`,
    `<rect width="${WIDTH}" height="${top}" fill="#fff"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

export function writeSuite(report: SuiteReport): void {
  writeFileSync("bench/results/suite.md", suiteTable(report));
  writeFileSync("bench/results/suite.svg", suitePlot(report));
}

if (process.argv[1] === import.meta.filename)
  writeSuite(JSON.parse(readFileSync("bench/results/suite.json", "utf8")) as SuiteReport);
