/** The key of stored secrets: its first start, nodes that have another, its change beside a running service, its loss. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { SESSIONS } from "../../actors/crawl/fetch/collections.ts";
import { sessions } from "../../actors/crawl/fetch/sessions.ts";
import { EMPTY_JAR } from "../../actors/lib/web/session-jar.ts";
import { NO_SECRETS, secretsOpener, withSecrets } from "../../actors/lib/web/session-secrets.ts";
import { sessionKey } from "../../schemas/sessions.ts";
import { ALERT_HOOKS } from "../../actors/business/accounts/collections.ts";
import { addHook, hookView, listHooks } from "../../actors/business/accounts/alerts.ts";
import { COMPANY_WATCHES } from "../../actors/sources/companies/watch.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { newSecretKey } from "../../cluster/adapters/secrets/secrets.aes.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { readConfig } from "../../ops/config.ts";
import { resealAll, sealedCollections } from "../../ops/reseal.ts";
import { rotateSecrets, secretsStatus } from "../../ops/rotate-secrets.ts";
import { sealAll } from "../../ops/seal-all.ts";
import { readKeyFile, writeKeyFile } from "../../ops/secrets-file.ts";
import { followSecrets, openSecrets, secretsPath } from "../../ops/secrets.ts";
import type { AlertScope } from "../../schemas/alerts.ts";
import { callbackPlace } from "../../schemas/jobs.ts";
import { oneCluster } from "../harness/jobs-harness.ts";
import { secretsOf } from "../harness/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-secrets-ops-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;

const URL_ = "https://someone:planted-1@client.example/hook?token=planted-2";
const SECRET = "whsec_planted3planted3planted3planted3x";
const HOOK = {
  customer: "acme",
  url: URL_,
  scope: "customer" as AlertScope,
  account: "acme",
  key: null,
  project: null,
  thresholds: [80],
  secret: SECRET,
  created_ms: 1,
};

/** A data folder of its own, or the operator's file of keys. */
function nodeOf(documents: Documents, key_file?: string) {
  const data = join(folder, String(count++));
  const environment = {
    TRAWL_DATA_DIR: data,
    ...(key_file !== undefined && { TRAWL_SECRETS_KEY_FILE: key_file }),
  };
  const config = readConfig(environment);
  const clock = virtualClock(0);
  return {
    config,
    clock,
    path: secretsPath(config),
    open: () => openSecrets(config, documents, clock),
    rotate: (lost = false, wait: (ms: number) => Promise<unknown> = async () => {}) =>
      rotateSecrets(config, documents, { lost, wait, now: () => clock.now() }),
    status: () => secretsStatus(config, documents),
  };
}

const stored = async (documents: Documents): Promise<string> =>
  JSON.stringify(
    await Promise.all(
      [ALERT_HOOKS.name, COMPANY_WATCHES.name, "job", "job_items"].map((name) =>
        documents.list(name, { limit: 100 }),
      ),
    ),
  );

describe("the first start", () => {
  test("makes a key that only the owner of the data reads, and later starts use it", async () => {
    const documents = memoryDocuments();
    const node = nodeOf(documents);
    const secrets = await node.open();
    expect(statSync(node.path).mode & 0o777).toBe(0o600);
    const sealed = secrets.seal("a", callbackPlace("j"));
    expect((await node.open()).open(sealed, callbackPlace("j"))).toBe("a");
    expect(JSON.stringify(await documents.list("secrets", { limit: 10 }))).not.toContain(
      readFileSync(node.path, "utf8").split("\n")[1]!.split(" ")[0]!,
    );
  });

  test("takes the operator's file, and refuses one that is not there or has no key", async () => {
    const file = join(folder, "operators.key");
    const documents = memoryDocuments();
    await expect(nodeOf(documents, file).open()).rejects.toThrow(
      /TRAWL_SECRETS_KEY_FILE names .* no such file/,
    );
    writeFileSync(file, "# nothing\n");
    await expect(nodeOf(documents, file).open()).rejects.toThrow("it has 0 keys, and 1 to 20 are expected");
    writeFileSync(file, `${Buffer.alloc(31).toString("base64")}\n`);
    await expect(nodeOf(documents, file).open()).rejects.toThrow("key 1 is not 32 bytes in base64");
    const key = newSecretKey();
    writeFileSync(file, `${key.bytes.toString("base64")}\n`);
    expect((await nodeOf(documents, file).open()).current().id).toBe(key.id);
  });

  test("of two nodes at once leaves one key; the node with the other one does not start", async () => {
    const documents = memoryDocuments();
    const outcomes = await Promise.allSettled([nodeOf(documents).open(), nodeOf(documents).open()]);
    const [started, refused] = outcomes.toSorted((a, b) => a.status.localeCompare(b.status));
    expect(started!.status).toBe("fulfilled");
    expect(String((refused as PromiseRejectedResult).reason)).toMatch(
      /the documents are sealed with key "[0-9a-f]{8}", and ".*" has "[0-9a-f]{8}".*TRAWL_SECRETS_KEY_FILE/,
    );
  });
});

test("a node without the key of the documents says which key it lacks and makes none", async () => {
  const documents = memoryDocuments();
  const { id } = (await nodeOf(documents).open()).current();
  const other = nodeOf(documents);
  await expect(other.open()).rejects.toThrow(`sealed with key "${id}", and "${other.path}" does not exist`);
  expect(readKeyFile(other.path)).toBeNull();
});

/** A webhook, a watch, and a running job with a callback and a private item, as an older version stored them. */
async function inClear(documents: Documents) {
  const plain = { seal: (text: string) => text } as unknown as ReturnType<typeof secretsOf>;
  await addHook({ documents, secrets: plain }, HOOK);
  const watch = { id: "wch_0123456789abcdef", project: "p", url: URL_, secret: SECRET, companies: [] };
  await documents.put(COMPANY_WATCHES.name, watch.id, watch, 0, { tag: "p" });
  await documents.put(
    "job_items",
    "j:00000",
    { items: [{ url: URL_ }, { url: "https://open.example/" }], chars: 9 },
    0,
  );
}

describe("texts in clear", () => {
  test("of an older version are read, and sealed once a node runs", async () => {
    const documents = memoryDocuments();
    await inClear(documents);
    const node = nodeOf(documents);
    const secrets = await node.open();
    expect(secrets.isAllSealed).toBe(false);
    expect(hookView((await listHooks(documents, "acme"))[0]!, secrets).url).toBe(
      "https://***@client.example/hook?token=***",
    );
    expect(await stored(documents)).toContain("planted");
    const work = sealAll({ documents, secrets, clock: node.clock, log: silentTelemetry().log });
    await node.clock.advance(1_000);
    await expect.poll(async () => (await node.status()).all_sealed).toBe(true);
    work[Symbol.dispose]();
    expect(await stored(documents)).not.toContain("planted");
    expect(await stored(documents)).toContain("https://open.example/");
    const [hook] = await listHooks(documents, "acme");
    expect(
      secrets.open(hook!.secret, { collection: ALERT_HOOKS.name, key: "acme 000000001", field: "secret" }),
    ).toBe(SECRET);
    expect(await documents.list(COMPANY_WATCHES.name, { tag: "p", limit: 9 })).toHaveLength(1);
    expect((await node.open()).isAllSealed).toBe(true);
  });
});

describe("a change of the key", () => {
  async function used() {
    const documents = memoryDocuments();
    const node = nodeOf(documents);
    const secrets = await node.open();
    await addHook({ documents, secrets }, HOOK);
    return { documents, node, secrets };
  }

  test("seals everything with a new key, and removes the former one from the file that Trawl made", async () => {
    const { documents, node, secrets } = await used();
    const former = secrets.current().id;
    const { key, changed, unreadable, advice } = await node.rotate();
    expect([changed, unreadable]).toEqual([1, 0]);
    expect(key).not.toBe(former);
    expect(advice).toContain("keep a copy");
    expect(readKeyFile(node.path)!.map(({ id }) => id)).toEqual([key]);
    expect(await stored(documents)).not.toContain(former);
    expect(hookView((await listHooks(documents, "acme"))[0]!, await node.open()).url).toContain(
      "client.example",
    );
    expect(await node.status()).toMatchObject({
      all_sealed: true,
      keys: [{ id: key, in_file: true, use: "seals" }],
    });
  });

  test("seals the cookies and the secrets of sessions anew", async () => {
    const { documents, node, secrets } = await used();
    const now = (): number => node.clock.now();
    const jar = { text: EMPTY_JAR, count: 0 };
    const written = withSecrets(NO_SECRETS, { word: { value: "planted-4" } });
    const { id } = (await sessions({ documents, secrets, now }).create("p", {}, jar, written))!;
    const former = secrets.current().id;
    const { changed, unreadable } = await node.rotate();
    expect([changed, unreadable]).toEqual([2, 0]);
    const open = secretsOpener(await node.open());
    const session = (await SESSIONS.get(documents, sessionKey("p", id)))!;
    expect(JSON.stringify(session)).not.toMatch(new RegExp(`planted|${former}`));
    const asked = { url: "https://shop.example/in", project: "p", session_id: id };
    expect(open({ ...asked, session_secrets: session.secrets! }, ["word"])).toEqual(
      new Map([["word", { value: "planted-4", origin: "https://shop.example" }]]),
    );
  });

  test("is followed by a node that runs: it reads at once and seals with the new key within five seconds", async () => {
    const { documents, node, secrets } = await used();
    const following = followSecrets(secrets, { clock: node.clock, log: silentTelemetry().log });
    // The command waits for running nodes; meanwhile they go on.
    const rotated = node.rotate(false, async (ms) => {
      await addHook({ documents, secrets }, HOOK);
      expect((await node.status()).keys.map(({ use }) => use)).toEqual(["seals", "reads"]);
      await node.clock.advance(ms);
      await expect.poll(async () => secrets.current().id).toBe((await node.status()).keys[0]!.id);
    });
    const { key } = await rotated;
    expect(secrets.current().id).toBe(key);
    for (const hook of await listHooks(documents, "acme")) {
      expect(hook.secret).toContain(key);
      expect(hookView(hook, secrets).url).toContain("client.example");
    }
    following[Symbol.dispose]();
  });

  test("that was interrupted goes on with its key; the former one reads until then", async () => {
    const { documents, node } = await used();
    const interrupted = node.rotate(false, () => Promise.reject(new Error("killed")));
    await expect(interrupted).rejects.toThrow("killed");
    expect(hookView((await listHooks(documents, "acme"))[0]!, await node.open()).url).toContain(
      "client.example",
    );
    const [next] = (await node.status()).keys;
    const { key, changed } = await node.rotate();
    expect([key, changed]).toEqual([next!.id, 1]);
    expect(readKeyFile(node.path)).toHaveLength(1);
  });

  test("of an operator's file takes its first key, and says what to remove", async () => {
    const documents = memoryDocuments();
    const file = join(folder, "shared.key");
    const [first, second] = [newSecretKey(), newSecretKey()];
    writeKeyFile(file, [first]);
    const node = nodeOf(documents, file);
    await addHook({ documents, secrets: await node.open() }, HOOK);
    await expect(node.rotate()).rejects.toThrow("Put a new key (openssl rand -base64 32) before it");
    writeKeyFile(file, [second, first]);
    const { key, changed, advice } = await node.rotate();
    expect([key, changed]).toEqual([second.id, 1]);
    expect(advice).toContain("Remove all keys but the first");
    expect(readKeyFile(file)).toHaveLength(2);
  });

  test("finds the job that runs: its actor goes on, and delivers the callback", async () => {
    const [before, after] = [newSecretKey(), newSecretKey()];
    const url = "https://client.example/done";
    const jobs = oneCluster({
      web: { [url]: { status: 204 } },
      run: () => ({ ms: 5_000 }),
      secrets: secretsOf(after, before),
    });
    const callback_url = secretsOf(before).seal(url, callbackPlace("j"));
    await jobs.create("j", ["https://a.example/"], { callback_url });
    await jobs.clock.advance(1_000);
    expect(await resealAll(jobs.stored, secretsOf(after, before))).toEqual({ changed: 1, unreadable: 0 });
    await jobs.finished("j");
    await jobs.clock.advance(60_000);
    const { spec, callback } = (await jobs.record("j"))!;
    expect(spec.callback_url).toContain(after.id);
    expect(callback).toMatchObject({ status: "delivered_204", attempts: 1 });
  });

  test("is told in the status of a callback whose key is lost, and costs no attempt to deliver it", async () => {
    const url = "https://client.example/done";
    const jobs = oneCluster({ web: { [url]: { status: 204 } } });
    const callback_url = secretsOf(newSecretKey()).seal(url, callbackPlace("j"));
    await jobs.create("j", ["https://a.example/"], { callback_url });
    await jobs.finished("j");
    await jobs.clock.advance(1_000);
    expect((await jobs.record("j"))!.callback).toMatchObject({ status: "error_secret_unreadable" });
    expect(jobs.egress.hits).toEqual([]);
  });
});

describe("a lost key", () => {
  test("keeps a rotation from beginning; --lost gives up what it sealed and nothing else", async () => {
    const documents = memoryDocuments();
    const first = nodeOf(documents);
    await addHook({ documents, secrets: await first.open() }, HOOK);
    await expect(first.rotate(true)).rejects.toThrow("it is not lost");
    rmSync(first.path);
    await expect(first.rotate()).rejects.toThrow("--lost gives up what it sealed");
    const { unreadable, key } = await first.rotate(true);
    expect(unreadable).toBe(2);
    expect(await listHooks(documents, "acme")).toEqual([]);
    expect((await first.open()).current().id).toBe(key);
  });
});

test("the collections with sealed texts are those of the features", async () => {
  expect(Object.keys(await sealedCollections()).toSorted()).toEqual(
    [
      ALERT_HOOKS.name,
      COMPANY_WATCHES.name,
      "crawl_webhooks",
      "crawls",
      "job",
      "job_items",
      "job_sinks",
      "monitors",
      "sessions",
    ].toSorted(),
  );
});
