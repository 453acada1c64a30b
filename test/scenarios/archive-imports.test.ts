/** Archive files of others: read with their quirks, found by the archive route, the index of captures, replay and the search, and told apart by project. */
import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  announcement,
  ended,
  imported,
  members,
  record,
  response,
  upload,
} from "../harness/archive-files.ts";
import { client } from "../harness/jobs-client.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Site } from "../harness/web.ts";
import { readWarc, readZip } from "../harness/warc-reader.ts";

const DATE = "2015-03-04T05:06:07Z";
const folder = mkdtempSync(join(tmpdir(), "trawl-imports-"));
afterAll(() => rmSync(folder, { recursive: true }));
const recorded = join(import.meta.dirname, "../../../shared/fixtures/warc");
const folders = existsSync(recorded) ? readdirSync(recorded) : [];

describe.each(SETUPS)("an imported archive, $setup", ({ start, setup }) => {
  /** An outside archive that has nothing. */
  let outside: Site;
  const { sites, service } = scenario(start, (web) => {
    outside = web.site({});
    return { TRAWL_ARCHIVE_URL: outside.origin };
  });
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });
  const captures = async (url: string, key?: string): Promise<string[][]> => {
    const who = key === undefined ? {} : { key };
    const { json } = await service.call("GET", `/v1/archive/cdx?url=${encodeURIComponent(url)}`, who);
    return json.slice(1);
  };
  const capture = (url: string, key?: string) =>
    service.call("GET", `/v1/archive/web/2015id_/${url}`, key === undefined ? {} : { key });

  test("serves the archive route before an outside archive, with its time and its name, to its project alone", async () => {
    const site = sites.site({});
    const url = `${site.origin}/gone`;
    const body = article("The old harbour");
    const told = await imported(service, members(response(url, DATE, body)), {
      key: keys.first,
      name: "town.warc.gz",
    });
    expect(told).toMatchObject({
      state: "done",
      problem: null,
      records: 1,
      captures: 1,
      bad: {},
      skipped: {},
    });
    const found = await service.fetch({ url }, { key: keys.first });
    expect(found).toMatchObject({
      tier: "archive",
      archived_at: "2015-03-04T05:06:07.000Z",
      cost_usd: 0,
      error: null,
      title: "The old harbour",
    });
    expect(found.attempts.at(-1)).toMatchObject({ tier: "archive", detail: 'Imported from "town.warc.gz"' });
    const asked = (): number => outside.arrivals.filter(({ path }) => path.includes("cdx")).length;
    expect(asked()).toBe(0);
    const other = await service.fetch({ url }, { key: keys.second });
    expect(asked()).toBe(1);
    expect(other.error).not.toBeNull();
    expect(other.text ?? "").not.toContain("harbour");
    expect(await captures(url, keys.first)).toHaveLength(1);
    expect(await captures(url, keys.second)).toEqual([]);
    expect((await capture(url, keys.first)).bytes.toString()).toBe(body);
    expect((await capture(url, keys.second)).status).toBe(404);
    expect((await service.call("GET", `/v1/archives/${told.id}`, { key: keys.second })).status).toBe(404);
    expect((await service.call("DELETE", `/v1/archives/${told.id}`, { key: keys.second })).status).toBe(404);
    expect((await service.call("GET", `/v1/archives/${told.id}.warc.gz`, { key: keys.second })).status).toBe(
      404,
    );
    const listed = await service.call("GET", "/v1/archives", { key: keys.second });
    expect(JSON.stringify(listed.json)).not.toContain(told.id);
  });

  test("of an operator serves every project, and is removed by an operator only", async () => {
    const site = sites.site({});
    const url = `${site.origin}/shared`;
    const file = members(response(url, DATE, article("The shared harbour")));
    const refused = await service.call("POST", "/v1/archives", {
      key: keys.first,
      body: announcement(file, "all.warc.gz", true),
    });
    expect(refused.status).toBe(403);
    const { id } = await imported(service, file, { key: service.operator_key, shared: true });
    for (const key of Object.values(keys)) {
      expect(await service.fetch({ url }, { key })).toMatchObject({ tier: "archive", error: null });
      expect(await captures(url, key)).toHaveLength(1);
    }
    expect((await service.call("DELETE", `/v1/archives/${id}`, { key: keys.first })).status).toBe(403);
    expect((await service.call("DELETE", `/v1/archives/${id}`, { key: service.operator_key })).status).toBe(
      204,
    );
    await expect.poll(() => captures(url, keys.first), { timeout: 20_000 }).toEqual([]);
    expect((await service.call("GET", `/v1/archives/${id}`, { key: keys.first })).status).toBe(404);
  });

  test("gives the bytes that the site sent, whatever the record's form", async () => {
    const at = (name: string): string => `http://quirks.example/${name}`;
    const text = article("A quirk");
    const chunked = `5\r\n${text.slice(0, 5)}\r\n${(text.length - 5).toString(16)};x=y\r\n${text.slice(5)}\r\n0\r\n\r\n`;
    const digest = { "WARC-Payload-Digest": "sha1:PAYLOADOFTHEFIRSTRECORD" };
    const revisit = (url: string, more: Readonly<Record<string, string>>): Buffer =>
      record(
        "revisit",
        {
          "WARC-Target-URI": url,
          "WARC-Date": "2016-01-01T00:00:00.123456Z",
          "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
          "Content-Type": "application/http; msgtype=response",
          ...more,
        },
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        "1.0",
      );
    const whole = [
      record("warcinfo", { "WARC-Date": DATE }, "software: other\r\n"),
      response(at("plain"), DATE, text, { warc: digest }),
      response(at("chunked"), DATE, chunked, { fields: { "Transfer-Encoding": "chunked" } }),
      response(at("not-chunked"), DATE, text, { fields: { "Transfer-Encoding": "chunked" } }),
      response(at("gzip"), DATE, gzipSync(text), { fields: { "Content-Encoding": "gzip" } }),
      response(at("br"), DATE, brotliCompressSync(text), { fields: { "Content-Encoding": "br" } }),
      response(at("decoded"), DATE, text, { fields: { "Content-Encoding": "gzip" } }),
      response(`<${at("bracketed")}>`, DATE, text),
      response(at("with space"), DATE, text),
      record(
        "resource",
        { "WARC-Target-URI": at("resource"), "WARC-Date": DATE, "Content-Type": "text/html" },
        text,
      ),
      revisit(at("again"), digest),
      revisit(at("by-address"), { "WARC-Refers-To-Target-URI": at("gzip"), "WARC-Refers-To-Date": DATE }),
    ];
    const lost = [
      revisit(at("lost"), { "WARC-Payload-Digest": "sha1:NOBODYHASIT" }),
      record("response", { "WARC-Target-URI": "dns:quirks.example", "WARC-Date": DATE }, "1.2.3.4"),
      record("metadata", { "WARC-Target-URI": at("plain"), "WARC-Date": DATE }, "via: x\r\n"),
      record("response", { "WARC-Target-URI": at("no-http"), "WARC-Date": DATE }, "no status line"),
    ];
    const names = [
      "plain",
      "chunked",
      "not-chunked",
      "gzip",
      "br",
      "decoded",
      "bracketed",
      "with%20space",
      "resource",
      "again",
      "by-address",
    ];
    const told = await imported(service, Buffer.concat([...whole, ...lost]), { name: "plain.warc" });
    expect(told).toMatchObject({
      state: "done",
      records: whole.length + lost.length,
      captures: names.length,
      skipped: { warcinfo: 1, metadata: 1, not_http: 1, revisit_without_original: 1 },
      bad: { no_http_response: 1 },
    });
    for (const name of names) {
      const { status, bytes } = await capture(at(name));
      expect([name, status, bytes.toString()]).toEqual([name, 200, text]);
    }
    // Records that come again, in members, are captures that are there.
    const again = await imported(service, members(...whole, ...lost), { name: "members.warc.gz" });
    expect(again).toMatchObject({ state: "done", captures: 0, known: names.length });
  });

  test("that is damaged gives what can be read, and says what cannot", async () => {
    const at = (name: string): string => `http://${setup}.damaged.example/${name}`.replaceAll(" ", "-");
    const page = (name: string): Buffer => response(at(name), DATE, article(name));
    const flipped = gzipSync(page("flipped"));
    flipped.fill(0xff, 40, 80);
    const short = response(at("short"), DATE, article("short"), { warc: { "Content-Length": "60" } });
    const long = response(at("long"), DATE, article("long"), { warc: { "Content-Length": "999999" } });
    const file = Buffer.concat([
      members(page("one")),
      flipped,
      members(page("two"), short, page("three"), long, page("four")),
      gzipSync(page("cut")).subarray(0, 120),
    ]);
    const told = await imported(service, file);
    expect(told.state).toBe("done");
    expect(told.bad).toMatchObject({ broken_gzip: 2 });
    expect(told.bad["wrong_length"]).toBeGreaterThanOrEqual(2);
    for (const name of ["one", "two", "three", "four"])
      expect((await capture(at(name))).bytes.toString()).toBe(article(name));
    // The cut capture is in the archive, and never given in place of a page.
    expect(await captures(at("long"))).toHaveLength(1);
    expect((await service.fetch({ url: at("long"), tiers: ["archive"] })).error).not.toBeNull();
  });

  test("whose records have other bytes than their digests say is never given in place of a page", async () => {
    const at = (name: string): string => `http://${setup}.digests.example/${name}`.replaceAll(" ", "-");
    const text = article("The harbour");
    const sha1 = (content: string): string => `sha1:${createHash("sha1").update(content).digest("hex")}`;
    const other = sha1("other bytes");
    const file = members(
      response(at("true"), DATE, text, { warc: { "WARC-Payload-Digest": sha1(text) } }),
      response(at("payload"), DATE, text, { warc: { "WARC-Payload-Digest": other } }),
      response(at("block"), DATE, text, { warc: { "WARC-Block-Digest": other } }),
      record(
        "revisit",
        {
          "WARC-Target-URI": at("again"),
          "WARC-Date": DATE,
          "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
          "WARC-Payload-Digest": other,
        },
        "HTTP/1.1 200 OK\r\n\r\n",
      ),
    );
    expect(await imported(service, file)).toMatchObject({
      state: "done",
      captures: 3,
      bad: { digest_mismatch: 2 },
      skipped: { revisit_without_original: 1 },
    });
    const errors = await Promise.all(
      ["true", "payload", "block"].map(
        async (name) => (await service.fetch({ url: at(name), tiers: ["archive"] })).error,
      ),
    );
    expect(errors).toEqual([null, expect.any(String), expect.any(String)]);
  });

  test("that is no archive, or arrives with other bytes, fails and says why", async () => {
    const zeros = await imported(service, Buffer.alloc(100));
    expect(zeros).toMatchObject({ state: "failed", problem: "This is no WARC or WACZ file (100 bytes)" });
    const twice = await imported(service, gzipSync(members(response("http://other.example/", DATE, "x"))));
    expect(twice).toMatchObject({
      state: "failed",
      records: 0,
      problem: "The file has no record that can be read",
    });
    const file = members(response("http://other.example/", DATE, "x"));
    const body = { ...announcement(file, "x.warc.gz"), sha256: "0".repeat(64) };
    const { json } = await service.call("POST", "/v1/archives", { body });
    const send = (offset: number, bytes: Buffer) =>
      service.call("PATCH", `/v1/archives/${json.id}?offset=${offset}`, {
        headers: { "Content-Type": "application/octet-stream" },
        body: bytes,
      });
    expect((await send(5, file)).status).toBe(409);
    expect((await send(0, Buffer.concat([file, file]))).status).toBe(422);
    expect((await send(0, file)).status).toBe(200);
    expect(await ended(service, json.id)).toMatchObject({
      state: "failed",
      problem: "The bytes that arrived have another SHA-256 than was said",
    });
    expect((await service.call("POST", "/v1/archives", { body: { ...body, bytes: 2 ** 40 } })).status).toBe(
      422,
    );
  });

  test(
    "goes on after kill -9 in its upload and while it is read, and has every capture once",
    { timeout: 120_000 },
    async () => {
      const urls = Array.from({ length: 400 }, (_, n) =>
        `http://${setup}.many.example/${n}`.replaceAll(" ", "-"),
      );
      const file = members(...urls.map((url) => response(url, DATE, article(url))));
      const announced = await service.call("POST", "/v1/archives", {
        body: announcement(file, "many.warc.gz"),
      });
      const { id } = announced.json;
      const half = file.length >> 1;
      await service.call("PATCH", `/v1/archives/${id}?offset=0`, {
        headers: { "Content-Type": "application/octet-stream" },
        body: file.subarray(0, half),
      });
      await service.kill();
      await service.restart();
      const before = await service.call("GET", `/v1/archives/${id}`);
      expect(before.json).toMatchObject({ state: "uploading", received_bytes: half });
      await upload(service, file, { name: "many.warc.gz" });
      await expect
        .poll(async () => (await service.call("GET", `/v1/archives/${id}`)).json.records, {
          timeout: 30_000,
          interval: 20,
        })
        .toBeGreaterThan(0);
      await service.kill();
      await service.restart();
      expect(await ended(service, id)).toMatchObject({
        state: "done",
        records: 400,
        captures: 400,
        known: 0,
        bad: {},
      });
      expect(await captures(`http://${setup}.many.example/*`.replaceAll(" ", "-"))).toHaveLength(400);
      // A file that is imported again is the same import.
      expect(await imported(service, file)).toMatchObject({ id, captures: 400 });
    },
  );

  test("is exported with the same records, also after it was imported again", async () => {
    const site = sites.site({ "/": { body: article("Home") }, "/twin": { body: article("Home") } });
    const urls = ["/", "/twin"].map((path) => site.origin + path);
    const { job_id } = (await client(service).create(urls.map((url) => ({ url, archive: true })))).json;
    await client(service).finished(job_id);
    const job = await service.call("GET", `/v1/jobs/${job_id}.wacz`);
    // Without a certificate of the operator's.
    const digest = readZip(job.bytes).get("datapackage-digest.json")!;
    const { hash, signedData } = JSON.parse(digest.toString());
    const publicKey = Buffer.from(signedData.publicKey, "base64");
    const key = createPublicKey({ key: publicKey, type: "spki", format: "der" });
    const signature = Buffer.from(signedData.signature, "base64");
    expect(verify("sha256", Buffer.from(hash), { key, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
    const of_job = await imported(service, job.bytes, { key: keys.second, name: "job.wacz" });
    expect(of_job).toMatchObject({ state: "done", captures: 3, bad: {} });
    expect((await capture(urls[1]!, keys.second)).bytes.toString()).toBe(article("Home"));
    const file = members(
      response(`${site.origin}/`, DATE, article("Home")),
      response(`${site.origin}/twin`, DATE, article("Home")),
      response(`${site.origin}/moved`, DATE, "", { status: "302 Found", fields: { Location: "/" } }),
    );
    const whatOf = (bytes: Buffer) =>
      readWarc(bytes)
        .filter(({ type }) => type !== "warcinfo")
        .map(({ type, field, http }) => [
          type,
          field("WARC-Target-URI"),
          field("WARC-Date"),
          field("WARC-Payload-Digest"),
          http.lines,
        ]);
    const first = await imported(service, file, { key: keys.first });
    const exported = await service.call("GET", `/v1/archives/${first.id}.warc.gz`, { key: keys.first });
    const second = await imported(service, exported.bytes, { key: keys.second });
    expect(second).toMatchObject({ state: "done", captures: 3, bad: {} });
    const again = await service.call("GET", `/v1/archives/${second.id}.warc.gz`, { key: keys.second });
    const records = whatOf(exported.bytes);
    expect(records.filter(([type]) => type === "response")).toHaveLength(2);
    expect(records.filter(([type]) => type === "revisit")).toHaveLength(1);
    expect(whatOf(again.bytes)).toEqual(records);
  });

  test("is imported, listed, shown and deleted by the command line", async () => {
    const path = join(folder, "desk.warc.gz");
    writeFileSync(
      path,
      members(response(`http://${setup}.desk.example/`.replaceAll(" ", "-"), DATE, "<p>Desk")),
    );
    const made = await service.trawl("archive", "import", path, "--key", keys.first);
    expect(made).toMatchObject({ state: "done", captures: 1, shared: false, name: "desk.warc.gz" });
    expect(await service.trawl("archive", "show", made.id, "--key", keys.first)).toEqual(made);
    await service.trawl("archive", "delete", made.id, "--key", keys.first).catch(() => null);
    expect((await service.call("GET", `/v1/archives/${made.id}`, { key: keys.first })).status).toBe(404);
  });

  test("is searched where pages are indexed, by its project alone", async () => {
    const word = `kittiwake${setup.length}`;
    const url = `http://${setup}.search.example/page`.replaceAll(" ", "-");
    const told = await imported(service, members(response(url, DATE, article(`The ${word} colony`))), {
      key: keys.first,
    });
    const isIndexed = setup === "embedded";
    expect(told.indexed).toBe(isIndexed ? 1 : 0);
    const search = async (key: string): Promise<string[]> => {
      const { json } = await service.call("POST", "/v1/search", { key, body: { query: word } });
      return (json.results ?? []).map((result: { readonly url: string }) => result.url);
    };
    expect(await search(keys.first)).toEqual(isIndexed ? [url] : []);
    expect(await search(keys.second)).toEqual([]);
    await service.call("DELETE", `/v1/archives/${told.id}`, { key: keys.first });
    await expect.poll(() => search(keys.first), { timeout: 60_000 }).toEqual([]);
  });

  test("is searched no longer once it is removed, unlike a page that was fetched at its address since", async () => {
    const word = `guillemot${setup.length}`;
    const site = sites.site({ "/colony": { body: article(`The ${word} colony today`) } });
    const url = `${site.origin}/colony`;
    const file = members(response(url, DATE, article("The old colony")));
    const { id } = await imported(service, file, { key: keys.first });
    expect(await service.fetch({ url }, { key: keys.first })).toMatchObject({ tier: "direct", error: null });
    await service.call("DELETE", `/v1/archives/${id}`, { key: keys.first });
    await expect.poll(() => captures(url, keys.first), { timeout: 60_000 }).toEqual([]);
    const { json } = await service.call("POST", "/v1/search", { key: keys.first, body: { query: word } });
    const isIndexed = setup === "embedded";
    expect((json.results ?? []).map((result: { readonly url: string }) => result.url)).toEqual(
      isIndexed ? [url] : [],
    );
  });

  test.skipIf(folders.length === 0)(
    "is read of every recorded file (skipped without ../shared/fixtures/warc)",
    { timeout: 120_000 },
    async () => {
      const files = folders.flatMap((from) =>
        readdirSync(join(recorded, from))
          .filter((name) => /\.warc(\.gz)?(\.bad)?$|\.wacz$/.test(name))
          .map((name) => join(recorded, from, name)),
      );
      expect(files.length).toBeGreaterThan(15);
      const mismatched: string[] = [];
      for (const path of files) {
        const told = await imported(service, readFileSync(path), { name: path.split("/").at(-1)! });
        const isBad = /invalid/.test(path);
        expect([path, isBad || told.state === "done"]).toEqual([path, true]);
        expect(told.records).toBeGreaterThan(isBad ? -1 : 0);
        if (told.bad["digest_mismatch"]) mismatched.push(path.split("/").at(-1)!);
      }
      // The one with a wrong digest has it at a request.
      expect(mismatched).toEqual([]);
    },
  );
});
