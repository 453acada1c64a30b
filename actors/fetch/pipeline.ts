/**
 * The climb: one fetch from its first slot to its answer. It asks robots and the domain before every request to an
 * origin, takes the route the ladder names, has the bytes read outside the process, stores what is kept and hands
 * every slot back. Which route comes next is ladder.ts; what a stored page may answer is freshness.ts.
 */
import { createHash } from "node:crypto";
import type { WorkContext, ActorClient } from "../../cluster/actor.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import type { Documents, Versioned } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { TaskResult, TaskFailure } from "../../cluster/ports/workers.ts";
import { Account, fromMicros } from "../../schemas/accounts.ts";
import { Domain, Robots, GRANT_TTL_MS, type RequestSent } from "../../schemas/domain.ts";
import type { FetchError } from "../../schemas/errors.ts";
import {
  type Attempt,
  type ContentKind,
  EMPTY_RECORD,
  type FetchAnswer,
  type FetchRequest,
  isPremium,
  HostProfile,
  type PageRecord,
  type PremiumTier,
  TEXT_INLINE_BYTES,
  textDigests,
  type Tier,
  TIERS,
} from "../../schemas/fetch.ts";
import { challengeOf } from "../lib/content/challenge.ts";
import { cutOff } from "../lib/content/extract.ts";
import type { Extracted, ExtractTask } from "../lib/content/extraction-result.ts";
import { contentKindOf, freshnessOf, exposedHeaders } from "../lib/web/http.ts";
import type { Admission, HopRefusal, Transport, TransportResult } from "../lib/web/transport.ts";
import { doiInUrl } from "../lib/content/alternate-links.ts";
import { type JoinedSites, originOf, siteOf } from "../lib/web/url.ts";
import { causeOf, type KnownPage, wantedOf } from "./alternates/alternates.ts";
import { asCachedPage, type CachedPage, fromCache, STALE_TTL_MS, mayReplace, ttlOf } from "./freshness.ts";
import { type ReservedHosts, canDelegate } from "./reserved-hosts.ts";
import {
  isBlocking,
  isThin,
  type RouteHints,
  nextStep,
  type Outcome,
  type Tried,
  NO_HINTS,
} from "./ladder.ts";
import { observe } from "./host-profile.ts";
import { priceMost, priceOf, type Prices } from "./prices.ts";
import { type AlternateMatch, alternateFinder, type Sources } from "./alternates/find-alternate.ts";

export interface PipelineDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly meters: Meters;
  /** A route that is absent is answered with `not_configured`. */
  readonly routes: Readonly<Partial<Record<Tier, Transport>>>;
  /** Sites an operator joined, as everybody who names sites knows them. */
  readonly joined?: JoinedSites;
  /** Reads a document's bytes outside this process. */
  readonly extract: (task: ExtractTask, signal: AbortSignal) => Promise<TaskResult<Extracted>>;
  /** Told of every page that was stored. Must not wait or throw. Default: nobody is. */
  readonly onPageStored?: (page: StoredPage) => void;
  /** Told of every address whose origin says that there is nothing (any more): 404, 410. */
  readonly onGone?: (url: string) => void;
  /** Told of every request to an origin as it leaves. Must not wait or throw. Default: nobody is. */
  readonly onRequestSent?: (sent: RequestSent) => void;
  /** What an attempt on a premium route costs. Default: nothing. */
  readonly prices?: Prices;
  /** What a project may spend on premium routes in a month, in micros; null: no limit. Default: no limit. */
  readonly budgetOf?: (project: string) => Promise<number | null>;
  /** Whose pages are read through a door of their own. Default: nobody's. */
  readonly reservedHosts?: ReservedHosts;
  /** Where open copies of pages that cannot be had are looked for, over the route `direct`. Default: nowhere. */
  readonly sources?: Sources;
}

/** A page that was stored, whole, for whoever wants it found by its words. */
export interface StoredPage {
  /** What was asked for; where the page was found stands in the record. */
  readonly url: string;
  readonly record: PageRecord;
  readonly text: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** How long a synchronous caller and a batch item stand in a domain's queue at most. */
const SLOT_WAIT_MS = { sync: 15_000, batch: 60_000 } as const;
/** A fetch without timeout_s goes on into the cache after its caller has left, but not for ever. */
export const MAX_RUN_MS = 310_000;

/** The refusal of a hop that is handed over; nobody outside sees it. */
const DELEGATED = "handed_over";

/** Failures of who stands between us and the host: a proxy, a rendering service, a browser of ours. */
const THIRD_PARTY_FAILURE = /^(?:proxy|provider|browser)_/;

/** Why a document was not read that says nothing of the document. */
const UNREAD_REASONS: ReadonlySet<string> = new Set<TaskFailure>(["aborted", "full"]);

/** A route's failure that no other route can change. */
const FINAL_REASONS: Readonly<Record<string, FetchError>> = {
  too_large: "too_large",
  pdf_not_accepted: "pdf_not_accepted",
  blocked_destination: "blocked_destination",
  invalid_url: "invalid_url",
  pdf_download_timeout: "timeout",
};

/** A page's record, and the bytes it names, which are not stored yet. */
interface PageDraft {
  readonly record: PageRecord;
  readonly contents: readonly Buffer[];
}

interface Candidate {
  readonly tier: Tier;
  readonly outcome: Outcome;
  readonly page: Extract<TransportResult, { kind: "page" }> | null;
  readonly kind: ContentKind | null;
  readonly extracted: Extracted | null;
}

export interface FetchRun {
  readonly request: FetchRequest;
  /** The digest under which the page is cached; the second word of the actor's key. */
  readonly digest: string;
  /** What was stored under it when the climb began, or null. */
  readonly stored: Promise<Versioned | null>;
  /** A stored page to ask the origin about, or null. */
  readonly stale: CachedPage | null;
  /** Aborts when nobody wants it any more: it ends as if its time had run out. Default: somebody does. */
  readonly cancelled?: AbortSignal;
}

export function fetchPipeline(
  deps: PipelineDeps,
): (ask: ActorClient, work: WorkContext, run: FetchRun) => Promise<FetchAnswer> {
  const { clock, documents, blobs, meters, joined, prices = {} } = deps;
  const refs = bodyRefs(documents);
  const hasPremium = deps.routes.proxy !== undefined || deps.routes.proxy_render !== undefined;
  const { direct } = deps.routes;
  const findAlternate =
    direct && deps.sources
      ? alternateFinder({
          ...deps.sources,
          read: direct,
          extract: deps.extract,
          clock,
          ...(joined && { joined }),
        })
      : null;

  return async (ask, work, { request, digest, stored, stale, cancelled }) => {
    const began_ms = clock.now();
    const ends_ms = request.hard_deadline ? request.deadline_ms : began_ms + MAX_RUN_MS;
    const deadline = new AbortController();
    const timer = clock.at(ends_ms, () => deadline.abort());
    cancelled?.addEventListener("abort", () => deadline.abort(), { once: true });
    const signal = AbortSignal.any([work.signal, deadline.signal]);
    const host = new URL(request.url).hostname;
    const site = siteOf(host, joined);
    const attempts: Attempt[] = [];
    const tried: Candidate[] = [];
    let refusal: HopRefusal | null = null;
    let hops = 0;
    /** Whether a request was not sent because another node may hold the domain. */
    let isLost = false;
    let spent_micros = 0;
    let hints: RouteHints = NO_HINTS;
    /** Where a redirect led that is not for a route to follow. */
    let delegated_url = "";
    /** Whether what can be looked for elsewhere has been. */
    let is_searched = findAlternate === null;

    /** Texts that are not there because we had no time or no room to read them: the next caller may have more. */
    const unread = new Set<Extracted>();

    const note = (tier: string, status: number | null, reason: string, ms: number, detail: string | null) => {
      attempts.push({ tier, status, reason, ms: Math.round(ms), detail });
    };

    /**
     * What was cut off because the domain went to another node looks like a site that does not answer, and a document
     * like one without a text: nothing of it may be stored or told. Whoever has the domain now begins anew.
     */
    const stillOurs = (): void => {
      if (isLost || work.signal.aborted)
        throw new Fault("lease_lost", `Cannot fetch from "${site}": another node may hold it`);
    };

    /** Before every request to an origin: its rules, its slot, and whether this node may still start anything. */
    const admit = async (url: string): Promise<Admission> => {
      if (deps.reservedHosts?.owns(url)) {
        delegated_url = url;
        return refusedBy(DELEGATED, "egress", DELEGATED, null, null);
      }
      const { hostname } = new URL(url);
      const target_site = siteOf(hostname, joined);
      const fetch_id = `${request.fetch_id}.${++hops}`;
      const { lane } = request;
      const wait_max_ms = Math.max(0, Math.min(SLOT_WAIT_MS[lane], ends_ms - clock.now()));
      const rules = await ask(Robots, `${target_site} ${originOf(url)}`, "check", {
        url,
        fetch_id: `${fetch_id}r`,
        lane,
        wait_max_ms,
      });
      switch (rules.kind) {
        case "allowed":
          break;
        case "disallowed":
          return refusedBy("robots_disallowed", "robots", rules.reason, null, rules.detail);
        case "blocked":
          return refusedBy("blocked_destination", "egress", "blocked_destination", null, null);
        case "refused":
          return refusedBy(rules.error, "politeness", rules.error, rules.retry_after_s, null);
      }
      const slot = await ask(Domain, target_site, "acquire", { fetch_id, host: hostname, lane, wait_max_ms });
      if (slot.kind === "refused") {
        return refusedBy(slot.error, "politeness", slot.error, slot.retry_after_s, null);
      }
      const void_ms = clock.mono() + GRANT_TTL_MS;
      const onUndelivered = (problem: unknown) => {
        // A slot that is not handed back lapses; the domain is only slower for it.
        meters.say("warn", "Cannot hand a slot back", { domain: target_site, problem: String(problem) });
      };
      let isSending = false;
      const beforeSend = (): boolean => {
        isLost ||= !work.ownsKey();
        isSending = !isLost && !signal.aborted && clock.mono() < void_ms;
        return isSending;
      };
      const onSent = (): void => {
        isSending = false;
        ask(Domain, target_site, "recordSent", { fetch_id }).catch(onUndelivered);
        deps.onRequestSent?.({ domain: target_site, fetch_id, epoch: work.epoch });
      };
      const release: Extract<Admission, { kind: "admitted" }>["release"] = ({ status, retry_after_s }) => {
        // It may have left, and broken off before anybody could say so.
        if (isSending) onSent();
        ask(Domain, target_site, "release", { fetch_id, status, retry_after_s }).catch(onUndelivered);
      };
      if (!work.ownsKey()) {
        release({ status: null, retry_after_s: null });
        throw new Fault("lease_lost", `Cannot fetch from "${target_site}": another node may hold it`);
      }
      if (signal.aborted) {
        release({ status: null, retry_after_s: null });
        return refusedBy("timeout", "politeness", "timeout", null, null);
      }
      return { kind: "admitted", beforeSend, onSent, release };
    };

    const takeRoute = async (tier: Tier): Promise<Candidate | FetchAnswer> => {
      const route = deps.routes[tier];
      const nothing = { tier, page: null, kind: null, extracted: null } as const;
      const unavailable = (cause: Extract<Outcome, { kind: "unavailable" }>["reason"], reason: string) => {
        note(tier, null, reason, 0, null);
        return { ...nothing, outcome: { kind: "unavailable", reason: cause } } as const;
      };
      if (!route) return unavailable("not_configured", "not_configured");
      // What a site sells is not fetched around its wall: not from who stored it, not for money from elsewhere.
      if (tried.some(isSold)) {
        if (tier === "archive") return unavailable("refused", "archive_blocked_paywall");
        if (isPremium(tier)) return unavailable("refused", "paywall_skip_paid");
      }
      if (isPremium(tier)) {
        if (hints.premium === "refused") return unavailable("refused", "premium_skipped_domain_refuses");
        if (!(await reserveBudget(tier))) return unavailable("budget_exhausted", "budget_exhausted");
      }
      const validators = tier === "direct" && stale !== null ? stale.record : null;
      const result = await route({ ...request, url: request.url, validators, signal, admit });
      stillOurs();
      if (isPremium(tier)) await settleBudget(tier, result);
      meters.observe("trawl_fetch_duration_seconds", { tier }, result.ms / 1_000);
      switch (result.kind) {
        case "refused":
          ({ refusal } = result);
          if (refusal.error === DELEGATED) return delegate(delegated_url, result.redirects);
          note(refusal.step, null, refusal.reason, result.ms, refusal.detail);
          if (refusal.error === "domain_dead") {
            return { ...nothing, outcome: { kind: "no_host", dead: true } };
          }
          // The host blocked us and closed its door behind: what does not knock there may still help.
          if (isShut(refusal) && tried.some(({ outcome }) => outcome.kind === "blocked")) {
            return { ...nothing, outcome: { kind: "unavailable", reason: "failed" } };
          }
          return { ...nothing, outcome: { kind: "final", error: refusal.error as FetchError } };
        case "failed": {
          note(tier, result.status, result.reason, result.ms, result.detail);
          const final = FINAL_REASONS[result.reason];
          if (final) return { ...nothing, outcome: { kind: "final", error: final } };
          // A third party's trouble says nothing of the host.
          if (tier === "archive" || THIRD_PARTY_FAILURE.test(result.reason)) {
            const cause = result.reason === "archive_not_found" ? "not_found" : "failed";
            return { ...nothing, outcome: { kind: "unavailable", reason: cause } };
          }
          if (result.reason === "dns_nxdomain")
            return { ...nothing, outcome: await reportNxdomain(result.final_url) };
          return { ...nothing, outcome: { kind: "blocked", status: result.status } };
        }
        case "page":
          if (result.status === 304 && stale !== null && validators !== null) {
            note(tier, 304, "not_modified", result.ms, null);
            return revalidated(stale, result);
          }
          return assess(tier, result);
      }
    };

    const reservationId = (tier: PremiumTier): string => `${request.fetch_id}.${tier}`;

    /** Whether the project has the money for one attempt; then it is set aside. */
    const reserveBudget = async (tier: PremiumTier): Promise<boolean> => {
      const micros = priceMost(prices, tier);
      if (micros === 0) return true;
      const limit_micros = (await deps.budgetOf?.(request.project)) ?? null;
      const message = { id: reservationId(tier), micros, limit_micros };
      return (await ask(Account, request.project, "reserve", message)).kind === "reserved";
    };

    const settleBudget = async (tier: PremiumTier, result: TransportResult): Promise<void> => {
      if (priceMost(prices, tier) === 0) return;
      // Refused before anything was sent; a refusal on the way came after an answer.
      const wasUsed = result.kind !== "refused" || result.redirects.length > 0;
      const reason = result.kind === "failed" ? result.reason : "ok";
      const difficulty = result.kind === "page" ? (result.detail ?? null) : null;
      const micros = wasUsed ? priceOf(prices, tier, reason, difficulty) : 0;
      spent_micros += micros;
      await ask(Account, request.project, "settle", { id: reservationId(tier), micros }).catch(
        (problem: unknown) => {
          // What was set aside comes back when it lapses; the tally of this request counts what was spent.
          meters.say("warn", "Cannot settle a premium attempt", {
            project: request.project,
            problem: String(problem),
          });
        },
      );
    };

    /** The domain counts missing names; the second time within six hours the host is dead. */
    const reportNxdomain = async (where: string | null): Promise<Outcome> => {
      const lost = where === null ? host : new URL(where).hostname;
      // A redirect to a name that does not exist says nothing about the host that was asked for.
      if (lost !== host) return { kind: "blocked", status: null };
      const { dead } = await ask(Domain, site, "reportNxdomain", { fetch_id: request.fetch_id, host });
      return { kind: "no_host", dead };
    };

    /** `vouched`: somebody who knows its origin has looked at it. */
    const assess = async (
      tier: Tier,
      page: Extract<TransportResult, { kind: "page" }>,
      trusted = false,
    ): Promise<Candidate> => {
      const content_type = typeOf(page);
      const kind = contentKindOf(content_type, page.body, page.final_url);
      const done = (outcome: Outcome, reason: string, detail: string | null, extracted: Extracted | null) => {
        note(tier, page.status, reason, page.ms, detail ?? page.detail ?? null);
        return { tier, outcome, page, kind, extracted };
      };
      if (kind === "pdf" && !request.accept_pdf) {
        return done({ kind: "final", error: "pdf_not_accepted" }, "pdf_not_accepted", null, null);
      }
      const now_ms = clock.now();
      // A page that is not there may still name its site's feed.
      const leads = page.status >= 400;
      const task = {
        bytes: page.body,
        url: page.final_url,
        content_type,
        kind,
        now_ms,
        leads,
        filed: trusted,
      };
      // Most likely the answer: stored while it is read. What is not needed after all, nobody holds.
      if (page.status === 200) put(page.body).catch(() => {});
      const extraction = await deps.extract(task, signal);
      stillOurs();
      const extracted = extraction.kind === "done" ? extraction.value : cutOff(task, extraction.reason);
      if (extraction.kind === "failed" && UNREAD_REASONS.has(extraction.reason)) unread.add(extracted);
      if (extraction.kind === "failed") {
        meters.count("trawl_work_failures_total", { task: kind, reason: extraction.reason });
        meters.say("warn", "Cannot read a document", {
          kind,
          reason: extraction.reason,
          bytes: page.body.length,
        });
      }
      const text_chars = extracted.text.length;
      const challenge =
        !trusted &&
        challengeOf({
          status: page.status,
          headers: page.headers,
          // Some vendors refuse in plain text or JSON.
          body_start: kind === "pdf" || kind === "binary" ? "" : page.body.toString("latin1", 0, 65_536),
          bytes: page.body.length,
          text_chars,
        });
      if (challenge) {
        const outcome = { kind: "blocked", status: page.status } as const;
        return done(outcome, `challenge_${challenge.vendor}`, challenge.kind, extracted);
      }
      if (isBlocking(page.status)) {
        return done({ kind: "blocked", status: page.status }, `http_${page.status}`, null, extracted);
      }
      if (page.status >= 400) {
        return done({ kind: "definitive", status: page.status }, `http_${page.status}`, null, extracted);
      }
      // A document that could not be read is no thin page: a browser would choke on it as well.
      const outcome = {
        kind: "page",
        text_chars,
        html: kind === "html" && extraction.kind === "done",
      } as const;
      const reason =
        extracted.paywall === "hard" ? "paywall" : isThin(outcome, request) ? "thin_content" : "ok";
      return done(outcome, reason, extracted.note, extracted);
    };

    const recordOf = ({ tier, page, kind, extracted }: Candidate): PageDraft => {
      if (page === null) return { record: EMPTY_RECORD, contents: [] };
      const contents: Buffer[] = [];
      const add = (content: Buffer): string => {
        contents.push(content);
        return createHash("sha256").update(content).digest("hex");
      };
      const text = extracted?.text ?? "";
      const long = Buffer.byteLength(text) > TEXT_INLINE_BYTES;
      const origin_content_type = page.headers.get("content-type") ?? null;
      const record: PageRecord = {
        ...EMPTY_RECORD,
        final_url: page.final_url,
        redirects: [...page.redirects],
        status: page.status,
        content_type: typeOf(page),
        origin_content_type,
        headers: exposedHeaders(page.headers),
        tier,
        content_kind: kind,
        charset: extracted?.charset ?? null,
        title: extracted?.title ?? null,
        meta: extracted?.meta ?? null,
        text: long ? null : text,
        text_sha256: long ? add(Buffer.from(text)) : null,
        text_chars: text.length,
        text_truncated: extracted?.text_truncated ?? false,
        pdf_pages_sha256: extracted?.pdf_pages ? add(Buffer.from(JSON.stringify(extracted.pdf_pages))) : null,
        pdf_page_count: extracted?.pdf_page_count ?? null,
        sha256: add(page.body),
        bytes: page.body.length,
        body_kind: page.body_kind,
        etag: page.headers.get("etag") ?? null,
        last_modified: page.headers.get("last-modified") ?? null,
        retrieved_at: new Date(clock.now()).toISOString(),
        archived_at: page.archived_at ?? null,
        served_from_archive_because: tier === "archive" ? standsInFor(tried) : null,
        paywall: extracted?.paywall ?? null,
        paywall_evidence: [...(extracted?.paywall_evidence ?? [])],
        text_complete: extracted?.paywall ? extracted.paywall !== "hard" : null,
      };
      return { record, contents };
    };

    const storing = new WeakMap<Buffer, Promise<unknown>>();

    const put = (content: Buffer): Promise<unknown> => {
      const begun = storing.get(content) ?? blobs.put(content);
      storing.set(content, begun);
      return begun;
    };

    const store = (contents: readonly Buffer[]): Promise<unknown> => Promise.all(contents.map(put));

    /** Stores what the record names, then the page, if the origin lets it be kept. Whether it was kept. */
    const storePage = async (
      { record, contents }: PageDraft,
      headers: ReadonlyMap<string, string>,
      renewed: CachedPage | null,
      fresh_most_ms = Infinity,
    ): Promise<boolean> => {
      const now_ms = clock.now();
      const own_ms = ttlOf(freshnessOf(headers, now_ms));
      const mayKeep = (existing: Versioned | null): boolean =>
        renewed !== null || mayReplace(asCachedPage(existing?.value), record, request, now_ms);
      let existing = await stored;
      if (own_ms === null || !mayKeep(existing)) {
        await store(contents);
        return false;
      }
      const ttl_ms = Math.min(own_ms, fresh_most_ms);
      const page: CachedPage = {
        url: request.url,
        record,
        tried: renewed?.tried ?? [
          ...TIERS.filter((tier) => tried.some((candidate) => candidate.tier === tier)),
          ...(is_searched ? (["source"] as const) : []),
        ],
        validated_ms: now_ms,
        ttl_ms,
      };
      const expires_at_ms = now_ms + ttl_ms + STALE_TTL_MS;
      await Promise.all([
        store(contents),
        refs.retain([record.sha256, ...textDigests(record)], `page ${digest}`, expires_at_ms),
      ]);
      // Two writers at once: whoever comes second looks again, twice; a cache need not win.
      for (let attempt = 1; ; attempt++) {
        if (await documents.put("pages", digest, page, existing?.version ?? 0, { expires_at_ms }))
          return true;
        if (attempt === 3) return false;
        existing = await documents.get("pages", digest);
        if (!mayKeep(existing)) return false;
      }
    };

    const revalidated = async (page: CachedPage, result: Extract<TransportResult, { kind: "page" }>) => {
      // RFC 9111, section 4.3.4: what a 304 says replaces what was stored.
      const fresh = exposedHeaders(result.headers);
      const record: PageRecord = {
        ...page.record,
        headers: { ...page.record.headers, ...fresh, ...contentOf(page.record.headers) },
        etag: result.headers.get("etag") ?? page.record.etag,
        last_modified: result.headers.get("last-modified") ?? page.record.last_modified,
      };
      const merged = new Map<string, string>(Object.entries({ ...page.record.headers, ...fresh }));
      await storePage({ record, contents: [] }, merged, page);
      return { ...fromCache(record, request), attempts, revalidated: true };
    };

    const recordOutcome = async (result: "answered" | "every_route_failed" | "abandoned") => {
      stillOurs();
      await ask(Domain, site, "recordOutcome", { fetch_id: request.fetch_id, host, result });
    };

    /** What was stored of the page when it could be read: its title and beginning tell a copy. */
    const storedVersion = async (): Promise<KnownPage | null> => {
      const record = asCachedPage((await documents.get("pages", digest))?.value)?.record;
      return record?.text ? { ...record, text: record.text, ...declaredOf(record.meta) } : null;
    };

    /** An open copy of a page that is sold, closed to us, gone or blocked; null: none is looked for, or found. */
    const searchAlternate = async (
      error: FetchError | null,
      best: Candidate | null,
    ): Promise<AlternateMatch | null> => {
      const teaser = best ? (isSold(best) ? best : null) : (tried.findLast(isSold) ?? null);
      const cause = causeOf(request, error, teaser !== null);
      if (!findAlternate || cause === null || signal.aborted) return null;
      const seen = cause === "paywall" ? (teaser?.extracted ?? null) : null;
      const page_known: KnownPage | null = seen
        ? { ...seen, final_url: teaser?.page?.final_url ?? null, ...declaredOf(seen.meta) }
        : await storedVersion();
      const leads = seen?.leads ?? best?.extracted?.leads;
      const { match, cost_micros } = await findAlternate({
        ask,
        wanted: wantedOf(request.url, cause, page_known, leads, request.min_text_chars),
        request,
        admit,
        signal,
        note: (status, reason, ms, detail) => {
          note("source", status, reason, ms, detail);
          meters.count("trawl_fetch_attempts_total", { tier: "source", reason });
        },
      });
      spent_micros += cost_micros;
      is_searched = !signal.aborted;
      return match;
    };

    /** A copy in the page's place: told under the URL that was asked for, and kept for whoever wants copies. */
    const copyOf = (match: AlternateMatch): PageDraft => {
      const outcome = { kind: "unavailable", reason: "failed" } as const;
      const { record, contents } = recordOf({ ...match, tier: "direct", outcome });
      const copied = { alternate_of: request.url, alternate_source: match.source, match_score: match.score };
      return { record: { ...record, tier: "source", ...copied }, contents };
    };

    const primaryOf = (error: FetchError | null, best: Candidate | null): PageRecord["primary_sources"] => {
      const teaser = best && isSold(best) ? best : tried.findLast(isSold);
      if (teaser) return [...(teaser.extracted?.leads?.primary_sources ?? [])];
      return causeOf({ allow_alternates: true, tiers: null }, error, false) ? primaryUnder(request.url) : [];
    };

    const finish = async (failure: FetchError | null, best: Candidate | null): Promise<FetchAnswer> => {
      if (failure === "http_404" || failure === "http_410") deps.onGone?.(request.url);
      const match = await searchAlternate(failure, best);
      const error = match ? null : failure;
      const page = match?.page ?? best?.page;
      const { record: seen, contents } = match
        ? copyOf(match)
        : best
          ? recordOf(best)
          : { record: { ...EMPTY_RECORD, ...lastSeen(tried) }, contents: [] };
      const record: PageRecord = { ...seen, primary_sources: primaryOf(failure, best) };
      const isWhole = !best?.extracted || !unread.has(best.extracted);
      if (!page || error !== null || !(match || isWhole)) await store(contents);
      else if ((await storePage({ record, contents }, page.headers, null)) && !match) {
        const text = best?.extracted?.text ?? "";
        deps.onPageStored?.({ url: request.url, record, text, headers: page.headers, body: page.body });
      }
      return {
        record,
        attempts,
        cached: false,
        revalidated: false,
        cost_usd: spent_micros === 0 ? "0" : fromMicros(spent_micros),
        error,
        error_detail: error === null ? null : errorDetail(error, refusal, attempts),
        retry_after_s: error !== null && refusal?.error === error ? refusal.retry_after_s : null,
        premium_routes_tried: tried.some(({ tier, outcome }) => isPremium(tier) && wasTaken(outcome)),
      };
    };

    /** Through the door of its own; `before`: the redirects that led there. */
    const delegate = async (
      url: string,
      previous_redirects: TransportResult["redirects"],
    ): Promise<FetchAnswer> => {
      const answered = (
        record: PageRecord,
        rest: Partial<
          Pick<FetchAnswer, "cached" | "revalidated" | "error" | "error_detail" | "retry_after_s">
        >,
      ): FetchAnswer => ({
        record,
        attempts,
        cached: false,
        revalidated: false,
        cost_usd: spent_micros === 0 ? "0" : fromMicros(spent_micros),
        error: null,
        error_detail: null,
        retry_after_s: null,
        premium_routes_tried: tried.some(({ tier, outcome }) => isPremium(tier) && wasTaken(outcome)),
        ...rest,
      });
      if (!canDelegate(request)) {
        const error_detail = "The filing system is read by the route direct only";
        return answered(
          { ...EMPTY_RECORD, redirects: [...previous_redirects] },
          { error: "no_tier_allowed", error_detail },
        );
      }
      const { max_bytes, cache_ttl_s, project, lane, deadline_ms } = request;
      const reserved_request = {
        url,
        max_bytes,
        cache_ttl_s,
        project,
        lane,
        deadline_ms: Math.round(Math.min(ends_ms, deadline_ms)),
      };
      const result = await deps.reservedHosts!.read(reserved_request);
      if (result.kind === "failed") {
        const { error, status, detail, retry_after_s, redirects, ms } = result;
        note("direct", status, error, ms, detail);
        const record = { ...EMPTY_RECORD, status, redirects: [...previous_redirects, ...redirects] };
        return answered(record, { error, error_detail: detail, retry_after_s });
      }
      const { cached, retrieved_at } = result;
      const page = { ...result.page, redirects: [...previous_redirects, ...result.page.redirects] };
      const candidate = await assess("direct", page, true);
      const { outcome } = candidate;
      const { record: seen, contents } = recordOf(candidate);
      const record = { ...seen, retrieved_at };
      if (outcome.kind !== "page") {
        await store(contents);
        const error = outcome.kind === "final" ? outcome.error : `http_${page.status}`;
        const { final_url, redirects, status } = record;
        return answered({ ...EMPTY_RECORD, final_url, redirects, status }, { error, error_detail: error });
      }
      if (result.fresh_ms === 0) await store(contents);
      else await storePage({ record, contents }, page.headers, null, result.fresh_ms ?? Infinity);
      return answered(record, { cached, revalidated: result.revalidated });
    };

    /** Told last, so that the next fetch of this host knows; nobody waits for it. */
    const recordObservation = () => {
      const observation = hasPremium ? observe(tried) : null;
      // What was never blocked has nothing to unlearn.
      const isNews = tried.some(({ tier }) => isPremium(tier)) || hints.premium !== "unknown";
      if (observation === null || !isNews) return;
      ask(HostProfile, `${site} ${host}`, "recordObservation", observation).catch((problem: unknown) => {
        meters.say("warn", "Cannot tell what a host taught", { host, problem: String(problem) });
      });
    };

    try {
      if (deps.reservedHosts?.owns(request.url)) return await delegate(request.url, []);
      if (hasPremium) {
        hints = { ...NO_HINTS, ...(await ask(HostProfile, `${site} ${host}`, "recall", null)) };
      }
      for (;;) {
        const step = nextStep(request, hints, tried satisfies readonly Tried[]);
        if (step.kind === "answer") {
          const best = step.best === null ? null : tried[step.best]!;
          const isMissing = tried.some(({ outcome }) => outcome.kind === "no_host");
          const isLater = hasPremium && request.premium_later === true;
          // The domain hears it while the page is stored, and before anybody has the answer.
          const settled = isMissing ? null : recordOutcome(verdict(step.error, tried, isLater));
          const [answer] = await Promise.all([finish(step.error, best), settled]);
          recordObservation();
          return answer;
        }
        const candidate = await takeRoute(step.tier);
        if ("record" in candidate) {
          await recordOutcome("answered");
          return candidate;
        }
        tried.push(candidate);
        meters.count("trawl_fetch_attempts_total", {
          tier: step.tier,
          reason: folded(attempts.at(-1)?.reason ?? "none"),
        });
        if (!deadline.signal.aborted) continue;
        note("request_timeout", null, "timeout", clock.now() - began_ms, null);
        const pages = tried.filter(({ outcome }) => outcome.kind === "page");
        const best = pages.toSorted((a, b) => textOf(b) - textOf(a))[0] ?? null;
        const answer = await finish(best ? null : "timeout", best);
        // Nobody has time to wait any more.
        recordOutcome(best ? "answered" : "abandoned").catch((problem: unknown) => {
          meters.say("warn", "Cannot settle a fetch", { domain: site, problem: String(problem) });
        });
        return answer;
      }
    } finally {
      timer[Symbol.dispose]();
    }
  };
}

function refusedBy(
  error: string,
  step: HopRefusal["step"],
  reason: string,
  retry_after_s: number | null,
  detail: string | null,
): Admission {
  return { kind: "refused", refusal: { error, step, reason, retry_after_s, detail } };
}

/** What the bytes are: a serialised document is UTF-8 whatever the origin called its own bytes. */
const typeOf = (page: Extract<TransportResult, { kind: "page" }>): string | null =>
  page.body_kind === "rendered_dom" ? "text/html; charset=utf-8" : (page.headers.get("content-type") ?? null);

/** Only a teaser came, and what is missing is for sale. A page that is not there sells nothing, whatever it says. */
const isSold = ({ outcome, extracted }: Candidate): boolean => {
  if (extracted?.paywall !== "hard") return false;
  if (outcome.kind === "page") return true;
  const status = outcome.kind === "definitive" || outcome.kind === "blocked" ? outcome.status : null;
  return status === 401 || status === 402 || status === 403;
};

/** What a teaser links to; of a page that could not be read, the paper its address names. */
function primaryUnder(url: string): PageRecord["primary_sources"] {
  const doi = doiInUrl(url);
  return doi === null ? [] : [{ url: `https://doi.org/${doi}`, kind: "doi", text: null }];
}

const declaredOf = (meta: PageRecord["meta"]) => ({
  canonical_url: meta?.canonical_url ?? null,
  language: meta?.language ?? null,
});

/** No slot, and somebody else may have one. */
const isShut = ({ error }: HopRefusal): boolean => error === "domain_busy" || error === "politeness_timeout";

/** Whether a provider was asked at all. */
const wasTaken = (outcome: Outcome): boolean =>
  outcome.kind !== "unavailable" || outcome.reason === "failed" || outcome.reason === "not_found";

/** Why an archived copy is there instead of the page; null when the page is only blocked. */
function standsInFor(tried: readonly Candidate[]): PageRecord["served_from_archive_because"] {
  if (tried.some(({ outcome }) => outcome.kind === "no_host")) return "domain_dead";
  return tried.some(({ outcome }) => outcome.kind === "definitive") ? "not_found" : null;
}

const textOf = ({ outcome }: Candidate): number => (outcome.kind === "page" ? outcome.text_chars : -1);

/** What the domain learns: whether it answered, whatever it said. */
function verdict(error: FetchError | null, tried: readonly Candidate[], has_more: boolean) {
  if (error === "all_tiers_failed") return has_more ? "abandoned" : "every_route_failed";
  if (tried.some(({ page }) => page !== null)) return "answered";
  return error === "too_large" ? "answered" : "abandoned";
}

/** On all_tiers_failed the last status seen, and where. */
function lastSeen(tried: readonly Candidate[]): Partial<PageRecord> {
  const page = tried.findLast((candidate) => candidate.page !== null)?.page;
  const status = tried
    .map(({ outcome }) => (outcome.kind === "blocked" ? outcome.status : null))
    .findLast((seen) => seen !== null);
  if (!page) return { status: status ?? null };
  return {
    status: page.status,
    final_url: page.final_url,
    redirects: [...page.redirects],
    origin_content_type: page.headers.get("content-type") ?? null,
    headers: exposedHeaders(page.headers),
  };
}

/** Headers that describe the stored bytes and so are not a 304's to change. */
function contentOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("content-")));
}

/** Reasons as a closed set, for a label. */
function folded(reason: string): string {
  const status = /^http_(\d)\d\d$/.exec(reason);
  return status ? `http_${status[1]}xx` : reason;
}

/** What is said of an error that has no better explanation. */
const ERROR_DETAILS: Readonly<Partial<Record<FetchError, string>>> = {
  no_tier_allowed: "tiers, render, allow_archive and allow_paid together leave no route",
  domain_dead: "The host name does not exist",
  premium_route_required:
    "This host was served only through premium routes, and allow_paid or tiers leave them out",
  budget_exhausted:
    "This host was served only through premium routes, and the project's budget leaves nothing for them",
};

function errorDetail(
  error: FetchError,
  refusal: HopRefusal | null,
  attempts: readonly Attempt[],
): string | null {
  if (refusal?.error === error && refusal.detail !== null) return refusal.detail;
  const last = attempts.at(-1);
  if (error !== "all_tiers_failed") return ERROR_DETAILS[error] ?? last?.detail ?? null;
  return `Every allowed route failed; the last was ${last?.tier ?? "none"}: ${last?.reason ?? "nothing was tried"}`;
}
