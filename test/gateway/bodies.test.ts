/** GET and HEAD /v1/bodies/{sha256}: the exact bytes, their headers, and which projects may download them. */
import { describe, expect, test } from "vitest";
import { createProject } from "../../actors/business/accounts/keys.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { PageRecord } from "../../schemas/fetch.ts";
import { fetchAnswer, gatewayHarness, clientAbort } from "../harness/gateway-harness.ts";

const DAY_MS = 86_400_000;
const BYTES = Buffer.from(Uint8Array.from({ length: 3 * 2 ** 20 + 7 }, (_, index) => (index * 31) % 256));

async function stored(record: Partial<PageRecord> = {}, blobs = memoryBlobs()) {
  const { sha256, bytes } = await blobs.put(BYTES);
  const it = await gatewayHarness({
    blobs,
    fetch: async () => fetchAnswer({ sha256, bytes, body_kind: "origin", content_kind: "binary", ...record }),
  });
  expect((await it.fetch({ url: "https://example.org/file" })).status).toBe(200);
  return { ...it, sha256, path: `/v1/bodies/${sha256}` };
}

describe("a body", () => {
  test("comes back byte for byte under its origin's type", async () => {
    const { call, sha256, path } = await stored({ origin_content_type: "application/zip" });
    const { status, headers, bytes } = await call("GET", path);
    expect(status).toBe(200);
    expect(bytes.equals(BYTES)).toBe(true);
    expect(headers).toMatchObject({
      "content-type": "application/zip",
      etag: `"${sha256}"`,
      "x-body-kind": "origin",
      "x-content-sha256": sha256,
      "cache-control": "private, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox",
      "accept-ranges": "bytes",
    });
    expect(headers["content-disposition"]).toBeUndefined();
  });

  test.each([
    [200, {}],
    [206, { range: "bytes=0-9" }],
    [304, { "if-none-match": "*" }],
    [416, { range: "bytes=9999999-" }],
  ])("of status %d has the header fields that the document names", async (expected, asked) => {
    const { call, path } = await stored({ origin_content_type: "text/html" });
    const { paths } = (await call("GET", "/openapi.json", { key: null })).json;
    const { status, headers } = await call("GET", path, { headers: asked });
    const documented = Object.keys(paths["/v1/bodies/{sha256}"].get.responses[expected].headers);
    const known = ["Content-Type", ...documented].map((name) => name.toLowerCase());
    expect([status, Object.keys(headers).filter((name) => !known.includes(name))]).toEqual([expected, []]);
  });

  test("HEAD has the same header fields and reads no bytes", async () => {
    const blobs = memoryBlobs();
    const { call, path, admit, first } = await stored(
      {},
      { ...blobs, get: () => Promise.reject(new Error("read")) },
    );
    const { status, headers, bytes } = await call("HEAD", path);
    expect([status, bytes.length, headers["x-body-kind"]]).toEqual([200, 0, "origin"]);
    const head = {
      method: "HEAD",
      path,
      query: "",
      headers: new Map([["authorization", `Bearer ${first}`]]),
      address: () => "",
    };
    const admission = admit(head, clientAbort());
    const reply =
      "answer" in admission ? await admission.answer({ kind: "whole", bytes: Buffer.alloc(0) }) : null;
    expect(reply?.body).toMatchObject({ length: BYTES.length });
  });

  test("that a browser would run is an attachment, and a rendered page has its X-Body-Kind", async () => {
    for (const type of [
      "text/html; charset=windows-1252",
      "image/svg+xml",
      "application/xhtml+xml",
      "application/x+xml",
    ]) {
      const { call, path } = await stored({ origin_content_type: type });
      expect((await call("GET", path)).headers["content-disposition"]).toMatch(/^attachment/);
    }
    const { call, path } = await stored({ body_kind: "rendered_dom", origin_content_type: "text/html" });
    expect((await call("GET", path)).headers).toMatchObject({
      "x-body-kind": "rendered_dom",
      "content-type": "text/html; charset=utf-8",
    });
  });

  test.each([
    ["text/plain\r\nSet-Cookie: a=b", "application/octet-stream"],
    ['text/plain; a="\r\nb"', "text/plain"],
    ["nonsense", "application/octet-stream"],
    [null, "text/html"],
    ['text/plain; charset="ü"', "text/plain"],
    ["TEXT/Plain;charset=UTF-8", "TEXT/Plain;charset=UTF-8"],
  ])("with the origin's type %j has the type %s", async (origin_content_type, type) => {
    const { call, path } = await stored({ origin_content_type });
    expect((await call("GET", path)).headers["content-type"]).toBe(type);
  });

  test("in ranges, and 304 for a client that has it", async () => {
    const { call, path, sha256 } = await stored();
    const part = await call("GET", path, { headers: { range: "bytes=10-19" } });
    expect([part.status, part.headers["content-range"]]).toEqual([206, `bytes 10-19/${BYTES.length}`]);
    expect(part.bytes.equals(BYTES.subarray(10, 20))).toBe(true);
    const tail = await call("GET", path, { headers: { range: "bytes=-5" } });
    expect(tail.bytes.equals(BYTES.subarray(-5))).toBe(true);
    const beyond = await call("GET", path, { headers: { range: `bytes=${BYTES.length}-` } });
    expect([beyond.status, beyond.headers["content-range"], beyond.bytes.length]).toEqual([
      416,
      `bytes */${BYTES.length}`,
      0,
    ]);
    const known = await call("GET", path, { headers: { "if-none-match": `W/"${sha256}"` } });
    expect([known.status, known.bytes.length]).toEqual([304, 0]);
    expect(known.headers).toMatchObject({
      etag: `"${sha256}"`,
      "cache-control": expect.stringContaining("immutable"),
    });
  });
});

describe("access to it", () => {
  test("only projects that retrieved it; to others it is not there (Authentication 10)", async () => {
    const { call, fetch, key, path, documents, clock } = await stored();
    await createProject(documents, { name: "other", customer: "default" }, clock.now());
    const theirs = await key({ project: "other" });
    for (const method of ["GET", "HEAD"])
      expect((await call(method, path, { key: theirs })).status).toBe(404);
    expect((await call("GET", path, { key: theirs })).json).toEqual({ detail: "body not found" });
    await fetch({ url: "https://example.org/file" }, { key: theirs });
    expect((await call("GET", path, { key: theirs })).status).toBe(200);
  });

  test("gives each project the content type of its own last retrieval", async () => {
    let origin_content_type = "application/zip";
    const blobs = memoryBlobs();
    const { sha256, bytes } = await blobs.put(BYTES);
    const { call, fetch, key, documents, clock } = await gatewayHarness({
      blobs,
      fetch: async () => fetchAnswer({ sha256, bytes, body_kind: "origin", origin_content_type }),
    });
    await createProject(documents, { name: "other", customer: "default" }, clock.now());
    const theirs = await key({ project: "other" });
    const typeFor = async (options: { key?: string } = {}) =>
      (await call("GET", `/v1/bodies/${sha256}`, options)).headers["content-type"];
    await fetch({ url: "https://example.org/file" });
    await fetch({ url: "https://example.org/file" }, { key: theirs });
    origin_content_type = "application/pdf";
    await fetch({ url: "https://example.org/file.pdf" });
    expect([await typeFor(), await typeFor({ key: theirs })]).toEqual(["application/pdf", "application/zip"]);
  });

  test("for 30 days after it was last retrieved", async () => {
    const { call, fetch, path, clock } = await stored();
    await clock.advance(29 * DAY_MS);
    expect((await call("GET", path)).status).toBe(200);
    await fetch({ url: "https://example.org/file" });
    await clock.advance(29 * DAY_MS);
    expect((await call("GET", path)).status).toBe(200);
    await clock.advance(2 * DAY_MS);
    expect((await call("GET", path)).status).toBe(404);
  });

  test("is 404 after the store removed it", async () => {
    const blobs = memoryBlobs();
    const { call, path, sha256 } = await stored({}, blobs);
    await blobs.remove(sha256);
    expect((await call("GET", path)).json).toEqual({ detail: "body not found" });
  });

  test("a name that is not a digest is 422, an unreachable store 503", async () => {
    const blobs = memoryBlobs();
    const { call, path } = await stored(
      {},
      {
        ...blobs,
        head: async () => {
          throw new Fault("bodies_unreachable", "Cannot reach s3://bucket");
        },
      },
    );
    expect(await call("GET", "/v1/bodies/abc")).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["path", "sha256"], type: "string_pattern_mismatch" }] },
    });
    expect((await call("GET", path)).status).toBe(503);
    expect((await call("GET", path, { key: null })).status).toBe(401);
  });
});
