import { describe, expect, test } from "vitest";
import { bodyReader, MAX_PDF_MS } from "../../../../actors/crawl/tiers/adapters/large-bodies.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { type ExchangeResponse, EgressError } from "../../../../cluster/ports/egress.ts";

const MB = 2 ** 20;
const URL = "https://example.org/report";
const pdf = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(bytes - 9, "%")]);

/** An answer in pieces of 1 MB; `hold`: it stops after the first until it is cancelled. */
function answer(body: Buffer, headers: Record<string, string> = {}, hold = false) {
  const cancelled = Promise.withResolvers<void>();
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < body.length; at += MB) {
      yield body.subarray(at, at + MB);
      if (!hold) continue;
      await cancelled.promise;
      throw new EgressError("aborted", "The reader left");
    }
  }
  return {
    kind: "answered",
    status: 200,
    headers: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
    body: pieces(),
    cancel: cancelled.resolve,
    address: "192.0.2.1",
    timings: { dns_ms: 0, connect_ms: 0, tls_ms: 0, first_byte_ms: 0 },
  } satisfies ExchangeResponse;
}

const LIMITS = { max_bytes: 2 * MB, max_pdf_bytes: 8 * MB };
const WAITING = Promise.resolve("waiting");
const lengthOf = (body: Buffer) => ({ "content-length": String(body.length) });

test.each([
  ["a page within its limit", Buffer.alloc(2 * MB, "a"), { "content-type": "text/html" }, 2 * MB],
  ["a page beyond it", Buffer.alloc(3 * MB, "a"), { "content-type": "text/html" }, "too_large"],
  ["a PDF beyond a page's limit", pdf(8 * MB), { "content-type": "application/pdf" }, 8 * MB],
  [
    "a PDF that says it is something else",
    pdf(5 * MB),
    { "content-type": "application/octet-stream" },
    5 * MB,
  ],
  ["a PDF beyond its own", pdf(8 * MB + 1), { "content-type": "application/pdf" }, "too_large"],
  [
    "a page under the type of a PDF",
    Buffer.concat([Buffer.from("<!doctype html>"), Buffer.alloc(3 * MB, "a")]),
    { "content-type": "application/pdf" },
    "too_large",
  ],
] as const)("%s", async (_, body, headers, becomes) => {
  for (const given of [headers, { ...headers, ...lengthOf(body) }]) {
    const read = await bodyReader(virtualClock(0))(answer(body, given), URL, LIMITS);
    expect(typeof read === "string" ? read : read.length).toBe(becomes);
  }
});

test("the limit of a PDF is that of a page by default", async () => {
  const { max_pdf_bytes: _, ...limits } = LIMITS;
  expect(await bodyReader(virtualClock(0))(answer(pdf(3 * MB)), URL, limits)).toBe("too_large");
});

test("a PDF has five minutes, a page what its caller has", async () => {
  const clock = virtualClock(0);
  const read = bodyReader(clock);
  const slow = read(answer(pdf(2 * MB), {}, true), URL, LIMITS);
  const page = answer(Buffer.alloc(2 * MB, "a"), { "content-type": "text/html" }, true);
  const other = read(page, URL, LIMITS).catch((problem: unknown) => problem);
  await clock.advance(MAX_PDF_MS - 1);
  expect(await Promise.race([slow, WAITING])).toBe("waiting");
  await clock.advance(1);
  expect(await slow).toBe("pdf_download_timeout");
  expect(await Promise.race([other, WAITING])).toBe("waiting");
  page.cancel();
  expect(await other).toBeInstanceOf(EgressError);
});

describe("the room for a body", () => {
  /** Takes so many bytes, and writes down what is asked of it. */
  function room(bytes: number) {
    const asked: string[] = [];
    return {
      asked,
      reserve: async (more: number) => {
        asked.push(`reserve ${more / MB}`);
        return more <= bytes;
      },
      settle: (held: number) => void asked.push(`settle ${held / MB}`),
    };
  }
  const page = { "content-type": "text/html" };
  const coded = { ...page, "content-encoding": "gzip", "content-length": "7" };
  const limits = { max_bytes: 16 * MB };

  test.each([
    ["of a known length is reserved once", Buffer.alloc(5 * MB), lengthOf, ["reserve 5", "settle 5"]],
    [
      "of a small unknown length is that of most pages",
      Buffer.alloc(MB),
      () => ({}),
      ["reserve 2", "settle 1"],
    ],
    [
      "of a large unknown length is twice the limit until it is put together",
      Buffer.alloc(5 * MB),
      () => ({}),
      ["reserve 2", "reserve 32", "settle 5"],
    ],
    [
      "does not believe the length of compressed bytes",
      Buffer.alloc(3 * MB),
      () => coded,
      ["reserve 2", "reserve 32", "settle 3"],
    ],
    [
      "is given back by a body that is too large",
      Buffer.alloc(17 * MB),
      () => ({}),
      ["reserve 2", "reserve 32", "settle 0"],
    ],
  ] as const)("%s", async (_, body, headers, expected) => {
    const { asked, ...its } = room(Infinity);
    await bodyReader(virtualClock(0))(answer(body, { ...page, ...headers(body) }), URL, {
      ...limits,
      room: its,
    });
    expect(asked).toEqual(expected);
  });

  test("that is not there ends the reading: no byte of it is held", async () => {
    const { asked, ...its } = room(4 * MB);
    const read = bodyReader(virtualClock(0));
    expect(await read(answer(Buffer.alloc(5 * MB), page), URL, { ...limits, room: its })).toBe("no_room");
    expect(asked).toEqual(["reserve 2", "reserve 32", "settle 0"]);
  });
});
