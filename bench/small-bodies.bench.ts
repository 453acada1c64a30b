/**
 * node bench/small-bodies.bench.ts [--seconds 4]: uploads, CPU and latency of a small body that is stored in S3, each alone beside sharing objects, in turn in one
 * process, over engines of its own: MongoDB has the places. Bodies are pages of 8 KiB, all distinct; they come independently of each other at 20, 50, 100 and 200 a
 * second, and one after the other. CPU of this process alone, and of everything that it started.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { s3Blobs } from "../cluster/adapters/blobs/blobs.s3.ts";
import { mongoDocuments } from "../cluster/adapters/documents/documents.mongo.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { bodyPlaces } from "../cluster/body-places.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import { ownEngine } from "../test/harness/engines.ts";
import { cpuSeconds, machine, median, ownCpuSeconds } from "./harness.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "4" } } });
const SECONDS = Number(values.seconds);
const ROUNDS = 4;
const random = systemRandom();
const RATES = [20, 50, 100, 200];

let pages = 0;
function page(): Buffer {
  const n = pages++;
  const line = (part: number): string =>
    `<p>In the year ${1_000 + ((n * 31 + part) % 900)} ${(n * part) % 97} travellers described page ${n}.</p>`;
  return Buffer.from(
    Array.from({ length: 125 }, (_, part) => line(part))
      .join("")
      .slice(0, 8_192),
  );
}

async function put(blobs: Blobs, took: number[]): Promise<void> {
  const content = page();
  const began = performance.now();
  await blobs.put(content);
  took.push(performance.now() - began);
}

/** Puts bodies one after the other. */
async function putInTurn(blobs: Blobs, took: number[]): Promise<void> {
  const ends = performance.now() + SECONDS * 1_000;
  while (performance.now() < ends) await put(blobs, took);
}

async function putAtRate(blobs: Blobs, took: number[], a_second: number): Promise<void> {
  const puts: Promise<void>[] = [];
  const begins = performance.now();
  for (let due_ms = 0; due_ms < SECONDS * 1_000; due_ms -= (Math.log(1 - random.next()) * 1_000) / a_second) {
    const wait_ms = begins + due_ms - performance.now();
    if (wait_ms > 0) await sleep(wait_ms);
    puts.push(put(blobs, took));
  }
  await Promise.all(puts);
}

const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
const [mongo, s3] = [await ownEngine("documents"), await ownEngine("blobs")];
if (!mongo || !s3) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
const documents = mongoDocuments(mongo.settings["TRAWL_DOCUMENTS"]!);
const { hostname, pathname } = new URL(s3.settings["TRAWL_BLOBS"]!);
const uploads = { alone: 0, shared: 0 };
const store = (name: keyof typeof uploads): Blobs =>
  s3Blobs({
    bucket: hostname,
    prefix: `${pathname.slice(1)}/${name}`,
    endpoint: s3.settings["S3_ENDPOINT"],
    region: s3.settings["AWS_REGION"],
    credentials: {
      accessKeyId: s3.settings["AWS_ACCESS_KEY_ID"]!,
      secretAccessKey: s3.settings["AWS_SECRET_ACCESS_KEY"]!,
    },
    spool: folder,
    onUpload: () => void uploads[name]++,
    ...(name === "shared" && {
      sharing: { places: bodyPlaces(documents), isOn: () => true, clock: systemClock() },
    }),
  });
const stores = { alone: store("alone"), shared: store("shared") };

async function round(name: keyof typeof stores, rate: number | null) {
  const before = {
    uploads: uploads[name],
    own_s: ownCpuSeconds(process.pid),
    all_s: cpuSeconds(process.pid),
  };
  const took: number[] = [];
  await (rate === null ? putInTurn(stores[name], took) : putAtRate(stores[name], took, rate));
  const own_s = ownCpuSeconds(process.pid) - before.own_s;
  const sorted = took.toSorted((a, b) => a - b);
  return {
    uploads: (uploads[name] - before.uploads) / took.length,
    own_cpu_ms: (1_000 * own_s) / took.length,
    engines_cpu_ms: (1_000 * (cpuSeconds(process.pid) - before.all_s - own_s)) / took.length,
    p50_ms: median(took),
    p95_ms: sorted[Math.floor(sorted.length * 0.95)]!,
  };
}

const rounded = (number: number): number => Math.round(number * 100) / 100;
const NAMES = ["alone", "shared"] as const;
try {
  for (const name of NAMES) await round(name, 50);
  for (const rate of [null, ...RATES]) {
    const rounds = { alone: [], shared: [] } as Record<
      (typeof NAMES)[number],
      Awaited<ReturnType<typeof round>>[]
    >;
    for (let n = 0; n < ROUNDS; n++)
      for (const name of n % 2 ? NAMES.toReversed() : NAMES) rounds[name].push(await round(name, rate));
    for (const name of NAMES) {
      const figures = Object.keys(rounds[name][0]!).map((figure) => {
        const each = rounds[name].map((one) => one[figure as keyof typeof one]);
        return [figure, rounded(median(each)), each.map(rounded)] as const;
      });
      console.log(
        JSON.stringify({
          rate: rate ?? "in turn",
          store: name,
          ...Object.fromEntries(figures.map(([figure, middle]) => [figure, middle])),
          own_cpu_ms_each: figures.find(([figure]) => figure === "own_cpu_ms")![2],
        }),
      );
    }
  }
  console.log(JSON.stringify({ machine: machine(), mongo: mongo.title, s3: s3.title }));
} finally {
  for (const blobs of Object.values(stores)) await blobs.close();
  await documents.close();
  await mongo.stop();
  await s3.stop();
  rmSync(folder, { recursive: true });
}
