/** trawl audit politeness: the delays between recorded requests, domain by domain. */
import { Command, InvalidArgumentError } from "commander";
import { audit, readRequests, type AuditedRequest } from "../request-audit.ts";
import { HOUR_MS, readDuration } from "./duration.ts";
import { CommandError, type Context, EXIT, type Json, table, withDocuments, withJson } from "./context.ts";

const MAX_SHOWN = 20;

export function auditCommand(context: Context): Command {
  const command = new Command("audit").description("check the requests that the service has sent");
  withJson(command.command("politeness"))
    .description(
      "print the shortest delay between two requests to each domain, and each delay that was too short",
    )
    .option("--since <time>", "how far back: 90s, 30m, 6h, 7d", readDuration, HOUR_MS)
    .option(
      "--delay <ms>",
      "the required delay between two requests; default: TRAWL_POLITE_DELAY_MS, and at least 1000 for the profile site",
      whole,
    )
    .action(async ({ since, delay, json }: Json & { readonly since: number; readonly delay?: number }) => {
      const { politeness, profiles } = await context.config();
      const now_ms = context.now();
      const requests = await withDocuments(context, (documents) =>
        readRequests(documents, now_ms - since, now_ms),
      );
      if (requests.length === 0)
        throw new CommandError("No request was recorded in that time, or TRAWL_REQUEST_AUDIT was off");
      const requiredDelayOf = (domain: string): number =>
        delay ??
        (domain === profiles.hosts[0]
          ? Math.max(PROFILES_MIN_DELAY_MS, politeness.min_delay_ms)
          : politeness.min_delay_ms);
      const domains = audit(requests, requiredDelayOf);
      const violations = domains.flatMap((domain) => domain.violations);
      if (violations.length > 0) context.exit(EXIT.some_failed);
      if (json) return context.out(JSON.stringify({ requests: requests.length, domains }));
      const rows = domains
        .slice(0, MAX_SHOWN)
        .map(({ domain, requests: count, smallest_delay_ms, required_delay_ms, violations: short }) => [
          domain,
          String(count),
          smallest_delay_ms === null ? "" : String(smallest_delay_ms),
          String(required_delay_ms),
          String(short.length),
        ]);
      context.out(table(["DOMAIN", "REQUESTS", "SHORTEST DELAY MS", "REQUIRED", "TOO SHORT"], rows));
      for (const { delay_ms, previous, next } of violations)
        context.out(
          `${next.domain}: ${delay_ms} ms at ${new Date(next.at_ms).toISOString()}, ${describe(previous)} then ${describe(next)}`,
        );
      return context.err(
        `${requests.length} requests to ${domains.length} domains; ${violations.length} delays were too short`,
      );
    });
  return command;
}

const describe = ({ fetch_id, node, epoch }: AuditedRequest): string =>
  `${fetch_id} by ${node} (epoch ${epoch})`;

/** The profile site asks for at most one request a second. */
const PROFILES_MIN_DELAY_MS = 1_000;

function whole(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError("Not a number of milliseconds.");
  return Number(text);
}
