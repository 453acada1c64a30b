import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addField, collector, readFraming, replyDefect } from "../../gateway/framing.ts";

describe("what a head announces", () => {
  test.each([
    [{}, "none"],
    [{ "content-length": "0" }, "none"],
    [{ "content-length": "000" }, "none"],
    [{ "content-length": "17" }, "known"],
    [{ "content-length": "999999999999999" }, "known"],
    [{ "transfer-encoding": "chunked" }, "unknown"],
    [{ "transfer-encoding": "Chunked" }, "unknown"],
    [{ "content-length": "1000000000000000" }, "broken"],
    [{ "content-length": "" }, "broken"],
    [{ "content-length": "1 7" }, "broken"],
    [{ "content-length": "17, 17" }, "broken"],
    [{ "content-length": "１７" }, "broken"],
    [{ "transfer-encoding": "" }, "broken"],
    [{ "transfer-encoding": "gzip, chunked" }, "broken"],
    [{ "transfer-encoding": "chunked, chunked" }, "broken"],
    [{ "transfer-encoding": "chunked", "content-length": "17" }, "broken"],
    [{ host: "a.test, b.test" }, "broken"],
  ])("%j is %s", (fields, kind) => {
    expect(readFraming(new Map(Object.entries(fields))).kind).toBe(kind);
  });

  test("a field that is sent twice is never what was sent once", () => {
    const headers = new Map<string, string>();
    addField(headers, "content-length", "");
    addField(headers, "content-length", "17");
    expect(readFraming(headers).kind).toBe("broken");
  });
});

describe("collecting", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 20 });

  test("returns the received bytes or refuses them for their size, and keeps no borrowed buffer", () => {
    fc.assert(
      fc.property(pieces, fc.nat(400_000), fc.boolean(), (given, limit_bytes, announced) => {
        const whole = Buffer.concat(given);
        const body = collector(announced && whole.length > 0 ? whole.length : null, limit_bytes);
        let fits = true;
        for (const piece of given) {
          const borrowed = Uint8Array.from(piece);
          fits &&= body.add(borrowed);
          borrowed.fill(0);
        }
        expect(fits).toBe(whole.length <= limit_bytes);
        expect(!fits || body.whole().equals(whole)).toBe(true);
      }),
    );
  });

  test("a body sent byte by byte takes no more than twice its size", () => {
    const body = collector(null, 64 * 2 ** 20);
    for (let n = 0; n < 1_000_000; n++) body.add(Buffer.from([n % 256]));
    expect(body.whole().buffer.byteLength).toBeLessThan(2_100_000);
  });
});

test.each([
  [{ status: 200 }, null],
  [{ status: 599, headers: { "X-Fish": "thon à l’huile\t" } }, null],
  [{ status: 199 }, "the status 199"],
  [{ status: 600 }, "the status 600"],
  [{ status: 200.5 }, "the status 200.5"],
  [{ status: 200, headers: { "x fish": "" } }, 'a header named "x fish"'],
  [{ status: 200, headers: { "Transfer-Encoding": "chunked" } }, "the header Transfer-Encoding"],
  [{ status: 200, headers: { "x-fish": "cod\r\n" } }, "a control character in the header x-fish"],
])("a reply %j has %s", (reply, fault) => {
  expect(replyDefect(reply)?.slice(0, fault?.length) ?? null).toBe(fault);
});

test("a value is checked each time, whatever passed under its name before", () => {
  const defectOf = (value: string) => replyDefect({ status: 200, headers: { "x-often": value } });
  for (const value of ["good", "good", "bad\r\n", "good", "bad\r\n", "go\u0000d"])
    expect(defectOf(value)).toBe(value === "good" ? null : "a control character in the header x-often");
});
