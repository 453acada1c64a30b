/**
 * Stores that refuse writes or are slow, by the engines themselves: PostgreSQL below FerretDB set read-only, an S3 gateway
 * that is read-only, one that does not know the credentials any more, and links that delay each packet.
 */
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start as startEngine } from "../../ops/engines/adapters/process.ts";
import type { Engine, Program } from "../../ops/engines/engine.ts";
import { engineProgram, ownEngine } from "../harness/engines.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { type Link, linkTo } from "../harness/tcp-link.ts";
import { article, type Web, web } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
/** Time under load with a store that refuses: REFUSED_S=30 for a soak. */
const REFUSED_MS = 1_000 * Number(process.env["REFUSED_S"] ?? 2);
const BACK_MS = 5_000;
/** A request that waits for a store is answered after three seconds. */
const DEADLINE_MS = 10_000;

const documents = await engineProgram("documents");
const blobs = await engineProgram("blobs");
const isFerret = documents?.title.includes("FerretDB") === true;
const isGateway = blobs?.title.includes("versitygw") === true;

/** The first process of the PostgreSQL that keeps its data in this folder. */
function postmasterOf(folder: string): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      if (!/\/postgres\0-D\0/.test(command)) return false;
      return readFileSync(`/proc/${pid}/mountinfo`, "latin1").includes(folder);
    } catch {
      return false; // It has just ended.
    }
  });
  if (found === undefined) throw new Error(`There is no PostgreSQL with its data in "${folder}"`);
  return Number(found);
}

/** The same gateway over the same files, with something changed in its command. */
async function secondGateway(
  first: Engine,
  change: (words: readonly string[]) => readonly string[],
): Promise<Engine> {
  const data = join(dirname(first.log), "data");
  const program: Program = {
    ...blobs!,
    prepare: async () => {},
    command: (_, port) => change(blobs!.command(data, port)),
    // It refuses what the first one is asked at its start.
    answers: async (port) => (await fetch(`http://127.0.0.1:${port}/`)).status > 0,
  };
  return startEngine(program);
}

describe.skipIf(!isFerret || !isGateway)("a service on FerretDB and S3", () => {
  const open: (() => Promise<unknown>)[] = [];
  let sites: Web;
  let ferret: Engine;
  let gateway: Engine;
  let to_documents: Link;
  let to_blobs: Link;
  let service: Service;
  let origin: string;
  let asked = 0;

  beforeAll(async () => {
    sites = await web();
    open.push(() => sites.close());
    [ferret, gateway] = (await Promise.all([ownEngine("documents"), ownEngine("blobs")])) as [Engine, Engine];
    open.push(
      () => ferret.stop(),
      () => gateway.stop(),
    );
    [to_documents, to_blobs] = await Promise.all([linkTo(ferret.port), linkTo(gateway.port)]);
    open.push(
      () => to_documents.close(),
      () => to_blobs.close(),
    );
    service = await start({
      ...ferret.settings,
      ...gateway.settings,
      TRAWL_DOCUMENTS: `mongodb://127.0.0.1:${to_documents.port}/trawl?retryWrites=false`,
      S3_ENDPOINT: `http://127.0.0.1:${to_blobs.port}`,
      TRAWL_DNS_SERVERS: sites.dns,
    });
    open.push(() => service.close());
    ({ origin } = sites.site({ "*": ({ path }) => ({ body: article(`Page ${path}`) }) }));
  });
  afterAll(async () => {
    for (const close of open.toReversed()) await close();
  });

  interface Answer {
    readonly status: number;
    readonly detail: string;
    readonly ms: number;
    readonly body_url: string | null;
  }

  async function ask(): Promise<Answer[]> {
    const url = `${origin}/${asked++}`;
    const job = { idempotency_key: `k${asked}`, items: [{ url }] };
    const calls = [
      ["/v1/fetch", { url }],
      ["/v1/batch/fetch", job],
    ] as const;
    return Promise.all(
      calls.map(async ([path, body]) => {
        const began_ms = performance.now();
        const { status, json } = await service.call("POST", path, { body });
        const detail = String(json?.detail ?? json?.error ?? null);
        return { status, detail, ms: performance.now() - began_ms, body_url: json?.body_url ?? null };
      }),
    );
  }

  async function askFor(ms: number): Promise<Answer[]> {
    const answers: Promise<Answer[]>[] = [];
    for (const over_ms = performance.now() + ms; performance.now() < over_ms; await sleep(50))
      answers.push(ask());
    return (await Promise.all(answers)).flat();
  }

  async function isBack(): Promise<boolean> {
    const { status } = await service.call("GET", "/ready", { key: null });
    return status === 200 && (await ask()).every((answer) => answer.status < 300);
  }

  /** What callers see while a store refuses, and whether everything is back in time. */
  async function whileRefused(check: string, refuse: () => void, allow: () => void) {
    refuse();
    const readiness = () => service.call("GET", "/ready", { key: null });
    const answers = await askFor(REFUSED_MS);
    const ready = await readiness();
    allow();
    await expect.poll(isBack, { timeout: BACK_MS, interval: 100 }).toBe(true);
    const bodies = answers.flatMap(({ body_url }) => (body_url === null ? [] : [body_url]));
    const stored = await Promise.all(bodies.map((url) => service.call("GET", url)));
    const refused = answers.filter(({ status }) => status >= 300);
    return {
      ready: `${ready.status} ${ready.json.checks[check]}`,
      told: [...new Set(refused.map(({ status, detail }) => `${status} ${detail}`))],
      lost: stored.filter(({ status }) => status !== 200).length,
      late: answers.filter(({ ms }) => ms > DEADLINE_MS).length,
    };
  }

  test("that is set read-only below the document store answers 503, and works again when it may write", async () => {
    const folder = join(dirname(ferret.log), "data");
    const file = `${folder}/postgresql/postgresql.conf`;
    const conf = readFileSync(file, "utf8");
    const postmaster = postmasterOf(basename(dirname(folder)));
    const set = (how: () => void) => () => {
      how();
      process.kill(postmaster, "SIGHUP");
    };
    const { ready, told, lost, late } = await whileRefused(
      "documents",
      set(() => appendFileSync(file, "\ndefault_transaction_read_only = on\n")),
      set(() => writeFileSync(file, conf)),
    );
    expect({ ready, lost, late }).toEqual({ ready: "503 read_only", lost: 0, late: 0 });
    expect(told).toEqual(["503 document storage is read-only, try again"]);
  }, 60_000);

  test.each([
    [
      "read-only",
      (words: readonly string[]) => words.toSpliced(words.indexOf("posix"), 0, "--readonly"),
      /^503 object storage (?:is read-only|refuses this service), try again$/,
      /^503 (?:read_only|access_denied)$/,
    ],
    [
      "without the credentials it had",
      (words: readonly string[]) =>
        words.map((word) => (word.startsWith("ROOT_SECRET_KEY=") ? "ROOT_SECRET_KEY=another-secret" : word)),
      /^503 object storage refuses this service, try again$/,
      /^503 access_denied$/,
    ],
  ])(
    "whose S3 is %s answers 503, and works again as before",
    async (_, change, detail, state) => {
      const other = await secondGateway(gateway, change);
      try {
        const { ready, told, lost, late } = await whileRefused(
          "object_storage",
          () => to_blobs.lead(other.port),
          () => to_blobs.lead(gateway.port),
        );
        expect({ lost, late }).toEqual({ lost: 0, late: 0 });
        expect(ready).toMatch(state);
        expect(told.filter((text) => !detail.test(text))).toEqual([]);
        expect(told.length).toBeGreaterThan(0);
      } finally {
        await other.stop();
      }
    },
    60_000,
  );

  test("whose stores take 200 ms longer for each packet is slow, and answers everything", async () => {
    to_documents.slow(200);
    to_blobs.slow(200);
    const answers = [...(await ask()), ...(await ask())];
    const { status } = await service.call("GET", "/ready", { key: null });
    to_documents.slow(0);
    to_blobs.slow(0);
    expect([status, answers.filter((answer) => answer.status >= 300)]).toEqual([200, []]);
    await expect.poll(isBack, { timeout: BACK_MS, interval: 100 }).toBe(true);
  }, 60_000);
});
