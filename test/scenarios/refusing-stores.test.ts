/**
 * Stores that refuse writes or are slow, by the engines themselves: PostgreSQL below FerretDB set read-only, or with a full disk;
 * a FerretDB and an S3 gateway that do not know the service's credentials any more, a read-only gateway, and links that delay each
 * packet.
 */
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start as startEngine } from "../../ops/engines/adapters/process.ts";
import type { Engine, Program } from "../../ops/engines/engine.ts";
import { engineProgram, ownEngine } from "../harness/engines.ts";
import { duringOutage, isBack, OUTAGE_TEST_MS } from "../harness/outage.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { hasSmallDisks, onDisk, type SmallDisk, smallDisk } from "../harness/small-disk.ts";
import { type Link, linkTo } from "../harness/tcp-link.ts";
import { article, type Web, web } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;

const documents = await engineProgram("documents");
const blobs = await engineProgram("blobs");
const isFerret = documents?.title.includes("FerretDB") === true;
const isGateway = blobs?.title.includes("versitygw") === true;

/** The first process whose command matches, among those that see this folder below a mount of theirs. */
function processBelow(folder: string, command: RegExp): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      return command.test(words) && readFileSync(`/proc/${pid}/mountinfo`, "latin1").includes(folder);
    } catch {
      return false; // It has just ended.
    }
  });
  if (found === undefined) throw new Error(`No process ${String(command)} has its data in "${folder}"`);
  return Number(found);
}

/** Starts another gateway over the same files, with a change in its command. */
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

/** Another FerretDB over the same PostgreSQL, which wants credentials and knows none. */
async function ferretWithCredentials(folder: string): Promise<Engine> {
  const pid = processBelow(folder, /ferretdb\0--telemetry/);
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
  const program: Program = {
    ...documents!,
    prepare: async () => {},
    command: (data, port) => [
      "nsenter",
      `--target=${pid}`,
      "--mount",
      "--",
      ...words
        .filter((word) => word !== "--no-auth")
        .map((word) => word.replace(/^--listen-addr=.*/, `--listen-addr=127.0.0.1:${port}`))
        .map((word) => word.replace(/^--state-dir=.*/, `--state-dir=${data}`)),
    ],
  };
  return startEngine(program);
}

describe.skipIf(!isFerret || !isGateway)("a service on FerretDB and S3", () => {
  const open: (() => unknown)[] = [];
  let sites: Web;
  let ferret: Engine;
  let gateway: Engine;
  let disk: SmallDisk | null = null;
  let to_documents: Link;
  let to_blobs: Link;
  let service: Service;
  let origin: string;

  beforeAll(async () => {
    sites = await web();
    open.push(() => sites.close());
    disk = hasSmallDisks() ? smallDisk("400m") : null;
    open.push(() => disk?.unmount());
    gateway = (await ownEngine("blobs"))!;
    open.push(() => gateway.stop());
    const startFerret = () => ownEngine("documents");
    ferret = (await (disk ? onDisk(disk, startFerret) : startFerret()))!;
    open.push(() => ferret.stop());
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

  const dataFolder = () => join(dirname(ferret.log), "data");

  test("that starts while its document store does not answer waits for it", async () => {
    await service.stop();
    to_documents.cut();
    const said = service.stderr().length;
    const starting = service.restart();
    await expect
      .poll(() => service.stderr().slice(said), { timeout: 30_000 })
      .toContain("The node cannot start yet");
    to_documents.heal({ reset: true });
    await starting;
    expect(await isBack(service, origin)).toBe(true);
  }, 90_000);

  test(
    "that is set read-only below the document store answers 503, and works again when it may write",
    async () => {
      const folder = dataFolder();
      const file = `${folder}/postgresql/postgresql.conf`;
      const conf = readFileSync(file, "utf8");
      const postmaster = processBelow(basename(dirname(folder)), /\/postgres\0-D\0/);
      const set = (how: () => void) => () => {
        how();
        process.kill(postmaster, "SIGHUP");
      };
      const { ready, told, lost, late } = await duringOutage(service, origin, {
        check: "documents",
        ready: "503 read_only",
        begin: set(() => appendFileSync(file, "\ndefault_transaction_read_only = on\n")),
        end: set(() => writeFileSync(file, conf)),
      });
      expect({ ready, lost, late }).toEqual({ ready: "503 read_only", lost: 0, late: 0 });
      expect(told).toEqual(["503 document storage is read-only, try again"]);
    },
    OUTAGE_TEST_MS,
  );

  test(
    "whose document store has no room left answers 503, and works again when there is some",
    async ({ skip }) => {
      if (disk === null) return skip("it needs the right to mount");
      const outage = { check: "documents", begin: disk.fill, end: disk.free };
      const { ready, told, lost, late } = await duringOutage(service, origin, outage);
      expect({ lost, late }).toEqual({ lost: 0, late: 0 });
      // PostgreSQL takes writes for which it has pages of its own left.
      expect(ready).toMatch(/^(?:503 (?:full|unavailable)|200 ok)$/);
      const said = /^503 document storage is (?:full|briefly unavailable), try again$/;
      expect(told.filter((text) => !said.test(text))).toEqual([]);
    },
    OUTAGE_TEST_MS,
  );

  test(
    "whose document store does not know its credentials any more answers 503, and works again as before",
    async () => {
      const other = await ferretWithCredentials(basename(dirname(dataFolder())));
      try {
        const { ready, told, lost, late } = await duringOutage(service, origin, {
          check: "documents",
          ready: "503 access_denied",
          begin: () => to_documents.lead(other.port),
          end: () => to_documents.lead(ferret.port),
        });
        expect({ ready, lost, late }).toEqual({ ready: "503 access_denied", lost: 0, late: 0 });
        const said =
          /^503 (?:document storage (?:refuses this service|is briefly unavailable)|authentication is briefly unavailable), try again$/;
        expect(told.filter((text) => !said.test(text))).toEqual([]);
        expect(told.length).toBeGreaterThan(0);
      } finally {
        await other.stop();
      }
    },
    OUTAGE_TEST_MS,
  );

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
    async (_, change, said, state) => {
      const other = await secondGateway(gateway, change);
      try {
        const { ready, told, lost, late } = await duringOutage(service, origin, {
          check: "object_storage",
          begin: () => to_blobs.lead(other.port),
          end: () => to_blobs.lead(gateway.port),
        });
        expect({ lost, late }).toEqual({ lost: 0, late: 0 });
        expect(ready).toMatch(state);
        expect(told.filter((text) => !said.test(text))).toEqual([]);
        expect(told.length).toBeGreaterThan(0);
      } finally {
        await other.stop();
      }
    },
    OUTAGE_TEST_MS,
  );

  test(
    "whose stores take 200 ms longer for each packet is slow: nothing that was answered is lost, and what is not says so",
    async () => {
      const delay = (ms: number) => () => [to_documents, to_blobs].forEach((link) => link.slow(ms));
      const { ready, told, lost, answers } = await duringOutage(service, origin, {
        check: "documents",
        begin: delay(200),
        end: delay(0),
      });
      expect(lost).toBe(0);
      // The probe of a store has five seconds, which it needs when the load has filled the link.
      expect(ready).toMatch(/^(?:200 ok|503 unavailable)$/);
      // 503 before the work has begun, 504 when it goes on.
      expect(told.filter((text) => !/^50[34] /.test(text))).toEqual([]);
      expect(answers).toBeGreaterThan(0);
    },
    OUTAGE_TEST_MS,
  );
});
