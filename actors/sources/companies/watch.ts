/**
 * Watches and their deliveries: the records, and which delivery comes next. Pure. Deliveries about one company go out one after
 * the other; when one is tried again says actors/work/callbacks/delivery-schedule.ts.
 */
import type { ScheduledDelivery } from "../../work/callbacks/delivery-schedule.ts";
import type { SealedCollection, SecretPlace } from "../../../cluster/ports/secrets.ts";
import type { StoredChange } from "./feed/changes.ts";
import { collection } from "../../../cluster/collection.ts";

export interface StoredWatch {
  readonly id: string;
  readonly project: string;
  /** Sealed, like `secret`. */
  readonly url: string;
  readonly companies: readonly string[];
  readonly secret: string;
  readonly created_ms: number;
  readonly last_delivery_ms: number | null;
  readonly last_status: string | null;
  /** The receiver answered 410: nothing is delivered any more. */
  readonly is_off: boolean;
}

/** By id, tagged with the project. */
export const COMPANY_WATCHES = collection<StoredWatch>("company_watches");
/** By `<company> <watch>`: the company's version when the watch was made; null: every change is delivered. */
export const WATCHED_COMPANIES = collection<{ readonly since_version: number } | null>("company_watched");

/** Where the address or the secret of a watch is sealed for. */
export const watchPlace = (id: string, field: "url" | "secret"): SecretPlace => ({
  collection: COMPANY_WATCHES.name,
  key: id,
  field,
});

export const sealedWatches: SealedCollection = {
  rewrite({ value }, reseal) {
    const watch = value as StoredWatch;
    const url = reseal(watch.url, watchPlace(watch.id, "url"));
    const secret = reseal(watch.secret, watchPlace(watch.id, "secret"));
    return url === null || secret === null
      ? null
      : { value: { ...watch, url, secret }, options: { tag: watch.project } };
  },
};

export interface StoredDelivery extends ScheduledDelivery {
  readonly watch_id: string;
  readonly seq: number;
  /** The watched company: after a merge the one that the watch was made for, too, leads to its survivor. */
  readonly company_id: string;
  readonly fields: readonly string[];
}

/** By `<watch> <number of the change>`. */
export const COMPANY_DELIVERIES = collection<StoredDelivery>("company_deliveries", { expires: true });

export const watchedKey = (company_id: string, watch_id: string): string => `${company_id} ${watch_id}`;
export const deliveryKey = (watch_id: string, seq: number): string =>
  `${watch_id} ${String(seq).padStart(15, "0")}`;
/** All keys that begin with this id and a blank. */
export const rangeOf = (id: string): { readonly from: string; readonly to: string } => ({
  from: `${id} `,
  to: `${id}!`,
});

export const newDelivery = (
  change: StoredChange,
  watch_id: string,
  company_id: string,
  now_ms: number,
): StoredDelivery => ({
  watch_id,
  seq: change.seq,
  company_id,
  fields: change.fields,
  created_ms: now_ms,
  attempts: 0,
  next_ms: now_ms,
});

/** The oldest delivery of each company: the others wait for it. */
export function firstOfEach(deliveries: readonly StoredDelivery[]): readonly StoredDelivery[] {
  const seen = new Set<string>();
  return deliveries.filter(({ company_id }) => !seen.has(company_id) && seen.add(company_id));
}
