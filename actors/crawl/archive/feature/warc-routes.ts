/** GET /v1/jobs/{job_id}.warc.gz and /v1/requests/{request_id}.warc.gz: the exchanges of a job or of one fetch as a WARC file. */
import { Type } from "typebox";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { Head, Reply } from "../../../../gateway/http.ts";
import { JOB_NOT_FOUND, json } from "../../../../gateway/http-errors.ts";
import { refused } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field } from "../../../../schemas/common.ts";
import type { FetchAnswer } from "../../../../schemas/fetch.ts";
import { JobId, type JobRecord } from "../../../../schemas/jobs.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { storedResults } from "../../../work/jobs/results.ts";
import type { ArchiveKeeper } from "../keep.ts";
import type { ArchivedPage, ArchiveSource } from "../warc/file.ts";
import { SIGNING_PROBLEMS } from "../wacz/signer.ts";
import { type ArchiveFiles, fileReplies, WACZ_TYPE, WARC_TYPE } from "./archive-files.ts";

export interface WarcRouteDeps {
  readonly documents: Documents;
  readonly jobs: JobFinder;
  readonly keeper: ArchiveKeeper;
  readonly files: ArchiveFiles;
  readonly software: string;
}

const JOB_MISSING = "The project has no such job, or its retention is over";
const NOT_ARCHIVED = json(404, { detail: "nothing was archived under this id" });
const JOB_RUNNING = json(409, { detail: "the archive of a job is there when the job has ended" });

/** Id of a single fetch, or `<job_id>:<index>` of an item. */
const RequestId = Type.String({
  pattern: "^(req_[0-9A-HJKMNP-TV-Z]{26}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}:[0-9]{1,7})$",
});
const RANGE_FIELDS = {
  "If-None-Match": "Entity tags that the client has: answered with 304 when this file's is among them",
  Range: "One range of bytes, as bytes=0-1023; several are answered with the whole",
  "If-Range": "The entity tag in quotes: with another one Range is ignored",
};

export function warcRoutes(deps: WarcRouteDeps): readonly Route[] {
  const { jobs, files } = deps;
  return [
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}.wacz",
      operationId: "getJobWacz",
      summary: "The archived exchanges of a job as a WACZ file",
      description:
        "WACZ 1.1.1, for ReplayWeb.page and other players: the WARC file of the job with an index, the list of its pages with their texts, " +
        "digests and a signature: with the operator's certificate and the time of an authority where these are set, else anonymous. Its " +
        "length is known, so that a player reads it by ranges. The first request makes the index " +
        "before it is answered.",
      tags: ["jobs"],
      params: Type.Object({ job_id: JobId }),
      request_headers: RANGE_FIELDS,
      replies: {
        ...fileReplies(WACZ_TYPE, JOB_MISSING),
        409: {
          description: "The job has not ended, or the archive has too many captures for an index",
          schema: Type.Object({ detail: Type.String() }),
        },
        503: {
          description:
            "The operator's certificate or the time stamp authority failed: there is no signature yet",
          schema: refused(SIGNING_PROBLEMS),
        },
      },
      verbatim: true,
      handle: ({ params, caller, head }) => ofJob(params.job_id, caller, head, files.answerWacz),
    }),
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}.warc.gz",
      operationId: "getJobWarc",
      summary: "The archived exchanges of a job as a WARC file",
      description:
        "Of a job whose pages were fetched with `archive`, when it has ended: WARC 1.1, one gzip member a record. The first download is " +
        "written while it is sent; later ones have a length and an entity tag. The same job gives the same bytes.",
      tags: ["jobs"],
      params: Type.Object({ job_id: JobId }),
      request_headers: RANGE_FIELDS,
      replies: {
        ...fileReplies(WARC_TYPE, JOB_MISSING),
        409: { description: "The job has not ended", schema: Type.Object({ detail: Type.String() }) },
      },
      verbatim: true,
      handle: ({ params, caller, head }) => ofJob(params.job_id, caller, head, files.answerWarc),
    }),
    route({
      method: "GET",
      path: "/v1/requests/{request_id}.warc.gz",
      operationId: "getRequestWarc",
      summary: "The archived exchanges of one fetch as a WARC file",
      description: "Of a fetch with `archive`, or of one item of a job, for 30 days.",
      tags: ["fetch"],
      params: Type.Object({
        request_id: Field(RequestId, "`request_id` of the fetch", "req_01JD5GZ0V7Q2R8S4T6W8X0Y2Z4"),
      }),
      request_headers: RANGE_FIELDS,
      replies: fileReplies(WARC_TYPE, "Nothing was archived under this id, or its time is over"),
      verbatim: true,
      async handle({ params: { request_id }, caller, head }) {
        const source = await requestSource(deps, request_id, caller);
        return source === null ? NOT_ARCHIVED : files.answerWarc(caller.grant.project.name, source, head);
      },
    }),
  ];

  async function ofJob(
    id: string,
    caller: Caller,
    head: Head,
    answer: ArchiveFiles["answerWarc"],
  ): Promise<Reply> {
    const job_id = id.toLowerCase();
    const job = await jobs.find(job_id, caller);
    if (job === null) return JOB_NOT_FOUND;
    if (job.finished_ms === null) return JOB_RUNNING;
    return answer(caller.grant.project.name, jobSource(deps, job_id, job), head);
  }
}

/** Every item that has ended, in the order in which the items were submitted or found. */
function jobSource({ documents, software }: WarcRouteDeps, job_id: string, job: JobRecord): ArchiveSource {
  return {
    id: job_id,
    title: `Job ${job_id}`,
    date_ms: job.finished_ms!,
    software,
    async *pages(from) {
      const { total } = job.counts;
      const indexes = Array.from({ length: Math.max(0, total - from) }, (_, at) => from + at);
      for await (const [index, result] of storedResults(documents, job_id, indexes)) {
        const page = pageOf(index, result.answer);
        if (page) yield page;
      }
    },
  };
}

function pageOf(index: number, answer: unknown): ArchivedPage | null {
  const { record } = (answer ?? {}) as Partial<FetchAnswer>;
  return record?.archive ? { index, record } : null;
}

async function requestSource(
  deps: WarcRouteDeps,
  request_id: string,
  caller: Caller,
): Promise<ArchiveSource | null> {
  const page = await requestedPage(deps, request_id, caller);
  if (page === null) return null;
  return {
    id: request_id,
    title: page.record.title ?? request_id,
    date_ms: Date.parse(page.record.retrieved_at ?? "") || 0,
    software: deps.software,
    async *pages() {
      yield page;
    },
  };
}

async function requestedPage(
  { documents, jobs, keeper }: WarcRouteDeps,
  request_id: string,
  caller: Caller,
): Promise<ArchivedPage | null> {
  if (request_id.startsWith("req_")) {
    const record = await keeper.find(caller.grant.project.name, request_id);
    return record && { index: 0, record };
  }
  const [job_id, index] = request_id.toLowerCase().split(":") as [string, string];
  if ((await jobs.find(job_id, caller)) === null) return null;
  for await (const [at, { answer }] of storedResults(documents, job_id, [Number(index)]))
    return pageOf(at, answer);
  return null;
}
