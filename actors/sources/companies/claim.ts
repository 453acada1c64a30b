/**
 * Claims: statements of a source about a company. A claim is one value of one field, with the raw document that it was read
 * from. The register stores claims and never overwrites one; the record is resolved from them (resolution.ts). This file
 * has the fields that a claim may name, and nothing about storing.
 */

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/** A value that is text, or an empty text. */
export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/**
 * How a field's claims become a value of the record.
 * `single`: one value; the claims of all sources compete, and their key is null.
 * `keyed`: one value for each key; claims with the same key compete, claims with different keys stand side by side.
 */
type Cardinality = "single" | "keyed";

interface FieldRule {
  readonly cardinality: Cardinality;
  /** The parts that the key is made of. Null: `single` has none. */
  readonly key: string | null;
  /** Two sources that differ are listed in `quality.conflicts`. */
  readonly is_contested: boolean;
}

const single = (is_contested: boolean): FieldRule => ({ cardinality: "single", key: null, is_contested });
const keyed = (key: string, is_contested = false): FieldRule => ({ cardinality: "keyed", key, is_contested });

/** Every field path a claim may have. The shapes of the values are those of schemas/companies.ts (company/v1). */
export const FIELDS = {
  "names.legal": single(true),
  "names.transliterated": single(false),
  "names.trading": keyed("folded name"),
  "names.translations": keyed("folded name"),
  "names.former": keyed("folded name"),
  "names.other": keyed("folded name"),
  identifiers: keyed("scheme:value"),
  legal_form: single(true),
  status: single(true),
  jurisdiction: single(true),
  addresses: keyed("type; a second one of a type: type:2", true),
  "dates.incorporation": single(true),
  "dates.registration": single(true),
  "dates.deregistration": single(true),
  purpose: keyed("language, BCP 47; und if unknown"),
  activities: keyed("scheme:code"),
  capital: keyed("type:currency", true),
  "size.employees": single(false),
  "size.revenue": single(false),
  "size.balance_total": single(false),
  "size.category": single(false),
  "size.filer_category": single(false),
  people: keyed("folded name|role group|appointed_on"),
  "ownership.interested_parties": keyed("scheme:value of the party, else its folded name"),
  "ownership.direct_parent": single(true),
  "ownership.ultimate_parent": single(true),
  "ownership.exceptions": keyed("category"),
  relationships: keyed("type|direction|scheme:value of the party, else its folded name"),
  filings: keyed("id"),
  financials: keyed("kind|period_end|consolidated"),
  events: keyed("id"),
  securities: keyed("isin, else ticker:mic:ticker"),
  "web.homepage": single(false),
  "web.domains": keyed("domain"),
  "web.emails": keyed("address"),
  "web.phones": keyed("number"),
  "web.profiles": keyed("url"),
} as const satisfies Readonly<Record<string, FieldRule>>;
export type FieldPath = keyof typeof FIELDS;

/** A claim of one source about one field, before it is stored. */
export interface SourceClaim {
  readonly field: FieldPath;
  /** Which item of a keyed field; null for a single field. Stable from one observation to the next. */
  readonly key: string | null;
  /** In the canonical form and shape of company/v1. `claim` ids inside a value are filled in by the register. */
  readonly value: Json;
  /** As the source wrote it; absent when it is the same as `value`. */
  readonly raw_value?: Json;
  /** BCP 47. */
  readonly language?: string | null;
  /** SHA-256 of the exact bytes of the document with the value, one of the answer's documents. */
  readonly raw_sha256: string;
  /** When the value began to hold, if the source has it: YYYY, YYYY-MM or YYYY-MM-DD. */
  readonly effective_from?: string | null;
  /** Set: the claim is stored and never chosen, for example `check_digit`. */
  readonly rejected_because?: string;
}
