/**
 * GET /v1/jobs/{job_id}/results: the items of a job in the order they were submitted, one a line as JSON, or as CSV. They are read
 * at the client's pace. With `follow` the answer waits for each unfinished item, until the job has ended. A kind of items may
 * have a route of its own for the CSV.
 */
import { Field } from "../../../../schemas/common.ts";
import { Type } from "typebox";
import { type Clock, pause } from "../../../../cluster/ports/clock.ts";
import { preferredType } from "../../../../gateway/accept.ts";
import type { BatchKind, RouteNames } from "../../../../gateway/batch.ts";
import { JOB_NOT_FOUND, unavailable } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { isFinal } from "../../../../schemas/job-states.ts";
import {
  AnyJobItem,
  JobId,
  type JobItem,
  type JobKind,
  type JobRecord,
  MAX_GROWN_ITEMS,
} from "../../../../schemas/jobs.ts";
import { csvLines } from "../../../../gateway/csv-lines.ts";
import { csvOf } from "./csv.ts";
import { type JobReader, type JobReaderDeps, RESULTS_AT_ONCE } from "./job-reader.ts";
import { JOBS } from "../collections.ts";
import { readStates } from "../stored-states.ts";

/** The stored state of a job is at most half a second old. */
const LOOK_EVERY_MS = 500;
/** An empty line so often: proxies close connections that say nothing for a minute. */
const SILENT_MS = 15_000;
/** A client that follows longer reads on with `from`. */
const FOLLOW_MS = 60 * 60_000;
/** Each reads one document twice a second. */
const MAX_FOLLOWERS = 200;
const TOO_MANY_FOLLOWERS = unavailable("too many clients follow jobs at once, try again", 30);

interface Following {
  readonly job_id: string;
  readonly external: boolean;
  readonly from: number;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** The route of one kind's results as CSV. */
export interface CsvResults {
  readonly kind: BatchKind;
  readonly names: RouteNames;
}

const NOT_FOUND = {
  description: "The project has no such job, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};
const LINES_TYPE = "application/x-ndjson";
const CSV_TYPE = "text/csv; charset=utf-8";

export function resultsRoutes(
  { documents, clock, kinds }: JobReaderDeps,
  reader: JobReader,
  csvResults: readonly CsvResults[],
): readonly Route[] {
  let followers = 0;
  const csvByKind = new Map(kinds.map((kind) => [kind.name as JobKind, csvOf(kind)]));

  const load = (job_id: string): Promise<JobRecord | null> => JOBS.get(documents, job_id);

  /** Items in their order. Ends with the job, or with its last item. */
  async function* itemsOf(first: JobRecord, following: Following): AsyncGenerator<readonly JobItem[]> {
    const { job_id, external, follow, signal } = following;
    const until_ms = clock.now() + FOLLOW_MS;
    let job: JobRecord | null = first;
    let { total } = job.counts;
    let states = await readStates(documents, job_id, job);
    // A job that grows has items as long as it runs.
    const mayGrow = (): boolean => follow && job!.spec.grows === true && job!.finished_ms === null;
    for (let next = following.from; (next < total || mayGrow()) && !signal.aborted;) {
      let end = Math.min(total, next + RESULTS_AT_ONCE);
      const isRunning: boolean = job.finished_ms === null;
      if (follow && isRunning) end = Math.min(end, unfinishedFrom(states, next));
      if (end > next) {
        const indexes = Array.from({ length: end - next }, (_, at) => next + at);
        yield* reader.items(job, job_id, external, states, indexes, signal);
        next = end;
        continue;
      }
      if (clock.now() >= until_ms) return;
      await pause(clock, LOOK_EVERY_MS, signal);
      job = await load(job_id);
      if (job === null) return;
      ({ total } = job.counts);
      states = await readStates(documents, job_id, job);
    }
  }

  async function* lines(job: JobRecord, following: Following, asCsv: boolean): AsyncGenerator<Buffer> {
    const csv = csvByKind.get(job.spec.kind)!;
    if (asCsv) yield Buffer.from(csvLines([csv.columns]));
    const groups = itemsOf(job, following);
    if (following.follow) followers++;
    try {
      for (;;) {
        const next = groups.next();
        // Also while a store is slow, or large items wait for memory.
        while (!(await settlesWithin(clock, next, SILENT_MS))) if (!asCsv) yield Buffer.from("\n");
        const { done, value: items } = await next;
        if (done) return;
        yield Buffer.from(
          asCsv
            ? csvLines(items.flatMap(csv.rows))
            : items.map((item) => `${JSON.stringify(item)}\n`).join(""),
        );
      }
    } finally {
      if (following.follow) followers--;
      await groups.return(undefined);
    }
  }

  const csvRoute = ({ kind, names }: CsvResults): Route =>
    route({
      method: "GET",
      path: names.path,
      operationId: names.operationId,
      summary: names.summary,
      description:
        "One row for each item, in the order they were submitted; rows of unfinished items have no values yet. " +
        `Columns: ${csvOf(kind).columns.join(", ")}.`,
      tags: [names.tag],
      params: Type.Object({ job_id: JobId }),
      replies: {
        200: { description: "Rows of CSV", content_type: "text/csv", schema: Type.String() },
        404: NOT_FOUND,
      },
      handle: async ({ params, caller, signal }) => {
        const job_id = params.job_id.toLowerCase();
        const job = await reader.find(job_id, caller);
        if (job?.spec.kind !== kind.name) return JOB_NOT_FOUND;
        const { external } = caller.grant.customer;
        return {
          status: 200,
          headers: {
            "Content-Type": CSV_TYPE,
            "Content-Disposition": `attachment; filename="${job_id}.csv"`,
            "Cache-Control": "no-store",
          },
          body: {
            length: null,
            chunks: lines(job, { job_id, external, from: 0, follow: false, signal }, true),
          },
        };
      },
    });

  const resultsRoute = route({
    method: "GET",
    path: "/v1/jobs/{job_id}/results",
    operationId: "getJobResults",
    summary: "All items of a batch job as a stream",
    description:
      "One item a line as JSON (NDJSON), in the order they were submitted, or rows of CSV with `Accept: text/csv`. Without " +
      "`follow` unfinished items come as they are. With `follow=true` the answer waits for each of them and ends with the job, " +
      "or after an hour; an empty line every 15 seconds keeps the connection open. An answer that broke is read on with `from`.",
    tags: ["jobs"],
    params: Type.Object({ job_id: JobId }),
    query: Type.Object({
      from: Field(
        Type.Integer({ minimum: 0, maximum: MAX_GROWN_ITEMS, default: 0, description: "The first item" }),
        null,
        0,
      ),
      follow: Field(Type.Boolean({ default: false, description: "Wait for unfinished items" }), null, false),
    }),
    replies: {
      200: {
        description: "Lines of items",
        lines: AnyJobItem,
        also: ["text/csv"],
      },
      404: NOT_FOUND,
    },
    handle: async ({ params, query: { from, follow }, caller, head, signal }) => {
      const job_id = params.job_id.toLowerCase();
      const job = await reader.find(job_id, caller);
      if (!job) return JOB_NOT_FOUND;
      if (follow && followers >= MAX_FOLLOWERS) return TOO_MANY_FOLLOWERS;
      const asCsv = preferredType(head.headers.get("accept"), [LINES_TYPE, "text/csv"]) === "text/csv";
      const following = { job_id, external: caller.grant.customer.external, from, follow, signal };
      return {
        status: 200,
        headers: {
          "Content-Type": asCsv ? CSV_TYPE : LINES_TYPE,
          "Cache-Control": "no-store",
        },
        body: { length: null, chunks: lines(job, following, asCsv) },
      };
    },
  });
  return [resultsRoute, ...csvResults.map(csvRoute)];
}

/** False: not before `now()` has gone on by `ms`. */
const settlesWithin = (clock: Clock, work: Promise<unknown>, ms: number): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = clock.at(clock.now() + ms, () => resolve(false));
    const settled = (): void => {
      timer[Symbol.dispose]();
      resolve(true);
    };
    work.then(settled, settled);
  });

/** The first item from here on that has not finished. */
function unfinishedFrom(states: Uint8Array, from: number): number {
  let at = from;
  while (at < states.length && isFinal(states[at]!)) at++;
  return at;
}
