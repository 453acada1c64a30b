/** /v1/jobs/{job_id}/sinks: where the results of a job are pushed. A route stores what a client wants and wakes the sink's actor. */
import { Type } from "typebox";
import type { JoinedNode } from "../../../../node/feature.ts";
import { invalid, JOB_NOT_FOUND, json } from "../../../../gateway/http-errors.ts";
import { SIGNATURE_FIELDS } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Answer, type Route, route } from "../../../../gateway/route.ts";
import { Field } from "../../../../schemas/common.ts";
import { JobId } from "../../../../schemas/jobs.ts";
import { JobResultsEvent, JobSink, Sink, SinkBody } from "../../../../schemas/sinks.ts";
import type { JobFinder } from "../../jobs/feature/tokens.ts";
import type { PutObject } from "../bucket.ts";
import { putInto } from "../sink.actor.ts";
import { manifestOf } from "../part.ts";
import { SINKS, sinkOptions, type StoredSink } from "../stored-sink.ts";
import { makeSink } from "./make.ts";
import { sinkView } from "./view.ts";

type RoutesDeps = Pick<
  JoinedNode,
  "documents" | "clock" | "secrets" | "networksOf" | "destination" | "log" | "ask"
> & { readonly jobs: JobFinder; readonly putObject: PutObject };

const MAX_SINKS = 4;

const JobParams = Type.Object({ job_id: JobId });
const Params = Type.Object({
  job_id: JobId,
  sink_id: Field(
    Type.String({ pattern: "^snk_[0-9a-hjkmnp-tv-z]{16}$" }),
    "The id of the sink",
    "snk_wyvsfbx2x89mpyyv",
  ),
});
const NO_JOB = {
  description: "The project has no such job, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};
const NO_SINK = {
  description: "The job has no such sink",
  schema: Type.Object({ detail: Type.String() }),
};
const notFound = (): Answer => json(404, { detail: "sink not found" });

const RESULTS = {
  to: "url",
  summary: "Items of a job have ended",
  description:
    "Tried eight times within 24 hours, until the receiver answers 2xx. Parts are delivered one after the other; each item of the job is in one " +
    "part, in the order of their numbers within it. After the last one comes `job.results.complete`, without items.",
  schema: JobResultsEvent,
  headers: SIGNATURE_FIELDS,
} as const;

const BODY_EXAMPLE = { type: "webhook", url: "https://client.example/results", rows_per_part: 500 };

const common = { tags: ["jobs"] } as const;

export function sinkRoutes(deps: RoutesDeps): readonly Route[] {
  const { documents, secrets, ask, jobs, networksOf } = deps;

  const list = async (job_id: string): Promise<readonly StoredSink[]> =>
    (await SINKS.list(documents, { tag: job_id, limit: MAX_SINKS + 1 }))
      .map(({ value }) => value)
      .toSorted((a, b) => a.made_ms - b.made_ms);

  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/jobs/{job_id}/sinks",
      operationId: "createJobSink",
      summary: "Push the results of a job to a bucket or a webhook",
      description:
        "Items are delivered in parts as they end, those that have ended already first; a part is a whole file. Objects are under " +
        "`<prefix>/<job_id>/<sink_id>/`, with a `manifest.json` that names each part with its rows, bytes and SHA-256. No item is missing and none is " +
        "twice, also after a crash: the same part is written again under the same name. A bucket is tried at once, by writing the manifest without parts. " +
        `A part is tried eight times within 24 hours; then the sink has failed, and the job goes on. At most ${MAX_SINKS} sinks a job.`,
      params: JobParams,
      body: SinkBody,
      body_example: BODY_EXAMPLE,
      callbacks: { jobResults: RESULTS },
      replies: {
        201: { description: "The sink, with the secret of a webhook", schema: Sink },
        404: NO_JOB,
      },
      handle: async ({ params, body, caller }) => {
        const job_id = params.job_id.toLowerCase();
        if (!(await jobs.find(job_id, caller))) return JOB_NOT_FOUND;
        const networks = (await networksOf?.(caller.grant.project.name))?.networks;
        const made = makeSink(deps, body, job_id, caller, networks);
        if (made.kind === "wrong") return invalid(made.mistakes);
        if ((await list(job_id)).length >= MAX_SINKS)
          return invalid([{ loc: ["body"], msg: `At most ${MAX_SINKS} sinks a job`, type: "too_long" }]);
        let { sink } = made;
        if (sink.target.type === "s3") {
          const manifest = Buffer.from(JSON.stringify(manifestOf(sink, "running")));
          const { status } = await putInto(deps, sink, "manifest.json", manifest, "application/json");
          if (!status.startsWith("delivered_"))
            return invalid([
              { loc: ["body", "url"], msg: `The bucket cannot be written: ${status}`, type: "sink_refused" },
            ]);
          sink = { ...sink, manifest: { parts: 0, state: "running" }, last_status: status };
        }
        await SINKS.put(documents, sink.id, sink, 0, sinkOptions(sink));
        await ask(JobSink, sink.id, "deliver", null);
        return json(201, sinkView(secrets, sink, made.secret));
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/jobs/{job_id}/sinks",
      operationId: "listJobSinks",
      summary: "The sinks of a job and how far they are",
      params: JobParams,
      replies: {
        200: {
          description: "Oldest first, without secrets",
          schema: Type.Object({ sinks: Field(Type.Array(Sink), "The sinks, without secrets") }),
        },
        404: NO_JOB,
      },
      handle: async ({ params, caller }) => {
        const job_id = params.job_id.toLowerCase();
        if (!(await jobs.find(job_id, caller))) return JOB_NOT_FOUND;
        const sinks = await list(job_id);
        return json(200, { sinks: sinks.map((sink) => sinkView(secrets, sink, null)) });
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/jobs/{job_id}/sinks/{sink_id}",
      operationId: "deleteJobSink",
      summary: "End a sink",
      description: "What was delivered stays where it is; a part that is under way may still arrive.",
      params: Params,
      replies: { 204: { description: "It is gone" }, 404: NO_SINK },
      handle: async ({ params, caller }) => {
        const job_id = params.job_id.toLowerCase();
        const sink = (await jobs.find(job_id, caller)) && (await SINKS.get(documents, params.sink_id));
        if (sink?.job_id !== job_id) return notFound();
        await SINKS.update(documents, sink.id, () => "remove");
        return { status: 204, headers: {}, body: Buffer.alloc(0) };
      },
    }),
  ];
}
