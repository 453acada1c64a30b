/** Shapes that several resources share. */
import { type TSchema, Type } from "typebox";

/** A field that may be null. */
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A text that fits a pattern. `expected` is the message of the 422 for one that does not: "Input should be …". */
export const Patterned = (
  pattern: string,
  expected: string,
  options: { readonly maxLength?: number; readonly description?: string } = {},
) => Type.String({ ...options, pattern, "x-expected": expected });

/** ISO 8601 in UTC, as `2026-11-22T10:30:00.000Z`. */
export const Timestamp = Type.String({ format: "date-time" });

/** ISO 3166-1 alpha-2, in either case. */
export const CountryCode = Patterned(
  "^[A-Za-z]{2}$",
  "Input should be a two-character country code (ISO 3166-1), such as de",
);

/** How an answered request is billed. */
export const BILLING_CATEGORIES = [
  "search",
  "search_fallback",
  "search_cached",
  "fetch_own",
  "fetch_paid",
  "fetch_cached",
  "company",
  "company_cached",
  "filings",
  "filings_cached",
  "profiles",
  "profiles_cached",
] as const;

export const BillingCategory = Type.Enum([...BILLING_CATEGORIES]);

/** Lower-case hexadecimal SHA-256. */
export const Sha256 = Patterned(
  "^[0-9a-f]{64}$",
  "Input should be a SHA-256 of 64 hexadecimal digits in lower case",
);
