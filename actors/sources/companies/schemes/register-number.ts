/**
 * The number that a company has at a register of GLEIF's list, as the identifier that the register of companies stores: the scheme
 * of the authority where its form and its check digits fit, else `ra:<code>:<number>`, so that no number is lost. Pure.
 */
import { authorityOf, hasOtherNumbers, schemesOfAuthority } from "./authorities.ts";
import { germanRegisterNumber } from "./german-courts.ts";
import { parseIdentifier } from "./identifier.ts";

interface RegisterNumber {
  readonly scheme: string;
  /** As `parseIdentifier` of the scheme reads it. */
  readonly written: string;
}

/** Usually one; with wrong check digits the number is of its scheme, where it is never chosen, and stands beside it as written. */
export function readRegisterNumber(ra_code: string, written: string): readonly RegisterNumber[] {
  const authority = authorityOf(ra_code);
  if (authority === null) return [];
  if (authority.country === "DE") {
    // The authority is the court; the register of all courts has the court in the number.
    const number = germanRegisterNumber(written) ?? germanRegisterNumber(`${authority.name} ${written}`);
    if (number !== null) return [{ scheme: "de_hrb", written: number }];
  }
  const wrong: RegisterNumber[] = [];
  for (const scheme of schemesOfAuthority(ra_code)) {
    const result = parseIdentifier(scheme, written);
    if (result.kind !== "identifier") continue;
    const { valid } = result.identifier;
    if (valid === true || (valid === null && !hasOtherNumbers(ra_code))) return [{ scheme, written }];
    if (!hasOtherNumbers(ra_code)) wrong.push({ scheme, written });
  }
  return [...wrong, { scheme: "ra", written: `${ra_code}:${written}` }];
}
