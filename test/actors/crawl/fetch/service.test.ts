/** For how long a response that was written from a cached page may be sent again. */
import { describe, expect, test } from "vitest";
import { cacheKey, type CachedPage } from "../../../../actors/crawl/fetch/freshness.ts";
import { isOfOneCaller } from "../../../../actors/crawl/fetch/run.ts";
import { fetchService } from "../../../../actors/crawl/fetch/service.ts";
import { withAuthorization } from "../../../../actors/lib/web/own-request.ts";
import type { AskOptions } from "../../../../cluster/actor.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { settled, virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import {
  EMPTY_ANSWER,
  EMPTY_RECORD,
  type FetchAnswer,
  type FetchRequest,
  type PageRecord,
} from "../../../../schemas/fetch.ts";
import type { Transport } from "../../../../actors/lib/web/transport.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";

const NOON_MS = Date.UTC(2026, 10, 23, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const URL = "https://example.org/";

const pageOf = (record: Partial<PageRecord> = {}, validated_ms = NOON_MS): CachedPage => ({
  url: URL,
  record: {
    ...EMPTY_RECORD,
    tier: "direct",
    status: 200,
    content_kind: "html",
    text_chars: 4_000,
    ...record,
  },
  tried: ["direct"],
  validated_ms,
  ttl_ms: 24 * HOUR_MS,
  is_private: false,
});

function serviceOf(over: Partial<Documents> = {}) {
  const sent: { key: string; request: FetchRequest; idempotency_id: string | undefined }[] = [];
  const [clock, documents] = [virtualClock(NOON_MS), memoryDocuments()];
  const ask = (async (
    _actor: unknown,
    key: string,
    _operation: string,
    message: FetchRequest,
    { idempotency_id }: AskOptions,
  ) => {
    sent.push({ key, request: message, idempotency_id });
    return EMPTY_ANSWER;
  }) as never;
  const pages = fetchService({
    secrets: SAME_SECRETS,
    ...silentTelemetry(),
    documents: { ...documents, ...over },
    clock,
    ask,
  });
  const request = (options: Partial<FetchRequest>): FetchRequest => ({
    ...DEFAULT_REQUEST,
    fetch_id: "f",
    url: URL,
    deadline_ms: NOON_MS + HOUR_MS,
    ...options,
  });
  const get = (options: Partial<FetchRequest> = {}) => pages.fetch(request(options));
  const isCurrent = (answer: FetchAnswer, now_ms: number) => pages.isCurrent(pages.sourceOf(answer)!, now_ms);
  return { clock, documents, pages, ask, request, get, isCurrent, sent };
}

const NO_PAGE: Awaited<ReturnType<Transport>> = {
  kind: "failed",
  reason: "timeout",
  status: null,
  detail: null,
  redirects: [],
  final_url: null,
  ms: 0,
};
const NOT_ASKED: Parameters<Transport>[0]["admit"] = () => Promise.reject(new Error("Nothing is sent"));

const digest = cacheKey(URL, { ...DEFAULT_REQUEST, fetch_id: "f", deadline_ms: 0 });

describe("an answer from the cache is current", () => {
  test.each<[string, Partial<PageRecord>, Partial<FetchRequest>, number]>([
    ["as long as the page is fresh", {}, {}, 24 * HOUR_MS],
    ["for the caller's cache_ttl_s", {}, { cache_ttl_s: 60 }, MINUTE_MS],
    ["for five minutes where the page is thin", { text_chars: 9, tier: "browser" }, {}, 5 * MINUTE_MS],
    [
      "for a day where a short text is Chinese",
      { text: "渡".repeat(200), text_chars: 200 },
      {},
      24 * HOUR_MS,
    ],
  ])("%s", async (_, record, options, fresh_ms) => {
    const { documents, get, isCurrent } = serviceOf();
    await documents.put("pages", digest, pageOf(record), 0);
    const answer = await get(options);
    expect(answer.cached).toBe(true);
    expect(isCurrent(answer, NOON_MS + fresh_ms)).toBe(true);
    expect(isCurrent(answer, NOON_MS + fresh_ms + 1)).toBe(false);
  });

  test("no longer than a second after another node stored a newer page", async () => {
    const { clock, documents, get, isCurrent } = serviceOf();
    await documents.put("pages", digest, pageOf(), 0);
    const answer = await get();
    await documents.put("pages", digest, pageOf({ text: "newer" }, NOON_MS + 1), 1);
    await clock.advance(999);
    isCurrent(answer, clock.now());
    await settled();
    expect(isCurrent(answer, clock.now())).toBe(true);
    await clock.advance(1);
    // The page is looked up beside this request.
    isCurrent(answer, clock.now());
    await settled();
    expect(isCurrent(answer, clock.now())).toBe(false);
    expect((await get()).record.text).toBe("newer");
  });

  test("without reading the page's text again, whose length would be paid for by each request", async () => {
    let reads = 0;
    const page = pageOf();
    Object.defineProperty(page.record, "text", {
      enumerable: true,
      get: () => (reads++, "渡".repeat(8_000)),
    });
    const { get, isCurrent } = serviceOf({ get: async () => ({ value: page, version: 1, tag: null }) });
    const answer = await get({ min_text_chars: 10_000 });
    expect(reads).toBeGreaterThan(0);
    reads = 0;
    for (let n = 0; n < 10; n++) expect(isCurrent(answer, NOON_MS + n)).toBe(true);
    expect(reads).toBe(0);
  });
});

test("an item of a job asks under its id, as it does when it begins again; a request of the API, whose answer nothing asks for again, does not", async () => {
  const { pages, ask, request, sent } = serviceOf();
  const asked = request({ cache_ttl_s: 0 });
  await pages.fetch(asked);
  await pages.fetchWith(ask, asked, new AbortController().signal);
  expect(sent.map(({ idempotency_id }) => idempotency_id)).toEqual([undefined, "f"]);
});

test("credentials of an address travel sealed, are one page's for one project, and are a field on the route", async () => {
  const { get, sent } = serviceOf();
  const field = `Basic ${Buffer.from("ada:quite-secret").toString("base64")}`;
  for (const [project, password] of [
    ["first", "quite-secret"],
    ["first", "quite-secret"],
    ["first", "guessed"],
    ["second", "quite-secret"],
  ])
    await get({ project: project!, url: `https://ada:${password}@example.org/` });
  expect(JSON.stringify(sent)).not.toContain("quite-secret");
  expect(JSON.stringify(sent)).not.toContain(field.slice("Basic ".length));
  const [one, again, guessed, second] = sent.map(({ key }) => key);
  expect([again === one, guessed === one, second === one]).toEqual([true, false, false]);
  const [asked] = sent;
  const given: (string | undefined)[] = [];
  const route = withAuthorization(SAME_SECRETS, async ({ authorization }) => {
    given.push(authorization);
    return NO_PAGE;
  });
  const { request } = asked!;
  await route({ ...request, validators: null, signal: new AbortController().signal, admit: NOT_ASKED });
  expect([given, request.url]).toEqual([[field], "https://example.org/"]);
  expect(isOfOneCaller(request)).toBe(true);
});

test("an answer that did not come from the cache has no source", async () => {
  const { pages, get } = serviceOf();
  expect(pages.sourceOf(await get())).toBeNull();
});
