/** The route `archive`: pywb over a WARC of our own, and an archive with wrong answers. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { HopRefusal } from "../../../../actors/lib/web/transport.ts";
import { archiveTransport } from "../../../../actors/crawl/tiers/adapters/transport.archive.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { fakeEgress, type FakeWeb } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { permitLog } from "../../../harness/fake-permit.ts";
import { freePort } from "../../../harness/free-port.ts";
import { findProgram, type Program, program } from "../../../harness/programs.ts";

const USER_AGENT = "Mozilla/5.0 (compatible; trawl/test)";
const NOW_MS = Date.UTC(2026, 10, 21, 12);

// --- a real one ------------------------------------------------------------------------------------------------

const DAY_MS = 24 * 3_600_000;
const STARTED_MS = Math.floor(Date.now() / 1_000) * 1_000;
const ago = (days: number): Date => new Date(STARTED_MS - days * DAY_MS);
const HTML = "<html><title>Öl</title><p>Grüße aus dem Archiv</p></html>";

interface Capture {
  readonly url: string;
  readonly at: Date;
  readonly status: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** ISO 28500: version, named fields, a blank line, the block, two blank lines. */
function warcRecord({ url, at, status, headers, body }: Capture, id: number): Buffer {
  const head = Buffer.from(`HTTP/1.1 ${status}\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`);
  const fields = [
    "WARC/1.0",
    "WARC-Type: response",
    `WARC-Target-URI: ${url}`,
    `WARC-Date: ${at.toISOString().replace(/\.\d+/, "")}`,
    `WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-${String(id).padStart(12, "0")}>`,
    "Content-Type: application/http; msgtype=response",
    `Content-Length: ${head.length + body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${fields.join("\r\n")}\r\n\r\n`), head, body, Buffer.from("\r\n\r\n")]);
}

const CAPTURES: readonly Capture[] = [
  {
    url: "http://gone.example/page",
    at: ago(200),
    status: "200 OK",
    headers: ["Content-Type: text/html"],
    body: Buffer.from("<title>older</title>"),
  },
  {
    url: "http://gone.example/page",
    at: ago(50),
    status: "200 OK",
    headers: [
      "Content-Type: text/html; charset=iso-8859-1",
      'ETag: "v2"',
      "Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT",
    ],
    body: Buffer.from(HTML, "latin1"),
  },
  {
    url: "http://gone.example/page",
    at: ago(20),
    status: "404 Not Found",
    headers: ["Content-Type: text/html"],
    body: Buffer.from("no"),
  },
  {
    url: "http://gone.example/ancient",
    at: ago(400),
    status: "200 OK",
    headers: ["Content-Type: text/html"],
    body: Buffer.from("old"),
  },
  {
    url: "https://gone.example/paper.pdf?v=1&x=a%20b",
    at: ago(3),
    status: "200 OK",
    headers: ["Content-Type: application/pdf"],
    body: Buffer.from("%PDF-1.4 \0\u0001\u0002"),
  },
];

const wayback = findProgram("wayback", "/opt/pywb/bin/wayback");

const how =
  wayback === null ? " (not tried: python3 -m venv /opt/pywb && /opt/pywb/bin/pip install pywb)" : "";

describe.skipIf(wayback === null)(`replayed by pywb${how}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-pywb-"));
  let archive: Program;
  let egress: UndiciEgress;
  let archive_url = "";
  beforeAll(async () => {
    mkdirSync(join(folder, "warcs"));
    writeFileSync(join(folder, "warcs/a.warc"), Buffer.concat(CAPTURES.map(warcRecord)));
    const indexer = join(dirname(wayback!), "cdx-indexer");
    const index = execFileSync(indexer, ["-j", "-s", join(folder, "warcs/a.warc")]);
    writeFileSync(join(folder, "index.cdxj"), index);
    const collection = `{archive_paths: ${folder}/warcs/, index_paths: ${folder}/index.cdxj}`;
    const settings = [
      "cdx_api_endpoint: /search/cdx",
      "collections:",
      `  web: ${collection}`,
      `  cdx: ${collection}`,
    ];
    writeFileSync(join(folder, "config.yaml"), `${settings.join("\n")}\n`);
    const port = await freePort();
    archive = await program(wayback!, ["-p", String(port), "-b", "127.0.0.1"], port, folder);
    archive_url = `http://127.0.0.1:${port}`;
    egress = undiciEgress({ judge: destination({ allow: ["127.0.0.0/8"] }) });
  }, 40_000);
  afterAll(async () => {
    await archive?.close();
    await egress?.close();
    rmSync(folder, { recursive: true });
  });
  const route = () => archiveTransport({ egress, clock: systemClock(), archive_url, user_agent: USER_AGENT });

  test("is the newest copy with status 200, its bytes, its fields and its time", async () => {
    const { go, admitted, released } = permitLog();
    const page = await go(route(), "http://gone.example/page");
    const at = ago(50);
    const stamp = at.toISOString().replaceAll(/\D/g, "").slice(0, 14);
    expect(page).toMatchObject({
      kind: "page",
      status: 200,
      final_url: `${archive_url}/web/${stamp}id_/http://gone.example/page`,
      redirects: [],
      body_kind: "origin",
      body: Buffer.from(HTML, "latin1"),
      archived_at: at.toISOString(),
    });
    expect(page.kind === "page" && Object.fromEntries(page.headers)).toMatchObject({
      "content-type": "text/html; charset=iso-8859-1",
      etag: '"v2"',
    });
    expect(admitted.map((url) => new URL(url).pathname.split("/", 3).join("/"))).toEqual([
      "/cdx/search",
      `/web/${stamp}id_`,
    ]);
    expect(released).toMatchObject([{ status: 200 }, { status: 200 }]);
  });

  test("is found by an address with a query, and is bytes as they were", async () => {
    const page = await permitLog().go(route(), "https://gone.example/paper.pdf?v=1&x=a%20b");
    expect(page).toMatchObject({ kind: "page", body: Buffer.from("%PDF-1.4 \0\u0001\u0002") });
  });

  test.each([
    "http://gone.example/ancient",
    "http://gone.example/never",
    "http://nobody.example/",
    "http://gone.example/*",
  ])("%s is archive_not_found", async (url) => {
    const { go, admitted } = permitLog();
    expect(await go(route(), url)).toMatchObject({
      kind: "failed",
      reason: "archive_not_found",
      status: null,
      detail: "No copy of the last 365 days",
    });
    expect(admitted).toHaveLength(1);
  });

  test("is archive_too_large beyond max_bytes", async () => {
    expect(await permitLog().go(route(), "http://gone.example/page", { max_bytes: 10 })).toMatchObject({
      kind: "failed",
      reason: "archive_too_large",
    });
  });
});

// --- one that answers as it is told -----------------------------------------------------------------------------

const ARCHIVE = "https://archive.example";
const PAGE = "http://gone.example/page";
const HEADER = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
const listing = (...timestamps: readonly string[]) =>
  JSON.stringify([HEADER, ...timestamps.map((at) => ["k", at, PAGE, "text/html", "200", "-", "9"])]);
const copyAt = (timestamp: string) => `${ARCHIVE}/web/${timestamp}id_/${PAGE}`;
const T1 = "20261101000000";
const T2 = "20261001000000";
const T3 = "20260901000000";
const T4 = "20260801000000";
const marked = { "content-type": "text/html", "memento-datetime": "Sun, 01 Nov 2026 00:00:00 GMT" };
const NOTICE = "<html><title>Internet Archive</title><h1>Temporarily unavailable</h1></html>";

describe("an archive that", () => {
  let clock = virtualClock(NOW_MS);
  beforeEach(() => {
    clock = virtualClock(NOW_MS);
  });
  type Answer = FakeWeb[string];
  /** `list` is what CDX answers, the rest is by address. */
  function visit(list: Answer, rest: FakeWeb = {}, refuse?: (url: string) => HopRefusal | null) {
    const anywhere: FakeWeb = { [`${ARCHIVE}/`]: { status: 200 }, ...rest };
    const web = fakeEgress(
      new Proxy(anywhere, {
        get: (table, url: string) => (url.includes("/cdx/search/cdx?") ? list : table[url]),
      }),
      clock,
    );
    const book = permitLog(refuse);
    const route = archiveTransport({ egress: web, clock, archive_url: ARCHIVE, user_agent: USER_AGENT });
    return { ...book, web, fetch: (signal?: AbortSignal) => book.go(route, PAGE, signal && { signal }) };
  }

  test("gets our user agent, and at most two requests for a page it has", async () => {
    const { fetch, web } = visit(
      { status: 200, body: listing(T2, T1) },
      { [copyAt(T1)]: { status: 200, headers: marked, body: "<p>copy</p>" } },
    );
    expect(await fetch()).toMatchObject({ kind: "page", archived_at: "2026-11-01T00:00:00.000Z" });
    expect(web.hits.map(({ request }) => Object.fromEntries(request.headers)["User-Agent"])).toEqual([
      USER_AGENT,
      USER_AGENT,
    ]);
  });

  test.each<[string, Answer, string, number | null]>([
    ["asks for a pause", { status: 429, headers: { "retry-after": "60" } }, "archive_rate_limited", 429],
    ["says its error in HTML with status 200", { status: 200, body: NOTICE }, "archive_bad_answer", 200],
    ["answers garbage", { status: 200, body: "\0\u0001{[" }, "archive_bad_answer", 200],
    ["answers half a listing", { status: 200, body: listing(T1).slice(0, -5) }, "archive_bad_answer", 200],
    [
      "answers without end",
      { status: 200, body: Array.from({ length: 17 }, () => Buffer.alloc(65_536, 32)) },
      "archive_bad_answer",
      200,
    ],
    ["is out of order", { status: 503 }, "archive_error", 503],
    ["excludes the page", { status: 403 }, "archive_refused", 403],
    ["does not know the page", { status: 404 }, "archive_not_found", null],
    ["lists nothing", { status: 200, body: "[]" }, "archive_not_found", null],
    ["says nothing", { status: 200, body: "" }, "archive_not_found", null],
    [
      "sends us elsewhere",
      { status: 302, headers: { location: "https://elsewhere.example/" } },
      "archive_refused",
      302,
    ],
    ["does not exist", { problem: "dns_nxdomain" }, "archive_unreachable", null],
    ["cannot be connected to", { problem: "network_refused" }, "archive_unreachable", null],
    ["is private", { problem: "blocked_destination" }, "archive_unreachable", null],
    ["has a bad certificate", { problem: "tls_error" }, "archive_unreachable", null],
    ["does not answer in time", { problem: "timeout" }, "timeout", null],
    ["breaks off", { status: 200, body: "[", breaks: "network_reset" }, "archive_unreachable", 200],
  ])("%s is reported as such", async (_, list, reason, status) => {
    const { fetch, admitted, released } = visit(list);
    expect(await fetch()).toMatchObject({ kind: "failed", reason, status, final_url: null, redirects: [] });
    expect([admitted.length, released.length]).toEqual([1, 1]);
  });

  test("asks for a pause is paused as a domain of its own", async () => {
    const { fetch, released } = visit({ status: 429, headers: { "retry-after": "60" } });
    await fetch();
    expect(released).toMatchObject([{ status: 429, retry_after_s: 60 }]);
  });

  test.each<[string, Answer]>([
    ["is not there", { status: 404 }],
    ["cannot be shown", { status: 503 }],
    ["is the archive's own page", { status: 200, headers: { "content-type": "text/html" }, body: NOTICE }],
    ["leads away from the archive", { status: 302, headers: { location: "https://gone.example/page" } }],
    ["leads to one too old", { status: 302, headers: { location: `/web/20200101000000id_/${PAGE}` } }],
    ["leads nowhere", { status: 302 }],
    [
      "is really an older one",
      { status: 200, headers: { "memento-datetime": "Wed, 01 Jan 2020 00:00:00 GMT" } },
    ],
  ])("has a copy that %s makes us take the next one", async (_, first) => {
    const { fetch, admitted, released } = visit(
      { status: 200, body: listing(T1, T2) },
      { [copyAt(T1)]: first, [copyAt(T2)]: { status: 200, headers: marked, body: "<p>copy</p>" } },
    );
    expect(await fetch()).toMatchObject({ kind: "page", final_url: copyAt(T2) });
    expect(released).toHaveLength(admitted.length);
  });

  test("has no copy that is any good is left after three", async () => {
    const { fetch, web } = visit({ status: 200, body: listing(T1, T2, T3, T4) });
    expect(await fetch()).toMatchObject({
      kind: "failed",
      reason: "archive_not_found",
      detail: "No copy of 3 could be used",
    });
    expect(web.hits).toHaveLength(4);
  });

  test("wants a pause between two copies is left at once", async () => {
    const { fetch, web } = visit({ status: 200, body: listing(T1, T2) }, { [copyAt(T1)]: { status: 429 } });
    expect(await fetch()).toMatchObject({ kind: "failed", reason: "archive_rate_limited", status: 429 });
    expect(web.hits).toHaveLength(2);
  });

  test("leads from one capture to another has both in redirects, with a permit for each", async () => {
    const { fetch, admitted } = visit(
      { status: 200, body: listing(T1) },
      {
        [copyAt(T1)]: { status: 302, headers: { location: `${ARCHIVE}/web/${T2}/${PAGE}` } },
        [copyAt(T2)]: { status: 200, headers: { ...marked, "memento-datetime": "x" }, body: "<p>copy</p>" },
      },
    );
    expect(await fetch()).toMatchObject({
      kind: "page",
      final_url: copyAt(T2),
      redirects: [{ url: copyAt(T1), status: 302, location: `${ARCHIVE}/web/${T2}/${PAGE}` }],
      archived_at: "2026-10-01T00:00:00.000Z",
    });
    expect(admitted.slice(1)).toEqual([copyAt(T1), copyAt(T2)]);
  });

  test("leads in circles is left", async () => {
    const { fetch, web } = visit(
      { status: 200, body: listing(T1) },
      { [copyAt(T1)]: { status: 302, headers: { location: copyAt(T1) } } },
    );
    expect(await fetch()).toMatchObject({ kind: "failed", reason: "archive_not_found" });
    expect(web.hits).toHaveLength(7);
  });

  test.each<[string, string]>([
    ["robots_disallowed", "archive_robots_disallowed"],
    ["domain_busy", "archive_domain_busy"],
    ["politeness_timeout", "archive_politeness_timeout"],
    ["timeout", "timeout"],
  ])("is not admitted (%s) is a failure of the archive, never of the page", async (error, reason) => {
    const refusal: HopRefusal = { error, step: "robots", reason: error, retry_after_s: 9, detail: "why" };
    const { fetch, web } = visit({ status: 200 }, {}, () => refusal);
    expect(await fetch()).toMatchObject({ kind: "failed", reason, detail: "why" });
    expect(web.hits).toEqual([]);
  });

  test("takes for ever is given up after 75 seconds, and the permit is released", async () => {
    const { fetch, released } = visit({ after_ms: 3_600_000, status: 200, body: "[]" });
    const visited = fetch(new AbortController().signal);
    await clock.advance(75_000);
    expect(await visited).toMatchObject({ kind: "failed", reason: "timeout", ms: 75_000 });
    expect(released).toHaveLength(1);
  });

  test("is not asked when the caller has left", async () => {
    const { fetch, web } = visit({ status: 200 });
    expect(await fetch(AbortSignal.abort())).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(web.hits).toEqual([]);
  });

  test("is not asked where imports alone are wanted", async () => {
    const web = fakeEgress({}, clock);
    const [known, unknown] = [PAGE, "http://gone.example/other"];
    const route = archiveTransport({
      egress: web,
      clock,
      archive_url: null,
      user_agent: USER_AGENT,
      findImported: async (_, url) =>
        url === known
          ? {
              url,
              redirects: [],
              headers: new Map([["content-type", "text/html"]]),
              body: Buffer.from("<p>imported</p>"),
              bytes: 15,
              captured_at: "2015-03-04T05:06:07.000Z",
              source: "town.warc.gz",
              is_shared: true,
            }
          : null,
    });
    const { go, admitted } = permitLog();
    expect(await go(route, known)).toMatchObject({
      kind: "page",
      archived_at: "2015-03-04T05:06:07.000Z",
      detail: 'Imported from "town.warc.gz"',
    });
    expect(await go(route, unknown)).toMatchObject({
      kind: "failed",
      reason: "archive_not_found",
      detail: "No import has the page",
    });
    expect([web.hits, admitted]).toEqual([[], []]);
  });
});
