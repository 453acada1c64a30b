/** Collects the claims of one document. What the source leaves empty is no claim. Pure. */
import { ALL_SCHEMES, type IdentifierScheme } from "../../../../schemas/identifier-schemes.ts";
import type { FieldPath, Json, SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { authorityOf } from "../schemes/authorities.ts";
import { parseIdentifier } from "../schemes/identifier.ts";
import { readRegisterNumber } from "../schemes/register-number.ts";
import type { RawDocument } from "../source.ts";

type Extra = Pick<SourceClaim, "raw_value" | "language" | "effective_from">;

export interface ClaimList {
  readonly claims: readonly SourceClaim[];
  /** A field with one value. */
  readonly set: (field: FieldPath, value: Json | undefined, extra?: Extra) => void;
  /** An item of a field with several; of two items with one key the first stays. */
  readonly add: (field: FieldPath, key: string, value: Json | undefined, extra?: Extra) => void;
  /** A name of a field whose key is the folded name. */
  readonly name: (
    field: FieldPath,
    name: string | null | undefined,
    value: { readonly [field: string]: Json },
    extra?: Extra,
  ) => void;
  /**
   * An identifier as the source wrote it. With wrong check digits it is a claim that is never chosen; what does not have
   * the scheme's form is no claim.
   */
  readonly identifier: (
    scheme: string,
    written: string | null | undefined,
    more?: {
      readonly status?: "active" | "inactive";
      readonly ra_code?: string;
      /** The country of the number, where the scheme has none. */
      readonly country?: string | null;
      /** The organisation that gave the number, where it is not the scheme's register. */
      readonly issuer?: string | null;
      readonly valid_from?: string | null;
      readonly valid_to?: string | null;
    },
  ) => void;
  /** A company's number at a register of GLEIF's list, in the scheme that it belongs to. */
  readonly registerNumber: (
    ra_code: string | null | undefined,
    written: string | null | undefined,
    country: string | null,
  ) => void;
}

const SCHEMES: ReadonlyMap<string, IdentifierScheme> = new Map(
  ALL_SCHEMES.map((scheme) => [scheme.scheme, scheme]),
);

export function claimList({ sha256: raw_sha256 }: Pick<RawDocument, "sha256">): ClaimList {
  const claims: SourceClaim[] = [];
  const keys = new Set<string>();
  const push = (
    field: FieldPath,
    key: string | null,
    value: Json | undefined,
    extra: Partial<SourceClaim>,
  ): void => {
    if (value === undefined || value === null || value === "" || key === "") return;
    if (keys.has(`${field} ${key}`)) return;
    keys.add(`${field} ${key}`);
    claims.push({ field, key, value, ...extra, raw_sha256 });
  };
  const made: ClaimList = {
    claims,
    set: (field, value, extra = {}) => push(field, null, value, extra),
    add: (field, key, value, extra = {}) => push(field, key, value, extra),
    name(field, name, value, extra = {}) {
      if (!name?.trim()) return;
      push(field, foldName(name) || name.trim(), { name: name.trim(), ...value }, extra);
    },
    registerNumber(ra_code, written, country) {
      if (!ra_code || !written) return;
      for (const number of readRegisterNumber(ra_code, written))
        made.identifier(number.scheme, number.written, { ra_code, country });
    },
    identifier(scheme_name, written, more = {}) {
      const { status = "active", ra_code, country: place = null, issuer = null, valid_from, valid_to } = more;
      const result = parseIdentifier(scheme_name, written ?? "");
      if (result.kind !== "identifier") return;
      const { scheme, value, display, valid } = result.identifier;
      const { kind, country, org_id, ra } = SCHEMES.get(scheme)!;
      const authority = ra_code ?? ra;
      const number =
        scheme === "ra" ? (written ?? "").slice((written ?? "").indexOf(":") + 1).trim() : display;
      push(
        "identifiers",
        `${scheme}:${value}`,
        {
          scheme,
          value,
          ...(number !== value && { display: number }),
          kind,
          country: country ?? place,
          status,
          valid,
          ...(valid_from != null && { valid_from }),
          ...(valid_to != null && { valid_to }),
          ...((authority ?? org_id) !== undefined && {
            issuer: {
              name: issuer ?? (authority === undefined ? null : authorityOf(authority)?.name) ?? null,
              ra_code: authority ?? null,
              org_id: org_id ?? null,
            },
          }),
        },
        {
          ...(written !== value && { raw_value: written! }),
          ...(valid === false && { rejected_because: "check_digit" }),
        },
      );
    },
  };
  return made;
}
