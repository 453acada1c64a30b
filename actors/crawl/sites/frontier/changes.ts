/**
 * Changes of addresses since their rows were written: a plain link to one that had only `nofollow` links, the place where a
 * page led by a redirect. Changes wait in the record until the chunks of their rows are written; readers apply them.
 */
import type { AddressRow } from "../../../../schemas/crawl.ts";
import type { FrontierRecord, RowChange } from "./record.ts";

export function changed({ reason, ...row }: AddressRow, change: RowChange | undefined): AddressRow {
  if (change === undefined) return reason === undefined ? row : { ...row, reason };
  const { reason: since = reason ?? null, ...fields } = change;
  return { ...row, ...fields, ...(since !== null && { reason: since }) };
}

/** Rows as they are now; `first`: the ordinal of the first. */
export function current(
  { changes }: Pick<FrontierRecord, "changes">,
  rows: readonly AddressRow[],
  first: number,
): readonly AddressRow[] {
  return changes === undefined ? rows : rows.map((row, at) => changed(row, changes[first + at]));
}

/** The record with this change; the same record when it says so already. */
export function withChange(record: FrontierRecord, ordinal: number, change: RowChange): FrontierRecord {
  const before = record.changes?.[ordinal];
  const isKnown = (Object.keys(change) as (keyof RowChange)[]).every(
    (name) => before?.[name] === change[name],
  );
  if (before !== undefined && isKnown) return record;
  return { ...record, changes: { ...record.changes, [ordinal]: { ...before, ...change } } };
}

/** The record when the chunks of the rows before `end` are written with the changes that `written` has. */
export function withoutChanges(
  record: FrontierRecord,
  written: Pick<FrontierRecord, "changes">,
  end: number,
): FrontierRecord {
  const left = Object.entries(record.changes ?? {}).filter(
    ([ordinal, change]) => Number(ordinal) >= end || written.changes?.[Number(ordinal)] !== change,
  );
  const { changes: _, ...rest } = record;
  return left.length === 0 ? rest : { ...rest, changes: Object.fromEntries(left) };
}
