/** Values of company/v1 that several sources make: dates, addresses, parties, legal forms. Pure. */
import type { Json } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { legalFormCategory, splitLegalForms } from "../names/legal-forms.ts";
import { COUNTRIES } from "../schemes/countries.ts";

/** The date of `2011-07-25`, `2011-07-25T10:00:00Z`, `2011-07` or `2011`; null: not a date. */
export function dateOf(text: string | null | undefined): string | null {
  const parts = /^([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?)?(?:T|$)/.exec(text ?? "");
  return parts === null ? null : parts[0].replace("T", "");
}

/** `27.11.1947` */
export function dayFirstDateOf(text: string | null | undefined): string | null {
  const parts = /^([0-9]{2})\.([0-9]{2})\.([0-9]{4})/.exec(text ?? "");
  return parts === null ? null : dateOf(`${parts[3]}-${parts[2]}-${parts[1]}`);
}

/** `99 910 510,00` and `99910510.00` as decimal text. */
export function decimalOf(amount: string | number | null | undefined): string | null {
  const text = String(amount ?? "")
    .replaceAll(/[\s']/g, "")
    .replace(",", ".");
  return /^-?[0-9]+(?:\.[0-9]+)?$/.test(text) ? text : null;
}

export const countryOf = (code: string | null | undefined): string | null =>
  code !== null && code !== undefined && COUNTRIES.has(code.toUpperCase()) ? code.toUpperCase() : null;

interface AddressParts {
  readonly type: "registered" | "headquarters" | "business" | "mailing" | "alternative";
  readonly care_of?: string | null | undefined;
  readonly lines: readonly (string | null | undefined)[];
  readonly street?: string | null | undefined;
  readonly house_number?: string | null | undefined;
  readonly po_box?: string | null | undefined;
  readonly postal_code?: string | null | undefined;
  readonly city?: string | null | undefined;
  /** ISO 3166-2. */
  readonly region?: string | null | undefined;
  readonly country: string | null;
  readonly language?: string | null | undefined;
  readonly geo?: { readonly lat: number; readonly lon: number } | null;
}

const isText = (text: string | null | undefined): text is string =>
  text !== null && text !== undefined && text.trim() !== "";

/** An address of company/v1; null when the source has nothing but the country. */
export function addressOf(parts: AddressParts): Json | null {
  const lines = parts.lines.filter(isText).map((line) => line.trim());
  const place = [parts.postal_code, parts.city].filter(isText).join(" ");
  if (lines.length === 0 && place === "") return null;
  const optional = {
    ...parts,
    lines,
    region: /^[A-Z]{2}-[A-Z0-9]{1,3}$/.test(parts.region ?? "") ? parts.region : null,
  };
  const fields = Object.entries(optional).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return {
    ...(Object.fromEntries(fields) as Record<string, Json>),
    country: parts.country,
    formatted: [...lines, place, parts.country].filter(isText).join(", "),
    current: true,
  };
}

interface PartyParts {
  readonly name?: string | null | undefined;
  /** scheme:value */
  readonly ref?: string | null;
  readonly country?: string | null;
}

/** A company on the other side of a relationship. */
export const entityParty = ({ name, ref, country }: PartyParts): Json => ({
  kind: "entity",
  name: name ?? null,
  ref: ref ?? null,
  country: country ?? null,
});

/** The category of the legal form that the name itself shows; null: it shows none. */
export function categoryOfName(name: string, country: string | null): string | null {
  for (const form of splitLegalForms(foldName(name)).forms) {
    const category = legalFormCategory(form, country);
    if (category !== null) return category;
  }
  return null;
}
