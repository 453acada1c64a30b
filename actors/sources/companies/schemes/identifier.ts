/**
 * Identifiers and references as callers and sources write them: `lei:5493 001K JTII GC8Y 1R12`, `CHE-101.602.521`. The
 * value is brought into the canonical form of its scheme, matched with the scheme's pattern, and its check digits are
 * checked. Pure.
 */
import {
  ALL_SCHEMES,
  type IdentifierScheme,
  type SchemeName,
} from "../../../../schemas/identifier-schemes.ts";
import { canonicalForm, displayForm } from "./canonical.ts";
import { checkDigitsHold } from "./check-digits.ts";

export interface ParsedIdentifier {
  readonly scheme: SchemeName;
  /** The canonical form. */
  readonly value: string;
  /** As people write it. */
  readonly display: string;
  /** The check digits hold; null: the scheme has none. */
  readonly valid: boolean | null;
}

export type IdentifierResult =
  | { readonly kind: "identifier"; readonly identifier: ParsedIdentifier }
  | { readonly kind: "unknown_scheme" | "malformed"; readonly message: string };

const MAX_CHARS = 200;
const SCHEMES: ReadonlyMap<string, IdentifierScheme & { readonly scheme: SchemeName }> = new Map(
  ALL_SCHEMES.map((scheme) => [scheme.scheme, scheme] as const),
);
const PATTERNS: ReadonlyMap<string, RegExp> = new Map(
  ALL_SCHEMES.map(({ scheme, pattern }) => [scheme, new RegExp(pattern)] as const),
);

/** Numbers that registers give out beside the published pattern: British registered societies end with `R` or `RS`. */
const BESIDE_PATTERN: ReadonlyMap<string, RegExp> = new Map([
  ["gb_coh", /^[A-Z]{2}(?:[0-9]{5}R|[0-9]{4}RS)$/],
]);

export const isScheme = (name: string): boolean => SCHEMES.has(name);

/** A VAT number of a state that has a scheme of its own belongs to that scheme. */
const NATIONAL_VAT: Readonly<Record<string, SchemeName>> = {
  AT: "at_vat",
  DE: "de_vat",
  FR: "fr_vat",
  IT: "it_piva",
};

/** A number with wrong check digits is an identifier too, with `valid: false`: a source may have sent it. */
export function parseIdentifier(scheme_name: string, written: string): IdentifierResult {
  const scheme = SCHEMES.get(scheme_name);
  if (scheme === undefined)
    return { kind: "unknown_scheme", message: `"${scheme_name.slice(0, 40)}" is no identifier scheme` };
  const value = written.length > MAX_CHARS ? "" : canonicalForm(scheme.scheme, written);
  if (!PATTERNS.get(scheme.scheme)!.test(value) && !BESIDE_PATTERN.get(scheme.scheme)?.test(value)) {
    const quoted = written.length > 60 ? `${written.slice(0, 60)}…` : written;
    return {
      kind: "malformed",
      message: `"${quoted}" is no ${scheme.name}: ${scheme.scheme} looks like ${scheme.example}`,
    };
  }
  const national = scheme.scheme === "eu_vat" ? NATIONAL_VAT[value.slice(0, 2)] : undefined;
  if (national !== undefined) return parseIdentifier(national, value);
  return {
    kind: "identifier",
    identifier: {
      scheme: scheme.scheme,
      value,
      display: displayForm(scheme.scheme, value),
      valid: checkDigitsHold(scheme.scheme, value),
    },
  };
}

export type ReferenceResult =
  | { readonly kind: "company_id"; readonly id: string }
  | { readonly kind: "identifier"; readonly identifier: ParsedIdentifier }
  | { readonly kind: "invalid"; readonly message: string };

/**
 * A company reference of a request: a `cmp_` id, or `scheme:value`. The scheme ends at the first colon
 * (`ticker:XNAS:TSLA` has two). Wrong check digits are refused here.
 */
export function parseReference(reference: string): ReferenceResult {
  if (/^cmp_[0-9a-z]{16}$/.test(reference)) return { kind: "company_id", id: reference };
  const colon = reference.indexOf(":");
  if (colon < 0)
    return {
      kind: "invalid",
      message: `"${reference.slice(0, 60)}" is neither a cmp_ id nor scheme:value, for example lei:5493001KJTIIGC8Y1R12`,
    };
  const result = parseIdentifier(reference.slice(0, colon).trim().toLowerCase(), reference.slice(colon + 1));
  if (result.kind !== "identifier") return { kind: "invalid", message: result.message };
  const { identifier } = result;
  return identifier.valid === false
    ? { kind: "invalid", message: `The check digits of ${identifier.scheme} "${identifier.value}" are wrong` }
    : { kind: "identifier", identifier };
}
