/** Whether the secrets that steps name are those of their sessions, before a fetch or a job is accepted. */
import { secretNames } from "../../../schemas/actions.ts";
import type { OwnOptions } from "../../../schemas/own-request.ts";
import type { OwnMistake } from "../../lib/web/own-request-check.ts";
import type { Sessions } from "./sessions.ts";

/**
 * For the fetches of one request: each session is read once. Null: nothing is wrong, or the session is not there, of which the fetch
 * itself tells. Throws Fault.
 */
export function secretCheck(
  sessions: Pick<Sessions, "get"> | undefined,
  project: string,
): (options: OwnOptions) => Promise<OwnMistake | null> | null {
  const read = new Map<string, ReturnType<Sessions["get"]>>();
  return ({ session_id, actions }) => {
    const names = secretNames(actions ?? []);
    if (names.length === 0 || session_id == null || !sessions) return null;
    const session = read.get(session_id) ?? sessions.get(project, session_id);
    read.set(session_id, session);
    return check(names, session);
  };
}

async function check(
  names: readonly string[],
  reading: ReturnType<Sessions["get"]>,
): Promise<OwnMistake | null> {
  const session = await reading;
  const there = new Set(session?.secret_names?.map(({ name }) => name));
  const missing = session && names.find((name) => !there.has(name));
  return missing == null
    ? null
    : { field: "actions", message: `Value error, the session has no secret ${JSON.stringify(missing)}` };
}
