/** GET /v1/bodies/{sha256}: the exact bytes of a fetch, for projects that have retrieved them. */
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, coded } from "../harness/web.ts";

const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

describe.each(SETUPS)("a stored body, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  const stored = async (body: Buffer, type = "application/octet-stream") => {
    const site = sites.site({ "/": { type, body } });
    const { body_url, sha256: digest, bytes } = await service.fetch({ url: `${site.origin}/` });
    expect({ body_url, digest, bytes }).toEqual({
      body_url: `/v1/bodies/${sha256(body)}`,
      digest: sha256(body),
      bytes: body.length,
    });
    return body_url!;
  };

  test.each([
    { what: "no byte", bytes: 0 },
    { what: "one byte", bytes: 1 },
    { what: "more than one piece", bytes: 700_001 },
    { what: "several megabytes", bytes: 5_000_000 },
  ])("of $what is downloaded unchanged, with the header fields that HEAD announces", async ({ bytes }) => {
    const body = randomBytes(bytes);
    const path = await stored(body);
    const got = await service.call("GET", path);
    expect(got.status).toBe(200);
    expect(got.bytes.equals(body)).toBe(true);
    const fields = {
      "content-type": "application/octet-stream",
      "content-length": String(bytes),
      etag: `"${sha256(body)}"`,
      "x-body-kind": "origin",
      "x-content-sha256": sha256(body),
      "cache-control": expect.stringContaining("immutable"),
      "accept-ranges": "bytes",
    };
    expect(got.headers).toMatchObject(fields);
    const head = await service.call("HEAD", path);
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    expect(head.headers).toMatchObject(fields);
  });

  test("is stored without its content coding", async () => {
    const body = article("Coded");
    const site = sites.site({ "/": coded("br", { body }) });
    const { body_url } = await service.fetch({ url: `${site.origin}/` });
    const { bytes, headers } = await service.call("GET", body_url!);
    expect(bytes.toString()).toBe(body);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers).not.toHaveProperty("content-encoding");
    // Someone else's page is no page of ours.
    expect(headers).toMatchObject({
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
      "content-disposition": expect.stringContaining("attachment"),
    });
  });

  test("is not sent to a client that has it already", async () => {
    const path = await stored(randomBytes(1_000));
    const tag = `"${path.slice(-64)}"`;
    for (const given of [tag, `W/${tag}`, "*", `"else", ${tag}`]) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await service.call(method, path, { headers: { "if-none-match": given } });
        expect({ given, status: answer.status, bytes: answer.bytes.length }).toEqual({
          given,
          status: 304,
          bytes: 0,
        });
        expect(answer.headers["etag"]).toBe(tag);
      }
    }
    expect((await service.call("GET", path, { headers: { "if-none-match": '"else"' } })).status).toBe(200);
  });

  test("is sent as one range", async () => {
    const body = randomBytes(200_000);
    const path = await stored(body);
    for (const [range, from, to] of [
      ["bytes=0-0", 0, 1],
      ["bytes=100-199", 100, 200],
      ["bytes=199990-", 199_990, 200_000],
      ["bytes=-10", 199_990, 200_000],
      ["bytes=150000-999999", 150_000, 200_000],
    ] as const) {
      const { status, bytes, headers } = await service.call("GET", path, { headers: { range } });
      expect({ range, status, same: bytes.equals(body.subarray(from, to)) }).toEqual({
        range,
        status: 206,
        same: true,
      });
      expect(headers["content-range"]).toBe(`bytes ${from}-${to - 1}/200000`);
    }
    const beyond = await service.call("GET", path, { headers: { range: "bytes=200000-" } });
    expect(beyond.status).toBe(416);
    expect(beyond.headers["content-range"]).toBe("bytes */200000");
  });

  test("is 404 to a project that did not retrieve it, until it does", async () => {
    const site = sites.site({ "/": { body: article("Shared") } });
    const url = `${site.origin}/`;
    const { body_url } = await service.fetch({ url });
    await service.trawl("project", "create", "others");
    const { key } = await service.trawl("key", "create", "--project", "others");
    const refused = await service.call("GET", body_url!, { key });
    expect(refused.status).toBe(404);
    expect(refused.json).toEqual({ detail: "body not found" });
    expect((await service.call("HEAD", body_url!, { key })).status).toBe(404);

    expect(await service.fetch({ url }, { key })).toMatchObject({ cached: true });
    expect((await service.call("GET", body_url!, { key })).bytes.toString()).toBe(article("Shared"));
    expect(site.hits("/")).toBe(1);
  });

  test("is 404 when it is not stored, and 422 when its name is not a digest", async () => {
    const unknown = await service.call("GET", `/v1/bodies/${"0".repeat(64)}`);
    expect(unknown.status).toBe(404);
    for (const name of ["abc", "0".repeat(63), "0".repeat(65), "A".repeat(64), "%2e%2e%2f".repeat(7)]) {
      const answer = await service.call("GET", `/v1/bodies/${name}`);
      expect(answer.status).toBe(422);
      expect(answer.json.detail).toMatchObject([
        { loc: ["path", "sha256"], type: "string_pattern_mismatch" },
      ]);
    }
  });
});
