/**
 * node bench/stores.bench.ts: documents and bodies put and got a second, and the CPU each costs in this process, on the
 * embedded stores and on MongoDB and S3 where engines are installed (npm run engines) or the environment names them.
 *
 * Small documents are what an actor keeps (280 bytes), large ones a chunk of a job (41 KB); a page is HTML that packs, a
 * file noise that does not. Each figure is the median of three rounds.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileBlobs } from "../cluster/adapters/blobs/blobs.file.ts";
import { s3Blobs } from "../cluster/adapters/blobs/blobs.s3.ts";
import { mongoDocuments } from "../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { start } from "../ops/engines/adapters/process.ts";
import type { Engine, EngineName, Settings } from "../ops/engines/engine.ts";
import { find, placeOf } from "../ops/engines/install.ts";
import { machine, median } from "./harness.ts";

const ROUNDS = 3;
const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
const started: Engine[] = [];

/** The engine that the environment names, else one of this run's own; null where there is none. */
async function engine(
  name: EngineName,
  variable: string,
): Promise<{ title: string; settings: Settings } | null> {
  if (process.env[variable]) return { title: "as named", settings: process.env as Settings };
  const found = await find(
    name,
    placeOf(process.env, homedir(), false, () => {}),
  );
  if (found.kind !== "program") return null;
  const running = await start(found.program);
  started.push(running);
  return running;
}

interface Figure {
  readonly per_s: number;
  readonly cpu_us: number;
}

/** `many` calls, `wide` at a time. */
async function measure(many: number, wide: number, call: (n: number) => Promise<unknown>): Promise<Figure> {
  let next = 0;
  const worker = async () => {
    while (next < many) await call(next++);
  };
  const [began_ms, cpu] = [performance.now(), process.cpuUsage()];
  await Promise.all(Array.from({ length: wide }, worker));
  const { user, system } = process.cpuUsage(cpu);
  return { per_s: (many / (performance.now() - began_ms)) * 1_000, cpu_us: (user + system) / many };
}

async function rounds(what: Record<string, string>, round: (n: number) => Promise<Figure>): Promise<void> {
  const figures: Figure[] = [];
  for (let n = 0; n < ROUNDS; n++) figures.push(await round(n));
  const middle = (of: keyof Figure) => Math.round(median(figures.map((figure) => figure[of])));
  console.log(JSON.stringify({ ...what, per_s: middle("per_s"), cpu_us: middle("cpu_us") }));
}

const lease = { fetch_id: "req_01M7Z569C8W85K4XAE27K65VJB", lapses_ms: 1_763_700_000_000 };
const small = {
  leases: [lease],
  next_start_ms: 1_763_700_000_000,
  failures: 0,
  skip_until_ms: 0,
  missing_at_ms: null,
  dead_until_ms: 0,
  rules: ["/a", "/b", "/c"].map((path) => ({ path, allow: false })),
};
const large = Array.from({ length: 500 }, (_, n) => ({
  url: `https://example.org/path/${n}`,
  state: "q",
  attempts: n % 3,
  at: 1_763_700_000_000 + n,
}));

async function documentsBench(store: string, documents: Documents): Promise<void> {
  for (const [name, value, many] of [
    ["small", small, 4_000],
    ["large", large, 200],
  ] as const) {
    const at = (round: number) => `${name}-${round}`;
    const row = { store, document: name };
    const key = (n: number) => `k${n}`;
    await rounds({ ...row, does: "put new, 64 at a time" }, (round) =>
      measure(many, 64, (n) => documents.put(at(round), key(n), value, 0)),
    );
    await rounds({ ...row, does: "replace, 64 at a time" }, (round) =>
      measure(many, 64, (n) => documents.put(at(round), key(n), value, 1)),
    );
    await rounds({ ...row, does: "replace, one at a time" }, (round) =>
      measure(many / 10, 1, (n) => documents.put(at(round), key(n), value, 2)),
    );
    await rounds({ ...row, does: "get, 64 at a time" }, (round) =>
      measure(many, 64, (n) => documents.get(at(round), key(n))),
    );
    await rounds({ ...row, does: "get 100 at once" }, (round) =>
      measure(many / 100, 1, (n) =>
        documents.getMany(
          at(round),
          Array.from({ length: 100 }, (_, k) => key(n * 100 + k)),
        ),
      ),
    );
  }
  await documents.close();
}

/** HTML of some variety: each body is another one. */
function page(): Buffer {
  const words = randomBytes(3_000)
    .toString("hex")
    .match(/.{1,7}/g)!;
  return Buffer.from(`<!doctype html><p>${words.join("</p>\n<p class=text>")}</p>`);
}

async function bodiesBench(store: string, blobs: Blobs): Promise<void> {
  for (const [name, make, many] of [
    ["page", page, 300],
    ["file of 1 MB", () => randomBytes(2 ** 20), 30],
  ] as const) {
    const sets = Array.from({ length: ROUNDS }, () => Array.from({ length: many }, make));
    const digests: string[][] = sets.map(() => []);
    await rounds({ store, body: name, does: "put, 16 at a time" }, (round) =>
      measure(many, 16, async (n) => (digests[round]![n] = (await blobs.put(sets[round]![n]!)).sha256)),
    );
    await rounds({ store, body: name, does: "get, 16 at a time" }, (round) =>
      measure(many, 16, async (n) => {
        for await (const piece of (await blobs.get(digests[round]![n]!))!) void piece;
      }),
    );
  }
  await blobs.close();
}

const mongo = await engine("documents", "TRAWL_DOCUMENTS");
const s3 = await engine("blobs", "TRAWL_BLOBS");
console.log(JSON.stringify({ machine: machine(), mongo: mongo?.title ?? null, s3: s3?.title ?? null }));
const run = randomBytes(6).toString("hex");
try {
  await documentsBench("sqlite", sqliteDocuments(join(folder, "documents.sqlite")));
  if (mongo) {
    const address = mongo.settings["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/bench-${run}`);
    await documentsBench("mongo", mongoDocuments(address));
  }
  await bodiesBench("file", fileBlobs(join(folder, "bodies")));
  if (s3) {
    const { settings } = s3;
    const { hostname, pathname } = new URL(settings["TRAWL_BLOBS"]!);
    const blobs = s3Blobs({
      bucket: hostname,
      prefix: `${pathname.slice(1)}/bench-${run}`,
      endpoint: settings["S3_ENDPOINT"],
      region: settings["AWS_REGION"],
      credentials: {
        accessKeyId: settings["AWS_ACCESS_KEY_ID"]!,
        secretAccessKey: settings["AWS_SECRET_ACCESS_KEY"]!,
      },
      spool: folder,
    });
    await bodiesBench("s3", blobs);
  }
} finally {
  for (const one of started) await one.stop();
  rmSync(folder, { recursive: true });
}
