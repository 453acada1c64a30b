/** The entry of the search index from the claims of one company. Pure. */
import { type Json, type SourceClaim, textOf } from "../claim.ts";
import { countryOf } from "../stored-company.ts";
import type { CompanyEntry } from "./entry.ts";
import { identifierReferences } from "./identifier-references.ts";

type Part = { readonly [name: string]: Json };

export function entryOfClaims(id: string, claims: readonly SourceClaim[]): CompanyEntry {
  const valueOf = (field: string): Json | undefined => claims.find((claim) => claim.field === field)?.value;
  const legal = textOf(valueOf("names.legal"));
  const others = claims
    .filter(({ field, key }) => field.startsWith("names.") && key !== null)
    .map(({ value }) => textOf((value as Part)["name"]));
  const transliterated = textOf(valueOf("names.transliterated"));
  const address = claims.find(({ field, key }) => field === "addresses" && key === "registered")?.value as
    | Part
    | undefined;
  const country = countryOf(textOf(valueOf("jurisdiction")) || null) ?? textOf(address?.["country"]);
  const city = textOf(address?.["city"]);
  const legal_form = textOf((valueOf("legal_form") as Part | undefined)?.["category"]);
  const status = textOf(valueOf("status"));
  return {
    id,
    names: [...new Set([legal, transliterated, ...others])].filter((name) => name !== ""),
    ...(country !== "" && { country }),
    ...(city !== "" && { city }),
    ...(legal_form !== "" && { legal_form }),
    identifiers: identifierReferences(claims),
    ...(status !== "" && { status }),
    claims: claims.length,
  };
}
