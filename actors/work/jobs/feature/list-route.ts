/** GET /v1/jobs: the jobs of the caller's project, newest first. */
import { Type } from "typebox";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { JOB_KINDS, JOB_STATUSES, JobPage, projectJobKey, type JobStatus } from "../../../../schemas/jobs.ts";
import { type JobReader, type JobReaderDeps, statusView } from "./job-reader.ts";
import { PROJECT_JOBS } from "../../../../records/collections.ts";
import { JOBS } from "../collections.ts";

const PAGE_DEFAULT = 100;
const MAX_PAGE = 1_000;
/** Jobs looked at for one page: a filter that fits few of them gives a short page and a cursor. */
const MAX_LOOKED_AT = 1_000;
const READ_AT_ONCE = 100;

export function listRoute(
  { documents, secrets }: JobReaderDeps,
  { isVisible, withWebhooks }: JobReader,
): Route {
  return route({
    method: "GET",
    path: "/v1/jobs",
    operationId: "listJobs",
    summary: "The project's batch jobs, newest first",
    description:
      "Jobs stay listed for 30 days after they have finished. A page may be shorter than `limit`, also empty, while " +
      "`next_cursor` is not null: the filters fit few of the jobs it looked at.",
    tags: ["jobs"],
    query: Type.Object({
      status: Type.Optional(Field(Nullable(Type.Enum([...JOB_STATUSES])), "Only jobs of this status")),
      kind: Type.Optional(Field(Nullable(Type.Enum([...JOB_KINDS])), "Only jobs of this kind")),
      limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: PAGE_DEFAULT }),
      cursor: Type.Optional(
        Nullable(Type.String({ format: "uuid", description: "`next_cursor` of the page before" })),
      ),
    }),
    replies: { 200: { description: "One page of jobs", schema: JobPage } },
    handle: async ({ query: { status, kind, limit, cursor }, caller }) => {
      const project = caller.grant.project.name;
      const from = projectJobKey(project, "");
      let to = cursor == null ? `${project};` : projectJobKey(project, cursor.toLowerCase());
      const items: JobStatus[] = [];
      let next_cursor: string | null = null;
      // An item more than the page has shows that there is a next page.
      for (let looked_at = 0; items.length <= limit; looked_at += READ_AT_ONCE) {
        if (looked_at >= MAX_LOOKED_AT) {
          next_cursor = to.slice(from.length);
          break;
        }
        const entries = await PROJECT_JOBS.list(documents, {
          from,
          to,
          limit: READ_AT_ONCE,
          reverse: true,
        });
        const ids = entries.map(({ key }) => key.slice(from.length));
        const records = ids.length === 0 ? [] : await JOBS.getMany(documents, ids);
        for (const [at, job_id] of ids.entries()) {
          const job = records[at] ?? null;
          to = projectJobKey(project, job_id);
          if (!isVisible(job, caller) || (kind != null && job.spec.kind !== kind)) continue;
          const view = statusView(secrets, job_id, job);
          if (status != null && view.status !== status) continue;
          items.push(view);
          if (items.length > limit) break;
        }
        if (entries.length < READ_AT_ONCE) break;
      }
      if (items.length > limit) {
        items.length = limit;
        next_cursor = items.at(-1)!.job_id;
      }
      return json(200, { items: await withWebhooks(items), next_cursor });
    },
  });
}
