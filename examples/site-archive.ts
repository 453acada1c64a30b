/**
 * Archives a site: crawls it, keeps every exchange with it, and writes all of it to one WACZ file, which ReplayWeb.page plays.
 *
 *   node site-archive.ts https://example.org/ example.wacz
 */
import { writeFile } from "node:fs/promises";
import { Trawl } from "@trawl/client";

const { TRAWL_URL: url = "http://127.0.0.1:8080", TRAWL_KEY: key = "" } = process.env;
const [site, file = "site.wacz"] = process.argv.slice(2);
if (site === undefined) throw new Error("Usage: node site-archive.ts SITE [FILE]");
const trawl = new Trawl({ url, key });

const job = await trawl.crawl(site, { limit: 500, fetch: { archive: true } });
for await (const page of job.results())
  console.log(page.error ?? page.result?.status ?? "", page.result?.url ?? page.input.url);

// The client knows no archives yet: they are a download beside the API's JSON.
const archive = await fetch(`${url}/v1/jobs/${job.id}.wacz`, { headers: { Authorization: `Bearer ${key}` } });
if (!archive.ok || archive.body === null)
  throw new Error(`Cannot download the archive of job ${job.id}: HTTP ${archive.status}`);
await writeFile(file, archive.body);
console.log(`Written to ${file}`);
