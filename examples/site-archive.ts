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

const archive = await job.wacz();
await writeFile(file, archive.body!);
console.log(`Written to ${file}`);
