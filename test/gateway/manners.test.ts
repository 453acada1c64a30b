/** Manners of every route: warnings, compression, idempotency keys, messages in words. */
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { acceptedCoding } from "../../gateway/compress.ts";
import { MAX_WARNINGS } from "../../gateway/warnings.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { batches } from "../harness/batch-harness.ts";
import { admissionOf, cacheThat, fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";

const URL_ = "https://example.org/";
const WARNING = "x-service-warning";

describe("an unknown name", () => {
  test.each([
    [{ timeout: 5 }, 'unknown field "timeout"; did you mean "timeout_s"?'],
    [{ allow_archives: true }, 'unknown field "allow_archives"; did you mean "allow_archive"?'],
    [{ colour: "red" }, 'unknown field "colour"'],
    [{ "zürich\r\nx: y": 1 }, 'unknown field "z\\u00fcrich\\r\\nx: y"'],
    [{ allow_premium: false }, undefined],
    [{ timeout_s: 5 }, undefined],
  ])("of a body: %j", async (fields, warning) => {
    const { fetch } = await gatewayHarness();
    const { status, headers } = await fetch({ url: URL_, ...fields });
    expect([status, headers[WARNING]]).toEqual([200, warning]);
  });

  test("of a query", async () => {
    const { call } = await gatewayHarness();
    const { status, headers } = await call("GET", "/v1/quota?verbose=1");
    expect([status, headers[WARNING]]).toEqual([200, 'unknown query parameter "verbose"']);
  });

  test("in `include` of a job", async () => {
    const { call, fetchAll } = await batches();
    const { job_id } = (await fetchAll([{ url: URL_ }])).json;
    const warningOf = async (include: string) =>
      (await call("GET", `/v1/jobs/${job_id}?include=${include}`)).headers[WARNING];
    expect(await warningOf("item")).toBe('unknown value of include "item"; did you mean "items"?');
    expect(await warningOf("items,results")).toBe('unknown value of include "results"');
    expect(await warningOf("items")).toBeUndefined();
    expect(await warningOf("")).toBeUndefined();
  });

  test("of a batch's items and of the fields around them, once each", async () => {
    const { fetchAll } = await batches();
    const items = [
      { url: URL_, timeout: 1 },
      { url: `${URL_}2`, timeout: 2, x: 3 },
    ];
    const { status, headers } = await fetchAll(items, { callback: "https://example.org/" });
    expect(status).toBe(202);
    expect(headers[WARNING]!.split(", ")).toEqual([
      'unknown field "callback"; did you mean "callback_url"?',
      'unknown field "timeout"; did you mean "timeout_s"?',
      'unknown field "x"',
    ]);
  });

  test("has one header field of its own, and there are at most ten", async () => {
    const { admit, first } = await gatewayHarness();
    const fields = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`unknown_${n}x`, n]));
    const head = {
      method: "POST",
      path: "/v1/fetch",
      query: "",
      headers: new Map([["authorization", `Bearer ${first}`]]),
      address: () => "",
    };
    const abort = { aborted: false, signal: new AbortController().signal };
    const admission = await admissionOf(admit(head, abort));
    const bytes = Buffer.from(JSON.stringify({ url: URL_, ...fields }));
    const reply = "answer" in admission ? await admission.answer({ kind: "whole", bytes }) : admission;
    expect(reply.repeated_headers).toHaveLength(MAX_WARNINGS);
  });

  test("is told again when the answer comes from memory", async () => {
    const answer = fetchAnswer({}, { cached: true });
    const { fetch } = await gatewayHarness({ fetch: async () => answer, cache: cacheThat(() => true) });
    for (let n = 0; n < 3; n++)
      expect((await fetch({ url: URL_, timeout: 1 })).headers[WARNING]).toContain("timeout_s");
  });
});

describe("unknown names in the body of the answer", () => {
  const TIMEOUT = 'unknown field "timeout"; did you mean "timeout_s"?';

  test("are in `warnings`, and no `warnings` is there without one", async () => {
    const { fetch } = await gatewayHarness();
    const { json } = await fetch({ url: URL_, timeout: 5 });
    expect(json).toMatchObject({ error: null, warnings: [TIMEOUT] });
    expect((await fetch({ url: URL_ })).json).not.toHaveProperty("warnings");
  });

  test("of a query, of a new job and of a job's streamed items", async () => {
    const { call, fetchAll } = await batches();
    const created = (await fetchAll([{ url: URL_, timeout: 5 }])).json;
    expect(created).toMatchObject({ created: true, warnings: [TIMEOUT] });
    const { json } = await call("GET", `/v1/jobs/${created.job_id}?include=items&verbose=1`);
    expect(json.items).toHaveLength(1);
    expect(json.warnings).toEqual(['unknown query parameter "verbose"']);
    expect((await call("GET", "/v1/quota?verbose=1")).json.warnings).toEqual(json.warnings);
  });

  test("of a large answer, whose length stays true", async () => {
    const text = "word ".repeat(400_000);
    const answer = fetchAnswer({ text, text_chars: text.length });
    const memory = byteBudget({ limit_bytes: 2 ** 30, clock: virtualClock(0), ...silentTelemetry() });
    const { fetch } = await gatewayHarness({ fetch: async () => answer, memory });
    const { json, status } = await fetch({ url: URL_, timeout: 5 });
    expect([status, json.text.length, json.warnings]).toEqual([200, text.length, [TIMEOUT]]);
  });
});

describe("Prefer: handling=strict", () => {
  const strict = (preference: string) => ({ headers: { prefer: preference } });
  const BODY = { url: URL_, timeout: 5, wait_for: { selector: "p", millis: 3 } };

  test.each(["handling=strict", 'respond-async, handling="strict"', "wait=10;x, HANDLING = strict"])(
    "as %j refuses every unknown name with its place",
    async (preference) => {
      const { call } = await gatewayHarness();
      const { status, json } = await call("POST", "/v1/fetch?x=1", { body: BODY, ...strict(preference) });
      expect(status).toBe(422);
      expect(json.detail).toEqual([
        { loc: ["query", "x"], msg: "Extra inputs are not permitted", type: "extra_forbidden" },
        {
          loc: ["body", "timeout"],
          msg: 'Extra inputs are not permitted; did you mean "timeout_s"?',
          type: "extra_forbidden",
        },
        {
          loc: ["body", "wait_for", "millis"],
          msg: "Extra inputs are not permitted",
          type: "extra_forbidden",
        },
      ]);
    },
  );

  test.each([undefined, "handling=lenient", "handling=stricter", "mishandling=strict"])(
    "%j is no such preference",
    async (preference) => {
      const { call } = await gatewayHarness();
      const headers = preference === undefined ? {} : { prefer: preference };
      expect((await call("POST", "/v1/fetch", { body: BODY, headers })).status).toBe(200);
    },
  );

  test("names the item of a batch, also behind the hundredth, and stores nothing", async () => {
    const { call } = await batches();
    const items = Array.from({ length: 150 }, (_, n) => ({
      url: `${URL_}${n}`,
      ...(n === 149 && { timeout: 1 }),
    }));
    const body = { items, idempotency_key: "monday" };
    const { status, json } = await call("POST", "/v1/batch/fetch", { body, ...strict("handling=strict") });
    expect([status, json.detail.map(({ loc }: { loc: unknown }) => loc)]).toEqual([
      422,
      [["body", "items", 149, "timeout"]],
    ]);
    expect((await call("POST", "/v1/batch/fetch", { body })).json.created).toBe(true);
  });

  test("holds for the words of `include`", async () => {
    const { call, fetchAll } = await batches();
    const { job_id } = (await fetchAll([{ url: URL_ }])).json;
    const { status, json } = await call("GET", `/v1/jobs/${job_id}?include=item`, strict("handling=strict"));
    expect([status, json.detail[0].loc]).toEqual([422, ["query", "include"]]);
  });
});

describe("a name that changes the result elsewhere is refused at once", () => {
  test.each([
    [{ include_tags: ["main"] }, "include_selectors"],
    [{ includeTags: ["main"] }, "include_selectors"],
    [{ "exclude-selectors": ["nav"] }, "exclude_selectors"],
    [{ onlyMainContent: false }, "only_main_content"],
    [{ selector: "main" }, "include_selectors"],
    [{ header: {} }, "headers"],
    [{ cookie: "a=b" }, "cookies"],
    [{ format: "markdown" }, "formats"],
    [{ waitFor: 3 }, "wait_for"],
    [{ location: { country: "de" } }, "country"],
    [{ proxy: "stealth" }, "tiers"],
    [{ include_selector: "main" }, "include_selectors"],
  ])("%j", async (fields, meant) => {
    const { fetch } = await gatewayHarness();
    const { status, json } = await fetch({ url: URL_, ...fields });
    expect([status, json.detail]).toEqual([
      422,
      [
        {
          loc: ["body", Object.keys(fields)[0]],
          msg: `Extra inputs are not permitted; did you mean "${meant}"?`,
          type: "extra_forbidden",
        },
      ],
    ]);
  });

  test("also an option of the items beside them, and in an item", async () => {
    const { call } = await batches();
    const refused = async (body: object) => (await call("POST", "/v1/batch/fetch", { body })).json.detail;
    const items = [{ url: URL_ }];
    expect(await refused({ items, idempotency_key: "a", formats: ["markdown"] })).toEqual([
      {
        loc: ["body", "formats"],
        msg: 'Extra inputs are not permitted; did you mean "items[].formats"?',
        type: "extra_forbidden",
      },
    ]);
    expect((await refused({ items: [{ url: URL_, cookie: "a=b" }], idempotency_key: "b" }))[0].loc).toEqual([
      "body",
      "items",
      0,
      "cookie",
    ]);
  });

  test("but not a name of which this request has none", async () => {
    const { call } = await gatewayHarness();
    const { status, headers } = await call("GET", "/v1/quota?include_tags=main");
    expect([status, headers[WARNING]]).toEqual([200, 'unknown query parameter "include_tags"']);
  });
});

describe("compression", () => {
  test.each([
    [undefined, null],
    ["identity", null],
    ["gzip", "gzip"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["GZIP;q=0.5", "gzip"],
    ["zstd;q=0, gzip", "gzip"],
    ["gzip;q=0.000", null],
    ["br", null],
  ])("of %j is %s", (accept, coding) => {
    expect(acceptedCoding(accept)).toBe(coding);
  });

  test.each([
    ["gzip", gunzipSync],
    ["zstd", zstdDecompressSync],
  ] as const)("%s carries the same answer", async (coding, unpack) => {
    const { call } = await gatewayHarness();
    const plain = await call("GET", "/openapi.json", { key: null });
    const packed = await call("GET", "/openapi.json", { key: null, headers: { "accept-encoding": coding } });
    expect(packed.headers).toMatchObject({ "content-encoding": coding, vary: "Accept-Encoding" });
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 3);
    expect(unpack(packed.bytes)).toEqual(plain.bytes);
  });

  test("leaves small answers and stored bodies as they are", async () => {
    const { call, blobs, documents } = await gatewayHarness();
    const accept = { "accept-encoding": "gzip, zstd" };
    expect((await call("GET", "/health", { key: null, headers: accept })).headers).not.toHaveProperty(
      "content-encoding",
    );
    const content = Buffer.from(JSON.stringify("a".repeat(50_000)));
    const { sha256 } = await blobs.put(content);
    const grant = {
      body_kind: "origin",
      content_type: "application/json",
      granted_ms: Date.UTC(2026, 10, 21, 12),
    };
    await documents.put("body_grants", `default:${sha256}`, grant, 0);
    const body = await call("GET", `/v1/bodies/${sha256}`, { headers: accept });
    expect(body.headers).not.toHaveProperty("content-encoding");
  });
});

describe("Idempotency-Key", () => {
  const header = (key: string) => ({ headers: { "idempotency-key": key } });

  test("as a header is the field of the body", async () => {
    const { call } = await batches();
    const items = [{ url: URL_ }];
    const first = await call("POST", "/v1/batch/fetch", { body: { items }, ...header("monday") });
    expect([first.status, first.json.created]).toEqual([202, true]);
    const again = await call("POST", "/v1/batch/fetch", { body: { items, idempotency_key: "monday" } });
    expect(again.json).toEqual({ job_id: first.json.job_id, created: false });
    const both = await call("POST", "/v1/batch/fetch", {
      body: { items, idempotency_key: "monday" },
      ...header("monday"),
    });
    expect(both.status).toBe(200);
  });

  test("and another one in the body is a mistake", async () => {
    const { call } = await batches();
    const body = { items: [{ url: URL_ }], idempotency_key: "monday" };
    const { status, json } = await call("POST", "/v1/batch/fetch", { body, ...header("tuesday") });
    expect([status, json.detail[0].loc]).toEqual([422, ["header", "Idempotency-Key"]]);
  });
});

describe("a message of 422 is in words", () => {
  test.each([
    [
      "/v1/fetch",
      { url: URL_, country: "Germany" },
      "Input should be a two-character country code (ISO 3166-1), such as de",
    ],
    [
      "/v1/batch/search",
      { idempotency_key: "k", items: [{ query: "a".repeat(2_001) }] },
      "Input should have 1 to 2000 characters without the white space around it",
    ],
    [
      "/v1/batch/search",
      { idempotency_key: "k", items: [{ query: " " }] },
      "Input should have 1 to 2000 characters without the white space around it",
    ],
    [
      "/v1/batch/fetch",
      { idempotency_key: "k", callback_url: "x", items: [{ url: URL_ }] },
      "Input should be an http or https URL",
    ],
  ])("%s %j", async (path, body, msg) => {
    const { call } = await batches();
    const { status, json } = await call("POST", path, { body });
    expect([status, json.detail[0].msg]).toEqual([422, msg]);
  });
});
