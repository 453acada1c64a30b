/** Shapes that several resources share. */
import { type TSchema, Type } from "typebox";

/** A field that may be null. */
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

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
export const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
