import { beforeEach, describe, expect, test } from "vitest";
import type { Extracted } from "../../../../actors/reading/extraction-result.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import type { TransportResult } from "../../../../actors/lib/web/transport.ts";
import {
  answer,
  failure,
  HTML,
  LONG,
  oneService,
  running,
  type Scripted,
} from "../../../harness/fetch-harness.ts";

describe("a fetch", () => {
  let visits = 0;
  beforeEach(() => (visits = 0));
  const counted =
    (scripted: Scripted): Scripted =>
    (request) => (visits++, scripted(request));

  test("reads a page once and answers it from the cache afterwards", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    const first = await running(clock, get());
    expect(first).toMatchObject({ error: null, cached: false, attempts: [{ tier: "direct", reason: "ok" }] });
    expect(first.record).toMatchObject({ title: "Harbour", content_kind: "html", tier: "direct" });
    const again = await running(clock, get());
    expect(again).toMatchObject({ error: null, cached: true, attempts: [] });
    expect(again.record).toEqual(first.record);
    expect(visits).toBe(1);
  });

  test("that is traced answers its payer with the messages of its run, and no other caller", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    const [traced, other] = await running(clock, Promise.all([get({ is_traced: true }), get()]));
    expect(traced.trace!.map(({ actor, operation }) => `${actor}.${operation}`)).toEqual(
      expect.arrayContaining(["domain.acquire", "domain.release"]),
    );
    expect(other).not.toHaveProperty("trace");
  });

  test("is one request for all callers at the same time", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    const answers = await running(clock, Promise.all([get(), get(), get()]));
    expect(answers.map(({ error }) => error)).toEqual([null, null, null]);
    expect(visits).toBe(1);
  });

  test.each([
    ["full", "domain_busy", 10],
    ["unavailable", "domain_busy", 10],
    ["aborted", "domain_busy", 10],
    ["crashed", "unreadable_document", null],
    ["timeout", "unreadable_document", null],
    ["out_of_memory", "unreadable_document", null],
    ["threw", "unreadable_document", null],
  ] as const)(
    "whose document was not read (%s) is %s, never a success without a text, and is not cached",
    async (reason, error, retry_after_s) => {
      let fails = true;
      const page = await tasks.page();
      const { get, clock } = await oneService(
        { direct: counted(() => answer(HTML)) },
        {
          extract: async (task) =>
            fails
              ? { kind: "failed", reason, detail: "" }
              : { kind: "done", value: (await page(task as never, () => 0)) as Extracted },
        },
      );
      const failed = await running(clock, get());
      expect(failed).toMatchObject({
        error,
        retry_after_s,
        record: { status: 200, final_url: expect.any(String) },
      });
      expect(failed.error_detail).toContain(reason);
      // The body is there where the document itself is at fault.
      expect(failed.record.sha256 !== null).toBe(error === "unreadable_document");
      fails = false;
      expect(await running(clock, get())).toMatchObject({ error: null, record: { title: "Harbour" } });
      expect(visits).toBe(2);
    },
  );

  test("whose readers have room for a few at a time answers each caller with the text or with domain_busy", async () => {
    const page = await tasks.page();
    let [reading, most] = [0, 0];
    const { get, clock } = await oneService(
      { direct: ({ url }) => answer(HTML.replace("Harbour", url)) },
      {
        async extract(task) {
          if (reading === 8) return { kind: "failed", reason: "full", detail: "" };
          most = Math.max(most, ++reading);
          const value = (await page(task as never, () => 0)) as Extracted;
          await new Promise((resolve) => void clock.at(clock.now() + 50, () => resolve(null)));
          reading--;
          return { kind: "done", value };
        },
      },
    );
    const answers = await running(
      clock,
      Promise.all(Array.from({ length: 188 }, (_, n) => get({ url: `http://example.org/${n}` }))),
    );
    const told = answers.map(({ error, record }) => error ?? (record.text ? "text" : "nothing"));
    expect(new Set(told)).toEqual(new Set(["text", "domain_busy"]));
    expect(most).toBe(8);
  });

  test("whose time ends before its document is read is timeout, not a page without a text", async () => {
    const { get, clock } = await oneService(
      { direct: () => answer(HTML) },
      {
        extract: (_task, { signal }) =>
          new Promise((resolve) => {
            const aborted = { kind: "failed", reason: "aborted", detail: "" } as const;
            signal.addEventListener("abort", () => resolve(aborted), { once: true });
          }),
      },
    );
    const asked = get({ deadline_ms: clock.now() + 1_000, hard_deadline: true });
    expect(await running(clock, asked)).toMatchObject({ error: "timeout", record: { sha256: null } });
  });

  test("that loses its domain while its document is read stores nothing", async () => {
    const [begun, door] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { get, stop, documents, clock } = await oneService(
      { direct: counted(() => answer(HTML)) },
      {
        extract: async () => {
          begun.resolve();
          await door.promise;
          return { kind: "failed", reason: "aborted", detail: "" };
        },
      },
    );
    const asked = get({ tiers: ["direct"] }).catch((problem: { code: string }) => problem.code);
    await begun.promise;
    await running(clock, stop(0));
    door.resolve();
    expect(await asked).toBe("no_answer");
    await clock.advance(1_000);
    expect(await documents.list("pages", { limit: 10 })).toEqual([]);
  });

  test("is not shared with a caller of another variant", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    await running(
      clock,
      Promise.all([get({ cache_ttl_s: 0 }), get({ cache_ttl_s: 0, min_text_chars: 100 })]),
    );
    expect(visits).toBe(2);
  });

  test("asks the origin about an old page, and keeps it when nothing changed", async () => {
    const { get, clock } = await oneService({
      direct: counted(({ validators }) =>
        validators?.etag === '"a"' ? answer("", 304, { etag: '"a"' }) : answer(HTML, 200, { etag: '"a"' }),
      ),
    });
    const first = await running(clock, get());
    await clock.advance(25 * 3_600_000);
    const second = await running(clock, get());
    expect(second).toMatchObject({
      cached: true,
      revalidated: true,
      cost_usd: "0",
      attempts: [{ tier: "direct", status: 304, reason: "not_modified" }],
    });
    expect(second.record.sha256).toBe(first.record.sha256);
    expect(await running(clock, get())).toMatchObject({ cached: true, revalidated: false });
    expect(visits).toBe(2);
  });

  test("keeps nothing the origin wants kept nowhere", async () => {
    const { get, clock } = await oneService({
      direct: counted(() => answer(HTML, 200, { "cache-control": "no-store" })),
    });
    await running(clock, get());
    await running(clock, get());
    expect(visits).toBe(2);
  });

  test("keeps no failure, and returns a 404 page as it is", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML, 404)) });
    const gone = await running(clock, get({ allow_archive: false }));
    expect(gone).toMatchObject({ error: "http_404", record: { status: 404, title: "Harbour" } });
    await running(clock, get({ allow_archive: false }));
    expect(visits).toBe(2);
  });

  test("takes the next route after a block, and lists what it tried", async () => {
    const { get, clock } = await oneService({
      direct: () => answer("no", 403),
      browser: () => answer(HTML),
    });
    expect(await running(clock, get())).toMatchObject({
      error: null,
      record: { tier: "browser" },
      attempts: [
        { tier: "direct", status: 403, reason: "http_403" },
        { tier: "browser", status: 200, reason: "ok" },
      ],
    });
  });

  test("is all_tiers_failed with the last status, and lists the routes that are not configured", async () => {
    const { get, clock } = await oneService({ direct: () => answer("busy", 503) });
    const failed = await running(clock, get());
    expect(failed).toMatchObject({ error: "all_tiers_failed", record: { status: 503, sha256: null } });
    expect(failed.attempts.map(({ tier, reason }) => `${tier} ${reason}`)).toEqual([
      "direct http_503",
      "browser not_configured",
      "archive not_configured",
      "proxy not_configured",
      "proxy_render not_configured",
    ]);
    expect(failed.premium_routes_tried).toBe(false);
  });

  test("takes thin text to the browser and returns what is longest", async () => {
    const { get, clock } = await oneService({
      direct: () => answer("<p>Loading the page, please wait a little while it comes</p>"),
      browser: () => answer(HTML),
    });
    const { attempts, record } = await running(clock, get());
    expect(attempts.map(({ reason }) => reason)).toEqual(["thin_content", "ok"]);
    expect(record.tier).toBe("browser");
  });

  test("never serves a challenge as a page", async () => {
    const challenge = `<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script></html>`;
    const { get, clock } = await oneService({
      direct: () => answer(challenge, 403, { "cf-mitigated": "challenge" }),
    });
    const answered = await running(clock, get({ tiers: ["direct"] }));
    expect(answered).toMatchObject({ error: "all_tiers_failed", record: { text: "", sha256: null } });
    expect(answered.attempts[0]!.reason).toBe("challenge_cloudflare");
  });

  test("skips a domain after three fetches in which every route failed, until ten minutes are over", async () => {
    const { get, clock } = await oneService({ direct: counted(() => failure("network_reset")) });
    const direct = { tiers: ["direct"] } as const;
    for (let time = 0; time < 3; time++) await running(clock, get({ tiers: [...direct.tiers] }));
    const skipped = await running(clock, get({ tiers: ["direct"] }));
    expect(skipped).toMatchObject({ error: "domain_unavailable", attempts: [{ tier: "politeness" }] });
    expect(skipped.retry_after_s).toBeGreaterThan(590);
    expect(visits).toBe(3);
    await clock.advance(600_000);
    await running(clock, get({ tiers: ["direct"] }));
    expect(visits).toBe(4);
  });

  test("calls a host dead the second time its name is not found", async () => {
    const { get, clock } = await oneService({ direct: counted(() => failure("dns_nxdomain")) });
    expect(await running(clock, get())).toMatchObject({ error: "all_tiers_failed" });
    expect(await running(clock, get())).toMatchObject({ error: "domain_dead" });
    const visited = visits;
    expect(await running(clock, get())).toMatchObject({ error: "domain_dead" });
    expect(visits).toBe(visited);
  });

  test("ends with timeout at its deadline", async () => {
    const { get, clock } = await oneService({
      direct: ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve(failure("timeout")), { once: true }),
        ),
    });
    const late = get({ deadline_ms: clock.now() + 5_000, hard_deadline: true });
    await clock.advance(6_000);
    expect(await running(clock, late)).toMatchObject({
      error: "timeout",
      attempts: [{ tier: "direct", reason: "timeout" }, { tier: "request_timeout" }],
    });
  });

  test.each([204, 205, 206, 300, 302, 304, 308])(
    "is http_%i, and not cached, where the site sends no page",
    async (status) => {
      const { get, clock } = await oneService({ direct: counted(() => answer("", status)) });
      for (let time = 1; time <= 2; time++) {
        expect(await running(clock, get())).toMatchObject({
          error: `http_${status}`,
          error_detail: `The origin answered with status ${status}`,
          record: { status },
        });
        expect(visits).toBe(time);
      }
    },
  );

  test("is unreadable_document, with its bytes, for a PDF that cannot be opened", async () => {
    const readPage = await tasks.page();
    const { get, clock } = await oneService(
      { direct: () => answer("%PDF-1.7 and nothing of it", 200, { "content-type": "application/pdf" }) },
      {
        async extract(task) {
          const read = (await readPage({ ...task, kind: "text" }, () => 0)) as Extracted;
          const note = "Cannot open the PDF: it has no pages";
          return { kind: "done", value: { ...read, text: "", pdf_pages: [], pdf_page_count: null, note } };
        },
      },
    );
    const broken = await running(clock, get());
    expect(broken).toMatchObject({ error: "unreadable_document", record: { content_kind: "pdf" } });
    expect([broken.record.sha256 !== null, broken.error_detail]).toEqual([
      true,
      expect.stringContaining("PDF"),
    ]);
  });

  test.each([
    ["application/octet-stream", HTML, "text/html; charset=utf-8"],
    ["text/html; charset=iso-8859-1", HTML, "text/html; charset=iso-8859-1"],
    ["application/json", '{"a":1}', "application/json"],
    ["application/octet-stream", "\u0000\u0001\u0002", "application/octet-stream"],
  ])("names the type of a body that came as %s", async (declared, body, content_type) => {
    const { get, clock } = await oneService({
      direct: () => answer(body, 200, { "content-type": declared }),
    });
    const { record } = await running(clock, get());
    expect([record.content_type, record.origin_content_type]).toEqual([content_type, declared]);
  });

  test.each([
    ["a network failure", failure("network_reset")],
    ["too many redirects", failure("too_many_redirects", 302)],
    ["a body that is too large", failure("too_large", 200)],
  ])("tells the redirects and where they ended, and a sentence, also after %s", async (_, failed) => {
    const redirects = [{ url: "http://example.org/", status: 302, location: "/next" }];
    const { get, clock } = await oneService({ direct: () => ({ ...failed, redirects }) as TransportResult });
    const { record, error_detail } = await running(clock, get());
    expect(record).toMatchObject({ redirects, final_url: "http://example.org/next" });
    expect(error_detail).toEqual(expect.any(String));
  });

  test("of a page of a crawl follows no redirect out of its scope, and is answered apart from fetches of the same page", async () => {
    const redirects = [{ url: "http://example.org/", status: 302, location: "http://elsewhere.example/a" }];
    const target = "http://elsewhere.example/a";
    const followed: string[] = [];
    const { get, clock } = await oneService({
      async direct({ admit }) {
        const hop = await admit(target);
        if (hop.kind === "refused")
          return { kind: "refused", refusal: hop.refusal, redirects, final_url: null, ms: 0 };
        followed.push(target);
        hop.release({ status: 200, retry_after_s: null });
        return answer(HTML);
      },
      // A redirect out of the scope is no failure that another route could mend.
      browser: counted(() => answer(HTML)),
    });
    const scope = { kind: "host", places: ["example.org"] } as const;
    const [crawled, single] = await running(
      clock,
      Promise.all([get({ scope: { ...scope, places: [...scope.places] } }), get()]),
    );
    expect(crawled).toMatchObject({
      error: "out_of_scope",
      attempts: [{ tier: "egress", reason: "out_of_scope", status: null }],
      cost_usd: "0",
      record: { final_url: target, redirects, bytes: 0, sha256: null },
    });
    expect([single.error, followed, visits]).toEqual([null, [target], 0]);
  });

  test("is no_tier_allowed without a request", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    expect(await running(clock, get({ tiers: [] }))).toMatchObject({
      error: "no_tier_allowed",
      attempts: [],
    });
    expect(visits).toBe(0);
  });

  test("is invalid_url for a text that is no URL", async () => {
    const { get, clock } = await oneService({});
    expect(await running(clock, get({ url: "ftp://example.org/" }))).toMatchObject({ error: "invalid_url" });
  });

  test("stores the bytes before it names them, and long texts beside them", async () => {
    const long = HTML.replace(LONG, LONG.repeat(99));
    const { get, clock, bodies: blobs } = await oneService({ direct: () => answer(long) });
    const { record } = await running(clock, get());
    expect(record.text).toBeNull();
    expect(await blobs.head(record.text_sha256!)).not.toBeNull();
    expect(await blobs.head(record.sha256!)).toEqual({ bytes: Buffer.byteLength(long) });
  });
});
