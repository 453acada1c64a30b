/**
 * GLEIF's codes of registration authorities, each with the identifier scheme of its numbers. An authority that is missing
 * here has no scheme: its number stays in the claim as GLEIF sent it.
 */
import { IDENTIFIER_SCHEMES, type SchemeName } from "../../../../schemas/identifier-schemes.ts";

const SCHEME_BY_AUTHORITY: ReadonlyMap<string, SchemeName> = new Map(
  IDENTIFIER_SCHEMES.flatMap((scheme) => ("ra" in scheme ? [[scheme.ra, scheme.scheme] as const] : [])),
);

export const schemeOfAuthority = (ra_code: string): SchemeName | undefined =>
  SCHEME_BY_AUTHORITY.get(ra_code);
