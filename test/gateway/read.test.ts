/** The lean forms of a fetch: `fields`, Accept: text/markdown and GET /v1/read/{address}. */
import { describe, expect, test } from "vitest";
import type { UnsealedFetch } from "../../schemas/fetch.ts";
import { cacheThat, fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";

const URL_ = "https://example.org/";
const MARKDOWN = { headers: { accept: "text/markdown" } };

async function pages(record: object = {}, answer: object = {}) {
  const requests: UnsealedFetch[] = [];
  const at = await gatewayHarness({
    cache: cacheThat(() => true),
    fetch: async (request) => {
      requests.push(request);
      const forms = Buffer.from(JSON.stringify({ markdown: "# Example\n\nAn *example*.", links: [] }));
      const { sha256 } = await at.blobs.put(forms);
      return fetchAnswer({ formats_sha256: sha256, ...record }, answer);
    },
  });
  return { ...at, requests };
}

describe("`fields`", () => {
  test("leave out what they do not name, never the error and the id", async () => {
    const { fetch, requests } = await pages();
    const { json } = await fetch({ url: URL_, fields: ["title", "url", "markdown"] });
    expect(Object.keys(json)).toEqual(["url", "markdown", "title", "error", "request_id"]);
    expect(json).toMatchObject({ title: "Example", markdown: "# Example\n\nAn *example*." });
    expect(requests[0]!.with_formats).toBe(true);
  });

  test("hold for an answer that comes from memory again", async () => {
    const { fetch, requests } = await pages({}, { cached: true });
    const bodies = [{ url: URL_, fields: ["title"] }, { url: URL_ }];
    for (const body of [...bodies, ...bodies]) {
      const { json } = await fetch(body);
      expect(Object.keys(json).length > 3).toBe(body.fields === undefined);
      expect(json.request_id).toMatch(/^req_/);
    }
    expect(requests).toHaveLength(2);
  });

  test("are all there where there is no page: nothing that explains it is missing", async () => {
    const { fetch } = await pages({}, { error: "http_404", error_detail: "The origin answered 404" });
    const { json } = await fetch({ url: URL_, fields: ["title"] });
    expect(json).toMatchObject({ error: "http_404", error_detail: "The origin answered 404" });
    expect(json.attempts).toHaveLength(1);
  });

  test("that an answer does not have are refused", async () => {
    const { fetch } = await pages();
    const { status, json } = await fetch({ url: URL_, fields: ["title", "colour"] });
    expect([status, json.detail[0].loc]).toEqual([422, ["body", "fields", 1]]);
  });
});

describe("Accept: text/markdown", () => {
  test("has the page and nothing else, and is remembered for no client that wants JSON", async () => {
    const { fetch } = await pages({}, { cached: true });
    for (let n = 0; n < 2; n++) {
      const lean = await fetch({ url: URL_ }, MARKDOWN);
      expect([lean.status, lean.headers["content-type"], lean.bytes.toString()]).toEqual([
        200,
        "text/markdown; charset=utf-8",
        "# Example\n\nAn *example*.",
      ]);
      expect(lean.headers["content-location"]).toBe("https://example.org/");
      expect((await fetch({ url: URL_ })).json.text).toBe("An example.");
    }
  });

  test("is the text where a document has no Markdown", async () => {
    const { fetch } = await pages({ formats_sha256: null });
    expect((await fetch({ url: URL_ }, MARKDOWN)).bytes.toString()).toBe("An example.");
  });

  test.each([
    [{}, { error: "http_404" }, { error: "http_404" }],
    [{ formats_sha256: null, text: "", content_kind: "binary" }, {}, { error: null, content_kind: "binary" }],
  ])("of what has no text is the answer as JSON: %j %j", async (record, answer, expected) => {
    const { fetch } = await pages(record, answer);
    const { status, json } = await fetch({ url: URL_ }, MARKDOWN);
    expect([status, json]).toMatchObject([200, expected]);
  });

  test("is billed as any fetch", async () => {
    const { call, fetch } = await pages();
    await fetch({ url: URL_ }, MARKDOWN);
    const { json } = await call("GET", "/v1/requests");
    expect(json.items).toMatchObject([{ category: "fetch_own", ok: true }]);
  });
});

describe("GET /v1/read", () => {
  test.each([
    ["https://example.org/", URL_, {}],
    ["https:/example.org/a//b/", "https://example.org/a//b/", {}],
    ["https://example.org/?q=a%20b&page=2", "https://example.org/?q=a%20b&page=2", {}],
    [
      "https://example.org/list?page=2&render=always&format=x",
      "https://example.org/list?page=2&format=x",
      { render: "always" },
    ],
    [
      "https%3A%2F%2Fexample.org%2F%3Frender%3Dx?render=never&cache_ttl_s=0&tiers=direct,archive",
      "https://example.org/?render=x",
      { render: "never", cache_ttl_s: 0, tiers: ["direct", "archive"] },
    ],
    [
      "https://example.org/?include_selectors=main,article&include_selectors=.b&only_main_content=false",
      URL_,
      { reading: { only_main_content: false, include: ["main,article", ".b"], exclude: [] } },
    ],
  ])("%s asks for the page with its options", async (target, url, options) => {
    const { call, requests } = await pages();
    const { status, bytes, headers } = await call("GET", `/v1/read/${target}`);
    expect([status, bytes.toString(), headers["content-type"]]).toEqual([
      200,
      "# Example\n\nAn *example*.",
      "text/markdown; charset=utf-8",
    ]);
    expect(requests).toMatchObject([{ url, with_formats: true, ...options }]);
  });

  test("has the whole answer for a client that prefers JSON, and lean with `fields`", async () => {
    const { call } = await pages();
    const json = { headers: { accept: "application/json" } };
    expect((await call("GET", `/v1/read/${URL_}`, json)).json).toMatchObject({
      url: URL_,
      text: "An example.",
    });
    const lean = await call("GET", `/v1/read/${URL_}?fields=title,bytes`, json);
    expect(Object.keys(lean.json)).toEqual(["title", "bytes", "error", "request_id"]);
  });

  test("needs a key, tells its errors as a fetch does, and has its row", async () => {
    const { call, key } = await pages({}, { error: "domain_dead", error_detail: "x" });
    expect((await call("GET", `/v1/read/${URL_}`, { key: null })).status).toBe(401);
    expect((await call("GET", `/v1/read/${URL_}`)).json).toMatchObject({ error: "domain_dead", url: URL_ });
    expect((await call("GET", "/v1/read/example.org")).json).toMatchObject({ error: "invalid_url" });
    expect((await call("GET", "/v1/read/")).status).toBe(422);
    const searchOnly = await key({ categories: ["search"] });
    expect((await call("GET", `/v1/read/${URL_}`, { key: searchOnly })).status).toBe(403);
    const { json } = await call("GET", "/v1/requests");
    expect(json.items).toMatchObject(
      [{ url: null }, { ok: false }].map(() => ({ category: "fetch_own", ok: false })),
    );
  });

  test("refuses values and agents as a fetch does, and tells names that it does not know", async () => {
    const { call } = await pages();
    const read = async (target: string) => call("GET", `/v1/read/${target}`);
    expect((await read(`${URL_}?render=sometimes`)).json.detail[0].loc).toEqual(["query", "render"]);
    expect((await read(`${URL_}?user_agent=x/1`)).status).toBe(403);
    const encoded = encodeURIComponent(URL_);
    expect((await read(`${encoded}?includeTags=main`)).json.detail[0].loc).toEqual(["query", "includeTags"]);
    expect((await read(`${encoded}?verbose=1`)).headers["x-service-warning"]).toBe(
      'unknown query parameter "verbose"',
    );
  });
});
