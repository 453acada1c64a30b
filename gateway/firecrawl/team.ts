/** Allowances of a key, in credits (one for each page that is fetched) and in work at once. */
import { withQuery } from "../mcp/api.ts";
import { contentOf, type TheirCall } from "./operation.ts";

/** Credits of a key without a quota: their clients want a number. */
const UNLIMITED = 1_000_000_000;
const MAX_JOBS = 100;

async function quotaOf({ ask }: TheirCall): Promise<any> {
  const quota = await contentOf(ask, { method: "GET", path: "/v1/quota" });
  const own = quota.keys.find(({ prefix }: { prefix: string }) => prefix === quota.key);
  return { ...quota, own };
}

export async function creditUsage(call: TheirCall): Promise<object> {
  const { own, period, resets_at } = await quotaOf(call);
  const { limit = null, remaining = null } = own?.requests.fetch ?? {};
  return {
    success: true,
    data: {
      remainingCredits: remaining ?? UNLIMITED,
      ...(limit !== null && { planCredits: limit }),
      billingPeriodStart: `${period}-01T00:00:00.000Z`,
      billingPeriodEnd: resets_at,
    },
  };
}

/** The items of the caller's jobs that go on. */
async function workOf({ ask }: TheirCall): Promise<{ readonly active: number; readonly waiting: number }> {
  const pages = await Promise.all(
    ["queued", "running"].map((status) =>
      contentOf(ask, { method: "GET", path: withQuery("/v1/jobs", { status, limit: MAX_JOBS }) }),
    ),
  );
  const counts: { queued: number; pending: number }[] = pages.flatMap(({ items }) =>
    items.map((job: any) => job.counts),
  );
  return {
    active: counts.reduce((sum, { queued }) => sum + queued, 0),
    waiting: counts.reduce((sum, { pending }) => sum + pending, 0),
  };
}

/** The requests per second of the key or its project: this service limits those, and not the work at once. */
const limitOf = ({ own, project }: any): number => own?.rate_limit_rps ?? project.rate_limit_rps;

export async function concurrency(call: TheirCall): Promise<object> {
  const [quota, { active }] = await Promise.all([quotaOf(call), workOf(call)]);
  return { success: true, concurrency: active, maxConcurrency: limitOf(quota) };
}

export async function queueStatus(call: TheirCall): Promise<object> {
  const [quota, { active, waiting }] = await Promise.all([quotaOf(call), workOf(call)]);
  return {
    success: true,
    jobsInQueue: active + waiting,
    activeJobsInQueue: active,
    waitingJobsInQueue: waiting,
    maxConcurrency: limitOf(quota),
    mostRecentSuccess: null,
  };
}
