/**
 * How a source's answer changes the claims that are stored of it: new values are appended, values that went away are
 * closed, nothing is overwritten. Pure; the company actor stores the result.
 */
import { createHash } from "node:crypto";
import type { FieldPath, Json, SourceClaim } from "./claim.ts";
import type { RawDocument } from "./source.ts";

/** A claim as it is stored. Its source and group are those of the `StoredGroup` it stands in. */
export interface StoredClaim {
  /** Without the prefix `clm_`. */
  readonly id: string;
  readonly field: FieldPath;
  readonly key: string | null;
  readonly value: Json;
  /** As the source wrote it; absent: the same as `value`. */
  readonly raw_value?: Json;
  readonly language?: string;
  /** The raw document: its place in the group's documents. */
  readonly document: number;
  readonly observed_ms: number;
  readonly effective_from?: string;
  readonly rejected_because?: string;
  /** Set when the value went away: the last time the source confirmed it, and when it was missed. */
  readonly closed?: { readonly confirmed_ms: number; readonly at_ms: number };
}

/** All claims of one source about one group of one company. */
export interface StoredGroup {
  readonly source: string;
  readonly group: string;
  readonly native_id: string;
  /** The identifier of a merged company by which the source was asked, `scheme:value`; absent: the company's own. */
  readonly asked_by?: string;
  readonly precedence: number;
  /** The documents that claims were first read from, oldest first. */
  readonly documents: readonly RawDocument[];
  /** In the order they were observed. */
  readonly claims: readonly StoredClaim[];
}

/** A group of a source as one lookup found it. */
export interface Observation {
  readonly company_id: string;
  readonly source: string;
  readonly group: string;
  readonly native_id: string;
  /** The identifier of a merged company by which the source was asked; absent: the company's own. */
  readonly asked_by?: string;
  readonly precedence: number;
  readonly documents: readonly RawDocument[];
  readonly claims: readonly SourceClaim[];
  readonly is_complete: boolean;
  readonly at_ms: number;
}

/** JSON with the names of objects in order, so that equal values have equal texts. */
export function canonicalJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalJson(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value as Record<string, Json | undefined>)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`).join(",")}}`;
}

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";

/** Crockford base 32 of the first 5·chars bits of a SHA-256. */
export function digestId(text: string, chars: number): string {
  const digest = createHash("sha256").update(text).digest();
  let id = "";
  for (let at = 0; at < chars; at++) {
    const bit = at * 5;
    const word = (digest[bit >> 3]! << 8) | digest[(bit >> 3) + 1]!;
    id += CROCKFORD[(word >> (11 - (bit & 7))) & 31];
  }
  return id;
}

/** The value of one key of one field: claims of the same slot compete. */
export const slotOf = ({ field, key }: { readonly field: string; readonly key: string | null }): string =>
  key === null ? field : `${field}[${key}]`;

const statementOf = (claim: Pick<StoredClaim, "field" | "key" | "value"> & { rejected_because?: string }) =>
  `${slotOf(claim)}\n${canonicalJson(claim.value)}\n${claim.rejected_because ?? ""}`;

/**
 * The group after an observation; the same object when the source has nothing new. `confirmed_ms` is when the source last
 * confirmed the open claims. An incomplete observation closes only the values that it replaces.
 */
export function afterObservation(
  previous: StoredGroup | null,
  observation: Observation,
  confirmed_ms: number,
): StoredGroup {
  const { company_id, source, group, native_id, asked_by, precedence, at_ms, is_complete } = observation;
  const stated = new Map(observation.claims.map((claim) => [statementOf(claim), claim]));
  const slots = new Set(observation.claims.map(slotOf));
  const open = new Set<string>();
  let is_changed = previous === null;

  const kept = (previous?.claims ?? []).map((claim): StoredClaim => {
    if (claim.closed) return claim;
    const statement = statementOf(claim);
    const is_current = stated.has(statement) || !(is_complete || slots.has(slotOf(claim)));
    if (is_current) {
      open.add(statement);
      return claim;
    }
    is_changed = true;
    return { ...claim, closed: { confirmed_ms, at_ms } };
  });

  const documents = [...(previous?.documents ?? [])];
  const documentIndex = (sha256: string): number => {
    const known = documents.findLastIndex((document) => document.sha256 === sha256);
    if (known >= 0) return known;
    const document = observation.documents.find((each) => each.sha256 === sha256);
    if (!document)
      throw new TypeError(`Cannot store a claim of "${source}": no document has the digest ${sha256}`);
    return documents.push(document) - 1;
  };
  const appended: StoredClaim[] = [];
  for (const [statement, claim] of stated) {
    if (open.has(statement)) continue;
    is_changed = true;
    const { field, key, value, raw_value, language, effective_from, rejected_because } = claim;
    appended.push({
      id: digestId([company_id, source, group, statement, at_ms].join("\n"), 20),
      field,
      key,
      value,
      ...(raw_value !== undefined && canonicalJson(raw_value) !== canonicalJson(value) && { raw_value }),
      ...(language != null && { language }),
      document: documentIndex(claim.raw_sha256),
      observed_ms: at_ms,
      ...(effective_from != null && { effective_from }),
      ...(rejected_because !== undefined && { rejected_because }),
    });
  }
  const isSame =
    previous?.native_id === native_id && previous.asked_by === asked_by && previous.precedence === precedence;
  if (!is_changed && isSame) return previous;
  return {
    source,
    group,
    native_id,
    ...(asked_by !== undefined && { asked_by }),
    precedence,
    documents,
    claims: [...kept, ...appended],
  };
}

/** The claims a source stands by now. */
export const openClaims = (group: StoredGroup): readonly StoredClaim[] =>
  group.claims.filter((claim) => claim.closed === undefined);
