/**
 * node bench/filings.bench.ts [slots [cases]]: how many requests reach the filing system in the worst sliding second, as the
 * system itself sees it, and how long a single caller waits.
 *
 * Owners are processes of their own, each with a limiter that believes to be the only one of its egress, on one document
 * store; the system is a server on loopback that notes when each request's head came. Everything is real time: 10,000
 * slots at 8 a second take 21 minutes, so the four cases run beside each other, each with an egress of its own.
 */
import { randomInt } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { sendWithSlot, usableSlot } from "../actors/sources/upstream/slot-egress.ts";
import { filingLimiterActor } from "../actors/sources/filings/upstream/limiter.ts";
import { destination } from "../actors/lib/web/destination.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { mongoDocuments } from "../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { embedded } from "../cluster/embedded.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { start } from "../ops/engines/adapters/process.ts";
import { find, placeOf } from "../ops/engines/install.ts";
import { FilingLimiter } from "../schemas/filing-source.ts";
import { worstSecond } from "../test/harness/edgar.ts";
import { machine } from "./harness.ts";
import { SILENT_METRICS } from "../cluster/ports/metrics.ts";
import { SILENT_LOG } from "../cluster/ports/log.ts";

const ME = fileURLToPath(import.meta.url);
const RPS = 8;
/** As many wait as a batch keeps waiting. */
const WAITING = 12;

const open = (address: string): Documents =>
  address.startsWith("mongodb") ? mongoDocuments(address) : sqliteDocuments(address);

function limiterOn(documents: Documents) {
  const clock = systemClock();
  const random = systemRandom();
  const limiter = filingLimiterActor({
    documents,
    clock,
    metrics: SILENT_METRICS,
    log: SILENT_LOG,
    requests_per_second: RPS,
  });
  const { ask } = embedded([limiter], { clock, random, documents });
  return { ask, clock };
}

/** A process that asks for as many slots as it gets, and uses each. */
async function own(egress: string, address: string, system: string): Promise<never> {
  const { ask, clock } = limiterOn(open(address));
  const send = sendWithSlot(undiciEgress({ judge: destination({ allow: ["127.0.0.0/8"] }) }), clock);
  let asked = 0;
  const caller = async (): Promise<never> => {
    for (;;) {
      const slot_id = `${process.pid}.${asked++}`;
      try {
        const acquireRequest = { slot_id, project: "bench", lane: "batch", wait_max_ms: 10_000 } as const;
        const asked_ms = clock.mono();
        const answer = await ask(FilingLimiter, egress, "acquire", acquireRequest);
        if (answer.kind === "refused") {
          await sleep(100);
          continue;
        }
        const { slot } = answer;
        const sent = await send(usableSlot(answer, asked_ms), {
          url: `${system}/${egress}`,
          method: "GET",
          headers: [],
          signal: AbortSignal.timeout(30_000),
          ownsKey: () => {
            process.stdout.write(`${performance.timeOrigin + performance.now()}\n`);
            return true;
          },
        });
        if (sent.kind === "answered") await Array.fromAsync(sent.body);
        const result = sent.kind === "expired" ? "dropped" : "answered";
        const outcome = { slot_id, slot, result, retry_after_s: null, reason: null } as const;
        await ask(FilingLimiter, egress, "recordOutcome", outcome);
      } catch (problem) {
        if (!(problem instanceof Fault)) throw problem;
        await sleep(200);
      }
    }
  };
  await Promise.all(Array.from({ length: WAITING }, caller));
  throw new Error("Every caller has ended");
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;

async function idle(title: string, documents: Documents): Promise<void> {
  const { ask } = limiterOn(documents);
  const waits: number[] = [];
  for (let n = 0; n < 310; n++) {
    await sleep(130 + randomInt(60));
    const slot_id = String(n);
    const acquireRequest = { slot_id, project: "bench", lane: "sync", wait_max_ms: 10_000 } as const;
    const began = performance.now();
    const answer = await ask(FilingLimiter, "idle", "acquire", acquireRequest);
    if (n >= 10) waits.push(performance.now() - began);
    if (answer.kind === "refused") throw new Error(answer.error);
    const outcome = {
      slot_id,
      slot: answer.slot,
      result: "answered",
      retry_after_s: null,
      reason: null,
    } as const;
    await ask(FilingLimiter, "idle", "recordOutcome", outcome);
  }
  waits.sort((a, b) => a - b);
  const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
  console.log(
    `| ${title} | ${waits.length} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${waits.at(-1)!.toFixed(1)} |`,
  );
}

async function main(slots: number, wanted: RegExp): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-filings-"));
  const found = await find(
    "documents",
    placeOf(process.env, homedir(), false, () => {}),
  );
  const engine = found.kind === "program" ? await start(found.program) : null;
  const mongo = engine
    ? engine.settings["TRAWL_DOCUMENTS"]!.replace(/\/[^/?]*(?=\?|$)/, "/filings-bench")
    : null;
  const sqlite = join(folder, "documents.sqlite");
  console.log(
    `${machine()}; documents: ${engine ? engine.title : "SQLite only: no MongoDB engine installed"}\n`,
  );

  console.log(
    "| idle, documents in | slots | wait p50 ms | p99 | max |\n| --- | ---: | ---: | ---: | ---: |",
  );
  const embedded_store = sqliteDocuments(join(folder, "idle.sqlite"));
  await idle("SQLite", embedded_store);
  await embedded_store.close();
  if (mongo) {
    const shared_store = mongoDocuments(mongo);
    await idle("MongoDB", shared_store);
    await shared_store.close();
  }

  const left = new Map<string, number[]>();
  const arrivals = new Map<string, number[]>();
  const system = createServer((request, response) => {
    const egress = request.url!.slice(1);
    const moments = arrivals.get(egress) ?? [];
    moments.push(performance.now());
    arrivals.set(egress, moments);
    response.end("{}");
  });
  system.keepAliveTimeout = 60_000;
  system.listen(0, "127.0.0.1");
  await once(system, "listening");
  const url = `http://127.0.0.1:${(system.address() as AddressInfo).port}`;
  const living = new Set<ChildProcess>();
  const owner = (egress: string, address: string): ChildProcess => {
    const child = spawn(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", ME, "own", egress, address, url],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const moments = left.get(egress) ?? [];
    left.set(egress, moments);
    let rest = "";
    child.stdout.on("data", (text: Buffer) => {
      const lines = (rest + text.toString()).split("\n");
      rest = lines.pop()!;
      moments.push(...lines.map(Number));
    });
    living.add(child);
    child.once("exit", () => living.delete(child));
    return child;
  };
  let isOver = false;
  /** Again and again until the end. */
  const everySoOften = async (every_ms: number, what: () => Promise<void>): Promise<void> => {
    for (;;) {
      await sleep(every_ms);
      if (isOver) return;
      await what();
    }
  };

  const cases: Record<string, string> = {};
  const disturbances: Promise<void>[] = [];
  for (const [store, address] of [
    ["SQLite", sqlite],
    ["MongoDB", mongo],
  ] as const) {
    const begin = async (name: string, title: string): Promise<(() => ChildProcess) | null> => {
      const egress = `${store.toLowerCase()}-${name}`;
      if (address === null || !wanted.test(egress)) return null;
      cases[egress] = `${store}, ${title}`;
      // Programs that start all at once would be what is measured.
      await sleep(3_000);
      return () => owner(egress, address);
    };
    (await begin("one", "one owner"))?.();
    const two = await begin("two", "two owners at once");
    two?.();
    two?.();
    const again = await begin("killed", "its owner killed (kill -9) every 30 s and started anew");
    if (again) {
      let victim = again();
      disturbances.push(
        everySoOften(30_000, async () => {
          victim.kill("SIGKILL");
          victim = again();
        }),
      );
    }
    const paused = await begin("paused", "two owners, one stopped for 5 s every 30 s");
    if (paused) {
      const sleeper = paused();
      paused();
      disturbances.push(
        everySoOften(30_000, async () => {
          sleeper.kill("SIGSTOP");
          await sleep(5_000);
          sleeper.kill("SIGCONT");
        }),
      );
    }
  }
  const began = performance.now();
  const most_ms = (slots / RPS) * 1_000 * 1.3 + 30_000;
  while (performance.now() - began < most_ms) {
    await sleep(1_000);
    const counts = Object.keys(cases).map((egress) => arrivals.get(egress)?.length ?? 0);
    if (Math.min(...counts) >= slots) break;
  }
  isOver = true;
  for (const child of living) {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
  }
  console.log(
    "\n| saturated | slots used | worst second as sent | as it arrived | a second on average | longest delay ms |\n| --- | ---: | ---: | ---: | ---: | ---: |",
  );
  let worst = 0;
  for (const [egress, title] of Object.entries(cases)) {
    const moments = arrivals.get(egress) ?? [];
    const per_s = ((moments.length - 1) * 1_000) / (moments.at(-1)! - moments[0]!);
    const delay = Math.max(...moments.slice(1).map((at, n) => at - moments[n]!));
    const sent = worstSecond((left.get(egress) ?? []).toSorted((a, b) => a - b));
    worst = Math.max(worst, sent);
    console.log(
      `| ${title} | ${moments.length} | ${sent} | ${worstSecond(moments)} | ${per_s.toFixed(2)} | ${delay.toFixed(0)} |`,
    );
  }
  await Promise.all(disturbances.map((one) => Promise.race([one, sleep(100)])));
  system.close();
  system.closeAllConnections();
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(worst > 10 ? 1 : 0);
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === "own") await own(...(rest as [string, string, string]));
else await main(Number(mode ?? 10_000), new RegExp(rest[0] ?? ""));
