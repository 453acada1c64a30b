/**
 * The most that the items of a job may cost together. What an attempt can cost at most is reserved in the job's record before the
 * attempt is made, and stays reserved until the item's bill is metered in the same write: metered + reserved never passes the
 * limit, however many items run side by side and whenever the node dies. What an attempt did not cost is free again when its
 * item ends. Pure.
 */
import type { JobRecord } from "../../../schemas/jobs.ts";

interface CostReservation {
  /** `<job id>:<index>.…` */
  readonly id: string;
  readonly micros: number;
}

/** The job's cost so far, and what it may cost by its reservations. */
export const committedMicros = ({ metered, held_micros = {} }: JobRecord): number =>
  Object.values(held_micros).reduce((sum, micros) => sum + micros, metered.cost_micros);

/** A finished job reserves nothing: the attempt is one of an item that has ended. */
export function reserveCost(
  record: JobRecord,
  { id, micros }: CostReservation,
): { readonly record: JobRecord; readonly is_reserved: boolean } {
  const { spec, held_micros = {}, finished_ms } = record;
  const limit = spec.max_cost_micros;
  if (limit === undefined) return { record, is_reserved: true };
  const key = id.slice(id.indexOf(":") + 1);
  if (key in held_micros) return { record, is_reserved: true };
  if (finished_ms !== null) return { record, is_reserved: false };
  if (committedMicros(record) + micros > limit) {
    const told = record.max_cost_reached === true ? record : { ...record, max_cost_reached: true };
    return { record: told, is_reserved: false };
  }
  return { record: { ...record, held_micros: { ...held_micros, [key]: micros } }, is_reserved: true };
}

/** Reservations that remain when the bills of these items are metered. */
export function heldWithout(
  { held_micros }: JobRecord,
  items: readonly number[],
): Pick<JobRecord, "held_micros"> {
  if (held_micros === undefined) return {};
  const ended = new Set(items);
  const left = Object.entries(held_micros).filter(([key]) => !ended.has(Number.parseInt(key, 10)));
  return { held_micros: Object.fromEntries(left) };
}
