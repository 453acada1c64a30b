/** Jobs of one item that the service runs by itself, for the monitors of a project. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { type BatchKind, withoutDefaults } from "../../../../gateway/batch.ts";
import { createJob, storeItems } from "../../../../gateway/create-job.ts";
import { decodeStates } from "../../../../schemas/job-states.ts";
import type { JobKind } from "../../../../schemas/jobs.ts";
import type { FindPayer } from "../../../business/accounts/payer.ts";
import { JOBS } from "../collections.ts";
import { jobReader, type JobReaderDeps } from "./job-reader.ts";
import type { VisitJobs } from "./tokens.ts";

interface VisitDeps extends JobReaderDeps, Pick<Node, "ask" | "random"> {
  readonly secrets: Pick<Secrets, "seal" | "open">;
  readonly findPayer: FindPayer;
}

/** A visit's job has one item. */
const ITEM = 0;

export function visitJobs(deps: VisitDeps): VisitJobs {
  const { documents, clock, findPayer } = deps;
  const reader = jobReader(deps);
  const byName = new Map<JobKind, BatchKind>(deps.kinds.map((kind) => [kind.name, kind]));

  return {
    async admit(name, item, caller) {
      const kind = byName.get(name)!;
      const mistake = kind.check?.(item, {}) ?? (await kind.checkStored?.(caller)(item));
      if (mistake) {
        const { field, message: msg, type = "value_error" } = mistake;
        return { kind: "wrong", mistakes: [{ loc: ["body", field], msg, type }] };
      }
      const refusal = kind.authorize?.(item, caller) ?? null;
      if (refusal) return { kind: "refused", refusal };
      return { kind: "admitted", input: kind.normalize?.(item, caller) ?? withoutDefaults(kind.item, item) };
    },

    async start({ monitor_id, number, kind, project, key, input }) {
      const payer = await findPayer(project, key);
      if (payer?.key?.status !== "active") return null;
      const created = await createJob(deps, {
        kind,
        category: byName.get(kind)!.category ?? null,
        payer: { customer: payer.customer.name, project, key_prefix: key },
        idempotency_key: String(number),
        callback_url: null,
        now_ms: clock.now(),
        total: 1,
        store: (job_id) => storeItems(deps, job_id, 1, () => input),
        monitor_id,
      });
      // Another visit of the same number would have the same kind and length.
      if (created.kind !== "job")
        throw new Error(`Cannot visit for monitor "${monitor_id}": ${created.kind}`);
      return { job_id: created.job_id };
    },

    async outcome(job_id) {
      const job = await JOBS.get(documents, job_id);
      if (job === null) return "gone";
      if (job.finished_ms === null) return null;
      const states = decodeStates(job.states, job.spec.total);
      const { signal } = new AbortController();
      // The cost is in the ledger; the monitor does not ask for it.
      const isExternal = true;
      for await (const [item] of reader.items(job, job_id, isExternal, states, [ITEM], signal))
        return { error: item!.error, result: item!.result };
      return "gone";
    },
  };
}
