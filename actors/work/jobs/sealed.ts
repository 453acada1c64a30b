/** Sealed parts of a stored job: the address of its callback, and inputs that hold a login. */
import { reminderTag } from "../../../cluster/reminders.ts";
import type { SealedCollection } from "../../../cluster/ports/secrets.ts";
import { holdsLogin } from "../../../schemas/job-inputs.ts";
import { callbackPlace, type Chunk, Job, type JobRecord } from "../../../schemas/jobs.ts";

/** The actor of a job that is awake finds another version and begins again from it. */
export const sealedJobs: SealedCollection = {
  rewrite({ key, value }, reseal) {
    const record = value as JobRecord | null;
    const stored = record?.spec.callback_url ?? null;
    const callback_url = stored && reseal(stored, callbackPlace(key));
    return {
      value: record && { ...record, spec: { ...record.spec, callback_url } },
      options: record === null ? {} : { tag: reminderTag(Job, key) },
    };
  },
};

/** An input that is given up is empty: its item fails. */
export const sealedInputs: SealedCollection = {
  rewrite({ key, value }, reseal) {
    const chunk = value as Chunk;
    const items = chunk.items.map((input, at) => {
      if (!holdsLogin(input)) return input;
      const stored = typeof input["sealed"] === "string" ? input["sealed"] : JSON.stringify(input);
      const sealed = reseal(stored, { collection: "job_items", key, field: String(at) });
      return sealed === null ? {} : { sealed };
    });
    return { value: { ...chunk, items }, options: {} };
  },
};
