/**
 * Data of version 0.1.0, written by that version's own program, run through by this one: jobs that were in flight when its processes were
 * killed, bodies, keys, the ledger. And the way back: a program refuses the data of a later one and leaves it as it is.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mongoDocuments } from "../../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { DATA_FORMAT } from "../../ops/data-format.ts";
import { EARLIER_VERSION } from "../harness/earlier-version.ts";
import { client, type Receiver, receiver } from "../harness/jobs-client.ts";
import { type Environment, type Service, SETUPS } from "../harness/service.ts";
import { article, type Page, type Site, type Web, web } from "../harness/web.ts";

const needs = EARLIER_VERSION === null ? " (needs it in /opt/trawl-0.1.0: .ci/run)" : "";
const IN_FLIGHT = 12;
const DONE = 20;

describe.skipIf(EARLIER_VERSION === null).each(SETUPS)(
  `data of version 0.1.0, $setup${needs}`,
  ({ start }) => {
    let sites: Web;
    let service: Service;
    let hook: Receiver;
    let quick: Site;
    let slow: Site;
    const items: { readonly url: string }[] = [];
    const before = { job_id: "", key: "", body_url: "", request_id: "" };
    const isUpgraded = Promise.withResolvers<void>();

    const isReady = async () => (await service.call("GET", "/ready", { key: null })).status === 200;
    const ready = () => vi.waitUntil(isReady, { timeout: 60_000 });
    const jobs = client({
      call: (method, path, options = {}) => service.call(method, path, { ...options, key: before.key }),
    });
    const createJob = () => jobs.create(items, { idempotency_key: "monday", callback_url: hook.url });

    beforeAll(async () => {
      sites = await web();
      hook = await receiver();
      quick = sites.site({ "*": { body: article("A page of the earlier version") } });
      slow = sites.site({
        "*": async (): Promise<Page> => {
          await isUpgraded.promise;
          return { body: article("A late page") };
        },
      });
      for (let n = 0; n < DONE; n++) items.push({ url: `${quick.origin}/${n}` });
      for (let n = 0; n < IN_FLIGHT; n++) items.push({ url: `${slow.origin}/${n}` });

      service = await start({ TRAWL_DNS_SERVERS: sites.dns }, EARLIER_VERSION!);
      await ready();
      await service.trawl("project", "create", "press");
      before.key = (await service.trawl("key", "create", "--project", "press")).key;
      const page = await service.fetch({ url: `${quick.origin}/stored` }, { key: before.key });
      assert.equal(page.error, null);
      Object.assign(before, { body_url: page.body_url, request_id: page.request_id });
      before.job_id = (await createJob()).json.job_id;
      const hasDone = async () => (await jobs.read(before.job_id)).counts.done === DONE;
      await vi.waitUntil(hasDone, { timeout: 30_000 });
      await slow.reached("/0");
      await service.kill();
      isUpgraded.resolve();
      await service.restart();
      await ready();
    });
    afterAll(async () => {
      await service?.close();
      hook?.server.close();
      await sites?.close();
    });

    test("is migrated, and says so", () => {
      expect(service.stderr()).toContain('"msg":"Stored data was migrated"');
    });

    test("has its job, which ends with every item done, and calls back once", async () => {
      expect((await jobs.finished(before.job_id)).counts).toMatchObject({
        done: DONE + IN_FLIGHT,
        failed: 0,
      });
      const found = await jobs.items(before.job_id);
      expect(found.map(({ status }) => status)).toEqual(items.map(() => "done"));
      for (let n = 0; n < DONE; n++) expect(quick.hits(`/${n}`), `/${n}`).toBe(1);
      await expect.poll(() => hook.received.length, { timeout: 30_000 }).toBe(1);
      expect(hook.received[0]).toMatchObject({ job_id: before.job_id, status: "completed" });
      const { problems } = await service.trawl("job", "verify", before.job_id);
      expect(problems).toEqual([]);
      expect((await createJob()).json).toMatchObject({ job_id: before.job_id, created: false });
    });

    test("has its bodies, keys and rows of the ledger; a page is fetched again", async () => {
      const { key } = before;
      const again = await service.fetch({ url: `${quick.origin}/stored` }, { key });
      expect(again).toMatchObject({ error: null, title: "A page of the earlier version" });
      const body = await service.call("GET", before.body_url, { key });
      expect([body.status, body.bytes.toString()]).toEqual([200, article("A page of the earlier version")]);
      const rows = async () =>
        (await service.call("GET", "/v1/requests", { key })).json.items.map((row: any) => row.request_id);
      await expect.poll(rows, { timeout: 30_000 }).toContain(before.request_id);
    });

    test("is refused by the earlier version afterwards, and by this one once a later version has it; it stays as it is", async () => {
      expect((await service.stop()).code).toBe(0);
      await expect(service.restart(EARLIER_VERSION!)).rejects.toThrow("The service ended while it started");
      await service.kill();
      // On a file that program fails before it reads the number: it writes documents without checksums.
      expect(service.stderr()).toMatch(
        /reads format 2\. Start the version that wrote it|7 columns but 6 values/,
      );

      await withFormat(service.environment, DATA_FORMAT + 1);
      await expect(service.restart()).rejects.toThrow("The service ended while it started");
      await service.kill();
      expect(service.stderr()).toContain(
        `it has format ${DATA_FORMAT + 1}, and this version reads format ${DATA_FORMAT}. Start the version that wrote it`,
      );
      await withFormat(service.environment, DATA_FORMAT);

      await service.restart();
      await ready();
      expect((await service.fetch({ url: `${quick.origin}/stored` }, { key: before.key })).cached).toBe(true);
      expect((await jobs.read(before.job_id)).counts.done).toBe(DONE + IN_FLIGHT);
    });
  },
);

/** Writes the number that a store of a service has which does not run. */
async function withFormat(environment: Environment, format: number): Promise<void> {
  const { TRAWL_DOCUMENTS, TRAWL_DATA_DIR } = environment;
  const documents = TRAWL_DOCUMENTS
    ? mongoDocuments(TRAWL_DOCUMENTS)
    : sqliteDocuments(join(TRAWL_DATA_DIR!, "documents.sqlite"));
  const { version } = (await documents.get("format", "data"))!;
  expect(await documents.put("format", "data", { format }, version)).toBe(true);
  await documents.close();
}
