/** Reports of all nodes, asked of the service, for `trawl top`, `domains` and `jobs`. */
import type { DomainFigures } from "../../actors/crawl/domain/figures.ts";
import type { JobFigures } from "../../actors/work/jobs/figures.ts";
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import { exchange, errorOf } from "./client.ts";
import { table } from "./context.ts";
import { shortDuration } from "./duration.ts";

/** Throws CommandError. */
export async function readReports({
  base,
  key,
}: {
  readonly base: string;
  readonly key: string;
}): Promise<readonly NodeReport[]> {
  const { reply, content } = await exchange("GET", `${base}/v1/ops/nodes`, key);
  if (!reply.ok) throw errorOf(reply, content);
  return (content as { readonly nodes: readonly NodeReport[] }).nodes;
}

export const ORDERS = {
  busiest: ({ requests }: DomainFigures) => requests,
  slowest: ({ mean_ms }: DomainFigures) => mean_ms ?? 0,
  waiting: ({ waiting }: DomainFigures) => waiting,
  failing: ({ failures }: DomainFigures) => failures,
} as const;
export type Order = keyof typeof ORDERS;

/** Each domain is on one node. One that has moved counts where it was asked more. */
export function domainsOf(nodes: readonly NodeReport[], order: Order): readonly DomainFigures[] {
  const domains = new Map<string, DomainFigures>();
  for (const figures of nodes.flatMap((node) => node.domains ?? [])) {
    const other = domains.get(figures.domain);
    if (!other || other.requests < figures.requests) domains.set(figures.domain, figures);
  }
  return [...domains.values()].toSorted((a, b) => ORDERS[order](b) - ORDERS[order](a));
}

/** The oldest first. A job that waits for a domain which the operator paused names it; the job's node knows only that the site is busy. */
export function jobsOf(nodes: readonly NodeReport[]): readonly JobFigures[] {
  const domains = nodes.flatMap((node) => node.domains ?? []);
  const paused = new Set(domains.filter(({ is_paused }) => is_paused).map(({ domain }) => domain));
  return nodes
    .flatMap((node) => node.jobs ?? [])
    .map((job) => {
      const sites = (job.waits_for_sites ?? []).filter((site) => paused.has(site));
      return job.waits_for === null || sites.length === 0
        ? job
        : { ...job, waits_for: `${sites.join(", ")}, paused by the operator` };
    })
    .toSorted((a, b) => a.created_ms - b.created_ms);
}

export const domainTable = (domains: readonly DomainFigures[]): string =>
  table(
    ["DOMAIN", "REQUESTS", "FAILED", "MEAN", "IN FLIGHT", "WAITING", ""],
    domains.map(({ domain, requests, failures, mean_ms, in_flight, waiting, is_paused, slowed = [] }) => [
      domain,
      String(requests),
      String(failures),
      mean_ms === null ? "-" : `${mean_ms} ms`,
      String(in_flight),
      String(waiting),
      [...(is_paused ? ["paused"] : []), ...(slowed.length > 0 ? [`slow: ${slowed.join(", ")}`] : [])].join(
        "; ",
      ),
    ]),
  );

export const jobTable = (jobs: readonly JobFigures[], now_ms: number): string =>
  table(
    ["JOB", "PROJECT", "KIND", "AGE", "DONE", "IN FLIGHT", "WAITS FOR"],
    jobs.map(({ job_id, project, kind, created_ms, finished, total, in_flight, waits_for }) => [
      job_id,
      project,
      kind,
      shortDuration(now_ms - created_ms),
      `${finished}/${total}`,
      String(in_flight),
      waits_for ?? "-",
    ]),
  );
