/** Reads the inputs of items as they are stored: some are sealed. */
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import { inputPlace, openedInput } from "../../../schemas/job-inputs.ts";
import type { Input } from "../../../schemas/job-inputs.ts";

/** Throws Fault secret_unreadable. */
export const openInput = (
  { open }: Pick<Secrets, "open">,
  stored: Input,
  job_id: string,
  index: number,
): Input => openedInput(stored, (text) => open(text, inputPlace(job_id, index)));

/** Null: no key of this node opens it. */
export function inputOrNull(...parts: Parameters<typeof openInput>): Input | null {
  try {
    return openInput(...parts);
  } catch (problem) {
    if (problem instanceof Fault) return null;
    throw problem;
  }
}
