/**
 * robots.txt of the filing system's hosts: requested through the limiter like every document, and believed for a day. It
 * is checked for the documents and pages that callers name. The system's lists, data and search are published for
 * programs that declare themselves, so robots.txt is not checked for them.
 *
 * The Robots actor does not read these files: its requests have no slot, so they cannot reach the filing system. The
 * parser is the same (actors/lib/web/robots.ts).
 */
import { findBody } from "../../../../cluster/read-body.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { RobotsRules } from "../../../../schemas/domain.ts";
import { FilingAddress, type SourceKind, type SourceRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import { judgeRobots, parseRobots, MAX_ROBOTS_BYTES } from "../../../lib/web/robots.ts";
import { asCachedDocument, digestOf, lookup } from "../../upstream/document-cache.ts";
import type { FailedAnswer, FetchDocumentDeps } from "./fetch-run.ts";
import type { SourceAddress } from "./hosts.ts";
import { KIND_RULES } from "./limits.ts";
import { FILING_DOCUMENTS } from "../collections.ts";

export type FilingRobotsVerdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "disallowed"; readonly rule: string }
  /** The rules cannot be read at the moment. */
  | { readonly kind: "unknown"; readonly answer: FailedAnswer };

/** Throws Fault. */
export type CheckRobots = (
  ask: ActorClient,
  address: SourceAddress,
  request: SourceRequest,
) => Promise<FilingRobotsVerdict>;

const CHECKED_KINDS: ReadonlySet<SourceKind> = new Set(["document", "page"]);
/** Parsed rules are used this long before the store is asked whether newer ones were read. */
const RULES_TTL_MS = 60_000;
const ALLOWED: FilingRobotsVerdict = { kind: "allowed" };

export function filingRobots(deps: FetchDocumentDeps): CheckRobots {
  const { clock, documents, blobs, hosts, egress, crawler_name } = deps;
  const rulesByUrl = new Map<string, { readonly rules: RobotsRules | null; readonly until_ms: number }>();

  /** Null: the host has no rules. */
  async function parseRules(answer: SourceAnswer): Promise<RobotsRules | null> {
    if (answer.kind !== "got") return null;
    const file = await findBody(blobs, answer.sha256);
    return file && parseRobots(file.toString("latin1", 0, MAX_ROBOTS_BYTES), crawler_name);
  }

  /** robots.txt from the cache or the filing system. A failed answer means that its rules are unknown. */
  async function getRobots(
    ask: ActorClient,
    address: SourceAddress,
    url: string,
    { project, lane, deadline_ms, work_id }: SourceRequest,
  ): Promise<SourceAnswer> {
    const rules = KIND_RULES.robots;
    const request: SourceRequest = {
      host: address.host,
      path: "/robots.txt",
      kind: "robots",
      cache_ttl_s: null,
      project,
      lane,
      deadline_ms,
      max_bytes: rules.max_bytes,
      ...(work_id !== undefined && { work_id }),
    };
    const digest = digestOf(url);
    const stored = asCachedDocument(await FILING_DOCUMENTS.get(documents, digest));
    const cached = lookup(stored, rules, request, clock.now());
    if (cached.kind === "hit") return cached.answer;
    const ask_id = `robots.${digestOf(hosts.urlOf(address))}`;
    const answer = await ask(FilingAddress, `${egress} ${digest}`, "get", { ...request, ask_id });
    // While the filing system is out of order for a time, the last rules stay in force.
    const isTemporary =
      answer.kind === "failed" && answer.error === "filings_unavailable" && answer.retry_after_s !== null;
    return isTemporary && cached.kind === "stale" ? cached.cached.answer : answer;
  }

  return async (ask, address, request) => {
    if (!CHECKED_KINDS.has(request.kind)) return ALLOWED;
    const url = hosts.urlOf({ host: address.host, path: "/robots.txt" });
    let cached = rulesByUrl.get(url);
    if (!cached || cached.until_ms <= clock.now()) {
      const answer = await getRobots(ask, address, url, request);
      // Another 4xx means that the host has no rules (RFC 9309 §2.3.1.3).
      if (answer.kind === "failed" && !answer.error.startsWith("http_4")) return { kind: "unknown", answer };
      cached = { rules: await parseRules(answer), until_ms: clock.now() + RULES_TTL_MS };
      rulesByUrl.set(url, cached);
    }
    if (cached.rules === null) return ALLOWED;
    const { allowed, rule } = judgeRobots(cached.rules, new URL(hosts.urlOf(address)));
    return allowed ? ALLOWED : { kind: "disallowed", rule: rule ? `line ${rule.line}: ${rule.pattern}` : "" };
  };
}
