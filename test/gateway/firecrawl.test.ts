/** The tables of docs/api/firecrawl.md are those of the program; what has no page is an error that their clients know. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BATCH_OPTIONS, CRAWL_OPTIONS, MAP_OPTIONS } from "../../gateway/firecrawl/crawl-options.ts";
import { documentOf } from "../../gateway/firecrawl/document.ts";
import { endEvent, pageEvent } from "../../gateway/firecrawl/events.ts";
import { refusalAs } from "../../gateway/firecrawl/errors.ts";
import { EXTRACT_OPTIONS } from "../../gateway/firecrawl/extract.ts";
import { REFUSED_FORMATS } from "../../gateway/firecrawl/formats.ts";
import { cronOf, MONITOR_UPDATE, monitorBodyOf } from "../../gateway/firecrawl/monitor-options.ts";
import type { Options } from "../../gateway/firecrawl/option.ts";
import { fetchOptionsOf, SCRAPE_OPTIONS } from "../../gateway/firecrawl/scrape-options.ts";
import { SEARCH_OPTIONS } from "../../gateway/firecrawl/search.ts";
import { UNSERVED } from "../../gateway/firecrawl/unserved.ts";
import { json } from "../../gateway/http-errors.ts";
import { FETCH_ERRORS } from "../../schemas/errors.ts";

const GUIDE = "docs/api/firecrawl.md";

/** Options of all operations, documented with those of a page. */
const SHARED = ["origin", "integration", "zeroDataRetention"];

const rowsOf = (options: Options, except: readonly string[] = []): string =>
  Object.entries(options)
    .filter(([name]) => !except.includes(name))
    .map(([name, { does }]) => `| \`${name}\` | ${does} |`)
    .join("\n");

const TABLES: Readonly<Record<string, string>> = {
  page: rowsOf(SCRAPE_OPTIONS),
  crawl: rowsOf(CRAWL_OPTIONS, SHARED),
  batch: rowsOf(BATCH_OPTIONS, Object.keys(SCRAPE_OPTIONS)),
  extract: rowsOf(EXTRACT_OPTIONS, SHARED),
  map: rowsOf(MAP_OPTIONS, SHARED),
  search: rowsOf(SEARCH_OPTIONS, SHARED),
  monitor: rowsOf(MONITOR_UPDATE, SHARED),
  formats: Object.entries(REFUSED_FORMATS)
    .map(([name, reason]) => `| \`${name}\` | refused: ${reason} |`)
    .join("\n"),
  unserved: UNSERVED.map(
    ([path, methods, reason]) => `| ${methods.join(", ")} \`${path}\` | ${reason} |`,
  ).join("\n"),
};

test("the guide says of each option what it does", () => {
  const text = readFileSync(GUIDE, "utf8");
  const written = Object.entries(TABLES).reduce(
    (guide, [name, rows]) =>
      guide.replace(
        new RegExp(`(<!-- ${name} -->\\n\\|.*\\n\\| --- .*\\n)[^]*?(<!-- /${name} -->)`),
        (_, head: string, end: string) => `${head}${rows}\n${end}`,
      ),
    text,
  );
  if (process.env["UPDATE"]) writeFileSync(GUIDE, written);
  expect(process.env["UPDATE"] ? written : text).toBe(written);
  for (const name of Object.keys(TABLES)) expect(text).toContain(`<!-- /${name} -->`);
});

test("a page as a phone shows it is asked for by the device", () => {
  const device = (options: Readonly<Record<string, unknown>>): unknown =>
    (fetchOptionsOf(options) as Record<string, unknown>)["device"];
  expect([device({ mobile: true }), device({ mobile: false }), device({})]).toEqual([
    "mobile",
    undefined,
    undefined,
  ]);
});

test.each([
  ["every 30 minutes", "*/30 * * * *"],
  ["Every 6 hours", "0 */6 * * *"],
  ["hourly", "0 * * * *"],
  ["daily", "0 0 * * *"],
  ["daily at 9:30", "30 9 * * *"],
  ["every day at 12 am", "0 0 * * *"],
  ["daily at 9pm", "0 21 * * *"],
  ["weekly", "0 0 * * MON"],
  ["monthly", "0 0 1 * *"],
])("a schedule in words, %j, is the pattern %s", (words, cron) => {
  expect(cronOf(words)).toBe(cron);
});

test.each(["every 7 minutes", "every 0 minutes", "daily at 25:00", "daily at 13pm", "at full moon"])(
  "the schedule %j is refused with those that are taken",
  (words) => {
    expect(() => cronOf(words)).toThrow("is none of: every 30 minutes");
  },
);

const watched = { name: "Prices", schedule: { cron: "0 7 * * *" } };
const target = { type: "scrape", urls: ["https://example.org/"] };
const scraped = (scrapeOptions: object) => ({ ...watched, targets: [{ ...target, scrapeOptions }] });

test("a monitor of theirs watches the Markdown of one page", () => {
  const options = { formats: ["markdown", { type: "changeTracking", modes: ["git-diff"] }], maxAge: 5 };
  expect(monitorBodyOf({ ...scraped({ ...options, includeTags: [".price"] }), retentionDays: 7 })).toEqual({
    label: "Prices",
    cron: "0 7 * * *",
    watch: "markdown",
    url: "https://example.org/",
    fetch: { include_selectors: [".price"] },
  });
});

test.each([
  [{ ...watched, targets: [{ ...target, type: "crawl" }] }, "only targets of type scrape"],
  [{ ...watched, targets: [target, target] }, "create one for each address"],
  [
    { ...watched, targets: [{ ...target, urls: ["https://a.example/", "https://b.example/"] }] },
    "each address",
  ],
  [{ ...watched, targets: [] }, "targets: one is needed"],
  [{ ...watched, targets: [{ type: "scrape" }] }, "targets.0.urls"],
  [scraped({ formats: ["html"] }), "compares the Markdown"],
  [scraped({ formats: [{ type: "changeTracking", modes: ["json"] }] }), "compares the Markdown"],
  [{ ...watched, targets: [target], retentionDays: 90 }, "for 30 days"],
  [{ ...watched, targets: [target], goal: "prices" }, "no language model"],
  [{ ...watched, targets: [target], notification: { email: { enabled: true } } }, "No mail"],
  [{ ...watched, targets: [target], schedule: {} }, "cron or text"],
  [{ name: "Prices", targets: [target] }, "schedule: Field required"],
])("%# a monitor that this service does not have is refused in their words", (body, words) => {
  expect(() => monitorBodyOf(body)).toThrow(words);
});

const asked = { url: "https://example.org/", formats: new Set(["markdown"]), base: "http://here.example" };

/** Errors that come beside a page. */
const WITH_PAGE = new Set(["selector_not_found", "screenshot_failed"]);

test.each(Object.keys(FETCH_ERRORS).filter((error) => !WITH_PAGE.has(error)))(
  "%s without a page is an error with a status, a code and a sentence",
  (error) => {
    expect(() => documentOf({ error }, asked)).toThrow(
      expect.objectContaining({
        answer: expect.objectContaining({
          status: expect.toSatisfy((status: number) => [400, 402, 403, 408, 500, 503].includes(status)),
          code: expect.stringMatching(/^[A-Z_]+$/),
          error: expect.stringMatching(/ /),
          details: expect.anything(),
        }),
      }),
    );
  },
);

test.each([
  [[{ reason: "dns_nxdomain", detail: "no such name" }], 500, "SCRAPE_DNS_RESOLUTION_ERROR"],
  [[{ reason: "tls_certificate", detail: "expired" }], 500, "SCRAPE_SSL_ERROR"],
  [[{ reason: "not_configured", detail: null }], 400, "NOT_SUPPORTED"],
  [
    [
      { reason: "blocked", detail: null },
      { reason: "not_configured", detail: null },
    ],
    500,
    "SCRAPE_ALL_ENGINES_FAILED",
  ],
])("where every route failed, the first says why: %j", (attempts, status, code) => {
  expect(() => documentOf({ error: "all_tiers_failed", attempts }, asked)).toThrow(
    expect.objectContaining({ answer: expect.objectContaining({ status, code }) }),
  );
});

test("a page with an error of its own is a document, whose fields are never null", () => {
  const page = {
    error: "http_404",
    status: 404,
    title: null,
    meta: null,
    text: "Gone",
    markdown: null,
    tier: "direct",
    cached: false,
    request_id: "req_1",
  };
  const document = documentOf(page, asked);
  expect(document).toEqual({
    markdown: "Gone",
    metadata: {
      url: "https://example.org/",
      sourceURL: "https://example.org/",
      statusCode: 404,
      error: "The origin answered with status 404",
      proxyUsed: "basic",
      cacheState: "miss",
      creditsUsed: 1,
      scrapeId: "req_1",
    },
  });
});

test("an event of a page without a page, and of a crawl that was cancelled, say why", () => {
  const about = { type: "crawl", job_id: "job", id: "job:1", metadata: { run: "1" } } as const;
  const input = { url: "https://example.org/" };
  const whole = { success: false, id: "job", webhookId: "job:1", metadata: { run: "1" } };
  const page = pageEvent(about, { input, result: null, error: "robots_disallowed" }, "http://here.example");
  const error = expect.stringMatching(/^robots\.txt disallows the path/);
  expect(page).toEqual({
    ...whole,
    type: "crawl.page",
    data: [{ metadata: { sourceURL: input.url, error } }],
    error,
  });
  expect(endEvent(about, "failed")).toEqual({
    ...whole,
    type: "crawl.failed",
    data: [],
    error: "The job was cancelled",
  });
});

test.each([
  [429, { detail: "rate limit exceeded" }, 429, "rate limit exceeded"],
  [
    429,
    { detail: { error: "key_quota_exhausted", category: "fetch", limit: 1 } },
    402,
    "key_quota_exhausted",
  ],
  [
    422,
    { detail: [{ loc: ["body", "timeout_s"], msg: "too large" }] },
    400,
    "Bad Request: timeout: too large",
  ],
  [
    504,
    { detail: { error: "timeout", request_id: "req_1" } },
    408,
    "The time was over; the page is fetched on, ask again",
  ],
  [500, { detail: "internal error", request_id: "req_1" }, 500, "internal error"],
])("a refusal %i %j is theirs", (status, content, theirs, error) => {
  const told = refusalAs(json(status, content, { "Retry-After": "3" }));
  expect(told).toMatchObject({ status: theirs, headers: { "Retry-After": "3" } });
  expect(JSON.parse((told.body as Buffer).toString())).toMatchObject({ success: false, error });
});
