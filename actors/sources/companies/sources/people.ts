/** People claims: who has which role. The day of birth and private addresses are never kept. Pure. */
import { createHash } from "node:crypto";
import type { Json } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import type { ClaimList } from "./claims.ts";
import { countryOf } from "./values.ts";

export type RoleGroup =
  | "management"
  | "board"
  | "supervisory"
  | "signatory"
  | "secretary"
  | "auditor"
  | "liquidator"
  | "representative"
  | "partner"
  | "founder"
  | "other";

export interface Officer {
  /** `anonymous`: the source hides the name, and `name` only tells the officers of a company apart. */
  readonly kind: "person" | "entity" | "anonymous";
  readonly name: string;
  readonly given_name?: string | null;
  readonly family_name?: string | null;
  readonly role: { readonly group: RoleGroup; readonly label: string; readonly code?: string | null };
  readonly appointed_on?: string | null;
  readonly resigned_on?: string | null;
  /** `1970`, `1970-01` or a full date, of which the day is dropped. */
  readonly born?: string | null;
  readonly nationality?: string | null;
  /** ISO 3166-1 alpha-2. Never a closer place: it would be a private address. */
  readonly residence?: string | null;
  /** scheme:value, of an entity. */
  readonly ref?: string | null;
  /** How the officer signs, in the source's words. */
  readonly signature?: string | null;
  readonly current: boolean;
}

/** A person in one role of a company has one id, from any source that names both. */
const personId = (key: string): string =>
  `per_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;

function birthOf(born: string | null | undefined): Json | null {
  const parts = /^([0-9]{4})(?:-([0-9]{2}))?/.exec(born ?? "");
  return parts === null
    ? null
    : { year: Number(parts[1]), month: parts[2] === undefined ? null : Number(parts[2]) };
}

/** Adds the claim of one officer to the list. */
export function addOfficer(list: ClaimList, officer: Officer): void {
  const { kind, name, role, current } = officer;
  const key = `${foldName(name) || name}|${role.group}|${officer.appointed_on ?? ""}`;
  const nationality = countryOf(officer.nationality);
  const residence = countryOf(officer.residence);
  list.add("people", key, {
    id: personId(key),
    party:
      kind === "anonymous"
        ? { kind, name: null, unspecified_reason: "masked_by_the_register" }
        : { kind, name, ref: officer.ref ?? null },
    given_name: officer.given_name ?? null,
    family_name: officer.family_name ?? null,
    role: { group: role.group, label: role.label, code: role.code ?? null },
    appointed_on: officer.appointed_on ?? null,
    resigned_on: officer.resigned_on ?? null,
    ...(officer.signature && { signature: { type: "unknown", label: officer.signature } }),
    birth: birthOf(officer.born),
    nationalities: nationality === null ? [] : [nationality],
    ...(residence !== null && { residence: { country: residence } }),
    current,
  });
}
