/** Results of a job that are pushed to a bucket or a webhook, as a client and a customer's own store see it. */
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { parse } from "csv-parse/sync";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Sink, SinkBody, SinkManifest } from "../../schemas/sinks.ts";
import { ownEngine } from "../harness/engines.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";
import { RECEIVER_CERTIFICATE, type WebhookReceiver, webhookReceiver } from "../harness/webhook-receiver.ts";

/** The customer's store: that of a cluster's own bodies may not be reached. */
const engine = await ownEngine("blobs");
afterAll(() => engine?.stop());
/** The body of a describe that is skipped runs, too. */
const blobs = engine?.settings ?? { TRAWL_BLOBS: "s3://none" };
const NEEDS = engine ? "" : " (needs an S3 store: npm run engines)";
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const POLL = { timeout: 120_000, interval: 100 };

describe.skipIf(engine === null).each(SETUPS)(`the sinks of a job, $setup${NEEDS}`, ({ start }) => {
  const { sites, service } = scenario(start, (web) => {
    web.name("site", ["127.0.0.1"]);
    return { TRAWL_CA_FILE: RECEIVER_CERTIFICATE };
  });
  const [, bucket] = /^s3:\/\/([^/]+)/.exec(blobs["TRAWL_BLOBS"]!)!;
  const credentials = {
    access_key_id: blobs["AWS_ACCESS_KEY_ID"]!,
    secret_access_key: blobs["AWS_SECRET_ACCESS_KEY"]!,
  };
  const endpoint = blobs["S3_ENDPOINT"]!;
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: {
      accessKeyId: credentials.access_key_id,
      secretAccessKey: credentials.secret_access_key,
    },
  });
  let hook: WebhookReceiver;
  let answer: (number: number) => number = () => 204;
  const keys = { another: "" };
  beforeAll(async () => {
    hook = await webhookReceiver((_, number) => answer(number));
    await createKeys(service, keys);
  });
  afterAll(() => {
    hook.close();
    client.destroy();
  });

  const store: SinkBody = { type: "s3", url: `s3://${bucket}/sinks`, endpoint, credentials };
  const read = async (key: string): Promise<Buffer> => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return Buffer.from(await Body!.transformToByteArray());
  };

  async function startJob(
    name: string,
    count: number,
    hold: Promise<void> = Promise.resolve(),
  ): Promise<string> {
    const site = sites.site({ "*": () => hold.then(() => ({ body: article(`Of ${name}`) })) });
    const items = Array.from({ length: count }, (_, n) => ({ url: `${site.origin}/${n}` }));
    const body = { items, idempotency_key: name };
    return (await service.call("POST", "/v1/batch/fetch", { body })).json.job_id;
  }
  const attach = (job_id: string, body: SinkBody) =>
    service.call("POST", `/v1/jobs/${job_id}/sinks`, { body });
  const sinksOf = async (job_id: string): Promise<readonly Sink[]> =>
    (await service.call("GET", `/v1/jobs/${job_id}/sinks`)).json.sinks;
  const stateOf = async (job_id: string): Promise<string | undefined> => (await sinksOf(job_id))[0]?.state;

  async function manifestOf({ folder }: Sink): Promise<{ manifest: SinkManifest; parts: Buffer[] }> {
    const prefix = folder!.slice(`s3://${bucket}/`.length);
    const manifest = JSON.parse((await read(`${prefix}manifest.json`)).toString()) as SinkManifest;
    const parts = await Promise.all(manifest.parts.map(({ name }) => read(prefix + name)));
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
    expect(Contents.map(({ Key }) => Key!.slice(prefix.length)).toSorted()).toEqual(
      ["manifest.json", ...manifest.parts.map(({ name }) => name)].toSorted(),
    );
    expect(parts.map((part) => createHash("sha256").update(part).digest("hex"))).toEqual(
      manifest.parts.map(({ sha256 }) => sha256),
    );
    return { manifest, parts };
  }
  const linesOf = (parts: readonly Buffer[]): any[] =>
    parts.flatMap((part) => part.toString().trim().split("\n")).map((line) => JSON.parse(line));

  test("a bucket has each item once, in parts that the manifest names, as the job's results have it", async () => {
    const job_id = await startJob("ndjson", 25);
    const made = await attach(job_id, { ...store, rows_per_part: 10 });
    expect(made).toMatchObject({ status: 201, json: { state: "running", rows: 0, parts: 0 } });
    expect(JSON.stringify(made.json)).not.toContain(credentials.secret_access_key);
    await expect.poll(() => stateOf(job_id), POLL).toBe("complete");
    const [sink] = await sinksOf(job_id);
    const { manifest, parts } = await manifestOf(sink!);
    expect(manifest).toMatchObject({ job_id, sink_id: sink!.sink_id, state: "complete", rows: 25 });
    expect(sink).toMatchObject({ rows: 25, parts: parts.length, last_status: "delivered_200" });
    const lines = (await service.call("GET", `/v1/jobs/${job_id}/results`)).bytes
      .toString()
      .trim()
      .split("\n");
    expect(linesOf(parts).toSorted((a, b) => a.index - b.index)).toEqual(
      lines.map((line) => JSON.parse(line)),
    );
  });

  test("Parquet parts have the columns of the guide, with the whole result as JSON", async () => {
    const job_id = await startJob("parquet", 5);
    await attach(job_id, { ...store, format: "parquet" });
    await expect.poll(() => stateOf(job_id), POLL).toBe("complete");
    const { parts } = await manifestOf((await sinksOf(job_id))[0]!);
    const rows = (
      await Promise.all(
        parts.map((part) => parquetReadObjects({ file: new Uint8Array(part).buffer as ArrayBuffer })),
      )
    ).flat();
    expect(ascending(rows.map((row) => row["index"]))).toEqual([0, 1, 2, 3, 4]);
    expect(rows[0]).toMatchObject({
      kind: "fetch",
      status: "done",
      error: null,
      http_status: 200,
      title: "Of parquet",
      url: JSON.parse(rows[0]!["input"]).url,
      text: JSON.parse(rows[0]!["result"]).text,
    });
  });

  test("whoever dies in the middle, no item is missing and none is twice", async () => {
    const job_id = await startJob("killed", 60);
    await attach(job_id, { ...store, rows_per_part: 2 });
    for (const parts of [3, 12]) {
      await expect.poll(async () => (await sinksOf(job_id))[0]?.parts, POLL).toBeGreaterThanOrEqual(parts);
      await service.kill();
      await service.restart();
    }
    await expect.poll(() => stateOf(job_id), POLL).toBe("complete");
    const { manifest, parts } = await manifestOf((await sinksOf(job_id))[0]!);
    expect(manifest.rows).toBe(60);
    const indexes = linesOf(parts).map(({ index }) => index as number);
    expect(ascending(indexes)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });

  test("a webhook is sent each item once, signed, and then the end; a part that was refused comes again", async () => {
    const first = hook.received.length + 1;
    answer = (number) => (number === first ? 503 : 204);
    const job_id = await startJob("hook", 7);
    const { json } = await attach(job_id, {
      type: "webhook",
      url: `https://site.test:${hook.port}/results`,
      rows_per_part: 3,
    });
    expect(json).toMatchObject({ folder: null, secret: expect.stringMatching(/^whsec_/) });
    await expect.poll(() => stateOf(job_id), POLL).toBe("complete");
    const events = hook.received
      .map(({ body, headers }) => ({ ...JSON.parse(body), headers, body }))
      .filter((event) => event.job_id === job_id);
    expect(events[0]).toMatchObject({ id: events[1].id, items: events[1].items });
    const accepted = events.slice(1);
    expect(accepted.map(({ part }) => part)).toEqual(accepted.map((_, at) => at + 1));
    expect(accepted.at(-1)).toMatchObject({ type: "job.results.complete", items: [] });
    const indexes = accepted.flatMap(({ items }) => items.map(({ index }: any) => index));
    expect(ascending(indexes)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    for (const { body, headers } of events) {
      const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"]))!;
      expect(createHmac("sha256", json.secret).update(`${t}.${body}`).digest("hex")).toBe(v1);
    }
    expect(JSON.stringify(await sinksOf(job_id))).not.toContain(json.secret);
  });

  test("a store that fails is asked again, and the job does not wait for it", async () => {
    let asked = 0;
    const objects = new Map<string, Buffer>();
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        // The first is the manifest of the attachment, the second the first part.
        const isDown = ++asked === 2;
        if (!isDown) objects.set(request.url!.split("?")[0]!, Buffer.concat(pieces));
        response.writeHead(isDown ? 503 : 200).end();
      });
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const job_id = await startJob("failing", 4);
    await attach(job_id, { ...store, endpoint: `http://127.0.0.1:${port}`, url: "s3://theirs" });
    await expect.poll(() => stateOf(job_id), POLL).toBe("complete");
    const names = [...objects.keys()].map((path) => path.split("/").at(-1));
    expect(names.filter((name) => !name?.startsWith("part-"))).toEqual(["manifest.json"]);
    const part = [...objects].filter(([path]) => path.includes("/part-")).map(([, content]) => content);
    expect(linesOf(part)).toHaveLength(4);
  });

  describe("trawl job save", () => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-save-"));
    afterAll(() => rmSync(folder, { recursive: true }));
    const COUNT = 12;
    let job_id = "";
    beforeAll(async () => {
      job_id = await startJob("saved", COUNT);
    });
    const save = async (name: string): Promise<string> => {
      const path = join(folder, name);
      expect(await service.trawl("job", "save", job_id, path)).toMatchObject({ file: path, items: COUNT });
      expect(readdirSync(folder)).not.toContain(`${name}.part`);
      return path;
    };
    const all = Array.from({ length: COUNT }, (_, n) => n);

    test("writes NDJSON as the API gives it", async () => {
      const lines = readFileSync(await save("items.ndjson"), "utf8");
      expect(lines).toBe((await service.call("GET", `/v1/jobs/${job_id}/results`)).bytes.toString());
    });

    test("writes Parquet", async () => {
      const file = readFileSync(await save("items.parquet"));
      const rows = await parquetReadObjects({ file: new Uint8Array(file).buffer });
      expect(rows.map((row) => [row["index"], row["title"]])).toEqual(all.map((n) => [n, "Of saved"]));
    });

    test("writes SQLite", async () => {
      const database = new DatabaseSync(await save("items.sqlite"), { readOnly: true });
      const rows = database.prepare('SELECT "index", title, result FROM results ORDER BY "index"').all();
      database.close();
      expect(rows.map((row) => [row["index"], row["title"]])).toEqual(all.map((n) => [n, "Of saved"]));
      expect(JSON.parse(rows[0]!["result"] as string)).toMatchObject({ title: "Of saved" });
    });

    test("writes CSV", async () => {
      const rows = parse(readFileSync(await save("items.csv")), { columns: true }) as Record<
        string,
        string
      >[];
      expect(rows.map((row) => [Number(row["index"]), row["title"]])).toEqual(
        all.map((n) => [n, "Of saved"]),
      );
    });

    test.each(["kill", "stop"] as const)(
      "goes on when the service is back after %s, with each item once",
      async (end) => {
        const held = Promise.withResolvers<void>();
        job_id = await startJob(`saved over ${end}`, COUNT, held.promise);
        const saving = save(`${end}.ndjson`);
        await expect.poll(() => readdirSync(folder), POLL).toContain(`${end}.ndjson.part`);
        await service[end]();
        await service.restart();
        held.resolve();
        const lines = readFileSync(await saving, "utf8")
          .trim()
          .split("\n");
        expect(lines.map((line) => JSON.parse(line).index)).toEqual(all);
      },
    );

    test("refuses a format that it does not know", async () => {
      await expect(service.trawl("job", "save", job_id, join(folder, "items.xlsx"))).rejects.toThrow(
        "The format is one of parquet, sqlite, csv, ndjson",
      );
      expect(readdirSync(folder)).not.toContain("items.xlsx.part");
    });
  });

  test.each<[string, Partial<SinkBody>, string, string]>([
    [
      "credentials that the store refuses",
      { credentials: { access_key_id: "nobody", secret_access_key: "x" } },
      "url",
      "sink_refused",
    ],
    ["a bucket that is not there", { url: "s3://there-is-no-such-bucket/x" }, "url", "sink_refused"],
    ["an address that is no bucket", { url: "https://bucket.example/" }, "url", "value_error"],
    ["no credentials", { credentials: null }, "credentials", "missing"],
    ["a metadata service", { endpoint: "http://169.254.169.254" }, "endpoint", "blocked_destination"],
    ["an endpoint of another protocol", { endpoint: "ftp://127.0.0.1" }, "endpoint", "url_parsing"],
    [
      "a webhook without TLS",
      { type: "webhook", url: "http://site.test/", endpoint: null, credentials: null },
      "url",
      "url_scheme",
    ],
    [
      "a webhook with credentials",
      { type: "webhook", url: "https://site.test/", endpoint: null },
      "credentials",
      "value_error",
    ],
  ])("%s is a mistake of the request, and nothing is made", async (_, change, field, type) => {
    const job_id = await startJob("refused", 1);
    expect(await attach(job_id, { ...store, ...change })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", field], type }] },
    });
    expect(await sinksOf(job_id)).toEqual([]);
  });

  test("sinks are their project's, at most four a job, and end when they are deleted", async () => {
    const held = Promise.withResolvers<void>();
    const job_id = await startJob("held", 1, held.promise);
    const made = await Promise.all([1, 2, 3, 4].map(() => attach(job_id, store)));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(await attach(job_id, store)).toMatchObject({
      status: 422,
      json: { detail: [{ type: "too_long" }] },
    });
    const path = `/v1/jobs/${job_id}/sinks`;
    const foreign = { key: keys.another };
    expect((await service.call("GET", path, foreign)).status).toBe(404);
    expect((await service.call("POST", path, { ...foreign, body: store })).status).toBe(404);
    const of = `${path}/${made[0]!.json.sink_id}`;
    expect((await service.call("DELETE", of, foreign)).status).toBe(404);
    expect((await service.call("DELETE", of)).status).toBe(204);
    expect((await service.call("DELETE", of)).status).toBe(404);
    expect((await sinksOf(job_id)).map(({ sink_id }) => sink_id)).not.toContain(made[0]!.json.sink_id);
    held.resolve();
    await expect
      .poll(async () => (await sinksOf(job_id)).map(({ state }) => state), POLL)
      .toEqual(["complete", "complete", "complete"]);
  });
});
