// crawlee with 64 requests at once and no retries. Cheerio's crawler: title and links of every address on standard input.
// --http: the plain crawler, which reads the body and nothing more. --store: the same; the body as a file, and main text and metadata by defuddle as a line of JSON.
import { readFileSync } from "node:fs";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CheerioCrawler, Configuration, HttpCrawler, log, LogLevel } from "@crawlee/cheerio";
import { Defuddle } from "defuddle/node";
import { parseHTML } from "linkedom";
log.setLevel(LogLevel.ERROR);
const addresses = readFileSync(0, "utf8").trim().split("\n");
const [isStored, isHttp] = ["--store", "--http"].map((flag) => process.argv.includes(flag));
const folder = await mkdtemp(join(tmpdir(), "crawlee-"));
let done = 0;

function look({ $ }) {
  $("title").text();
  $("a[href]").map((_, a) => $(a).attr("href")).get();
  done++;
}

/** The crawler has read the body when this is called. */
const count = () => void done++;

async function store({ body, request }) {
  await writeFile(join(folder, `${done++}.html`), body);
  const { document } = parseHTML(body.toString());
  // Without useAsync: a page's content must not decide which addresses are called.
  const { content, title, author, published, site, language } = await Defuddle(document, request.url, { useAsync: false });
  const { textContent } = parseHTML(`<body>${content}</body>`).document.body;
  const line = JSON.stringify({ url: request.url, title, author, published, site, language, text: textContent });
  await appendFile(join(folder, "pages.jsonl"), `${line}\n`);
}

const options = {
  minConcurrency: 64,
  maxConcurrency: 64,
  useSessionPool: false,
  maxRequestRetries: 0,
  autoscaledPoolOptions: { maybeRunIntervalSecs: 0.01 },
};
const configuration = new Configuration({ persistStorage: false });
const crawler = isStored || isHttp
  ? new HttpCrawler({ ...options, additionalMimeTypes: ["application/octet-stream"], requestHandler: isStored ? store : count }, configuration)
  : new CheerioCrawler({ ...options, requestHandler: look }, configuration);
const began = performance.now();
const cpu = process.cpuUsage();
await crawler.run(addresses);
const { user, system } = process.cpuUsage(cpu);
await rm(folder, { recursive: true });
console.log(JSON.stringify({ pages: done, cpu_s: (user + system) / 1e6, wall_s: (performance.now() - began) / 1e3, rss_mb: process.memoryUsage.rss() / 2 ** 20 }));
process.exit(0);
