/**
 * GLEIF's registration authorities: the identifier schemes of their numbers, and the form of a number that has none
 * (`ra:RA000236:HRB12345`). The list of codes is lists/registration-authorities.json. Pure.
 */
import { createRequire } from "node:module";
import { IDENTIFIER_SCHEMES, type SchemeName } from "../../../../schemas/identifier-schemes.ts";

/** GLEIF's list, as `npm run lists` writes it: the country and the name of each register by its code. */
interface AuthorityList {
  readonly rows: Readonly<Record<string, readonly [country: string | null, name: string | null]>>;
}

let list: AuthorityList | null = null;
/** Loaded with the first number: a node that is asked for no company does without it. */
const authorities = (): AuthorityList["rows"] =>
  (list ??= createRequire(import.meta.url)("./lists/registration-authorities.json") as AuthorityList).rows;

/**
 * Beside the catalogue's own codes: authorities with numbers of one scheme. Some keep numbers of several kinds; the first scheme
 * whose form and check digits fit is the number's. RA000059, in the catalogue the authority of the CNPJ, is São Paulo's board of
 * trade: its numbers are CNPJ only where the check digits say so.
 */
const MORE: Readonly<Record<string, readonly SchemeName[]>> = {
  RA000017: ["at_fn"],
  RA000025: ["be_kbo"],
  RA000163: ["cz_ico"],
  RA000164: ["cz_ico"],
  RA000165: ["cz_ico"],
  RA000166: ["cz_ico"],
  RA000167: ["cz_ico"],
  RA000168: ["cz_ico"],
  RA000170: ["dk_cvr"],
  RA000192: ["fr_siren"],
  RA000407: ["it_piva"],
  RA000412: ["jp_cn"],
  RA000428: ["li_fl"],
  RA000472: ["no_orgnr"],
  RA000473: ["no_orgnr"],
  RA000526: ["sk_ico"],
  RA000533: ["es_nif"],
  RA000549: ["ch_chid"],
  RA000586: ["gb_coh"],
  RA000587: ["gb_coh"],
  RA000670: ["sk_ico"],
  RA000681: ["br_cnpj"],
  RA000688: ["br_cnpj"],
  RA000694: ["cz_ico"],
};
/** Its numbers are of another kind, unless their check digits hold. */
const ONLY_CHECKED: ReadonlySet<string> = new Set(["RA000059", "RA000407", "RA000412"]);

const BY_AUTHORITY: ReadonlyMap<string, readonly SchemeName[]> = new Map([
  ...IDENTIFIER_SCHEMES.flatMap((scheme) =>
    "ra" in scheme ? [[scheme.ra, [scheme.scheme] as readonly SchemeName[]] as const] : [],
  ),
  ...Object.entries(MORE),
]);

export const schemesOfAuthority = (ra_code: string): readonly SchemeName[] => BY_AUTHORITY.get(ra_code) ?? [];

/** A number that is of no scheme, or whose check digits are wrong, is of this authority's other numbers. */
export const hasOtherNumbers = (ra_code: string): boolean => ONLY_CHECKED.has(ra_code);

/** Null: GLEIF's list has no such register. The codes for "none yet" and "none" are no registers. */
export function authorityOf(
  ra_code: string,
): { readonly country: string | null; readonly name: string | null } | null {
  const row = NO_REGISTER.has(ra_code) ? undefined : authorities()[ra_code];
  return row === undefined ? null : { country: row[0], name: row[1] };
}

const NO_REGISTER: ReadonlySet<string> = new Set(["RA777777", "RA888888", "RA999999"]);

/** The digits that numbers of one length have, with leading zeros. */
const DIGITS: Readonly<Record<string, number>> = {
  RA000065: 9,
  RA000181: 8,
  RA000393: 10,
  RA000406: 9,
  RA000423: 11,
  RA000430: 9,
  RA000439: 12,
  RA000513: 10,
  RA000554: 13,
  RA000567: 8,
  RA000645: 12,
  RA000685: 12,
  RA000689: 11,
};
/** Numbers that registers count from 1: leading zeros mean nothing. */
const COUNTED: ReadonlySet<string> = new Set([
  "RA000072",
  "RA000079",
  "RA000087",
  "RA000466",
  "RA000598",
  "RA000628",
  "RA000641",
]);

/** Placeholders that people write where there is no number. */
const PLACEHOLDER = /^(?:0+|-+|N[./]?A\.?|NONE|NULL|PENDING|NOTAPPLICABLE|NOTAVAILABLE|UNKNOWN|KEINE|X+)$/;

/** `ra000236: HRB 12345` as `RA000236:HRB12345`; a text without a number, or of no register of the list, has no form. */
export function canonicalRegisterNumber(text: string): string {
  const [, code = "", written = ""] = /^\s*(RA[0-9]{6})\s*:(.*)$/is.exec(text) ?? [];
  const ra_code = code.toUpperCase();
  if (ra_code === "" || authorityOf(ra_code) === null) return "";
  // Cyprus writes its numbers with Greek characters that look like Latin ones.
  const plain = written
    .normalize("NFKC")
    .toUpperCase()
    .replaceAll("Η", "H")
    .replaceAll("Ε", "E")
    .replaceAll(/\s/g, "");
  if (plain === "" || PLACEHOLDER.test(plain)) return "";
  return `${ra_code}:${normalNumber(ra_code, plain)}`;
}

function normalNumber(ra_code: string, plain: string): string {
  const length = DIGITS[ra_code];
  const digits = plain.replaceAll(/[.\-/]/g, "");
  if (length !== undefined && /^[0-9]+$/.test(digits)) return digits.padStart(length, "0");
  if (COUNTED.has(ra_code) && /^[0-9]+$/.test(plain)) return plain.replace(/^0+/, "");
  // Blanks and dots mean nothing in a number; a slash or a dash may.
  return plain.replaceAll(".", "");
}
