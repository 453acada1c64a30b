/**
 * robots.txt of the filing system's hosts, read through the limiter like everything else and believed for a day. It is
 * asked about what a caller names: documents and pages. The system's lists, data and search are made for programs that
 * declare themselves, and no crawler's business.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { RobotsRules } from "../../../schemas/domain.ts";
import {
  FilingAddress,
  type SourceAnswer,
  type SourceRequest,
  type SourceKind,
} from "../../../schemas/filing-source.ts";
import { judgeRobots, parseRobots, MAX_ROBOTS_BYTES } from "../../lib/web/robots.ts";
import type { FilingHosts, SourceAddress } from "./hosts.ts";
import { asCachedDocument, digestOf, FILING_DOCUMENTS, KIND_RULES, lookup } from "./document-cache.ts";

interface FilingRobotsDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly hosts: FilingHosts;
  readonly egress: string;
  readonly crawler_name: string;
}

export type FilingRobotsVerdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "disallowed"; readonly rule: string }
  /** The rules cannot be had at the moment, and why. */
  | { readonly kind: "unknown"; readonly answer: Extract<SourceAnswer, { kind: "failed" }> };

const CHECKED_KINDS: ReadonlySet<SourceKind> = new Set(["document", "page"]);
/** Read rules are remembered so long before it is looked whether they were read again. */
const RULES_TTL_MS = 60_000;
const ALLOWED: FilingRobotsVerdict = { kind: "allowed" };

export function filingRobots({ clock, documents, blobs, hosts, egress, crawler_name }: FilingRobotsDeps) {
  const rulesByUrl = new Map<string, { readonly rules: RobotsRules | null; readonly until_ms: number }>();

  /** Null: there are none. */
  async function loadRules(answer: SourceAnswer): Promise<RobotsRules | null> {
    if (answer.kind !== "got") return null;
    const pieces = await blobs.get(answer.sha256);
    if (!pieces) return null;
    const file = Buffer.concat(await Array.fromAsync(pieces));
    return parseRobots(file.toString("latin1", 0, MAX_ROBOTS_BYTES), crawler_name);
  }

  return async (
    ask: ActorClient,
    address: SourceAddress,
    request: SourceRequest,
  ): Promise<FilingRobotsVerdict> => {
    if (!CHECKED_KINDS.has(request.kind)) return ALLOWED;
    const robotsAddress: SourceAddress = { host: address.host, path: "/robots.txt" };
    const url = hosts.urlOf(robotsAddress);
    let cached = rulesByUrl.get(url);
    if (!cached || cached.until_ms <= clock.now()) {
      const robotsRequest: SourceRequest = {
        ...robotsAddress,
        kind: "robots",
        cache_ttl_s: null,
        project: request.project,
        lane: request.lane,
        deadline_ms: request.deadline_ms,
        max_bytes: KIND_RULES.robots.max_bytes,
      };
      const digest = digestOf(url);
      const stored = asCachedDocument((await documents.get(FILING_DOCUMENTS, digest))?.value);
      const lookedUp = lookup(stored, robotsRequest, clock.now());
      let answer: SourceAnswer;
      if (lookedUp.kind === "hit") ({ answer } = lookedUp);
      else {
        const ask_id = `robots.${digestOf(hosts.urlOf(address))}`;
        answer = await ask(FilingAddress, `${egress} ${digest}`, "get", { ...robotsRequest, ask_id });
        // Another 4xx means that there are no rules; the last ones count while new ones cannot be had.
        if (answer.kind === "failed" && !answer.error.startsWith("http_4")) {
          if (
            lookedUp.kind !== "stale" ||
            answer.error !== "filings_unavailable" ||
            answer.retry_after_s === null
          )
            return { kind: "unknown", answer };
          ({ answer } = lookedUp.cached);
        }
      }
      cached = { rules: await loadRules(answer), until_ms: clock.now() + RULES_TTL_MS };
      rulesByUrl.set(url, cached);
    }
    if (cached.rules === null) return ALLOWED;
    const { allowed, rule } = judgeRobots(cached.rules, new URL(hosts.urlOf(address)));
    return allowed ? ALLOWED : { kind: "disallowed", rule: rule ? `line ${rule.line}: ${rule.pattern}` : "" };
  };
}
