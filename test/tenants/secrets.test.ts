/**
 * Secrets that clients and operators give the service, after real use: they are in clear in no store (the bytes of its files are
 * searched), in no backup, in no log line, and in no answer but the one that made them. Debug pages are open for their link
 * and for keys of their project, over HTTP.
 */
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineFolder } from "../harness/engines.ts";
import { foundIn } from "../harness/files-below.ts";
import { type Gleif, gleif, leiOf } from "../harness/gleif.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";
import { RECEIVER_CERTIFICATE, type WebhookReceiver, webhookReceiver } from "../harness/webhook-receiver.ts";

const LEI = leiOf("529900SECRET000001");
/** Its name is in clear in the stores. */
const OWN = `own-${randomBytes(6).toString("hex")}`;
const word = (): string => `s${randomBytes(12).toString("hex")}`;
/** Secrets that must not be found anywhere, by what they are. */
const PLANTED = {
  "the password of a callback": word(),
  "the query secret of a callback": word(),
  "the password of an alert": word(),
  "the query secret of an alert": word(),
  "the password of a watch": word(),
  "the query secret of a watch": word(),
  "the password of the proxy": word(),
  "the password of a page": word(),
};
type Planted = keyof typeof PLANTED;
const addressOf = (origin: string, of: string): string =>
  `${origin.replace("://", `://someone:${PLANTED[`the password of ${of}` as Planted]}@`)}/hook` +
  `?page=1&token=${PLANTED[`the query secret of ${of}` as Planted]}`;
const MASKED = /^https:\/\/\*\*\*@site\.test:\d+\/hook\?page=1&token=\*\*\*$/;

describe.each(SETUPS)("stored secrets, $setup", ({ setup, start }) => {
  let source: Gleif;
  let receiver: WebhookReceiver;
  const { sites, service } = scenario(start, async (web) => {
    web.name("site", ["127.0.0.1"]);
    source = await gleif();
    source.companies.set(LEI, { lei: LEI, name: "Watched AG" });
    receiver = await webhookReceiver();
    return {
      TRAWL_GLEIF_URL: source.url,
      TRAWL_CA_FILE: RECEIVER_CERTIFICATE,
      TRAWL_PROXY_URL: `http://someone:${PLANTED["the password of the proxy"]}@127.0.0.1:9`,
      TRAWL_LOG_LEVEL: "debug",
    };
  });
  const folder = mkdtempSync(join(tmpdir(), "trawl-secrets-"));
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    receiver.close();
    await source.close();
  });

  /** Secrets of answers, which the service drew. */
  const drawn: Record<string, string> = {};
  const keys = { own: "", foreign: "" };
  /** Addresses as the answers show them that made their webhooks. */
  const made: string[] = [];
  let job_id = "";
  let watch_id = "";

  beforeAll(async () => {
    const origin = `https://site.test:${receiver.port}`;
    await service.trawl("project", "create", OWN);
    await service.trawl("project", "create", "foreign");
    const quota = ["--quota", "fetch=2", "--debug"];
    keys.own = (await service.trawl("key", "create", "--project", OWN, ...quota)).key;
    keys.foreign = (await service.trawl("key", "create", "--project", "foreign")).key;
    Object.assign(drawn, { "a key": keys.own, "an admin key": service.key });
    const site = sites.site({ "*": { body: article("A page") } });

    const alert = await service.call("POST", "/v1/alerts", {
      key: keys.own,
      body: { url: addressOf(origin, "an alert"), scope: "key" },
    });
    drawn["the secret of an alert"] = alert.json.secret;
    const watch = await service.call("POST", "/v1/companies/watches", {
      body: { companies: [`lei:${LEI}`], url: addressOf(origin, "a watch") },
    });
    made.push(alert.json.url, watch.json.url);
    drawn["the secret of a watch"] = watch.json.secret;
    watch_id = watch.json.id;

    // Fails on every own route, so that the proxy is asked, too.
    await service.fetch({ url: `${site.origin}/one` }, { key: keys.own });
    await service.fetch({ url: "http://127.0.0.1:9/closed" });
    const page = site.origin.replace("://", `://someone:${PLANTED["the password of a page"]}@`);
    await service.fetch({ url: `${page}/private` });
    const jobs = client(service);
    // Readers of addresses leave control characters out.
    const disguised = `\u0001${page.replace("http", "ht\tt\np")}/disguised`;
    const created = await jobs.create(
      [{ url: `${site.origin}/item` }, { url: `${page}/item` }, { url: disguised }],
      { callback_url: addressOf(origin, "a callback") },
    );
    job_id = created.json.job_id;
    await jobs.finished(job_id);
    await service.fetch({ url: `${site.origin}/two` }, { key: keys.own });
    source.companies.set(LEI, { lei: LEI, name: "Renamed AG" });
    await service.call("GET", `/v1/companies/lei:${LEI}?refresh=true`);
  });

  test("are used as they were given: deliveries arrive, signed with the secret that the client was told", async () => {
    const typesOf = () => receiver.received.map(({ body }) => JSON.parse(body).type ?? JSON.parse(body).kind);
    await expect
      .poll(() => new Set(typesOf()), { timeout: 30_000 })
      .toEqual(new Set(["usage.threshold", "company.changed", "fetch"]));
    for (const { body, headers } of receiver.received) {
      const { type } = JSON.parse(body);
      const of =
        type === "usage.threshold" ? "an alert" : type === "company.changed" ? "a watch" : "a callback";
      if (of === "a callback") continue;
      const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"]))!;
      const secret = drawn[`the secret of ${of}`]!;
      expect(createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")).toBe(v1);
    }
  });

  test("are masked wherever an address is shown", async () => {
    const [alerts, watches, job, jobs] = await Promise.all([
      service.call("GET", "/v1/alerts", { key: keys.own }),
      service.call("GET", "/v1/companies/watches"),
      service.call("GET", `/v1/jobs/${job_id}?include=items`),
      service.call("GET", "/v1/jobs"),
    ]);
    expect(alerts.json.alerts).toMatchObject([
      { url: expect.stringMatching(MASKED), last_status: "delivered_204" },
    ]);
    expect(watches.json.watches).toMatchObject([{ id: watch_id, url: expect.stringMatching(MASKED) }]);
    for (const url of [...made, job.json.callback_url]) expect(url).toMatch(MASKED);
    expect(made).toHaveLength(2);
    expect(jobs.json.items[0].callback_url).toMatch(MASKED);
    const listed = await service.trawl("alert", "list", "default");
    const shown =
      [alerts, watches, job, jobs].map(({ bytes }) => bytes.toString()).join() + JSON.stringify(listed);
    for (const [what, secret] of Object.entries({ ...PLANTED, ...drawn }))
      expect([what, shown.includes(secret)]).toEqual([what, false]);
  });

  test("are told in no line of the log", () => {
    const logged = service.stderr();
    expect(logged).toContain("Listening");
    for (const [what, secret] of Object.entries({ ...PLANTED, ...drawn }))
      expect([what, logged.includes(secret)]).toEqual([what, false]);
  });

  test("open debug pages for an hour's link and for keys of the project, for nobody else", async () => {
    const site = sites.site({ "*": { body: article("Debugged") } });
    const debugging = (await service.trawl("key", "create", "--project", OWN, "--debug")).key;
    const { answer } = await service.fetch(
      { url: `${site.origin}/a?api_key=${PLANTED["the query secret of an alert"].toUpperCase()}` },
      { key: debugging, headers: { "x-service-debug": "1" } },
    );
    const link = new URL(answer.json.debug_url);
    const ask = async (target: string, key: string | null) => {
      const { status, bytes } = await service.call("GET", target, { key });
      return { status, text: bytes.toString() };
    };
    const own = await ask(link.pathname, keys.own);
    expect([own.status, own.text.includes("api_key=***")]).toEqual([200, true]);
    expect((await ask(link.pathname + link.search, null)).status).toBe(200);
    const refused = [
      [link.pathname, null, 401],
      [link.pathname, keys.foreign, 404],
      [link.pathname, `sk_${"x".repeat(43)}`, 401],
      [`${link.pathname}?expires=1&sig=${link.searchParams.get("sig")!}`, null, 401],
      [`${link.pathname}?expires=99999999999&sig=${link.searchParams.get("sig")!}`, null, 401],
      [`/debug/${"x".repeat(32)}${link.search}`, null, 401],
      [`/debug/${"x".repeat(32)}`, keys.own, 404],
    ] as const;
    for (const [target, key, status] of refused)
      expect([target, (await ask(target, key)).status]).toEqual([target, status]);
  });

  const isEmbedded = setup === "embedded";
  const keyFile = (): string =>
    service.environment["TRAWL_SECRETS_KEY_FILE"] ??
    join(service.environment["TRAWL_DATA_DIR"]!, "secrets.key");

  async function foundInStores(): Promise<readonly string[]> {
    const engines = await Promise.all(
      (["bus", "documents", "blobs"] as const).map((name) => engineFolder(name)),
    );
    const data = service.environment["TRAWL_DATA_DIR"]!;
    const folders = isEmbedded ? [data] : [data, ...engines.filter((one) => one !== null)];
    return folders.flatMap((folder_of_store) =>
      foundIn(folder_of_store, { ...PLANTED, ...drawn, "what is in clear": OWN }),
    );
  }
  /** A word in clear is found always, which shows that the search sees what is there. */
  const NONE = expect.arrayContaining([expect.stringMatching(/^what is in clear in /)]);

  test("are in no byte of the stores, before and after a change of the key", async () => {
    const before = await foundInStores();
    expect(before).toEqual(NONE);
    expect(before.filter((line) => !line.startsWith("what is in clear"))).toEqual([]);
    const former = readFileSync(keyFile(), "utf8");
    // The operator's file gets its new key from the operator.
    if (!isEmbedded) writeFileSync(keyFile(), `${randomBytes(32).toString("base64")}\n${former}`);
    const { key, changed, unreadable } = await service.trawl("secrets", "rotate");
    expect({ changed, unreadable }).toEqual({ changed: 4, unreadable: 0 });
    const { all_sealed, keys: known } = await service.trawl("secrets", "status");
    expect([all_sealed, known[0]]).toEqual([true, { id: key, in_file: true, use: "seals" }]);
    const [former_key] = /^[A-Za-z0-9+/]{43}=/m.exec(former)!;
    expect(readFileSync(keyFile(), "utf8").includes(former_key)).toBe(!isEmbedded);
    const after = await foundInStores();
    expect(after.filter((line) => !line.startsWith("what is in clear"))).toEqual([]);
    expect((await service.call("GET", "/v1/alerts", { key: keys.own })).json.alerts).toMatchObject([
      { url: expect.stringMatching(MASKED) },
    ]);
  });

  // A cluster is backed up with the tools of its engines.
  test.each(isEmbedded ? ["a backup"] : [])(
    "are not in %s, nor is their key unless it is asked for",
    async () => {
      expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
      const [key] = /^[A-Za-z0-9+/]{43}=/m.exec(readFileSync(keyFile(), "utf8"))!;
      const searched = { ...PLANTED, ...drawn, "the key": key };
      const [without, withKey] = [join(folder, "without"), join(folder, "with")];
      expect((await service.trawl("backup", without)).secrets_key).toBe("left_out");
      expect(foundIn(without, searched)).toEqual([]);
      expect((await service.trawl("backup", withKey, "--with-key")).secrets_key).toBe("included");
      expect(foundIn(withKey, searched)).toEqual(["the key in secrets.key"]);
    },
  );

  test("of which a node has another key keep it from starting, with a sentence that says what to do", async () => {
    await service.stop();
    const file = keyFile();
    const kept = readFileSync(file, "utf8");
    writeFileSync(file, `${randomBytes(32).toString("base64")}\n`);
    await expect(service.restart()).rejects.toThrow(
      /Cannot use the stored secrets: the documents are sealed with key \\?"[0-9a-f]{8}\\?".*TRAWL_SECRETS_KEY_FILE/,
    );
    // The other node may be starting still.
    await service.kill();
    writeFileSync(file, kept);
    await service.restart();
    expect((await service.call("GET", `/v1/jobs/${job_id}`)).json.callback_url).toMatch(MASKED);
  });
});
