/**
 * The row of an item in the CSV of a company batch. Values of a source whose licence does not allow exports are left empty.
 * Pure.
 */
import type { Json } from "../claim.ts";
import type { JsonObject } from "../record.ts";
import type { SourceLicence } from "../source.ts";
import { countryOf } from "../stored-company.ts";

export const RESULT_COLUMNS = [
  "index",
  "input",
  "status",
  "company_id",
  "name",
  "country",
  "company_status",
  "legal_form",
  "match_score",
  "identifiers",
  "error",
] as const;

type Row = readonly (string | number | null)[];

interface FinishedItem {
  readonly index: number;
  readonly status: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
}

/** The company that the row shows, from a record or from a candidate of resolve. */
interface Shown {
  readonly company: JsonObject;
  readonly match_score: number | null;
  /** Whether the value of this slot of the record may be exported. */
  readonly isOpen: (slot: string) => boolean;
}

export type Redistribution = ReadonlyMap<string, SourceLicence["redistribution"]>;

export function resultRow(
  { index, status, input, result, error }: FinishedItem,
  redistribution: Redistribution,
): Row {
  const shown = shownOf(result as JsonObject | null, redistribution);
  const reason = result?.["reason"];
  const problem = error ?? (typeof reason === "string" ? reason : null);
  return [
    index,
    inputOf(input),
    status,
    ...(shown === null ? [null, null, null, null, null, null, null] : valuesOf(shown)),
    problem,
  ];
}

function shownOf(result: JsonObject | null, redistribution: Redistribution): Shown | null {
  const record = result?.["record"] as JsonObject | null | undefined;
  const isOpenSource = (source: unknown): boolean => redistribution.get(String(source)) === "open";
  if (record) {
    const provenance = record["provenance"] as Readonly<Record<string, { readonly source: string }>>;
    const isOpen = (slot: string): boolean => isOpenSource(provenance[slot]?.source);
    return { company: record, match_score: null, isOpen };
  }
  const match = result?.["match"] as JsonObject | null | undefined;
  if (!match) return null;
  // A candidate has the names of its sources, and no provenance for each value.
  const areOpen = (match["sources"] as readonly Json[]).every(isOpenSource);
  return { company: match, match_score: Number(match["match_score"]), isOpen: () => areOpen };
}

function valuesOf({ company, match_score, isOpen }: Shown): Row {
  const open = (slot: string, value: unknown): string | null =>
    isOpen(slot) && typeof value === "string" ? value : null;
  const names = company["names"] as JsonObject;
  const form = company["legal_form"] as JsonObject | null;
  const identifiers = company["identifiers"] as readonly {
    readonly scheme: string;
    readonly value: string;
  }[];
  return [
    (company["id"] ?? company["ref"] ?? null) as string | null,
    open("names.legal", names["legal"]),
    open("jurisdiction", countryOf(company["jurisdiction"] as string | null)),
    open("status", company["status"]),
    open("legal_form", form?.["abbreviation"] ?? form?.["label"] ?? form?.["category"]),
    match_score,
    identifiers
      .map(({ scheme, value }) => `${scheme}:${value}`)
      .filter((reference) => isOpen(`identifiers[${reference}]`))
      .join(";"),
  ];
}

/** How the caller named the company. */
function inputOf({ ref, name, identifiers }: FinishedItem["input"]): string {
  if (typeof ref === "string") return ref;
  if (typeof name === "string") return name;
  return Array.isArray(identifiers) ? identifiers.join(";") : "";
}
