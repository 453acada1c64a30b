/**
 * node bench/archives.bench.ts [--pages 1500] [--rounds 2]: the same pages as items of a batch without and with `archive`, in turns, each by a service of its
 * own on one core, and by `wget --warc-file` (Debian's). Measured: CPU of a page, the length of the WARC and WACZ files, and the
 * CPU of making them.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { answering, cpuSeconds, machine, pinned, type Service, service } from "./harness.ts";

const { values } = parseArgs({
  options: { pages: { type: "string", default: "1500" }, rounds: { type: "string", default: "2" } },
});
const PAGES = Number(values.pages);
const WEB_PORT = 18_343;
const SITE = `http://127.9.0.1:${WEB_PORT}/site/${PAGES}`;
const ADDRESSES = Array.from({ length: PAGES }, (_, n) => `${SITE}/${n}`);

async function ask({ url, key }: Service, path: string, body?: object): Promise<Response> {
  const reply = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}` },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`Cannot ask "${path}": ${reply.status} ${await reply.text()}`);
  return reply;
}

async function fileOf(served: Service, path: string) {
  const before = cpuSeconds(served.pid);
  const { byteLength } = await (await ask(served, path)).arrayBuffer();
  return { bytes: byteLength, cpu_ms_a_page: ((cpuSeconds(served.pid) - before) * 1_000) / PAGES };
}

/** A batch of a service of its own, so that nothing is in its cache. */
async function batch(archive: boolean) {
  const served = await service(1, 18_344);
  try {
    const before = cpuSeconds(served.pid);
    const items = ADDRESSES.map((url) => ({ url, tiers: ["direct"], archive }));
    const begun = await ask(served, "/v1/batch/fetch", { items, idempotency_key: "bench" });
    const { job_id } = (await begun.json()) as { job_id: string };
    for (;;) {
      const job = (await (await ask(served, `/v1/jobs/${job_id}`)).json()) as {
        finished_at: string | null;
        counts: { done: number };
      };
      if (job.finished_at !== null) {
        if (job.counts.done !== PAGES) throw new Error(`Only ${job.counts.done} of ${PAGES} pages`);
        break;
      }
      await sleep(500);
    }
    const cpu_ms_a_page = ((cpuSeconds(served.pid) - before) * 1_000) / PAGES;
    if (!archive) return { archive, cpu_ms_a_page };
    const [warc, wacz] = [
      await fileOf(served, `/v1/jobs/${job_id}.warc.gz`),
      await fileOf(served, `/v1/jobs/${job_id}.wacz`),
    ];
    return { archive, cpu_ms_a_page, warc, wacz };
  } finally {
    await served.stop();
  }
}

function wget() {
  const folder = mkdtempSync(join(tmpdir(), "trawl-wget-"));
  try {
    writeFileSync(join(folder, "addresses"), ADDRESSES.join("\n"));
    execFileSync("wget", ["-q", "-i", "addresses", "-O", "/dev/null", "--warc-file=site"], { cwd: folder });
    return { warc: { bytes: statSync(join(folder, "site.warc.gz")).size } };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const rounds: object[] = [];
for (let round = 0; round < Number(values.rounds); round++)
  rounds.push(await batch(false), await batch(true));
const beside = wget();
await web.stop();
console.log(JSON.stringify({ machine: machine(), pages: PAGES, rounds, wget: beside }, null, 2));
