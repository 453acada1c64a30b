/** How old a source's data may become before it is fetched again, by class. */
import type { FreshnessClass } from "./source.ts";

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

export const MAX_AGE_S: Readonly<Record<FreshnessClass, number>> = {
  registry_core: 24 * HOUR_S,
  registry_people: 7 * DAY_S,
  lei_core: 24 * HOUR_S,
  lei_relationships: 7 * DAY_S,
  filer_core: 12 * HOUR_S,
  filings: 12 * HOUR_S,
  ownership: 7 * DAY_S,
  financials: 30 * DAY_S,
  securities: 7 * DAY_S,
  profile: 24 * HOUR_S,
  web: 30 * DAY_S,
};

/** A source's "not found" is believed for the class's time, at most this long. */
export const MAX_NOT_FOUND_S = DAY_S;

/** A claim that is not confirmed for this many times its class's age loses to a fresh one. */
export const STALE_FACTOR = 4;
