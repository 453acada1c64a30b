/**
 * Bodies of requests share the memory of a gateway: whoever announces much, sends slowly or has no key takes nothing from the
 * uploads of another project.
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";
import { eventually, everything, open } from "../gateway/adapters/clients.ts";

const MB = 2 ** 20;
const ANNOUNCED_BYTES = 64 * MB;
const MANY = 100;

describe.each(SETUPS)("uploads of several projects, $setup", ({ start }) => {
  // A sixteenth of it is for bodies of requests: 32 MB.
  const { sites, service } = scenario(start, () => ({ TRAWL_MEMORY_MB: "512" }));
  const keys = { slow: "", quick: "" };
  let page = "";
  beforeAll(async () => {
    await createKeys(service, keys);
    page = `${sites.site({ "/": { body: article("Uploaded") } }).origin}/`;
  });

  const upload = (key: string, first: Buffer): Promise<Socket> =>
    open(
      Number(new URL(service.url).port),
      `POST /v1/batch/fetch HTTP/1.1\r\nHost: trawl.test\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${ANNOUNCED_BYTES}\r\n\r\n`,
    ).then((socket) => {
      socket.write(first);
      return socket;
    });
  const uploads = (keyOf: () => string, first: Buffer): Promise<Socket[]> =>
    Promise.all(Array.from({ length: MANY }, () => upload(keyOf(), first)));
  const unknownKey = (): string => `sk_${randomBytes(32).toString("base64url").slice(0, 43)}`;
  /** A batch of one item, spaces around it. */
  const batch = (name: string, bytes = 100_000): Buffer =>
    Buffer.from(`{"idempotency_key":"${name}","items":[{"url":"${page}"}${" ".repeat(bytes)}]}`);
  const statusesOfBatches = async (name: string): Promise<Set<number>> =>
    new Set(
      await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          const body = batch(`${name} ${n}`);
          return (await service.call("POST", "/v1/batch/fetch", { key: keys.quick, body })).status;
        }),
      ),
    );

  test("a hundred without a key and a hundred slow ones of 64 MB refuse none of fifty batches of another project", async () => {
    const anonymous = await uploads(unknownKey, Buffer.from("["));
    const slow = await uploads(() => keys.slow, Buffer.from("["));
    expect(await statusesOfBatches("small")).toEqual(new Set([202]));
    // They are told at once, with the rest of their bodies to come.
    const refusals = anonymous.map(async (socket) => {
      const [piece] = await new Promise<Buffer[]>((resolve) =>
        socket.once("data", (...data) => resolve(data)),
      );
      return piece!.toString().split("\r\n")[0];
    });
    const trickle = setInterval(() => {
      for (const socket of [...anonymous, ...slow]) if (socket.writable) socket.write("x");
    }, 500);
    expect(new Set(await Promise.all(refusals))).toEqual(new Set(["HTTP/1.1 401 Unauthorized"]));
    expect(await statusesOfBatches("trickling")).toEqual(new Set([202]));
    // 16 KB a second are the least.
    const ends = await Promise.all(slow.map(everything));
    clearInterval(trickle);
    expect(new Set(ends.map((end) => end.split("\r\n")[0]))).toEqual(
      new Set(["HTTP/1.1 408 Request Timeout"]),
    );
    expect(ends[0]).toContain("the request body came too slowly");
    for (const socket of anonymous) socket.destroy();
  });

  test("ones that fill the memory are refused for the small ones of another project", async () => {
    const full = await uploads(() => keys.slow, Buffer.alloc(MB, "["));
    const answers = full.map(everything);
    expect(await statusesOfBatches("beside")).toEqual(new Set([202]));
    for (const socket of full) socket.end();
    const told = (await Promise.all(answers)).filter((answer) => answer !== "");
    expect(new Set(told.map((answer) => answer.split("\r\n")[0]))).toEqual(
      new Set(["HTTP/1.1 503 Service Unavailable"]),
    );
    // Messages between nodes reserve a little now and then.
    let reserved_bytes = NaN;
    await eventually(async () => (reserved_bytes = await service.meter("trawl_memory_reserved_bytes")) === 0);
    expect(reserved_bytes).toBe(0);
  });

  test("a batch of 64 MB is accepted, as it is and compressed", async () => {
    const whole = batch("whole", ANNOUNCED_BYTES - 500);
    const post = (body: Buffer, coding?: string) =>
      service.call("POST", "/v1/batch/fetch", {
        key: keys.quick,
        body,
        ...(coding && { headers: { "content-encoding": coding } }),
      });
    expect((await post(whole)).status).toBe(202);
    // The job is the same each time: the same bytes came out.
    expect((await post(gzipSync(whole), "gzip")).status).toBe(200);
    expect((await post(zstdCompressSync(whole), "zstd")).status).toBe(200);
    const larger = gzipSync(Buffer.concat([whole, Buffer.alloc(MB, " ")]));
    expect((await post(larger, "gzip")).status).toBe(413);
    expect(await post(whole.subarray(0, 1_000), "compress")).toMatchObject({
      status: 415,
      headers: { "accept-encoding": "gzip, deflate, br, zstd" },
    });
    expect((await post(Buffer.from("no gzip"), "gzip")).json.detail[0].msg).toContain(
      "cannot be read as gzip",
    );
  });
});
