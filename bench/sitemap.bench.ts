/**
 * Cost of a sitemap of 50 MB: node --expose-gc bench/sitemap.bench.ts. A child process reads 50,000 entries with
 * translations and images as a stream, plain and compressed; it prints MB/s and how far its resident memory grew.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createGzip } from "node:zlib";
import { Readable } from "node:stream";
import { readSitemap } from "../actors/crawl/sites/sitemap/read-sitemap.ts";

const ENTRIES = 50_000;
const LANGUAGES = ["de", "fr", "it", "en"];

function* file(): Generator<Buffer> {
  yield Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<urlset>\n');
  for (let n = 0; n < ENTRIES; n++) {
    const url = `https://example.org/articles/${n}/the-tower-is-lit-again-after-two-years-of-repairs`;
    const links = LANGUAGES.map(
      (each) =>
        `    <xhtml:link rel="alternate" hreflang="${each}" href="https://example.org/${each}/articles/${n}/the-tower-is-lit-again-after-two-years-of-repairs?from=map&amp;n=${n}"/>\n`,
    );
    yield Buffer.from(
      `  <url>\n    <loc>${url}?from=map&amp;n=${n}</loc>\n    <lastmod>2026-03-04T05:06:07+00:00</lastmod>\n${links.join("")}    <image:image><image:loc>${url}.jpg</image:loc><image:title>The tower &amp; the harbour</image:title></image:image>\n  </url>\n`,
    );
  }
  yield Buffer.from("</urlset>\n");
}

async function read(form: "plain" | "gzip"): Promise<object> {
  let bytes = 0;
  const source = Readable.from(file(), { objectMode: false });
  source.on("data", (piece: Buffer) => (bytes += piece.length));
  const pieces = (form === "gzip" ? source.pipe(createGzip()) : source) as AsyncIterable<Buffer>;
  const before_mb = process.memoryUsage.rss() / 2 ** 20;
  let peak_mb = before_mb;
  const began = process.cpuUsage();
  const { entries, error } = await readSitemap(pieces, {
    url: new URL("https://example.org/sitemap.xml"),
    onEntry: () => true,
    pause: async () => {
      peak_mb = Math.max(peak_mb, process.memoryUsage.rss() / 2 ** 20);
    },
  });
  const cpu_s = process.cpuUsage(began).user / 1e6;
  const grew_mb = Math.round(peak_mb - before_mb);
  return { form, mb: Math.round(bytes / 1e6), entries, error, cpu_s, peak_mb: Math.round(peak_mb), grew_mb };
}

if (process.argv[2] === undefined)
  for (const form of ["plain", "gzip"]) await once(fork(import.meta.filename, [form]), "exit");
else console.info(JSON.stringify(await read(process.argv[2] as "plain" | "gzip")));
