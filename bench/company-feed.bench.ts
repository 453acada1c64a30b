/**
 * node bench/company-feed.bench.ts [--rate n] [--seconds n] [--companies n] [--in-flight n] [--mongo]: the change feed of companies under four writers, which
 * change n companies by turns, n times a second in all, while the sequencer numbers changes and a reader follows. Every change must be
 * read once, in the order of its company. A writer that falls behind its plan goes on without a pause, so the rate that was reached is
 * printed too. The store is SQLite in a temporary folder, or the MongoDB engine that is installed, with a connection for each part.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { homedir, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { materialise, withChange } from "../actors/sources/companies/apply-answers.ts";
import { readChanges } from "../actors/sources/companies/feed/changes.ts";
import { sequence } from "../actors/sources/companies/feed/sequencer.ts";
import { afterObservation } from "../actors/sources/companies/stored-claims.ts";
import { COMPANIES, putCompany, type StoredCompany } from "../actors/sources/companies/stored-company.ts";
import { mongoDocuments } from "../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { yieldToEventLoop } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { start } from "../ops/engines/adapters/process.ts";
import { find, placeOf } from "../ops/engines/install.ts";
import { claimOf, document } from "../test/harness/companies-harness.ts";

const { values: options } = parseArgs({
  options: {
    rate: { type: "string", default: "1000" },
    seconds: { type: "string", default: "30" },
    companies: { type: "string", default: "500" },
    /** Companies that a writer changes at a time: a node runs as many of their actors as have work. */
    "in-flight": { type: "string", default: "16" },
    mongo: { type: "boolean", default: false },
  },
});
const [rate, seconds, companies, in_flight] = [
  options.rate,
  options.seconds,
  options.companies,
  options["in-flight"],
].map(Number) as [number, number, number, number];
const WRITERS = 4;
const changes_of_writer = Math.ceil((rate * seconds) / WRITERS);
const IDLE_MS = 5;
const PAGE = 500;
const clock = systemClock();

function newCompany(id: string): StoredCompany {
  const at_ms = clock.now();
  const observation = {
    company_id: id,
    source: "a",
    group: "core" as const,
    native_id: "1",
    precedence: 60,
    documents: [document(at_ms)],
    claims: [claimOf(["names.legal", id])],
    is_complete: true,
    at_ms,
  };
  const knowledge = { groups: [afterObservation(null, observation, at_ms)], people: [], checks: {} };
  return materialise(null, id, knowledge, [], { sources: [], epoch: 0, now_ms: at_ms })!;
}

const folder = mkdtempSync(join(tmpdir(), "company-feed-"));
const engine = await mongoEngine();
async function mongoEngine() {
  if (!options.mongo) return null;
  const found = await find(
    "documents",
    placeOf(process.env, homedir(), false, () => {}),
  );
  assert(found.kind === "program", "MongoDB is missing: npm run engines -- --install-only");
  return start(found.program);
}
const shared = engine ? null : sqliteDocuments(join(folder, "documents.sqlite"));
const opened: Documents[] = [];
function open(): Documents {
  if (shared) return shared;
  const documents = mongoDocuments(engine!.settings["TRAWL_DOCUMENTS"]!);
  opened.push(documents);
  return documents;
}

const written = new Map<string, number>();
let refused = 0;
async function writer(number: number, began: number): Promise<void> {
  const documents = open();
  let next = 0;
  async function lane(): Promise<void> {
    while (next < changes_of_writer) {
      const change = next++;
      const wait_ms = began + (change * 1_000 * WRITERS) / rate - performance.now();
      if (wait_ms > 1) await sleep(wait_ms);
      await changeCompany(documents, (number * 17 + change) % companies);
    }
  }
  await Promise.all(Array.from({ length: in_flight }, lane));
}

async function changeCompany(documents: Documents, company: number): Promise<void> {
  const id = `cmp_${String(company).padStart(16, "0")}`;
  for (;;) {
    const stored = await COMPANIES.read(documents, id);
    const after = stored
      ? withChange(stored.value, stored.value.record, "updated", ["names"], clock.now())
      : newCompany(id);
    if (await putCompany(documents, after, stored?.version ?? 0)) {
      written.set(id, Math.max(written.get(id) ?? 0, after.version));
      return;
    }
    refused++;
  }
}

let isWriting = true;
let longest_ms = 0;
async function sequencer(): Promise<void> {
  const documents = open();
  let from: string | null = null;
  for (let isLast = false; !isLast;) {
    const wasWriting = isWriting;
    const done: Awaited<ReturnType<typeof sequence>> = await sequence(
      { documents, clock, ownsKey: () => true },
      from,
    );
    if (done.oldest_ms !== null) longest_ms = Math.max(longest_ms, clock.now() - done.oldest_ms);
    from = done.next_from;
    isLast = !wasWriting && done.is_done && done.sequenced === 0;
    if (done.sequenced === 0) await sleep(IDLE_MS);
    else await yieldToEventLoop(clock);
  }
}

const total = WRITERS * changes_of_writer;
const versions = new Map<string, number>();
let read = 0;
async function reader(): Promise<void> {
  const documents = open();
  while (read < total) {
    const page = await readChanges(documents, read, PAGE, null);
    assert(page !== "expired", `the change after ${read} is gone`);
    for (const { seq, company_id, version } of page.changes) {
      assert.equal(seq, ++read, "a number is missing or there twice");
      assert.equal(version, (versions.get(company_id) ?? 0) + 1, `${company_id} is out of order`);
      versions.set(company_id, version);
    }
    if (page.changes.length < PAGE) await sleep(IDLE_MS);
  }
}

try {
  const cpu = process.cpuUsage();
  const began = performance.now();
  let written_s = 0;
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number, began))).then(
    () => {
      written_s = (performance.now() - began) / 1_000;
      isWriting = false;
    },
  );
  await Promise.all([writing, sequencer(), reader()]);
  const read_s = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  assert.deepEqual(versions, written);
  const after = await readChanges(open(), read, 10, null);
  assert(after !== "expired" && after.changes.length === 0, "there is more than was written");
  process.stdout.write(
    `${JSON.stringify(
      {
        engine: options.mongo ? "mongodb" : "sqlite",
        changes: total,
        planned_a_second: rate,
        in_flight_of_a_writer: in_flight,
        written_a_second: Math.round(total / written_s),
        read_a_second: Math.round(total / read_s),
        behind_the_last_write_s: Number((read_s - written_s).toFixed(2)),
        longest_wait_for_a_number_ms: Math.round(longest_ms),
        writes_refused: refused,
        cpu_ms_a_change: Number(((user + system) / 1_000 / total).toFixed(2)),
        lost: 0,
        twice: 0,
        out_of_order: 0,
        load: loadavg().map((each) => Number(each.toFixed(1))),
      },
      null,
      2,
    )}\n`,
  );
} finally {
  for (const documents of opened) await documents.close();
  await shared?.close();
  await engine?.stop();
  rmSync(folder, { recursive: true });
}
