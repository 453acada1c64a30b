/** Archives replayed by pywb: each page comes back with the bytes that the site sent, a revisit with those of its first record. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { client } from "../harness/jobs-client.ts";
import { freePort } from "../harness/free-port.ts";
import { findProgram, type Program, program } from "../harness/programs.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, coded } from "../harness/web.ts";

const wayback = findProgram("wayback", "/opt/pywb/bin/wayback");
const how =
  wayback === null ? " (not tried: python3 -m venv /opt/pywb && /opt/pywb/bin/pip install pywb)" : "";
const { start } = SETUPS[0]!;

describe.skipIf(wayback === null)(`an archive replayed by pywb${how}`, () => {
  const { sites, service } = scenario(start);
  const folder = mkdtempSync(join(tmpdir(), "trawl-replay-"));
  let archive: Program | null = null;
  afterAll(async () => {
    await archive?.close();
    rmSync(folder, { recursive: true });
  });

  test("gives the bytes of each page", async () => {
    const site = sites.site({
      "/": { body: article("Plain") },
      "/gzip": coded("gzip", { body: article("Coded") }),
      "/latin": { type: "text/html; charset=iso-8859-1", body: Buffer.from("<p>Z\u00fcrich", "latin1") },
      "/query": { body: article("Query") },
      "/twin": { body: article("Plain") },
    });
    const urls = ["/", "/gzip", "/latin", "/query?b=2&a=1", "/twin"].map((path) => site.origin + path);
    const created = await client(service).create(urls.map((url) => ({ url, archive: true })));
    const { job_id } = created.json;
    await client(service).finished(job_id);
    mkdirSync(join(folder, "warcs"));
    const { bytes } = await service.call("GET", `/v1/jobs/${job_id}.warc.gz`);
    const file = join(folder, "warcs/a.warc.gz");
    writeFileSync(file, bytes);
    const index = execFileSync(join(dirname(wayback!), "cdx-indexer"), ["-j", "-s", file]);
    writeFileSync(join(folder, "index.cdxj"), index);
    const collection = `{archive_paths: ${folder}/warcs/, index_paths: ${folder}/index.cdxj}`;
    writeFileSync(join(folder, "config.yaml"), `collections:\n  web: ${collection}\n`);
    const port = await freePort();
    archive = await program(wayback!, ["-p", String(port), "-b", "127.0.0.1"], port, folder);
    const items = await client(service).items(job_id);
    const replayed = await Promise.all(
      urls.map(async (url) => {
        const response = await fetch(`http://127.0.0.1:${port}/web/2026id_/${url}`);
        const body = Buffer.from(await response.arrayBuffer());
        return [url, response.status, createHash("sha256").update(body).digest("hex")];
      }),
    );
    const kept = items.map(({ input, result }) => [
      input["url"],
      200,
      (result as { readonly sha256: string }).sha256,
    ]);
    expect(replayed).toEqual(kept);
  });
});
