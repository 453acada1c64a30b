/** trawl audit politeness: what the start ledger says about the gaps between requests, domain by domain. */
import { Command, InvalidArgumentError } from "commander";
import { audit, readStarts, type Start } from "../request-audit.ts";
import { CommandError, type Context, EXIT, type Json, table, withDocuments, withJson } from "./context.ts";

interface Wishes extends Json {
  readonly since: number;
  readonly gap?: number;
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MAX_SHOWN = 20;

export function auditCommand(context: Context): Command {
  const command = new Command("audit").description("what really happened");
  withJson(command.command("politeness"))
    .description("the smallest gap of each domain and every one that was too short, from the start ledger")
    .option("--since <time>", "how far back: 90s, 30m, 6h, 7d", span, UNITS.h)
    .option("--gap <ms>", "the least gap; default TRAWL_POLITE_DELAY_MS, the profile site's 1000", whole)
    .action(async ({ since, gap, json }: Wishes) => {
      const { politeness, profiles } = context.config();
      const now_ms = context.now();
      const starts = await withDocuments(context, (documents) =>
        readStarts(documents, now_ms - since, now_ms),
      );
      if (starts.length === 0)
        throw new CommandError("Nothing was started in that time, or TRAWL_START_LEDGER was off");
      const leastOf = (domain: string): number =>
        gap ??
        (domain === profiles.hosts[0] ? Math.max(PROFILES_GAP_MS, politeness.gap_ms) : politeness.gap_ms);
      const domains = audit(starts, leastOf);
      const violations = domains.flatMap((domain) => domain.violations);
      if (violations.length > 0) context.exit(EXIT.some_failed);
      if (json) return context.out(JSON.stringify({ starts: starts.length, domains }));
      const rows = domains
        .slice(0, MAX_SHOWN)
        .map(({ domain, starts: count, smallest_gap_ms, least_ms, violations: short }) => [
          domain,
          String(count),
          smallest_gap_ms === null ? "" : String(smallest_gap_ms),
          String(least_ms),
          String(short.length),
        ]);
      context.out(table(["DOMAIN", "STARTS", "SMALLEST GAP MS", "MIN", "TOO SHORT"], rows));
      for (const { gap_ms, before, after } of violations)
        context.out(
          `${after.domain}: ${gap_ms} ms at ${new Date(after.at_ms).toISOString()}, ${told(before)} then ${told(after)}`,
        );
      return context.err(
        `${starts.length} starts on ${domains.length} domains; ${violations.length} gaps were too short`,
      );
    });
  return command;
}

const told = ({ fetch_id, node, epoch }: Start): string => `${fetch_id} by ${node} (epoch ${epoch})`;

/** 2-adapters.md, part B. */
const PROFILES_GAP_MS = 1_000;

function span(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError("Not a time as 90s, 30m, 6h or 7d.");
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

function whole(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError("Not a number of milliseconds.");
  return Number(text);
}
