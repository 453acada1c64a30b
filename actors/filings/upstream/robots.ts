/**
 * robots.txt of the filing system's hosts, read through the limiter like everything else and believed for a day. It is
 * asked about what a caller names: documents and pages. The system's lists, data and search are made for programs that
 * declare themselves, and no crawler's business.
 */
import type { Say } from "../../../cluster/actor.ts";
import type { Bodies } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { RobotsRules } from "../../../schemas/domain.ts";
import {
  FilingAddress,
  type SourceAnswer,
  type SourceAsk,
  type SourceKind,
} from "../../../schemas/filing-source.ts";
import { judgeRobots, parseRobots, MAX_ROBOTS_BYTES } from "../../lib/web/robots.ts";
import type { FilingHosts, Place } from "./hosts.ts";
import { asKept, digestOf, FILINGS, KINDS, lookAt } from "./document-cache.ts";

interface Needs {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly bodies: Bodies;
  readonly hosts: FilingHosts;
  readonly egress: string;
  readonly crawler_name: string;
}

export type Verdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "disallowed"; readonly rule: string }
  /** The rules cannot be had at the moment, and why. */
  | { readonly kind: "unknown"; readonly answer: Extract<SourceAnswer, { kind: "failed" }> };

const ASKED_ABOUT: ReadonlySet<SourceKind> = new Set(["document", "page"]);
/** Read rules are remembered so long before it is looked whether they were read again. */
const REMEMBERED_MS = 60_000;
const ALLOWED: Verdict = { kind: "allowed" };

export function rulebook({ clock, documents, bodies, hosts, egress, crawler_name }: Needs) {
  const remembered = new Map<string, { readonly rules: RobotsRules | null; readonly until_ms: number }>();

  /** Null: there are none. */
  async function read(answer: SourceAnswer): Promise<RobotsRules | null> {
    if (answer.kind !== "got") return null;
    const pieces = await bodies.get(answer.sha256);
    if (!pieces) return null;
    const file = Buffer.concat(await Array.fromAsync(pieces));
    return parseRobots(file.toString("latin1", 0, MAX_ROBOTS_BYTES), crawler_name);
  }

  return async (say: Say, place: Place, ask: SourceAsk): Promise<Verdict> => {
    if (!ASKED_ABOUT.has(ask.kind)) return ALLOWED;
    const robots: Place = { host: place.host, path: "/robots.txt" };
    const url = hosts.urlOf(robots);
    let known = remembered.get(url);
    if (!known || known.until_ms <= clock.now()) {
      const wish: SourceAsk = {
        ...robots,
        kind: "robots",
        cache_ttl_s: null,
        project: ask.project,
        lane: ask.lane,
        deadline_ms: ask.deadline_ms,
        max_bytes: KINDS.robots.bytes_most,
      };
      const digest = digestOf(url);
      const stored = asKept((await documents.get(FILINGS, digest))?.value);
      const look = lookAt(stored, wish, clock.now());
      let answer: SourceAnswer;
      if (look.kind === "hit") ({ answer } = look);
      else {
        const ask_id = `robots.${digestOf(hosts.urlOf(place))}`;
        answer = await say(FilingAddress, `${egress} ${digest}`, "get", { ...wish, ask_id });
        // Another 4xx means that there are no rules; the last ones count while new ones cannot be had.
        if (answer.kind === "failed" && !answer.error.startsWith("http_4")) {
          if (
            look.kind !== "stale" ||
            answer.error !== "filings_unavailable" ||
            answer.retry_after_s === null
          )
            return { kind: "unknown", answer };
          ({ answer } = look.kept);
        }
      }
      known = { rules: await read(answer), until_ms: clock.now() + REMEMBERED_MS };
      remembered.set(url, known);
    }
    if (known.rules === null) return ALLOWED;
    const { allowed, rule } = judgeRobots(known.rules, new URL(hosts.urlOf(place)));
    return allowed ? ALLOWED : { kind: "disallowed", rule: rule ? `line ${rule.line}: ${rule.pattern}` : "" };
  };
}
