/** The changes of a customer's keys over HTTP and the keys that asked for them: written after each change, kept for 400 days. The command line's changes are not in it. */
import { randomBytes } from "node:crypto";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { isUsable, type Key, type KeyEvent } from "../../../schemas/accounts.ts";
import { LEDGER_RETENTION_MS } from "../../../schemas/ledger.ts";
import { iso } from "../../lib/iso.ts";
import { KEY_EVENTS } from "./collections.ts";
import { listKeys, projectsOf } from "./keys.ts";

/** Throws Fault. */
export async function recordKeyEvent(
  documents: Documents,
  customer: string,
  event: Omit<KeyEvent, "at">,
  now_ms: number,
): Promise<void> {
  const at = iso(now_ms);
  const id = `${at} ${event.key} ${randomBytes(4).toString("hex")}`;
  const options = { tag: customer, expires_at_ms: now_ms + LEDGER_RETENTION_MS };
  await KEY_EVENTS.put(documents, id, { at, ...event }, 0, options);
}

/** Newest first. Throws Fault. */
export const keyEventsOf = async (
  documents: Documents,
  customer: string,
  limit: number,
): Promise<readonly KeyEvent[]> =>
  (await KEY_EVENTS.list(documents, { tag: customer, limit, reverse: true })).map(({ value }) => value);

/** Whether no other account admin key of the customer works. Two admins that revoke each other at once are not noticed. */
export async function isLastAdmin(
  documents: Documents,
  customer: string,
  key: Key,
  now_ms: number,
): Promise<boolean> {
  if (key.role !== "account_admin" || !isUsable(key, now_ms)) return false;
  const projects = await projectsOf(documents, customer);
  const keys = (await Promise.all(projects.map(({ name }) => listKeys(documents, name)))).flat();
  return !keys.some(
    (other) => other.role === "account_admin" && other.prefix !== key.prefix && isUsable(other, now_ms),
  );
}
