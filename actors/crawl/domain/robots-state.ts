/**
 * Knowledge of robots.txt of one origin, and for how long it is believed. Pure functions; the file is parsed by
 * actors/lib/web/robots.ts and read by robots.actor.ts. The meaning of a status follows RFC 9309, section 2.3.1.
 */
import type { EgressProblem } from "../../../cluster/ports/egress.ts";
import type { RobotsAnswer, RobotsReadResult, RobotsRules } from "../../../schemas/domain.ts";
import { judgeRobots } from "../../lib/web/robots.ts";

/** The last copy that was read, and when. Stored; a crawler of another name reads its own. */
export interface RobotsCopy {
  readonly crawler_name: string;
  readonly read_at_ms: number;
  readonly status: number;
  readonly rules: RobotsRules;
  /** It was read in these allowed private networks, and is for requests that may reach them. Absent: for all. */
  readonly networks?: Networks | null;
  /** The exchanges that brought the copy, as JSON. Null: they could not be kept; absent: no check has asked for them. */
  readonly exchanges_json?: string | null;
}

/** Networks (CIDRs) beside the public ones that a request may reach. */
type Networks = readonly string[];

export interface RobotsMemory {
  readonly copy: RobotsCopy | null;
  /** Why it could not be read since then. Not stored: a new activation may try at once. */
  readonly failure: RecentFailure | null;
}

type RecentFailure = Extract<RobotsReadResult, { kind: "unreadable" | "host_unreachable" | "blocked" }> & {
  readonly until_ms: number;
  /** Where it depends on them it holds for requests with the same networks. */
  readonly networks: Networks | null;
};

/** Whether a read came to an end that another request, which may reach other networks, need not come to. */
export const dependsOnNetworks = (result: RobotsReadResult): boolean => {
  switch (result.kind) {
    case "blocked":
      return true;
    case "read":
      return result.is_private === true;
    case "host_unreachable":
      return result.reason === "dns_nxdomain";
    case "no_slot":
      return result.error === "domain_dead";
    case "unreadable":
      return false;
  }
};

export const sameNetworks = (a: Networks | null, b: Networks | null): boolean =>
  a === b || (a !== null && b !== null && a.length === b.length && a.every((network) => b.includes(network)));

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** RFC 9309, section 2.4: a copy is used for 24 h without another read. */
const FRESH_MS = 24 * HOUR_MS;
/** And for 30 days while the origin cannot be read. */
const LAST_COPY_MS = 30 * 24 * HOUR_MS;
/**
 * How long a failed read counts before the next one. Five minutes leave a busy site in peace; an unreachable host counts
 * for less, because meanwhile its pages may be requested without rules.
 */
const FAILURE_TTL_MS = {
  unreadable: 5 * MINUTE_MS,
  blocked: 5 * MINUTE_MS,
  host_unreachable: 30 * SECOND_MS,
} as const;

/** The rules of a file without any group. */
export const NO_RULES: RobotsRules = { group: null, rules: [], crawl_delay_ms: null };

export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The meaning of a final status: rules, no rules, or rules that cannot be known now. */
export function interpretStatus(status: number): "rules" | "none" | "unreadable" {
  if (status >= 200 && status < 300) return "rules";
  if (status >= 400 && status < 500 && status !== 429) return "none";
  return "unreadable";
}

/**
 * Meanings of failed exchanges. Without a connection the host is unreachable, and the routes of the ladder may find out
 * more; with one the rules are unreadable, so everything is disallowed. A timeout means the latter, unless it is known
 * that there was no connection.
 */
const FAILURES = {
  invalid_url: "host_unreachable",
  dns_nxdomain: "host_unreachable",
  dns_error: "host_unreachable",
  tls_error: "host_unreachable",
  network_refused: "host_unreachable",
  network_unreachable: "host_unreachable",
  network_reset: "unreadable",
  network_protocol: "unreadable",
  proxy_unreachable: "host_unreachable",
  proxy_refused: "host_unreachable",
  proxy_connect_failed: "host_unreachable",
  network_encoding: "unreadable",
  timeout: "unreadable",
  aborted: "unreadable",
  no_descriptors: "unreadable",
  blocked_destination: "blocked",
} as const satisfies Record<EgressProblem, RobotsReadResult["kind"]>;

export function readFailure(problem: EgressProblem, connected: boolean | undefined): RobotsReadResult {
  const kind = problem === "timeout" && connected === false ? "host_unreachable" : FAILURES[problem];
  return kind === "blocked" ? { kind } : { kind, reason: problem };
}

/** The memory after a read. */
export function afterRead(
  memory: RobotsMemory,
  result: Exclude<RobotsReadResult, { kind: "no_slot" }>,
  rules: RobotsRules,
  crawler_name: string,
  now_ms: number,
  { networks, is_private }: { readonly networks: Networks | null; readonly is_private: boolean },
): RobotsMemory {
  switch (result.kind) {
    case "read": {
      const { status } = result;
      const copy = { crawler_name, read_at_ms: now_ms, status, rules, ...(is_private && { networks }) };
      return { copy, failure: null };
    }
    case "unreadable":
    case "host_unreachable":
    case "blocked":
      return {
        copy: memory.copy,
        failure: { ...result, networks, until_ms: now_ms + FAILURE_TTL_MS[result.kind] },
      };
  }
}

/** Whether a URL is allowed by what is known now; null when robots.txt must be read first. */
export function answerFor(
  { copy: stored, failure }: RobotsMemory,
  url: URL,
  now_ms: number,
  networks: Networks | null,
): RobotsAnswer | null {
  const isFor = stored?.networks === undefined || sameNetworks(stored.networks, networks);
  const copy = isFor ? stored : null;
  // RFC 9309, section 2.2.2: the file itself is always allowed.
  if (url.pathname === "/robots.txt") return { kind: "allowed", reason: "rules" };
  const age_ms = copy ? now_ms - copy.read_at_ms : Infinity;
  if (copy && age_ms < FRESH_MS) return byRules(copy, url);
  if (!failure || failure.until_ms <= now_ms) return null;
  if (dependsOnNetworks(failure) && !sameNetworks(failure.networks, networks)) return null;
  if (failure.kind === "blocked") return { kind: "blocked", error: "blocked_destination" };
  // Also for an unreachable host: it may be back before its rules are read again.
  if (copy && age_ms < LAST_COPY_MS) return byRules(copy, url);
  switch (failure.kind) {
    case "host_unreachable":
      return { kind: "allowed", reason: "host_unreachable" };
    case "unreadable":
      return {
        kind: "disallowed",
        reason: "robots_unreachable",
        detail: `Cannot read "${url.origin}/robots.txt" (${failure.reason}), and there is no copy of the last 30 days`,
      };
  }
}

/** The exchanges that brought the copy by which such a request is judged; undefined: they were not kept. */
export const exchangesFor = (
  { copy }: Pick<RobotsMemory, "copy">,
  networks: Networks | null,
): string | null | undefined =>
  copy === null || (copy.networks !== undefined && !sameNetworks(copy.networks, networks))
    ? null
    : copy.exchanges_json;

/** The memory with the exchanges of its last read. */
export const withExchanges = (
  { copy, failure }: RobotsMemory,
  exchanges_json: string | null,
): RobotsMemory => ({
  copy: copy && {
    ...copy,
    exchanges_json: failure === null ? exchanges_json : (copy.exchanges_json ?? null),
  },
  failure,
});

/** Longer patterns are cut in messages. */
const MAX_QUOTED_CHARS = 200;

function byRules({ rules, read_at_ms }: RobotsCopy, url: URL): RobotsAnswer {
  if (rules.rules.length === 0) return { kind: "allowed", reason: "no_rules" };
  const { allowed, rule } = judgeRobots(rules, url);
  if (allowed) return { kind: "allowed", reason: "rules" };
  const source = `"${url.origin}/robots.txt", read ${new Date(read_at_ms).toISOString()}`;
  const detail = rule
    ? `"Disallow: ${rule.pattern.slice(0, MAX_QUOTED_CHARS)}" for "${rules.group}" in line ${rule.line} of ${source}`
    : `Too costly to follow: ${source}`;
  return { kind: "disallowed", reason: "rules", detail };
}
