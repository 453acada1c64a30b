/** The route `browser` on ordinary pages: render, accept_language, user_agent, max_bytes, body_kind. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HopRefusal, TransportResult } from "../../../../actors/lib/web/transport.ts";
import { article, coded, redirect } from "../../../harness/web.ts";
import { type BrowserSetup, describeBrowser } from "../../../harness/browser-harness.ts";

const PDF = Buffer.from("%PDF-1.7\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n");
const scripted = (script: string, title = "Before"): string =>
  `<!doctype html><html><head><title>${title}</title></head><body><p id=a>empty</p><script>${script}</script></body></html>`;

const SLOW_MS = 20_000;

describeBrowser("a page in a browser", (openSetup) => {
  let it: BrowserSetup;
  /** The browser of `it`, with limits that no test reaches. */
  let slow: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ page: { challenge_ms: 1_500 } });
    slow = it.withLimits({
      parse_ms: SLOW_MS,
      settle_ms: SLOW_MS,
      challenge_ms: SLOW_MS,
      page_ms: 2 * SLOW_MS,
    });
  });
  afterAll(() => it.close());

  const page = (answer: TransportResult): Extract<TransportResult, { kind: "page" }> => {
    if (answer.kind !== "page") throw new Error(JSON.stringify(answer));
    return answer;
  };
  const text = (answer: TransportResult): string => page(answer).body.toString();

  test("is what its scripts have made of it, with the status and fields the origin sent", async () => {
    const site = it.web.site({
      "/": {
        headers: { ETag: '"a"', "Set-Cookie": "a=1" },
        body: scripted(
          `fetch("/data").then((r) => r.text()).then((t) => { a.textContent = t; document.title = "After" })`,
        ),
      },
      "/data": { type: "text/plain", body: "loaded later" },
    });
    const answer = page(await it.fetch(`${site.origin}/`));
    expect(answer).toMatchObject({
      status: 200,
      final_url: `${site.origin}/`,
      redirects: [],
      body_kind: "rendered_dom",
    });
    expect(answer.headers.get("etag")).toBe('"a"');
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(text(answer)).toMatch(/^<!DOCTYPE html><html><head><title>After<\/title>[^]*loaded later/);
  });

  test("is answered in UTF-8, whatever its encoding", async () => {
    const body = Buffer.from("<title>Z\xfcrich</title><p>Gr\xfc\xdfe", "latin1");
    const site = it.web.site({ "/": { type: "text/html; charset=iso-8859-1", body } });
    expect(text(await it.fetch(`${site.origin}/`))).toContain("<title>Zürich</title>");
  });

  test("asks for a permit at every hop, and releases each once with the origin's answer", async () => {
    const there = it.web.site({ "/end": { body: article("End") } });
    const site = it.web.site({
      "/": redirect("/next", 301),
      "/next": { ...redirect(`http://user:secret@${new URL(there.origin).host}/end`, 302) },
    });
    it.visits.length = 0;
    const answer = page(await it.fetch(`${site.origin}/`));
    expect(answer.final_url).toBe(`${there.origin}/end`);
    expect(answer.redirects).toEqual([
      { url: `${site.origin}/`, status: 301, location: "/next" },
      { url: `${site.origin}/next`, status: 302, location: `${there.origin}/end` },
    ]);
    expect(it.visits.map(({ url }) => url)).toEqual([
      `${site.origin}/`,
      `${site.origin}/next`,
      `${there.origin}/end`,
    ]);
    expect(it.visits.map(({ released }) => released.map(({ status }) => status))).toEqual([
      [301],
      [302],
      [200],
    ]);
  });

  test("sends credentials with the documents of their origin, and with nothing else", async () => {
    const there = it.web.site({ "/end": { body: article("End") }, "/x.js": { type: "text/javascript" } });
    const site = it.web.site({
      "/": redirect("/page"),
      "/page": {
        body: scripted(`fetch("/data").then(() => { location.href = "${there.origin}/end" })`).replace(
          "<p",
          `<script src="${there.origin}/x.js"></script><iframe src="/frame"></iframe><p`,
        ),
      },
      "/data": { type: "text/plain", body: "loaded later" },
      "/frame": { body: "<p>framed" },
    });
    const answer = page(await it.fetch(`${site.origin}/`, { authorization: "Basic YTpi" }));
    expect(answer.final_url).toBe(`${there.origin}/end`);
    const fields = [...site.arrivals, ...there.arrivals].map(({ path, headers }) => [
      path,
      headers["authorization"],
    ]);
    expect(Object.fromEntries(fields)).toEqual({
      "/": "Basic YTpi",
      "/page": "Basic YTpi",
      "/data": undefined,
      "/frame": undefined,
      "/x.js": undefined,
      "/end": undefined,
    });
  });

  test("takes no slots for what it loads, and does not load what no answer is made of", async () => {
    const site = it.web.site({
      "/": {
        body: `<link rel=stylesheet href=/s.css><script src=/s.js></script><img src=/i.png><video src=/v.mp4 autoplay></video>
          <iframe src=/f></iframe><p style="font-family: f">text</p>`,
      },
      "/s.css": {
        type: "text/css",
        body: "@font-face{font-family:f;src:url(/f.woff2)} body{background:url(/b.png)}",
      },
      "/s.js": { type: "text/javascript", body: "document.title = 'run'" },
      "/f": { body: "<p>framed" },
    });
    it.visits.length = 0;
    await it.fetch(`${site.origin}/`);
    expect(it.visits).toHaveLength(1);
    expect(site.arrivals.map(({ path }) => path).toSorted()).toEqual(["/", "/f", "/s.css", "/s.js"]);
  });

  test("ends where a hop may not be taken, and the origin is not asked", async () => {
    const site = it.web.site({ "/": redirect("/private"), "/private": { body: article("Private") } });
    const refusal: HopRefusal = {
      error: "robots_disallowed",
      step: "robots",
      reason: "disallowed",
      retry_after_s: null,
      detail: null,
    };
    const released: (number | null)[] = [];
    const answer = await it.fetch(`${site.origin}/`, {
      admit: async (url) =>
        url.endsWith("/private")
          ? { kind: "refused", refusal }
          : {
              kind: "admitted",
              beforeSend: () => true,
              onSent: () => {},
              release: ({ status }) => void released.push(status),
            },
    });
    expect(answer).toMatchObject({ kind: "refused", refusal, redirects: [{ status: 302 }] });
    expect([site.hits("/private"), released]).toEqual([0, [302]]);
  });

  test("follows navigations by its scripts, each with a permit, without holding the slot of the former page", async () => {
    const site = it.web.site({
      "/": { body: scripted(`location.href = "/second"`) },
      "/second": { body: article("Second") },
    });
    const openPermits: string[] = [];
    const answer = page(
      await it.fetch(`${site.origin}/`, {
        admit: async (url) => {
          expect(openPermits).toEqual([]);
          openPermits.push(url);
          return {
            kind: "admitted",
            beforeSend: () => true,
            onSent: () => {},
            release: () => void openPermits.splice(openPermits.indexOf(url), 1),
          };
        },
      }),
    );
    expect(answer.final_url).toBe(`${site.origin}/second`);
    expect(answer.redirects).toEqual([]);
    expect(openPermits).toEqual([]);
  });

  test.each([
    ["application/pdf", { type: "application/pdf", body: PDF }],
    ["JSON", { type: "application/json", body: '{"a":1}' }],
    ["plain text", { type: "text/plain", body: "<b>not bold</b>" }],
    [
      "a download",
      {
        type: "text/html",
        headers: { "Content-Disposition": "attachment; filename=a.html" },
        body: "<p>saved",
      },
    ],
    ["bytes of no kind", { type: "application/octet-stream", body: Buffer.from([0, 1, 2, 255]) }],
    ["a compressed file", coded("gzip", { type: "application/pdf", body: PDF })],
    ["nothing", { status: 204 }],
  ])("that is no page comes back as its bytes: %s", async (_, answer) => {
    const site = it.web.site({ "/": answer });
    const got = page(await it.fetch(`${site.origin}/`));
    const plain =
      answer.headers && "Content-Encoding" in answer.headers ? PDF : Buffer.from(answer.body ?? "");
    expect(got).toMatchObject({
      status: answer.status ?? 200,
      body_kind: "origin",
      final_url: `${site.origin}/`,
    });
    expect(got.body.equals(plain)).toBe(true);
    expect(site.hits("/")).toBe(1);
  });

  test.each([
    ["a page", "<!doctype html><title>Nameless</title><p>text", "rendered_dom"],
    ["no page", "%PDF-1.7 but who knows", "origin"],
  ])("without a type is %s when its bytes look like it", async (_, body, kind) => {
    const site = it.web.site({ "/": { type: null, body } });
    expect(page(await it.fetch(`${site.origin}/`)).body_kind).toBe(kind);
    expect(site.hits("/")).toBe(1);
  });

  test.each([404, 403, 500])("of status %i is rendered like any other", async (status) => {
    const site = it.web.site({ "/": { status, body: scripted("a.textContent = 'explained'") } });
    expect(page(await it.fetch(`${site.origin}/`))).toMatchObject({ status, body_kind: "rendered_dom" });
  });

  test("of an error without a body is empty, not Chromium's error page", async () => {
    const site = it.web.site({ "/": { status: 500, body: "" } });
    const answer = page(await it.fetch(`${site.origin}/`));
    // Chromium has no document then, or an empty one.
    expect([answer.status, text(answer).replaceAll(/<[^>]*>/g, "")]).toEqual([500, ""]);
  });

  test("is asked for in the caller's languages, and scripts see the first of them", async () => {
    const site = it.web.site({
      "/": { body: scripted("a.textContent = navigator.language + new Intl.NumberFormat().format(1234.5)") },
    });
    const answer = await it.fetch(`${site.origin}/`, { accept_language: "de-CH, de;q=0.7, *;q=0.1" });
    expect(site.arrivals[0]!.headers["accept-language"]).toBe("de-CH, de;q=0.7, *;q=0.1");
    expect(text(answer)).toMatch(/>de-CH1[’']234.5</);
  });

  test("is asked for under one name that fits itself; never as a headless one", async () => {
    const site = it.web.site({ "/": { body: scripted("a.textContent = navigator.userAgent") } });
    const answer = await it.fetch(`${site.origin}/`);
    const { headers } = site.arrivals[0]!;
    const version = /Chrome\/(\d+)/.exec(headers["user-agent"]!)![1];
    expect(text(answer)).toContain(headers["user-agent"]);
    expect(headers["user-agent"]).not.toContain("Headless");
    expect(headers).toMatchObject({ "upgrade-insecure-requests": "1", "accept-language": "en-US" });
    expect(headers["sec-ch-ua"] ?? `v="${version}"`).toContain(`v="${version}"`);
  });

  test("is requested with the caller's user agent, and with no other hints", async () => {
    const site = it.web.site({
      "/": { body: scripted("a.textContent = navigator.userAgent; fetch('/more')") },
    });
    const answer = await it.fetch(`${site.origin}/`, { user_agent: "Acme/1.0 (+https://acme.test)" });
    expect(text(answer)).toContain("Acme/1.0");
    for (const { headers } of site.arrivals) {
      expect(headers["user-agent"]).toBe("Acme/1.0 (+https://acme.test)");
      expect(Object.keys(headers).filter((name) => name.startsWith("sec-ch-ua"))).toEqual([]);
    }
  });

  test("keeps nothing from one request to the next", async () => {
    const site = it.web.site({
      "/": ({ headers }) => ({
        headers: { "Set-Cookie": "seen=1" },
        body: scripted(
          `a.textContent = "cookie:${headers["cookie"] ?? ""} stored:" + localStorage.length; localStorage.a = 1`,
        ),
      }),
    });
    await it.fetch(`${site.origin}/`);
    expect(text(await it.fetch(`${site.origin}/`))).toContain("cookie: stored:0");
  });

  test.each([
    ["said beforehand", { headers: { "Content-Length": "5000" }, body: "x".repeat(5_000) }],
    ["made by a script", { body: scripted("a.textContent = 'x'.repeat(5000)") }],
    [
      "of a file",
      { type: "application/pdf", headers: { "Transfer-Encoding": "chunked" }, body: "x".repeat(5_000) },
    ],
  ])("that is too large is too_large: %s", async (_, answer) => {
    const site = it.web.site({ "/": answer });
    expect(await it.fetch(`${site.origin}/`, { max_bytes: 4_000 })).toMatchObject({
      kind: "failed",
      reason: "too_large",
      status: 200,
    });
  });

  test("does not wait for a network that is never quiet", async () => {
    const site = it.web.site({
      "/": { body: scripted("setInterval(() => fetch('/more'), 100)") },
      "/more": { type: "text/plain", body: "again" },
    });
    const answer = page(await it.fetch(`${site.origin}/`));
    expect(answer.ms).toBeLessThan(6_000);
  });

  test.each([
    ["after its network was quiet", "setTimeout(() => { a.textContent = WORDS }, 1_500)"],
    [
      "piece by piece",
      "setTimeout(() => { a.textContent = WORDS.slice(0, 600) }, 900); setTimeout(() => { a.textContent = WORDS }, 1_200)",
    ],
  ])("is waited for until its text is there: %s", async (_, script) => {
    const site = it.web.site({
      "/": { body: scripted(`const WORDS = "late words ".repeat(60) + "end"; ${script}`) },
    });
    expect(text(await slow.fetch(`${site.origin}/`, { min_text_chars: 500 }))).toContain(
      "late words end</p>",
    );
  });

  test("whose text stays short is read as it stands when the time for it is over", async () => {
    const site = it.web.site({ "/": { body: scripted("") }, "/static": { body: "<p>All there is." } });
    const answer = page(await it.fetch(`${site.origin}/`, { min_text_chars: 500 }));
    expect(text(answer)).toContain("empty");
    expect(answer.ms).toBeGreaterThan(2_000);
    // Nothing is waited for where no script can bring it, or the caller asks for no text.
    const still = page(await slow.fetch(`${site.origin}/static`, { min_text_chars: 500 }));
    const modest = page(await slow.fetch(`${site.origin}/`, { min_text_chars: 0 }));
    expect(Math.max(still.ms, modest.ms)).toBeLessThan(SLOW_MS / 2);
  });

  test("whose text stays short is read before the caller's deadline", async () => {
    const site = it.web.site({ "/": { body: scripted("") } });
    const answer = await slow.fetch(`${site.origin}/`, {
      min_text_chars: 500,
      deadline_ms: Date.now() + 4_000,
    });
    expect(page(answer).ms).toBeLessThan(SLOW_MS / 2);
  });

  test("behind a challenge is waited for until the challenge has passed", async () => {
    const challenge = {
      status: 403,
      headers: { "cf-mitigated": "challenge" },
      body: `<title>Just a moment...</title><script>setTimeout(() => { document.cookie = "passed=1"; location.reload() }, 1_000)</script>`,
    };
    const site = it.web.site({
      "/": ({ headers }) => (headers["cookie"]?.includes("passed") ? { body: article("Behind") } : challenge),
      "/never": { ...challenge, body: "<title>Just a moment...</title><script></script>" },
    });
    const answer = page(await slow.fetch(`${site.origin}/`));
    expect([answer.status, text(answer)]).toEqual([200, expect.stringContaining("Behind")]);
    // A challenge that does not pass is the answer, and is judged as a challenge.
    const refused = page(await it.fetch(`${site.origin}/never`));
    expect([refused.status, refused.headers.get("cf-mitigated")]).toEqual([403, "challenge"]);
    expect(refused.ms).toBeGreaterThan(1_000);
  });

  test("that starts a download while it loads is read without waiting for its parser", async () => {
    const site = it.web.site({
      "/": { body: scripted("location.href = '/file'") },
      "/file": { type: "application/zip", headers: { "Content-Disposition": "attachment" }, body: "PK" },
    });
    expect(text(await slow.fetch(`${site.origin}/`, {}))).toContain("<title>Before</title>");
  });

  test("releases its slot, with no connection left in the egress proxy", async () => {
    await expect.poll(() => it.pool.stats()).toMatchObject({ leased: 0, waiting: 0 });
    await expect.poll(() => it.proxy.open().to_origins).toBe(0);
    expect(it.visits.filter(({ released }) => released.length !== 1)).toEqual([]);
  });
});
