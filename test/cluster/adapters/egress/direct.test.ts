/** The route `direct`: redirect hops and a permit for each of them, limits of size, header fields. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type {
  Admission,
  OriginAnswer,
  HopRefusal,
  TransportRequest,
} from "../../../../actors/lib/web/transport.ts";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import {
  answer,
  type HostileRequest,
  type HostileSite,
  hostileSite,
  pem,
} from "../../../harness/hostile-site.ts";
import { admission, transportRequest } from "../../../harness/transport-request.ts";

const rule = destination({ allow: ["127.0.0.0/8"] });
const long = Buffer.alloc(300_000, "0123456789");

let site: HostileSite;
let secure: HostileSite;
let egress: UndiciEgress;
let admitted: string[];
let released: OriginAnswer[];
beforeEach(() => {
  admitted = [];
  released = [];
});

const redirectTo = (location: string, status = "302 Found", ...fields: string[]) =>
  answer(status, [`Location: ${location}`, ...fields]);

beforeAll(async () => {
  const plays = Object.fromEntries(
    Object.entries({
      "/one": redirectTo("/two?x=1#part"),
      "/two": redirectTo("three/"),
      "/three/": redirectTo("//user:secret@127.0.0.1:PORT/fine", "307 Temporary Redirect"),
      "/absolute": redirectTo("HTTP://127.0.0.1:PORT/fine", "301 Moved Permanently"),
      "/spaced": redirectTo("  /fi ne  ", "303 See Other"),
      "/umlaut": "HTTP/1.1 302 Found\r\nLocation: /f\u00fcr\r\nContent-Length: 0\r\n\r\n",
      "/choices": answer("300 Multiple Choices", ["Location: /fine"], "choose"),
      "/throttled": answer("429 Too Many Requests", ["Retry-After: 120"], "later"),
      "/long": answer("200 OK", [], long),
      "/sets": redirectTo(
        "/gets",
        "302 Found",
        "Set-Cookie: a=1; Path=/",
        "Set-Cookie: b=2; Max-Age=0",
        "Set-Cookie: broken",
      ),
      "/sets-elsewhere": redirectTo(
        "http://localhost:PORT/elsewhere",
        "302 Found",
        "Set-Cookie: a=1; Domain=localhost",
      ),
      "/meta": answer(
        "200 OK",
        ["Content-Type: text/html"],
        '<meta http-equiv="refresh" content="0;url=/fine">',
      ),
      "/two-fields": answer("200 OK", ["X-Two: a", "X-Two: b", "Set-Cookie: s=1"]),
    }).map(([path, bytes]) => [
      path,
      (socket: { write: (bytes: string) => unknown; localPort?: number | undefined }) =>
        void socket.write(bytes.toString().replaceAll("PORT", String(socket.localPort))),
    ]),
  );
  site = await hostileSite({ plays });
  secure = await hostileSite({ tls: true, plays });
  egress = undiciEgress({ judge: rule, ca: [pem("site.cert.pem")] });
});
afterAll(async () => {
  await egress.close();
  await Promise.all([site.close(), secure.close()]);
});

const REFUSAL: HopRefusal = {
  error: "robots_disallowed",
  step: "robots",
  reason: "rules",
  retry_after_s: null,
  detail: "Disallow: /",
};

const go = (url: string, more: Partial<TransportRequest> = {}, refuseAt = Infinity) =>
  directTransport({ egress, clock: systemClock(), destination: rule })(
    transportRequest(url.startsWith("/") ? `${site.origin}${url}` : url, {
      max_bytes: 2 ** 20,
      signal: AbortSignal.timeout(10_000),
      admit: async (hop) => {
        admitted.push(hop);
        if (admitted.length > refuseAt) return { kind: "refused", refusal: REFUSAL };
        return admission((originAnswer) => void released.push(originAnswer));
      },
      ...more,
    }),
  );

describe("redirects", () => {
  test("are followed one by one, each with its own permit, and recorded as they were sent", async () => {
    const page = await go("/one#fragment");
    const { origin } = site;
    expect(page).toMatchObject({
      kind: "page",
      status: 200,
      final_url: `${origin}/fine`,
      redirects: [
        { url: `${origin}/one`, status: 302, location: "/two?x=1#part" },
        { url: `${origin}/two?x=1`, status: 302, location: "three/" },
        { url: `${origin}/three/`, status: 307, location: `//127.0.0.1:${site.port}/fine` },
      ],
    });
    expect(admitted).toEqual([`${origin}/one`, `${origin}/two?x=1`, `${origin}/three/`, `${origin}/fine`]);
    expect(released).toMatchObject([302, 302, 307, 200].map((status) => ({ status, retry_after_s: null })));
    expect(JSON.stringify([page, site.requests])).not.toContain("secret");
  });

  test.each([
    ["/absolute", "/fine"],
    ["/spaced", "/fi%20ne"],
    ["/umlaut", "/f%C3%BCr"],
  ])("%s leads to %s", async (from, to) => {
    expect(await go(from)).toMatchObject({ kind: "page", final_url: `${site.origin}${to}` });
  });

  test.each([
    ["/choices", 300],
    ["/redirect-nowhere", 302],
    ["/redirect-empty", 302],
  ])("%s is the page itself", async (path, status) => {
    expect(await go(path)).toMatchObject({
      kind: "page",
      status,
      redirects: [],
      final_url: `${site.origin}${path}`,
    });
  });

  test("end after ten, with all hops recorded", async () => {
    const end = await go("/endless-redirects/0");
    expect(end).toMatchObject({ kind: "failed", reason: "too_many_redirects", status: 302 });
    expect(end.redirects).toHaveLength(11);
    expect(released).toHaveLength(11);
  });

  test("end where they began to repeat", async () => {
    const end = await go("/loop-a");
    expect(end).toMatchObject({ kind: "failed", reason: "too_many_redirects" });
    expect(end.redirects.map(({ url }) => new URL(url).pathname)).toEqual(["/loop-a", "/loop-b"]);
  });

  test("to what may not be reached are refused before a permit is asked for", async () => {
    expect(await go("/redirect-private")).toMatchObject({
      kind: "refused",
      refusal: { error: "blocked_destination", step: "egress" },
      redirects: [{ status: 308, location: "//10.0.0.1/" }],
    });
    expect(admitted).toHaveLength(1);
  });

  test("end with the refusal of the hop that was refused", async () => {
    expect(await go("/one", {}, 1)).toMatchObject({
      kind: "refused",
      refusal: REFUSAL,
      redirects: [{ status: 302 }],
    });
    expect([admitted.length, released.length]).toEqual([2, 1]);
  });

  test("of content are content", async () => {
    expect(await go("/meta")).toMatchObject({ kind: "page", redirects: [], status: 200 });
  });
});

const cookieAt = (path: string): HostileRequest["headers"] =>
  site.requests.findLast((request) => request.path === path)!.headers;

describe("cookies", () => {
  test("set on the way go back to the host that set them, in this request only", async () => {
    await go("/sets");
    expect(cookieAt("/gets").get("cookie")).toBe("a=1");
    await go("/gets");
    expect(cookieAt("/gets").get("cookie")).toBeUndefined();
    await go("/sets-elsewhere");
    expect(cookieAt("/elsewhere").get("cookie")).toBeUndefined();
  });

  test("get past a wall that sends everyone round once", async () => {
    expect(await go("/cookie-wall")).toMatchObject({
      kind: "page",
      status: 200,
      redirects: [{ status: 302 }],
    });
  });
});

describe("a page", () => {
  test("comes whole, with every field the origin sent", async () => {
    const page = await go("/two-fields");
    if (page.kind !== "page") throw new Error(JSON.stringify(page));
    expect(page.headers.get("x-two")).toBe("a, b");
    expect(page.headers.has("set-cookie")).toBe(true);
    expect(await go("/long")).toMatchObject({ body: long });
    expect(await go("/coding-twice")).toMatchObject({ body: expect.objectContaining({ length: 90_000 }) });
  });

  test.each([
    [299_999, "failed"],
    [300_000, "page"],
  ])("of 300,000 bytes under a limit of %i is %s", async (max_bytes, kind) => {
    expect(await go("/long", { max_bytes })).toMatchObject({ kind });
  });

  test.each([
    [89_999, "too_large"],
    [90_000, undefined],
  ])("of 90,000 bytes after decoding, under a limit of %i, ends as %s", async (max_bytes, reason) => {
    expect(await go("/deflate-raw", { max_bytes })).toMatchObject({
      status: 200,
      ...(reason ? { reason } : {}),
    });
  });

  test("with a declared length over the limit is not read", async () => {
    const own = await hostileSite();
    const end = await go(`${own.origin}/length-huge`);
    expect(end).toMatchObject({ reason: "too_large" });
    expect(end.ms).toBeLessThan(1_000);
    await own.emptied();
    await own.close();
  });

  test("reports the origin's Retry-After", async () => {
    expect(await go("/throttled")).toMatchObject({ kind: "page", status: 429 });
    expect(released).toMatchObject([{ status: 429, retry_after_s: 120 }]);
  });
});

describe("permits", () => {
  test.each(["/reset-at-once", "/gzip-cut", "/endless-chunks", "/silent", "/redirect-broken"])(
    "is released once, however %s ends",
    async (path) => {
      await go(path, { signal: AbortSignal.timeout(path === "/silent" ? 100 : 10_000) });
      expect([admitted.length, released.length]).toEqual([1, 1]);
    },
  );

  test("that comes when no caller waits any more is released at once", async () => {
    const controller = new AbortController();
    const permit = Promise.withResolvers<Admission>();
    const going = go("/fine", { signal: controller.signal, admit: () => permit.promise });
    controller.abort();
    expect(await going).toMatchObject({ kind: "failed", reason: "timeout" });
    permit.resolve({
      kind: "admitted",
      beforeSend: () => true,
      onSent: () => {},
      release: (originAnswer) => void released.push(originAnswer),
    });
    await permit.promise;
    expect(released).toEqual([{ status: null, retry_after_s: null }]);
  });

  test("is not asked for an invalid URL", async () => {
    expect(await go("ftp://example.org/")).toMatchObject({
      kind: "refused",
      refusal: { error: "invalid_url" },
    });
    expect(await go("http://169.254.169.254/")).toMatchObject({
      kind: "refused",
      refusal: { error: "blocked_destination" },
    });
    expect(admitted).toEqual([]);
  });
});

const sent = async (to: HostileSite, more: Partial<TransportRequest>) => {
  await go(`${to.origin}/fields`, more);
  return to.requests.at(-1)!;
};
const names = ({ raw }: HostileRequest) =>
  raw.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());

describe("fields", () => {
  test("are those of one browser, in its order", async () => {
    expect(names(await sent(secure, {}))).toEqual([
      "host",
      "connection",
      "sec-ch-ua",
      "sec-ch-ua-mobile",
      "sec-ch-ua-platform",
      "upgrade-insecure-requests",
      "user-agent",
      "accept",
      "sec-fetch-site",
      "sec-fetch-mode",
      "sec-fetch-user",
      "sec-fetch-dest",
      "accept-encoding",
      "accept-language",
    ]);
    expect(names(await sent(site, {}))).toEqual([
      "host",
      "connection",
      "upgrade-insecure-requests",
      "user-agent",
      "accept",
      "accept-encoding",
      "accept-language",
    ]);
  });

  test("name one version throughout", async () => {
    const { headers } = await sent(secure, {});
    const version = /Chrome\/(\d+)/.exec(headers.get("user-agent")!)![1];
    expect(headers.get("sec-ch-ua")).toContain(`"Google Chrome";v="${version}"`);
    expect(headers.get("sec-ch-ua")).toContain(`"Chromium";v="${version}"`);
  });

  test("do not contradict a caller's own agent", async () => {
    const request = await sent(secure, {
      user_agent: "Research/1.0 (a@b.example)",
      accept_language: "de-CH",
    });
    expect(names(request).filter((name) => name.startsWith("sec-ch-"))).toEqual([]);
    expect(request.headers.get("user-agent")).toBe("Research/1.0 (a@b.example)");
    expect(request.headers.get("accept-language")).toBe("de-CH");
  });

  test("of a caller begin no further field", async () => {
    const { headers } = await sent(site, { user_agent: "x\r\nX-Evil: 1", accept_language: "\u0000\u4e2d" });
    expect([headers.get("user-agent"), headers.has("x-evil")]).toEqual(["x X-Evil: 1", false]);
    expect(headers.get("accept-language")).toBe("en-US,en;q=0.9");
  });

  test("ask whether a page has changed", async () => {
    const { headers } = await sent(site, {
      validators: { etag: 'W/"1"', last_modified: "Thu, 01 Jan 2026 00:00:00 GMT" },
    });
    expect(headers.get("if-none-match")).toBe('W/"1"');
    expect(headers.get("if-modified-since")).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
    expect(
      await go("/not-modified-with-content", { validators: { etag: '"1"', last_modified: null } }),
    ).toMatchObject({
      kind: "page",
      status: 304,
      body: Buffer.alloc(0),
    });
  });
});
