/**
 * How clients name a company: a `cmp_` id or `scheme:value`. Parsing is pure; finding reads the identifiers, and claims one
 * that no company has for a company to be looked up.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { COMPANY_ID } from "../../../schemas/companies.ts";
import { randomId } from "../../lib/random-id.ts";
import { MAX_NOT_FOUND_S } from "./freshness.ts";
import { parseReference } from "./schemes/identifier.ts";
import type { CompanyIdentifier } from "./source.ts";
import type { ImportedCompany, Imports } from "./imports/imported-company.ts";
import { COMPANY_IDS, ownerOf, ownersOf, type StoredCompany, survivorOf } from "./stored-company.ts";

export type CompanyReference =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "identifier"; readonly reference: string }
  | { readonly kind: "wrong"; readonly message: string };

const ID = new RegExp(COMPANY_ID);
const PROVISIONAL_TTL_MS = 2 * MAX_NOT_FOUND_S * 1_000;

/** Wrong check digits are a mistake of the caller. */
export function parseCompanyReference(text: string): CompanyReference {
  if (ID.test(text)) return { kind: "id", id: text };
  const parsed = parseReference(text);
  switch (parsed.kind) {
    case "company_id":
      return {
        kind: "wrong",
        message: `"${text}" is no company id: cmp_ and 16 characters, without i, l, o and u`,
      };
    case "invalid":
      return { kind: "wrong", message: parsed.message };
    case "identifier":
      return { kind: "identifier", reference: `${parsed.identifier.scheme}:${parsed.identifier.value}` };
  }
}

export const referenceOf = ({ scheme, value }: CompanyIdentifier): string => `${scheme}:${value}`;

/** The scheme ends at the first colon: a ticker has another. */
export function identifierOf(reference: string): CompanyIdentifier {
  const colon = reference.indexOf(":");
  return { scheme: reference.slice(0, colon), value: reference.slice(colon + 1) };
}

/** 80 random bits; the random beginning spreads companies over shards. */
export const newCompanyId = (): string => randomId("cmp_");

export interface FoundCompany {
  /** Whose actor is asked; it may not be stored yet. */
  readonly id: string;
  readonly isStored: boolean;
  /** The id that the caller gave, when it was merged into another. */
  readonly redirected_from: string | null;
  readonly reference: string | null;
  /** The company as imports know it, when nothing else is stored. */
  readonly imported: ImportedCompany | null;
}

/** Reads a company as it is stored, or else as imports have it. Throws Fault. */
export async function knownCompanyOf(
  documents: Documents,
  imports: Imports,
  reference: string,
): Promise<{ readonly company: StoredCompany | null; readonly imported: ImportedCompany | null }> {
  const id = ID.test(reference) ? reference : await ownerOf(documents, reference);
  const company = id === null ? null : await survivorOf(documents, id);
  if (company) return { company, imported: null };
  const imported = await imports.company(reference);
  // A source may have answered about it by another of its identifiers.
  for (const owner of await ownersOf(documents, imported?.references ?? [])) {
    const stored = owner === null ? null : await survivorOf(documents, owner);
    if (stored) return { company: stored, imported: null };
  }
  return { company: null, imported };
}

/** Null: there is no company of this id. Throws Fault. */
export async function findCompany(
  documents: Documents,
  reference: Exclude<CompanyReference, { readonly kind: "wrong" }>,
  now_ms: number,
  imports: Imports,
): Promise<FoundCompany | null> {
  const text = reference.kind === "id" ? reference.id : reference.reference;
  const { company, imported } = await knownCompanyOf(documents, imports, text);
  const id = company?.id ?? imported?.id ?? null;
  if (reference.kind === "id") {
    if (id === null) return null;
    const redirected_from = id === text ? null : text;
    return {
      id,
      isStored: company !== null,
      redirected_from,
      reference: imported?.reference ?? null,
      imported,
    };
  }
  if (id !== null)
    return { id, isStored: company !== null, redirected_from: null, reference: text, imported };
  const owner = (await ownerOf(documents, text)) ?? (await claimProvisionally(documents, text, now_ms));
  return { id: owner, isStored: false, redirected_from: null, reference: text, imported: null };
}

/** The id under which a company with this identifier is created when a source knows it. Concurrent callers get one id. */
async function claimProvisionally(documents: Documents, reference: string, now_ms: number): Promise<string> {
  const id = newCompanyId();
  const value = { companies: [id], is_provisional: true } as const;
  if (await COMPANY_IDS.put(documents, reference, value, 0, { expires_at_ms: now_ms + PROVISIONAL_TTL_MS }))
    return id;
  return (await ownerOf(documents, reference)) ?? claimProvisionally(documents, reference, now_ms);
}
