/** trawl domain NAME [--clear]: shows what a running service has stored of a domain, or clears it. */
import type { Command } from "commander";
import type { DomainMemory } from "../../schemas/fetch.ts";
import { type ClientOptions, clientCommand, exchange, errorOf, service } from "./client.ts";
import { type Context, table } from "./context.ts";

interface DomainOptions extends ClientOptions {
  readonly clear?: boolean;
}

export const domainCommand = (context: Context): Command =>
  clientCommand("domain")
    .description(
      "show what the service has stored about a domain: limits, failures, skips, dead hosts, host profiles",
    )
    .argument("<domain>", "a domain or one of its hosts")
    .option("--clear", "forget failures, skips, dead hosts and host profiles")
    .action(async (domain: string, options: DomainOptions) => {
      const { base, key } = service(context, options);
      const address = `${base}/v1/ops/domains/${encodeURIComponent(domain)}`;
      const { reply, content } = await exchange(options.clear ? "DELETE" : "GET", address, key);
      if (!reply.ok) throw errorOf(reply, content);
      const memory = content as DomainMemory;
      if (options.json) return context.out(JSON.stringify(memory, null, 2));
      for (const line of describe(memory)) context.out(line);
      if (options.clear)
        context.err(`Cleared failures, skips, dead hosts and host profiles of ${memory.domain}.`);
    });

function describe(memory: DomainMemory): string[] {
  const { domain, min_delay_ms, max_concurrency, in_flight, waiting, skips, paused_until } = memory;
  return [
    `${domain}: ${min_delay_ms} ms between requests, ${in_flight} of ${max_concurrency} slots in use, ${waiting} callers waiting`,
    ...skips.map(describeSkip),
    ...(paused_until === null ? [] : [`closed by Retry-After until ${paused_until}`]),
    ...memory.dead_hosts.map(({ host, until }) => `${host} does not exist, until ${until}`),
    ...(memory.hosts.length === 0 ? [] : [hosts(memory)]),
  ];
}

function describeSkip({ project, own_origin, failures, skip_until }: DomainMemory["skips"][number]): string {
  const scope = [
    ...(own_origin === null ? [] : [own_origin]),
    ...(project === null ? [] : [`project ${project} with fewer routes`]),
  ];
  const of = scope.length === 0 ? "" : ` (${scope.join(", ")})`;
  return `failed fetches in a row${of}: ${failures}${skip_until === null ? "" : `; skipped until ${skip_until}`}`;
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
