/** Archives of a fetch, a batch and a crawl: what the WARC and WACZ files have, which project gets them, and that other programs read them. */
import { execFile } from "node:child_process";
import { createHash, verify, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { client } from "../harness/jobs-client.ts";
import { findProgram } from "../harness/programs.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import {
  DOMAIN,
  has_openssl,
  makeDomain,
  openssl,
  temporaryFolder,
  type TimeStampAuthority,
  timeStampAuthority,
} from "../harness/time-stamp-authority.ts";
import { article, coded, prose, redirect } from "../harness/web.ts";
import { type ReadRecord, readWarc, readZip } from "../harness/warc-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-archives-"));
afterAll(() => rmSync(folder, { recursive: true }));
const run = promisify(execFile);
const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const wacz = findProgram("wacz", "/opt/warc-tools/bin/wacz");
const warcio = findProgram("warcio", "/opt/warc-tools/bin/warcio");
const how =
  warcio === null
    ? " (not tried: python3 -m venv /opt/warc-tools && /opt/warc-tools/bin/pip install warcio wacz)"
    : "";

const authsign = findProgram("/opt/authsign/bin/python");
const how_authsign =
  authsign === null
    ? " (authsign not tried: python3 -m venv /opt/authsign && /opt/authsign/bin/pip install authsign)"
    : "";
const AUTHSIGN_PROGRAM = `
import json, sys
from authsign.verifier import Verifier
with open(sys.argv[2]) as file:
    print("observer", Verifier(sys.argv[1])(json.load(file)).observer)
`;

const jar = findProgram("jwarc.jar", "/opt/warc-tools/jwarc.jar");
const java = findProgram("java");
const jwarc = jar === null || java === null ? null : ([java, "-jar", jar] as const);
const how_jwarc =
  jwarc === null
    ? ", jwarc not tried: mvn dependency:copy -Dartifact=org.netpreserve:jwarc:0.36.0 -DoutputDirectory=/opt/warc-tools -Dmdep.stripVersion=true"
    : "";

async function download(service: Service, path: string): Promise<Buffer> {
  const answered = await service.call("GET", path);
  if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.bytes.toString()}`);
  expect(answered.headers["content-type"]).toBe("application/warc");
  return answered.bytes;
}

async function checkByJwarc([command, ...args]: readonly [string, ...string[]], name: string): Promise<void> {
  const { stdout, stderr } = await run(command, [...args, "validate", "-v", name]);
  expect(stderr).toBe("");
  expect(stdout).toMatch(/digest pass/);
  expect(stdout).not.toMatch(/fail|error|invalid/i);
}

/** Every digest is right to warcio, and what it writes again has each record where it was. */
async function checkByWarcio(command: string, name: string, file: Buffer): Promise<void> {
  const { stdout } = await run(command, ["check", "-v", name]);
  expect(stdout).not.toMatch(/failed|error/i);
  expect(stdout).toMatch(/digest pass/);
  await run(command, ["recompress", name, `${name}.again.gz`]);
  const { stdout: index } = await run(command, ["index", "-f", "offset,warc-type", name]);
  const offsets = index
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { offset: string });
  expect(offsets.map(({ offset }) => Number(offset))).toEqual(readWarc(file).map(({ offset }) => offset));
}

/** Without robots.txt, whose exchange stands in front of those of the first fetch. */
const readPages = (file: Buffer): readonly ReadRecord[] =>
  readWarc(file).filter((record) => !record.field("WARC-Target-URI")?.endsWith("/robots.txt"));
const typesOf = (records: readonly ReadRecord[]): string[] => records.map(({ type }) => type);
const ofType = (records: readonly ReadRecord[], type: string): ReadRecord[] =>
  records.filter((record) => record.type === type);
const pathsOf = (records: readonly ReadRecord[]): string[] =>
  records.map((record) => new URL(record.field("WARC-Target-URI")!).pathname);

describe.each(SETUPS)("archives, $setup", ({ start }) => {
  const signing = temporaryFolder();
  let authority: TimeStampAuthority | null = null;
  const { sites, service } = scenario(start, async () => {
    if (!has_openssl) return {};
    await makeDomain(signing.path);
    authority = await timeStampAuthority(signing.path);
    return {
      TRAWL_WACZ_CERT: join(signing.path, "chain.pem"),
      TRAWL_WACZ_KEY: join(signing.path, "domain.key"),
      TRAWL_WACZ_TIMESTAMP_URL: authority.url,
    };
  });
  afterAll(async () => {
    await authority?.close();
    signing.remove();
  });

  test("of a fetch has both heads of every hop as they were sent, without the caller's own secrets", async () => {
    const page = coded("gzip", {
      body: article("Harbour"),
      headers: { "X-Odd-CASE": "b", "Set-Cookie": "a=1" },
    });
    const site = sites.site({ "/": redirect("/page"), "/page": page });
    const began_ms = Date.now();
    const fetched = await service.fetch({
      url: `${site.origin}/?q=1`,
      archive: true,
      tiers: ["direct"],
      headers: { "X-Token": "planted-token" },
      cookies: [{ name: "session", value: "planted-cookie" }],
    });
    expect(fetched).toMatchObject({
      error: null,
      archive_url: `/v1/requests/${fetched.request_id}.warc.gz`,
    });
    const file = await download(service, fetched.archive_url!);
    const records = readPages(file);
    expect(typesOf(records).slice(0, 6)).toEqual([
      "warcinfo",
      "response",
      "request",
      "response",
      "request",
      "metadata",
    ]);
    const [moved, answered] = ofType(records, "response") as [ReadRecord, ReadRecord];
    const [, asked] = ofType(records, "request") as [ReadRecord, ReadRecord];
    expect(moved.http.lines[0]).toBe("HTTP/1.1 302 Found");
    expect(moved.http.lines).toContain("Location: /page");
    expect(answered.field("WARC-Target-URI")).toBe(`${site.origin}/page`);
    expect(answered.field("WARC-IP-Address")).toBe("127.0.0.1");
    expect(answered.field("WARC-Protocol")).toBe("http/1.1");
    expect(Date.parse(answered.field("WARC-Date")!)).toBeGreaterThanOrEqual(began_ms);
    expect(answered.http.lines).toEqual(
      expect.arrayContaining(["X-Odd-CASE: b", "Set-Cookie: a=1", "X-Orig-Content-Encoding: gzip"]),
    );
    expect(answered.field("WARC-Payload-Digest")).toBe(`sha256:${fetched.sha256}`);
    expect(answered.http.payload.toString()).toBe(article("Harbour"));
    expect(asked.http.lines.slice(0, 3)).toEqual([
      "GET /page HTTP/1.1",
      `host: ${new URL(site.origin).host}`,
      "connection: keep-alive",
    ]);
    expect(asked.field("WARC-Concurrent-To")).toBe(answered.field("WARC-Record-ID"));
    // The site had them, the file does not, and says so.
    expect(site.arrivals.at(-1)!.headers).toMatchObject({
      "x-token": "planted-token",
      cookie: expect.stringContaining("session=planted-cookie"),
    });
    const text = records.map(({ block }) => block.toString("latin1")).join("\n");
    expect(text).not.toContain("planted-");
    const [metadata] = ofType(records, "metadata") as [ReadRecord];
    const told = JSON.parse(metadata.block.toString());
    expect(
      told.exchanges[2].request_fields_omitted.map((name: string) => name.toLowerCase()).toSorted(),
    ).toEqual(["cookie", "x-token"]);
    expect(told.exchanges[2].response_fields).toContainEqual(["Content-Encoding", "gzip"]);
    const conversion = ofType(records, "conversion").find(
      (record) => record.field("WARC-Target-URI") === `urn:text:${site.origin}/page`,
    );
    expect(conversion!.block.toString()).toBe(fetched.text);
    // An earlier archived page answers from the cache, with the exchanges of then.
    const again = await service.fetch({ url: `${site.origin}/page`, archive: true });
    const once_more = await service.fetch({ url: `${site.origin}/page`, archive: true });
    expect(once_more).toMatchObject({ cached: true });
    const [first, second] = await Promise.all(
      [again, once_more].map(async ({ archive_url }) =>
        ofType(readPages(await download(service, archive_url!)), "response").map((record) =>
          record.field("WARC-Record-ID"),
        ),
      ),
    );
    expect(second).toEqual(first);
  });

  test("of a session have none of its cookies, neither sent nor set, and say so", async () => {
    const site = sites.site({
      "/login": { status: 303, headers: { Location: "/", "Set-Cookie": "sid=planted-session; Path=/" } },
      "/": { body: article("Account") },
    });
    const { session_id } = (await service.call("POST", "/v1/sessions", { body: {} })).json;
    const fetched = await service.fetch({
      url: `${site.origin}/login`,
      session_id,
      archive: true,
      tiers: ["direct"],
    });
    expect(site.arrivals.at(-1)!.headers["cookie"]).toBe("sid=planted-session");
    const records = readPages(await download(service, fetched.archive_url!));
    expect(ofType(records, "response")).toHaveLength(2);
    expect(await service.meter("trawl_archived_exchanges_total", 'tier="direct"')).toBeGreaterThanOrEqual(2);
    expect(records.map(({ block }) => block.toString("latin1")).join("\n")).not.toContain("planted-");
    const { exchanges } = JSON.parse(ofType(records, "metadata")[0]!.block.toString());
    expect(exchanges[1].response_fields_omitted).toEqual(["Set-Cookie"]);
    expect(exchanges[2].request_fields_omitted).toEqual(["Cookie"]);
  });

  test("of a crawl are written the same each time, whole and in parts, each payload once", async () => {
    const linked = (title: string, ...links: string[]) => ({
      body: `<title>${title}</title><p>${prose(12, title)}</p>${links.map((href) => `<a href="${href}">x</a>`).join(" ")}`,
    });
    const twin = linked("Twin");
    const site = sites.site({
      "/": linked("Home", "/a", "/twin-1", "/twin-2", "/gone", "/large"),
      "/a": coded("br", linked("A")),
      "/twin-1": twin,
      "/twin-2": twin,
      "/large": { body: `<title>Large</title><pre>${"0123456789abcdef".repeat(40_000)}</pre>` },
    });
    const begun = await service.call("POST", "/v1/crawl", {
      body: { url: site.origin, fetch: { archive: true } },
    });
    const { job_id } = begun.json;
    const path = `/v1/jobs/${job_id}.warc.gz`;
    await client(service).finished(job_id);
    const whole = await download(service, path);
    const records = readPages(whole);
    const stored = [...ofType(records, "response"), ...ofType(records, "revisit")];
    expect(pathsOf(stored).toSorted()).toEqual(["/", "/a", "/gone", "/large", "/twin-1", "/twin-2"]);
    // The answers for what is not there, robots.txt and /gone, are twins too.
    const [revisit, ...others] = ofType(records, "revisit").filter(
      (record) => !record.field("WARC-Target-URI")!.endsWith("/gone"),
    );
    expect(others).toEqual([]);
    const original = records.find(
      (record) => record.field("WARC-Record-ID") === revisit!.field("WARC-Refers-To"),
    );
    expect(original!.field("WARC-Payload-Digest")).toBe(revisit!.field("WARC-Payload-Digest"));
    expect(original!.offset).toBeLessThan(revisit!.offset);

    const again = await service.call("GET", path);
    expect(again.bytes.equals(whole)).toBe(true);
    expect(again.headers["content-length"]).toBe(String(whole.length));
    const tag = again.headers["etag"]!;
    const ends = [0, 1, revisit!.offset, revisit!.offset + 5, whole.length - 1];
    for (const first of ends) {
      const last = Math.min(whole.length - 1, first + 3_000);
      const part = await service.call("GET", path, {
        headers: { Range: `bytes=${first}-${last}`, "If-Range": tag },
      });
      expect(part.status).toBe(206);
      expect(part.headers["content-range"]).toBe(`bytes ${first}-${last}/${whole.length}`);
      expect(part.bytes.equals(whole.subarray(first, last + 1))).toBe(true);
    }
    const behind = await service.call("GET", path, { headers: { Range: `bytes=${whole.length}-` } });
    expect(behind.status).toBe(416);
    const known = await service.call("GET", path, { headers: { "If-None-Match": tag } });
    expect(known.status).toBe(304);

    const one = await client(service).items(job_id);
    const item = one.find(({ input }) => new URL(String(input["url"])).pathname === "/a")!;
    const { archive_url } = item.result as { archive_url: string };
    expect(archive_url).toBe(`/v1/requests/${job_id}:${item.index}.warc.gz`);
    expect(pathsOf(ofType(readPages(await download(service, archive_url)), "response"))).toEqual(["/a"]);
  });

  test("have the exchange with robots.txt once in a file, also where the service knew the rules already", async () => {
    const rules = "User-agent: *\nDisallow: /private\n";
    const site = sites.site({
      "/robots.txt": redirect("/rules.txt"),
      "/rules.txt": { type: "text/plain", body: rules, headers: { "X-Rules": "1" } },
      "/": { body: article("Home") },
      "/b": { body: article("B") },
    });
    await service.fetch({ url: `${site.origin}/`, tiers: ["direct"] });
    expect(site.hits("/rules.txt")).toBe(1);
    const items = ["/", "/b"].map((path) => ({
      url: site.origin + path,
      archive: true,
      tiers: ["direct" as const],
    }));
    const { job_id } = (await client(service).create(items)).json;
    await client(service).finished(job_id);
    const whole = await download(service, `/v1/jobs/${job_id}.warc.gz`);
    const answered = ofType(readWarc(whole), "response");
    expect(pathsOf(answered).toSorted()).toEqual(["/", "/b", "/robots.txt", "/rules.txt"]);
    const file = answered.find((record) => record.field("WARC-Target-URI") === `${site.origin}/rules.txt`)!;
    expect(file.http.payload.toString()).toBe(rules);
    expect(file.http.lines).toContain("X-Rules: 1");
    // Read anew once for the archive, and not for each page of it.
    expect(site.hits("/rules.txt")).toBe(2);
    // A part of the file is made with what stands before it.
    const last = answered.at(-1)!;
    const part = await service.call("GET", `/v1/jobs/${job_id}.warc.gz`, {
      headers: { Range: `bytes=${last.offset}-` },
    });
    expect(part.bytes.equals(whole.subarray(last.offset))).toBe(true);
    const { archive_url } = await service.fetch({ url: `${site.origin}/`, archive: true });
    expect(pathsOf(ofType(readWarc(await download(service, archive_url!)), "response"))).toContain(
      "/robots.txt",
    );
  });

  test("are of their project alone, and of a job that has ended", async () => {
    const door = Promise.withResolvers<void>();
    const site = sites.site({
      "/": { body: article("Home") },
      "/slow": () => door.promise.then(() => ({ body: article("Slow") })),
    });
    const { archive_url } = await service.fetch({ url: `${site.origin}/`, archive: true });
    const created = await client(service).create([
      { url: `${site.origin}/`, archive: true },
      { url: `${site.origin}/slow`, archive: true },
    ]);
    const { job_id } = created.json;
    const path = `/v1/jobs/${job_id}.warc.gz`;
    expect((await service.call("GET", path)).status).toBe(409);
    door.resolve();
    await client(service).finished(job_id);
    await service.trawl("project", "create", "others");
    const { key } = await service.trawl("key", "create", "--project", "others");
    for (const each of [archive_url!, path, `/v1/requests/${job_id}:0.warc.gz`]) {
      expect((await service.call("GET", each)).status).toBe(200);
      expect((await service.call("GET", each, { key })).status).toBe(404);
    }
    // Another project has its own exchange, whatever was kept before.
    const hits = site.hits("/");
    await service.fetch({ url: `${site.origin}/`, archive: true }, { key });
    expect(site.hits("/")).toBe(hits + 1);
    // Nothing is kept unasked.
    expect(await service.fetch({ url: `${site.origin}/` })).not.toHaveProperty("archive_url");
  });

  test("are kept of all fetches of a project whose default says so, but of those that say otherwise", async () => {
    const site = sites.site({ "/": { body: article("Home") } });
    const url = `${site.origin}/`;
    await service.trawl("project", "create", "keepers");
    await service.trawl("project", "archive", "keepers", "on");
    const { key } = await service.trawl("key", "create", "--project", "keepers");
    const jobs = client({ call: (method, path, more) => service.call(method, path, { key, ...more }) });
    expect(await service.fetch({ url, archive: false }, { key })).not.toHaveProperty("archive_url");
    // Also of a page that is asked for again.
    for (let times = 0; times < 2; times++)
      expect(await service.fetch({ url }, { key })).toHaveProperty("archive_url");
    const batch = await jobs.create([{ url }, { url, archive: false }]);
    await jobs.finished(batch.json.job_id);
    const items = await jobs.items(batch.json.job_id);
    expect(items.map(({ result }) => "archive_url" in (result as object))).toEqual([true, false]);
    const crawled = await service.call("POST", "/v1/crawl", {
      key,
      body: { url, limit: 1, idempotency_key: "kept" },
    });
    await jobs.finished(crawled.json.job_id);
    const { status } = await service.call("GET", `/v1/jobs/${crawled.json.job_id}.warc.gz`, { key });
    expect(status).toBe(200);
    expect(await service.trawl("project", "archive", "keepers", "off")).not.toHaveProperty("archive");
  });

  test("are listed and given back by address and time, for their project alone", async () => {
    const site = sites.site({
      "/page": ({ path }) => ({
        body: article(`Version ${path}`),
        headers: { ETag: '"v"', "Set-Cookie": "a=1" },
      }),
      "/moved": redirect("/page?x=2&a=1"),
      "/other": { body: article("Other") },
      "/gone": { status: 410, body: "<p>Gone" },
    });
    const { origin } = site;
    const first = await service.fetch({ url: `${origin}/page?x=2&a=1`, archive: true });
    const { json: job } = await client(service).create(
      ["/moved", "/other", "/gone"].map((path) => ({ url: origin + path, archive: true })),
    );
    await client(service).finished(job.job_id);
    const list = async (query: string, key?: string): Promise<string[][]> => {
      const answered = await service.call(
        "GET",
        `/v1/archive/cdx?${query}`,
        key === undefined ? {} : { key },
      );
      expect(answered.status).toBe(200);
      expect(answered.json[0]).toEqual([
        "urlkey",
        "timestamp",
        "original",
        "mimetype",
        "statuscode",
        "digest",
        "length",
      ]);
      return answered.json.slice(1);
    };
    const at = encodeURIComponent;
    // The order of parameters makes no other address.
    const rows = await list(`url=${at(`${origin}/page?a=1&x=2`)}`);
    expect(rows.map(([, , url, mime, status]) => [url, mime, status])).toEqual([
      [`${origin}/page?x=2&a=1`, "text/html", "200"],
      [`${origin}/page?x=2&a=1`, "text/html", "200"],
    ]);
    expect(rows[0]![5]).toBe(`sha256:${first.sha256}`);
    const all = await list(`url=${at(`${origin}/`)}&matchType=host`);
    expect(all.map(([, , url, , status]) => `${status} ${new URL(url!).pathname}`)).toEqual([
      "410 /gone",
      "302 /moved",
      "200 /other",
      "200 /page",
      "200 /page",
    ]);
    const found = await list(`url=${at(`${origin}/*`)}&filter=!statuscode:200&limit=1`);
    expect(found.map(([, , , , status]) => status)).toEqual(["410"]);
    expect(await list(`url=${at(`${origin}/other`)}&to=2020`)).toEqual([]);
    const wrong = await service.call("GET", `/v1/archive/cdx?url=${at(origin)}&filter=statuscode:(`);
    expect([wrong.status, wrong.json.detail[0].loc]).toEqual([422, ["query", "filter"]]);

    const [, timestamp] = rows[0]!;
    const replayed = await service.call("GET", `/v1/archive/web/${timestamp}id_/${origin}/page?x=2&a=1`);
    expect(replayed.status).toBe(200);
    expect(sha256(replayed.bytes)).toBe(`sha256:${first.sha256}`);
    expect(replayed.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "sandbox",
      "x-archive-orig-etag": '"v"',
    });
    expect(replayed.headers).not.toHaveProperty("x-archive-orig-set-cookie");
    expect(Date.parse(replayed.headers["memento-datetime"]!)).toBeGreaterThan(Date.now() - 600_000);
    const moved = await service.call("GET", `/v1/archive/web/2026id_/${at(`${origin}/moved`)}`);
    expect(moved.status).toBe(302);
    const [, moved_at] = all.find(([, , url]) => url!.endsWith("/moved"))!;
    expect(moved.headers["location"]).toBe(`/v1/archive/web/${moved_at}id_/${origin}/page?x=2&a=1`);
    expect((await service.call("GET", `/v1/archive/web/2026id_/${origin}/gone`)).status).toBe(404);
    await service.trawl("project", "create", "readers");
    const { key } = await service.trawl("key", "create", "--project", "readers");
    expect(await list(`url=${at(`${origin}/`)}&matchType=host`, key)).toEqual([]);
    expect((await service.call("GET", `/v1/archive/web/2026id_/${origin}/other`, { key })).status).toBe(404);
  });

  test.skipIf(warcio === null && jwarc === null)(`are right to other readers${how}${how_jwarc}`, async () => {
    const site = sites.site({
      "/": redirect("/gzip"),
      ...Object.fromEntries(
        (["gzip", "br", "zstd", "deflate"] as const).map((coding) => [
          `/${coding}`,
          coded(coding, { body: article(coding) }),
        ]),
      ),
      "/empty": { body: "" },
      "/none": { status: 204 },
      "/twin": { body: article("gzip") },
      "/gone": { status: 410, body: "<p>Gone" },
      // Node writes the head as UTF-8 when the body is text.
      "/latin": { body: Buffer.from(article("Latin")), headers: { "X-Bytes": "caf\u00e9" } },
    });
    const paths = ["/", "/gzip", "/br", "/zstd", "/deflate", "/empty", "/none", "/twin", "/gone", "/latin"];
    const items = paths.map((path) => ({
      url: site.origin + path,
      archive: true,
      tiers: ["direct" as const],
      formats: ["markdown" as const],
    }));
    const created = await client(service).create(items);
    const { job_id } = created.json;
    await client(service).finished(job_id);
    const file = await download(service, `/v1/jobs/${job_id}.warc.gz`);
    const latin = readWarc(file).find((record) => record.field("WARC-Target-URI")?.endsWith("/latin"));
    expect(latin!.http.lines).toContain("X-Bytes: caf\u00e9");
    const name = join(folder, `${job_id}.warc.gz`);
    writeFileSync(name, file);
    if (jwarc !== null) await checkByJwarc(jwarc, name);
    if (warcio !== null) await checkByWarcio(warcio, name, file);
  });

  test(`of a job are there as WACZ, whole and by ranges${how}`, async () => {
    const site = sites.site({
      "/": { body: article("First") },
      "/b": { body: article("Second") },
      "/gone": { status: 404, body: "<p>Gone" },
    });
    const urls = ["/", "/b?y=1&X=2", "/gone"].map((path) => site.origin + path);
    const created = await client(service).create(urls.map((url) => ({ url, archive: true })));
    const { job_id } = created.json;
    await client(service).finished(job_id);
    const path = `/v1/jobs/${job_id}.wacz`;
    const answered = await service.call("GET", path);
    expect([answered.status, answered.headers["content-type"]]).toEqual([200, "application/wacz"]);
    const { bytes: file } = answered;
    expect(answered.headers["content-length"]).toBe(String(file.length));
    const entries = readZip(file);
    expect([...entries.keys()]).toEqual([
      "archive/data.warc.gz",
      "indexes/index.cdx.gz",
      "indexes/index.idx",
      "pages/pages.jsonl",
      "datapackage.json",
      "datapackage-digest.json",
    ]);
    const entry = (name: string): Buffer => entries.get(name)!;
    const warc = entry("archive/data.warc.gz");
    expect(warc.equals(await download(service, `/v1/jobs/${job_id}.warc.gz`))).toBe(true);
    const lines = gunzipSync(entry("indexes/index.cdx.gz")).toString().trim().split("\n");
    const index = lines.map((line) => JSON.parse(line.slice(line.indexOf("{"))));
    expect(lines).toEqual(lines.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(lines[1]).toMatch(/^test,site-\d+:\d+\)\/b\?x=2&y=1 \d{14} \{/);
    const indexed = [...urls, `${site.origin}/robots.txt`];
    expect(index.map(({ url }) => url).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(indexed.toSorted());
    const records = readWarc(warc);
    for (const { url, offset, length, digest, recordDigest } of index) {
      const record = records.find((each) => each.offset === Number(offset))!;
      expect(record.field("WARC-Target-URI")).toBe(url);
      expect([record.length, record.field("WARC-Payload-Digest")]).toEqual([Number(length), digest]);
      const member = warc.subarray(Number(offset), Number(offset) + Number(length));
      expect(recordDigest).toBe(sha256(member));
    }
    const [head, ...pages] = entry("pages/pages.jsonl")
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ format: "json-pages-1.0", hasText: true });
    expect(pages.map(({ url, title }) => [url, title]).slice(0, 2)).toEqual([
      [urls[0], "First"],
      [urls[1], "Second"],
    ]);
    const { resources, ...description } = JSON.parse(entry("datapackage.json").toString());
    expect(description).toMatchObject({
      profile: "data-package",
      wacz_version: "1.1.1",
      mainPageUrl: urls[0],
    });
    for (const { path: name, hash, bytes } of resources)
      expect([name, hash, bytes]).toEqual([name, sha256(entry(name)), entry(name).length]);
    const { hash, signedData } = JSON.parse(entry("datapackage-digest.json").toString());
    expect([hash, signedData.hash]).toEqual([sha256(entry("datapackage.json")), hash]);
    expect(signedData.created).toBe(description.created);
    const at = warc.length - 10;
    const part = await service.call("GET", path, { headers: { Range: `bytes=${at}-${at + 700}` } });
    expect(part.status).toBe(206);
    expect(part.bytes.equals(file.subarray(at, at + 701))).toBe(true);
    if (wacz === null) return;
    const name = join(folder, `${job_id}.wacz`);
    writeFileSync(name, file);
    const { stdout, stderr } = await run(wacz, ["validate", "-f", name]);
    expect(`${stdout}${stderr}`).toMatch(/valid/i);
    expect(`${stdout}${stderr}`).not.toMatch(/invalid|failed|error/i);
  });

  test.skipIf(!has_openssl)(
    `are signed with a certificate and the time of an authority, or not there${how_authsign}`,
    async () => {
      const site = sites.site({ "/": { body: article("Signed") } });
      const { job_id } = (await client(service).create([{ url: `${site.origin}/`, archive: true }])).json;
      await client(service).finished(job_id);
      const path = `/v1/jobs/${job_id}.wacz`;
      authority!.behave("fail");
      const refused = await service.call("GET", path);
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "60"]);
      expect(refused.json.detail).toEqual({
        error: "time_stamp_refused",
        message: "The archive cannot be signed now: the time stamp authority gave no time stamp",
      });
      authority!.behave("stamp");
      const before = authority!.requests();
      // Each has a signature of its own, and one of them is kept.
      const files = await Promise.all([1, 2].map(() => service.call("GET", path)));
      const asked = authority!.requests();
      expect(asked).toBeGreaterThan(before);
      files.push(await service.call("GET", path), await service.call("GET", path));
      expect(new Set(files.map(({ status, headers }) => `${status} ${headers["etag"]}`)).size).toBe(1);
      expect(new Set(files.map(({ bytes }) => sha256(bytes))).size).toBe(1);
      expect(authority!.requests()).toBe(asked);

      const entries = readZip(files[0]!.bytes);
      const { hash, signedData } = JSON.parse(entries.get("datapackage-digest.json")!.toString());
      expect(hash).toBe(sha256(entries.get("datapackage.json")!));
      expect(Object.keys(signedData).toSorted()).toEqual(
        "created,domain,domainCert,hash,signature,software,timeSignature,timestampCert,version".split(","),
      );
      expect(signedData).toMatchObject({ hash, version: "0.1.0", domain: DOMAIN });
      const { publicKey } = new X509Certificate(signedData.domainCert);
      const signature = Buffer.from(signedData.signature, "base64");
      expect(verify("sha256", Buffer.from(hash), publicKey, signature)).toBe(true);
      writeFileSync(join(signing.path, "signature"), signedData.signature);
      writeFileSync(join(signing.path, "stamp.tsr"), Buffer.from(signedData.timeSignature, "base64"));
      const words = "ts -verify -in stamp.tsr -data signature -CAfile stamps-root.pem";
      await openssl(signing.path, ...words.split(" "));
      if (authsign === null) return;
      const roots = ["root.pem", "stamps-root.pem"].map((name) =>
        new X509Certificate(readFileSync(join(signing.path, name))).fingerprint256
          .replaceAll(":", "")
          .toLowerCase(),
      );
      const trusted = { domain_cert_roots: [roots[0]], timestamp_cert_roots: [roots[1]] };
      const [trust, signed] = ["roots.yaml", "signed.json"].map((name) => join(signing.path, name));
      writeFileSync(trust!, JSON.stringify(trusted));
      writeFileSync(signed!, JSON.stringify(signedData));
      const { stdout } = await run(authsign, ["-c", AUTHSIGN_PROGRAM, trust!, signed!]);
      expect(stdout.trim().split("\n").at(-1)).toBe(`observer ${DOMAIN}`);
    },
  );
});
