/**
 * node bench/archive-import.bench.ts [--pages 5000] [--rounds 3]: a WARC file is imported by a service of its own on one core (uploaded,
 * every body stored, captures and pages indexed), by another without the index of pages, and read by Python's warcio on the same core,
 * once for its bodies alone and once with the digests of its records (`warcio check`'s work), in turns. CPU of the process tree,
 * records a CPU second. Needs /opt/warc-tools.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ArchiveImportView } from "../schemas/archives.ts";
import { announcement, members, record, response } from "../test/harness/archive-files.ts";
import { article, prose } from "../test/harness/web.ts";
import { cpuSeconds, machine, service } from "./harness.ts";

const { values } = parseArgs({
  options: { pages: { type: "string", default: "5000" }, rounds: { type: "string", default: "3" } },
});
const PAGES = Number(values.pages);
const RECORDS = 2 * PAGES;
const PORT = 18_346;
const PART_BYTES = 8 * 2 ** 20;
const DATE = "2019-05-06T07:08:09Z";

/** Each page with its request, and the digest of its body, as crawlers write them. */
function warcFile(): Buffer {
  const records = Array.from({ length: PAGES }, (_, n) => {
    const url = `https://site-${n % 50}.example/${n}`;
    const body = article(`Page ${n}`, `This is page ${n}. ${prose(40)}`);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const head = `GET /${n} HTTP/1.1\r\nHost: site-${n % 50}.example\r\nUser-Agent: bench\r\n\r\n`;
    const fields = { "WARC-Target-URI": url, "WARC-Date": DATE };
    const type = { "Content-Type": "application/http; msgtype=request" };
    return [
      response(url, DATE, body, { warc: { "WARC-Payload-Digest": `sha256:${sha256}` } }),
      record("request", { ...fields, ...type }, head),
    ];
  });
  return members(...records.flat());
}

const READER = `
import os, sys
from warcio.archiveiterator import ArchiveIterator
records = 0
with open(sys.argv[1], "rb") as stream:
    for record in ArchiveIterator(stream, check_digests=sys.argv[2] == "digests"):
        while record.content_stream().read(65536):
            pass
        records += 1
        assert record.digest_checker.passed is not False
times = os.times()
print(records, times.user + times.system)
`;

function byWarcio(path: string, mode: "bodies" | "digests") {
  const words = ["-c", "1", "/opt/warc-tools/bin/python", "-c", READER, path, mode];
  const [records, cpu_s] = execFileSync("taskset", words).toString().split(" ").map(Number);
  if (records !== RECORDS) throw new Error(`warcio read ${records} of ${RECORDS} records`);
  return figures(cpu_s!);
}

const figures = (cpu_s: number) => ({
  cpu_s: Number(cpu_s.toFixed(2)),
  records_a_cpu_s: Math.round(RECORDS / cpu_s),
});

async function byTrawl(file: Buffer, env: Record<string, string> = {}) {
  const { url, key, pid, stop } = await service(1, PORT, env);
  const ask = async (method: string, path: string, body?: string | Buffer): Promise<ArchiveImportView> => {
    const type = typeof body === "string" ? "application/json" : "application/octet-stream";
    const reply = await fetch(`${url}/v1/archives${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": type }) },
      ...(body !== undefined && { body: typeof body === "string" ? body : new Uint8Array(body) }),
    });
    if (!reply.ok) throw new Error(`Cannot ask "${path}": ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as ArchiveImportView;
  };
  try {
    const before = cpuSeconds(pid);
    const began_ms = Date.now();
    let view = await ask("POST", "", JSON.stringify(announcement(file, "bench.warc.gz")));
    while (view.state === "uploading") {
      const offset = view.received_bytes;
      const part = file.subarray(offset, offset + PART_BYTES);
      view = await ask("PATCH", `/${view.id}?offset=${offset}`, part);
    }
    while (view.state === "importing") {
      await sleep(250);
      view = await ask("GET", `/${view.id}`);
    }
    if (view.state !== "done" || view.captures !== PAGES)
      throw new Error(`Imported ${view.captures} of ${PAGES}: ${JSON.stringify(view)}`);
    const elapsed_s = Number(((Date.now() - began_ms) / 1_000).toFixed(1));
    return { ...figures(cpuSeconds(pid) - before), elapsed_s, indexed: view.indexed };
  } finally {
    await stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), "trawl-import-"));
try {
  const file = warcFile();
  const path = join(folder, "bench.warc.gz");
  writeFileSync(path, file);
  const rounds: object[] = [];
  for (let round = 0; round < Number(values.rounds); round++)
    rounds.push({
      trawl: await byTrawl(file),
      trawl_without_index: await byTrawl(file, { TRAWL_LOCAL_INDEX: "off" }),
      warcio_bodies: byWarcio(path, "bodies"),
      warcio_digests: byWarcio(path, "digests"),
    });
  console.log(JSON.stringify({ machine: machine(), records: RECORDS, bytes: file.length, rounds }, null, 2));
} finally {
  rmSync(folder, { recursive: true });
}
