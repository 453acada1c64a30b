/**
 * trawl domain NAME: shows what a running service has stored of a domain; --clear forgets it; --pause, --resume, --delay and
 * --concurrency change how it is asked, on all nodes at once.
 */
import type { Command } from "commander";
import type { DomainChange, DomainMemory } from "../../schemas/fetch.ts";
import {
  type ClientOptions,
  operatorCommand,
  exchange,
  errorOf,
  operatedService,
  wholeNumber,
} from "./client.ts";
import { readDuration } from "./duration.ts";
import { type Context, table } from "./context.ts";

interface DomainOptions extends ClientOptions {
  readonly clear?: boolean;
  readonly pause?: number | true;
  readonly resume?: boolean;
  readonly delay?: NumberOrDefault;
  readonly concurrency?: NumberOrDefault;
}

/** Not null, which commander takes for an option without a value. */
type NumberOrDefault = number | "default";

/** Ten years: until it is resumed. */
const FOREVER_MS = 315_360_000_000;

const numberOrDefault = (text: string): NumberOrDefault => (text === "default" ? text : wholeNumber(text));
const valueOf = (given: NumberOrDefault | undefined): number | null | undefined =>
  given === "default" ? null : given;

export const domainCommand = (context: Context): Command =>
  operatorCommand("domain")
    .description(
      "show what the service has stored about a domain: limits, failures, skips, dead hosts, host profiles",
    )
    .argument("<domain>", "a domain or one of its hosts")
    .option("--clear", "forget failures, skips, dead hosts and host profiles")
    .option("--pause [time]", "send no request to it, for 90s, 30m, 6h, 7d, or until --resume", readDuration)
    .option("--resume", "end a pause")
    .option("--delay <ms>", "milliseconds between two requests, or default", numberOrDefault)
    .option("--concurrency <count>", "concurrent requests, or default", numberOrDefault)
    .action(async (domain: string, options: DomainOptions) => {
      const { base, key } = operatedService(context, options);
      const address = `${base}/v1/ops/domains/${encodeURIComponent(domain)}`;
      const change = changeOf(options);
      const { reply, content } =
        change === null
          ? await exchange(options.clear ? "DELETE" : "GET", address, key)
          : await exchange("POST", address, key, change);
      if (!reply.ok) throw errorOf(reply, content);
      const memory = content as DomainMemory;
      if (options.json) return context.out(JSON.stringify(memory, null, 2));
      for (const line of describe(memory)) context.out(line);
      if (options.clear)
        context.err(`Cleared failures, skips, dead hosts and host profiles of ${memory.domain}.`);
    });

/** Null: nothing is changed. */
function changeOf({ pause, resume, delay, concurrency }: DomainOptions): DomainChange | null {
  const pause_s = resume
    ? null
    : pause === undefined
      ? undefined
      : (pause === true ? FOREVER_MS : pause) / 1_000;
  const change = { min_delay_ms: valueOf(delay), max_concurrency: valueOf(concurrency), pause_s };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return given.length === 0 ? null : Object.fromEntries(given);
}

function describe(memory: DomainMemory): string[] {
  const { domain, min_delay_ms, max_concurrency, in_flight, waiting, skips, slowed } = memory;
  return [
    `${domain}: ${min_delay_ms} ms between requests, ${in_flight} of ${max_concurrency} slots in use, ${waiting} callers waiting`,
    ...describeOperator(memory),
    ...skips.map(describeSkip),
    ...slowed.flatMap(describeSlowed),
    ...memory.dead_hosts.map(({ host, until }) => `${host} does not exist, until ${until}`),
    ...(memory.hosts.length === 0 ? [] : [hosts(memory)]),
  ];
}

function describeOperator({ operator }: DomainMemory): string[] {
  if (operator === null) return [];
  const { min_delay_ms, max_concurrency, paused_until } = operator;
  return [
    ...(paused_until === null ? [] : [`paused by the operator until ${paused_until}`]),
    ...(min_delay_ms === null ? [] : [`delay set by the operator: ${min_delay_ms} ms`]),
    ...(max_concurrency === null ? [] : [`concurrent requests set by the operator: ${max_concurrency}`]),
  ];
}

function describeSkip({ project, origin, failures, skip_until }: DomainMemory["skips"][number]): string {
  const whose = project === null ? "all projects" : `project ${project}`;
  const skip =
    skip_until === null ? "" : `; skipped for ${project === null ? "all" : "it"} until ${skip_until}`;
  return `${origin}: failed fetches in a row of ${whose}: ${failures}${skip}`;
}

function describeSlowed({ origin, delay_ms, paused_until }: DomainMemory["slowed"][number]): string[] {
  const which = origin === "*" ? "origins that are not known" : origin;
  return [
    ...(paused_until === null ? [] : [`${which}: closed by Retry-After until ${paused_until}`]),
    ...(delay_ms === 0 ? [] : [`${which}: ${delay_ms} ms between requests`]),
  ];
}

const hosts = (memory: DomainMemory): string =>
  table(
    ["host", "premium routes", "until", "only premium", "premium blocked"],
    memory.hosts.map(({ host, premium, until, premium_only, premium_blocked }) => [
      host,
      premium,
      until ?? "-",
      String(premium_only),
      String(premium_blocked),
    ]),
  );
