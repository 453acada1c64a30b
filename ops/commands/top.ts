/**
 * trawl top: nodes, tiers, domains and jobs, drawn anew every two seconds on a terminal until Ctrl-C; printed once where the output is no
 * terminal. trawl domains and trawl jobs print one part of it.
 */
import { type Command, Option } from "commander";
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, operatorCommand, operatedService, wholeNumber } from "./client.ts";
import { type Context, table } from "./context.ts";
import { shortDuration } from "./duration.ts";
import { tierCell } from "./nodes.ts";
import { domainsOf, domainTable, jobsOf, jobTable, type Order, ORDERS, readReports } from "./reports.ts";

const EVERY_MS = 2_000;
const HOME = "\u001B[H";
const CLEAR_LINE = "\u001B[K";
const CLEAR_BELOW = "\u001B[J";
/** The second screen of a terminal: what stood there before comes back at the end. */
const [ENTER, LEAVE] = ["\u001B[?1049h\u001B[?25l", "\u001B[?25h\u001B[?1049l"];

interface DomainsOptions extends ClientOptions {
  readonly by: Order;
  readonly limit: number;
}

export const topCommand = (context: Context): Command =>
  operatorCommand("top")
    .description("watch nodes, tiers, domains and jobs; printed once when piped")
    .action(async (options: ClientOptions) => {
      const { screen, sleep, onInterrupt } = context.terminal?.() ?? systemTerminal();
      const client = operatedService(context, options);
      const first = await readReports(client);
      if (options.json) return context.out(JSON.stringify(first, null, 2));
      if (screen === null) return context.out(view(first, context.now(), Infinity));
      let isOver = false;
      const interrupt = onInterrupt(() => (isOver = true));
      screen.write(ENTER);
      try {
        for (let nodes: readonly NodeReport[] | null = first; !isOver;) {
          const text = nodes
            ? view(nodes, context.now(), screen.rows())
            : "The service does not answer; asking again";
          const lines = text.split("\n").slice(0, screen.rows() - 1);
          const cut = lines.map((line) => line.slice(0, screen.columns()) + CLEAR_LINE);
          screen.write(HOME + cut.join("\r\n") + CLEAR_BELOW);
          await sleep(EVERY_MS);
          // A gateway that restarts is asked again.
          nodes = await readReports(client).catch(() => null);
        }
      } finally {
        interrupt[Symbol.dispose]();
        screen.write(LEAVE);
      }
    });

export const domainsCommand = (context: Context): Command =>
  operatorCommand("domains")
    .description("list the domains that were asked in the last ten minutes, or are waited for")
    .addOption(new Option("--by <order>", "what comes first").choices(Object.keys(ORDERS)).default("busiest"))
    .option("--limit <count>", "how many", wholeNumber, 20)
    .action(async ({ by, limit, json, ...options }: DomainsOptions) => {
      const domains = domainsOf(await readReports(operatedService(context, options)), by).slice(0, limit);
      return context.out(json ? JSON.stringify(domains, null, 2) : domainTable(domains));
    });

export const jobsCommand = (context: Context): Command =>
  operatorCommand("jobs")
    .description("list the unfinished jobs of all projects, and what each waits for")
    .action(async ({ json, ...options }: ClientOptions) => {
      const jobs = jobsOf(await readReports(operatedService(context, options)));
      return context.out(json ? JSON.stringify(jobs, null, 2) : jobTable(jobs, context.now()));
    });

/** The rows that are left are shared by domains and jobs; nodes are always whole. */
export function view(nodes: readonly NodeReport[], now_ms: number, rows: number): string {
  const head = nodeTable(nodes, now_ms);
  const left = Math.max(6, rows - head.split("\n").length - 6);
  const jobs = jobsOf(nodes);
  const shown_jobs = jobs.slice(0, Math.max(3, Math.floor(left / 2)));
  const domains = domainsOf(nodes, "busiest").slice(0, Math.max(3, left - shown_jobs.length));
  const total = nodes.flatMap((node) => node.domains ?? []).reduce((sum, { requests }) => sum + requests, 0);
  return [
    head,
    "",
    `Domains of the last ten minutes: ${total} requests to those listed`,
    domainTable(domains),
    "",
    `Jobs: ${jobs.length} unfinished`,
    jobTable(shown_jobs, now_ms),
  ].join("\n");
}

const nodeTable = (nodes: readonly NodeReport[], now_ms: number): string =>
  table(
    ["NODE", "ROLES", "UP", "PARTITIONS", "ACTORS", "WORK", "ASKS", "TIERS"],
    nodes.map((node) => [
      node.node,
      node.roles.join(",") + (node.draining ? " (draining)" : ""),
      shortDuration(now_ms - node.started_ms),
      String(node.partitions.length),
      String(node.active_actors),
      String(node.background_works),
      String(node.pending_asks),
      node.tiers.map(tierCell).join(" ") || "-",
    ]),
  );
