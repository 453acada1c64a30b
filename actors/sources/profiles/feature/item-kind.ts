/** Profile operations as items of a batch job: how a worker runs one, how the gateway takes and shows it. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { canRetryProfiles } from "../../../../schemas/errors.ts";
import type { RetryAdvice } from "../../../../schemas/jobs.ts";
import type { ProfilesItem } from "../../../../schemas/profiles.ts";
import { CALL_MS } from "../limits.ts";
import type { ProfilesCall, ProfilesService } from "../service.ts";
import { billOf, opOf } from "./routes.ts";

export const profilesItems = (
  {
    service,
    bodyGrants,
    clock,
  }: Pick<Node, "clock"> & {
    readonly service: ProfilesService;
    readonly bodyGrants: BodyGrants;
  },
  gateway: BatchKind,
): ItemKindParts => ({
  worker: {
    name: "profiles",
    // All items share one lane, because they are for one site: a few items of a job wait for its slots at a time.
    lane: () => "profiles",
    async run(ask, input, { attempt_id, project, key }) {
      const deadline_ms = clock.now() + CALL_MS;
      const caller = { project, key, lane: "batch", deadline_ms, id: attempt_id } as const;
      // The item was checked when its job was created.
      const result = await service(ask, callOf(input as ProfilesItem), caller);
      for (const body of result.bodies) await bodyGrants.record(project, body);
      const { answer } = result;
      return { answer, error: answer.error, bill: billOf(result), body_refs: [], retry: retryOf(answer) };
    },
  },
  gateway,
  route: {
    path: "/v1/batch/profiles",
    operationId: "batchProfiles",
    summary: "Run many profile operations as a job",
    tag: "profiles",
  },
});

function callOf(item: ProfilesItem): ProfilesCall {
  const { op: _op, query, entity_id, company_name, ...fields } = item;
  switch (opOf(item)) {
    case "suggest":
      return { op: "suggest", fields: { ...fields, query: query! } };
    case "discover":
      return { op: "discover", fields: { ...fields, company_name: company_name! } };
    case "profile":
      return { op: "profile", fields: { ...fields, company_name: company_name ?? null } };
    case "graph":
      return { op: "graph", fields: { ...fields, entity_id: entity_id! } };
  }
}

/** A site that has no slot says nothing of the item; a failure of its own counts as an attempt. */
function retryOf({
  error,
  retry_after_s,
}: {
  readonly error: string | null;
  readonly retry_after_s: number | null;
}): RetryAdvice | null {
  if (error === "politeness_timeout") return { reason: "busy", retry_after_s };
  return error !== null && canRetryProfiles(error) ? { reason: "transient", retry_after_s } : null;
}
