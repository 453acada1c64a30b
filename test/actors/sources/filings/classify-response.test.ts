import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { filingOwner } from "../../../../actors/sources/filings/feature/owner.ts";
import {
  bodyAssessor,
  throttlePage,
  classify,
} from "../../../../actors/sources/filings/upstream/classify-response.ts";
import { filingHosts, isWithin, kindOf } from "../../../../actors/sources/filings/upstream/hosts.ts";
import { hostOwners } from "../../../../node/host-owners.ts";
import type { SourceKind } from "../../../../schemas/filing-source.ts";
import { SHARED_EDGAR } from "../../../harness/edgar.ts";

const FIXTURES = new URL("../../../fixtures/edgar/_errors/", import.meta.url).pathname;
const made_up = (name: string): Buffer => readFileSync(FIXTURES + name);
const text = (body: string): Buffer => Buffer.from(body);

describe("an answer is classified by its body", () => {
  const THROTTLED = made_up("throttled.html");
  test.each<[string, number, Buffer, string, string?]>([
    ["page A with 429", 429, THROTTLED, "throttled", "threshold"],
    ["page A with 403", 403, THROTTLED, "throttled", "threshold"],
    ["page A with 404", 404, THROTTLED, "throttled", "threshold"],
    ["page B, which has the same title", 403, made_up("undeclared.html"), "throttled", "identity_refused"],
    ["S3's 403 (class C)", 403, made_up("access-denied.xml"), "missing"],
    ["S3's 404 (class D)", 404, made_up("no-such-key.xml"), "missing"],
    ["maintenance (class E)", 503, made_up("maintenance.html"), "throttled", "http_503"],
    ["a 429 without a page", 429, text(""), "throttled", "http_429"],
    ["an unknown 403", 403, text("<Code>Other</Code>"), "throttled", "http_403"],
    ["a plain 404", 404, text("gone"), "missing"],
    ["410", 410, text(""), "missing"],
    ["class F", 500, text('{"message":"Internal server error"}'), "broken"],
    ["502", 502, text(""), "broken"],
    ["504", 504, text(""), "broken"],
    ["204", 204, text(""), "broken"],
    ["400", 400, text(""), "refused"],
    ["304", 304, text(""), "not_modified"],
    ["302", 302, text(""), "redirect"],
    ["200", 200, text("{}"), "content"],
  ])("%s", (_, status, body, kind, reason) => {
    expect(classify(status, body)).toMatchObject({ kind, ...(reason !== undefined && { reason }) });
  });

  test("a filing that quotes a throttle page is none: title, heading and size must all match", () => {
    const page = THROTTLED.toString();
    expect(throttlePage(text(page.replace("<title>", "<title>About: ")))).toBeNull();
    expect(throttlePage(text(page.replaceAll(/h1/g, "h2")))).toBeNull();
    expect(throttlePage(text(page + "<p>filing</p>".repeat(4_000)))).toBeNull();
    expect(throttlePage(text(page))).toBe("threshold");
  });

  const stored = `${SHARED_EDGAR}/_errors/`;
  test.skipIf(!existsSync(stored))(`the recorded ones (${stored})`, () => {
    const recorded = (name: string): Buffer => readFileSync(stored + name);
    expect(classify(429, recorded("www.sec.gov-429-rate-threshold.html"))).toMatchObject({
      reason: "threshold",
    });
    expect(throttlePage(recorded("www.sec.gov-429-rate-threshold.html"))).toBe("threshold");
    expect(throttlePage(recorded("www.sec.gov-403-undeclared.html"))).toBe("identity_refused");
    expect(classify(403, recorded("www.sec.gov-403-s3-accessdenied.xml"))).toEqual({ kind: "missing" });
    expect(classify(404, recorded("data.sec.gov-404-nosuchkey.xml"))).toEqual({ kind: "missing" });
    expect(classify(503, recorded("www.sec.gov-503-maintenance.html"))).toMatchObject({ reason: "http_503" });
  });
});

describe("a body with status 200", () => {
  const checked = (kind: SourceKind, path: string, body: string | Buffer, piece_bytes = 7) => {
    const check = bodyAssessor(kind, path);
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += piece_bytes) {
      const early = check.push(bytes.subarray(at, at + piece_bytes));
      if (early) return early;
    }
    return check.end();
  };
  const large = `{"facts":{"x":[${'{"val":1},'.repeat(60_000)}{"val":2}]}}`;

  test.each<[string, SourceKind, string, string | Buffer, string]>([
    ["JSON", "submissions", "/s.json", '{"cik":1}', "whole"],
    ["JSON too large to be parsed", "facts", "/f.json", large, "whole"],
    ["the same, cut off", "facts", "/f.json", large.slice(0, -2), "incomplete"],
    ["the same, and something behind", "facts", "/f.json", `${large}{}`, "incomplete"],
    ["small JSON, cut off", "submissions", "/s.json", '{"cik":[1', "incomplete"],
    ["balanced, and no JSON", "submissions", "/s.json", "{cik:1}", "incomplete"],
    ["nothing", "document", "/x.htm", "", "incomplete"],
    ["nothing for robots.txt", "robots", "/robots.txt", "", "whole"],
    ["HTML for JSON", "tickers", "/t.json", "<html><p>Welcome</html>", "incomplete"],
    ["bytes of no meaning", "tickers", "/t.json", Buffer.from([7, 200, 0, 13, 255]), "incomplete"],
    ["a throttle page for JSON", "tickers", "/t.json", made_up("throttled.html"), "throttled"],
    ["a throttle page for a document", "document", "/x.htm", made_up("throttled.html"), "throttled"],
    ["a document", "document", "/x.htm", "<p>A filing</p>", "whole"],
    ["a folder listing that is no JSON", "index", "/a/index.json", "<p>no", "incomplete"],
    ["a search", "search", "/LATEST/search-index?q=x", '{"hits":{"hits":[]}}', "whole"],
    ["a search's error", "search", "/LATEST/search-index?q=x", '{"error":{},"hits":{"hits":[]}}', "broken"],
    ["a search's other error", "search", "/LATEST/search-index?q=x", '{"message":"x"}', "broken"],
  ])("%s", (_, kind, path, body, comes_to) => {
    expect(checked(kind, path, body).kind).toBe(comes_to);
    expect(checked(kind, path, body, 65_536).kind).toBe(comes_to);
  });
});

describe("the addresses of the filing system", () => {
  const filingSystem = (data_url: string, www_url: string, search_url: string) => {
    const { ownerOf } = hostOwners([filingOwner({ data_url, www_url, search_url })]);
    return {
      ...filingHosts({ data: data_url, www: www_url, search: search_url }),
      owns: (url: string) => ownerOf(url) !== null,
    };
  };
  const real = filingSystem("https://data.sec.gov", "https://www.sec.gov", "https://efts.sec.gov");
  const mirror = filingSystem(
    "http://127.0.0.1:8001",
    "http://127.0.0.1:8002/mirror/",
    "http://127.0.0.1:8003",
  );

  test.each([
    ["https://www.sec.gov/x?y=1#z", "https://www.sec.gov/x?y=1"],
    ["http://www.sec.gov/x", "https://www.sec.gov/x"],
    ["https://sec.gov/x", "https://www.sec.gov/x"],
    ["https://WWW.SEC.GOV./x", "https://www.sec.gov/x"],
    ["https://data.sec.gov/submissions/a.json", "https://data.sec.gov/submissions/a.json"],
    ["https://efts.sec.gov/LATEST/search-index?q=a", "https://efts.sec.gov/LATEST/search-index?q=a"],
    [
      "https://www.sec.gov/ix?doc=/Archives/edgar/data/1/a.htm",
      "https://www.sec.gov/Archives/edgar/data/1/a.htm",
    ],
    ["https://www.sec.gov/a/../b", "https://www.sec.gov/b"],
  ])("%s is asked for as %s", (url, request) => {
    expect(real.owns(url)).toBe(true);
    expect(real.urlOf(real.addressOf(url)!)).toBe(request);
  });

  test.each(["https://user:pw@www.sec.gov/x", "https://www.sec.gov:8443/x", "ftp://www.sec.gov/x"])(
    "%s is the system's and not asked for",
    (url) => {
      expect([real.owns(url), real.addressOf(url)]).toEqual([true, null]);
    },
  );

  test.each([
    "https://notsec.gov/",
    "https://sec.gov.evil.test/",
    "https://x.sec.gov/",
    "http://127.0.0.1:8009/",
    "nonsense",
  ])("%s is not the filing system's", (url) => {
    expect([real.owns(url), mirror.owns(url)]).toEqual([false, false]);
  });

  test("where the bases are others, the system's own hosts are asked there", () => {
    expect(mirror.urlOf(mirror.addressOf("https://www.sec.gov/a?b")!)).toBe(
      "http://127.0.0.1:8002/mirror/a?b",
    );
    expect(mirror.addressOf("http://127.0.0.1:8002/mirror/a")).toEqual({ host: "www", path: "/a" });
    expect([mirror.owns("http://127.0.0.1:8002/x"), mirror.addressOf("http://127.0.0.1:8002/x")]).toEqual([
      true,
      null,
    ]);
  });

  test.each<[string, "www" | "data" | "search", SourceKind]>([
    ["/files/company_tickers.json", "www", "tickers"],
    ["/Archives/edgar/data/320193/000032019324000123/aapl.htm", "www", "document"],
    ["/Archives/edgar/data/320193/0000320193-24-000123.txt", "www", "document"],
    ["/Archives/edgar/data/320193/0000320193-24-000123-index.html", "www", "index"],
    ["/Archives/edgar/data/320193/000032019324000123/index.json", "www", "index"],
    ["/Archives/edgar/data/320193/000032019324000123/", "www", "page"],
    ["/Archives/edgar/data/320193/000032019324000123", "www", "page"],
    ["/Archives/edgar/data/320193/", "www", "page"],
    ["/Archives/edgar/full-index/2025/QTR4/master.idx", "www", "page"],
    ["/cgi-bin/browse-edgar?action=getcurrent", "www", "page"],
    ["/submissions/CIK0000320193.json", "data", "submissions"],
    ["/submissions/CIK0000320193-submissions-001.json", "data", "submissions"],
    ["/api/xbrl/companyfacts/CIK0000320193.json", "data", "facts"],
    ["/api/xbrl/frames/x.json", "data", "page"],
    ["/LATEST/search-index?q=x", "search", "search"],
  ])("what stands at %s of %s is a %s", (path, host, kind) => {
    expect(kindOf({ host, path })).toBe(kind);
  });

  test.each([
    ["/a/b/c.htm", true],
    ["/a/c.htm", false],
    ["/a/b/..%2fc.htm", false],
    ["/a/b/%2e%2e/c.htm", false],
    ["/a/bc.htm", false],
  ])("%s lies in /a/b/: %s", (path, lies) => {
    expect(isWithin(path, "/a/b/")).toBe(lies);
  });
});
