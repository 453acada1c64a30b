/**
 * trawl job: shows, watches and cancels a job and prints its items, through the service; and verifies a stored job, in
 * the document store itself, against the invariants of actors/work/jobs/invariants.ts.
 */
import { Command } from "commander";
import { checkInvariants } from "../../actors/work/jobs/invariants.ts";
import { type JoinedSites, joinedSites } from "../../actors/lib/web/url.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { indexOfResult, jobRange, type JobStatus, type StoredResult } from "../../schemas/jobs.ts";
import { crawlProblems } from "../../actors/crawl/sites/frontier/invariants.ts";
import { KEY_MARKS } from "../../schemas/accounts.ts";
import { systemTerminal } from "../terminal.ts";
import {
  type ClientOptions,
  clientCommand,
  exchange,
  errorOf,
  post,
  operatedService,
  service,
  wholeNumber,
} from "./client.ts";
import { CommandError, type Context, EXIT, type Json, withDocuments, withJson } from "./context.ts";
import { jobSaveCommand } from "./job-save.ts";
import { isDataWanted } from "./streams.ts";
import { watch } from "./watch.ts";
import { JOB_RESULTS, JOBS } from "../../actors/work/jobs/collections.ts";
import { frozenStates } from "../../actors/work/jobs/stored-states.ts";

const RESULTS_AT_ONCE = 200;

export function jobCommand(context: Context): Command {
  const command = new Command("job").description("manage batch jobs");
  command.addCommand(
    clientCommand("show")
      .description("show the state of a job")
      .argument("<id>", "the id of the job")
      .action(async (job_id: string, options: ClientOptions) => {
        const { base, key } = service(context, options);
        const { reply, content } = await exchange("GET", `${base}/v1/jobs/${job_id}?include=progress`, key);
        if (!reply.ok || content === null) throw errorOf(reply, content);
        show(context, content as JobStatus, options);
      }),
  );
  for (const [name, description, always_prints] of [
    ["watch", "show the progress until a job is finished; when piped, print its items as NDJSON", false],
    ["items", "print the items of a job as NDJSON, in order, waiting for those that are not finished", true],
  ] as const)
    command.addCommand(
      clientCommand(name)
        .description(description)
        .argument("<id>", "the id of the job")
        .option("--from <index>", "index of the first item to print", wholeNumber, 0)
        .action(async (job_id: string, options: ClientOptions & { readonly from: number }) => {
          const terminal = context.terminal?.() ?? systemTerminal();
          const isPrinted = always_prints || isDataWanted(terminal, options);
          await watch(context, terminal, {
            ...service(context, options),
            job_id,
            from: options.from,
            isPrinted,
          });
        }),
    );
  command.addCommand(jobSaveCommand(context));
  command.addCommand(
    clientCommand("cancel")
      .description("cancel a job; finished items keep their results")
      .argument("<id>", "the id of the job")
      .action(async (job_id: string, options: ClientOptions) => {
        const { base, key } = service(context, options);
        const { reply, content } = await exchange("DELETE", `${base}/v1/jobs/${job_id}`, key);
        if (!reply.ok || content === null) throw errorOf(reply, content);
        show(context, content as JobStatus, options);
      }),
  );
  for (const [name, paused, description] of [
    ["pause", true, "start no further item of a job; those in flight end"],
    ["resume", false, "go on with a paused job"],
  ] as const)
    command.addCommand(
      clientCommand(name)
        .description(description)
        .argument("<id>", "the id of the job")
        .option("--operator", "as the operator: a job of any project, which its client cannot resume")
        .action(async (job_id: string, options: ClientOptions & { readonly operator?: true }) => {
          await setPaused(context, job_id, paused, options);
          if (options.json) return context.out(JSON.stringify({ job_id, paused }));
          return context.err(`Job ${job_id} is ${paused ? "paused" : "resumed"}`);
        }),
    );
  withJson(command.command("verify"))
    .description("check a stored job: every finished item has exactly one result and is metered exactly once")
    .argument("<id>", "the id of the job")
    .action(async (job_id: string, { json }: Json) => {
      const joined = joinedSites((await context.config()).profiles.hosts);
      const { job, verdict, results } = await withDocuments(context, (documents) =>
        verify(documents, job_id, joined),
      );
      const { problems, ahead } = verdict;
      if (problems.length > 0) context.exit(EXIT.error);
      const { counts, phase } = job;
      if (json) return context.out(JSON.stringify({ job_id, phase, counts, results, ahead, problems }));
      for (const problem of problems) context.out(problem);
      const sum = `${counts.pending} pending + ${counts.queued} queued + ${counts.done} done + ${counts.failed} failed + ${counts.cancelled} cancelled = ${counts.total}`;
      context.err(`${phase}: ${sum}; ${results} results, ${job.metered.requests} metered`);
      if (ahead > 0)
        context.err(`${ahead} results are newer than the record, which is written twice a second`);
      return context.err(
        problems.length === 0 ? "All invariants hold" : `${problems.length} invariants are violated`,
      );
    });
  return command;
}

/** As the operator where the caller says so, or gives an operator's key. */
async function setPaused(
  context: Context,
  job_id: string,
  paused: boolean,
  options: ClientOptions & { readonly operator?: true },
): Promise<void> {
  const is_operator = options.operator ?? options.key?.startsWith(KEY_MARKS.operator);
  const { base, key } = is_operator ? operatedService(context, options) : service(context, options);
  const { reply, content } = is_operator
    ? await post(`${base}/v1/ops/jobs/${job_id}`, key, { paused })
    : await exchange("PATCH", `${base}/v1/jobs/${job_id}`, key, { paused });
  if (!reply.ok) throw errorOf(reply, content);
}

function show(context: Context, job: JobStatus, { json }: Json): void {
  if (json) return context.out(JSON.stringify(job, null, 2));
  const { counts, items: _, webhook, progress, ...rest } = job;
  const delivery = webhook && { webhook: webhook.is_off ? "off" : "on", webhook_status: webhook.last_status };
  for (const [name, value] of Object.entries({ ...rest, ...delivery, ...counts, ...progressOf(progress) }))
    if (value !== null) context.out(`${name.padEnd(16)}${value}`);
}

const progressOf = (progress: JobStatus["progress"]) =>
  progress && { ...progress, waits_for_sites: progress.waits_for_sites.join(", ") || null };

/** Reads the job before its results: results may be ahead of the record, never behind it. Throws CommandError, Fault. */
async function verify(documents: Documents, job_id: string, joined: JoinedSites) {
  const job = await JOBS.get(documents, job_id);
  if (!job) throw new CommandError(`There is no job "${job_id}" in this store`);
  const frozen = await Array.fromAsync(frozenStates(documents, job_id, job));
  // Without the pages: a crawl may have a million.
  const results = new Map<number, Pick<StoredResult, "status"> & { bill: { cost_micros: number } | null }>();
  for (let [from, to] = jobRange(job_id); ;) {
    const page = await JOB_RESULTS.list(documents, { from, to, limit: RESULTS_AT_ONCE });
    for (const { key, value } of page) {
      const { status, bill } = value;
      results.set(indexOfResult(key), { status, bill: bill && { cost_micros: bill.cost_micros } });
    }
    if (page.length < RESULTS_AT_ONCE) break;
    from = `${page.at(-1)!.key}\0`;
  }
  const { problems, ahead } = checkInvariants(job, results, frozen);
  const ofCrawl = job.spec.kind === "crawl" ? await crawlProblems(documents, job_id, job, joined) : [];
  return { job, verdict: { problems: [...problems, ...ofCrawl], ahead }, results: results.size };
}
