/**
 * Check digits. National numbers are checked by `stdnum`; it has no LEI, ISIN, FIGI and BIC, which are here. Pure. A value
 * is in the canonical form and matches its scheme's pattern.
 */
import { createRequire } from "node:module";
import type * as Stdnum from "stdnum";
import type { SchemeName } from "../../../../schemas/identifier-schemes.ts";
import { COUNTRIES } from "./countries.ts";

type Check = (value: string) => boolean;

let numbers: typeof Stdnum | null = null;
/** Its 300 modules are loaded with the first number: a node that is asked for no company does without them. */
const loadNumbers = (): typeof Stdnum =>
  (numbers ??= createRequire(import.meta.url)("stdnum") as typeof Stdnum);

/** ISO 7064 mod 97-10: letters count as 10 to 35; the remainder is 1. */
function isLei(value: string): boolean {
  let remainder = 0;
  for (const char of value) {
    const digit = Number.parseInt(char, 36);
    remainder = (remainder * (digit > 9 ? 100 : 10) + digit) % 97;
  }
  return remainder === 1;
}

/** Luhn's sum over the digits, after letters became two digits each. */
function isIsin(value: string): boolean {
  const digits = Array.from(value, (char) => Number.parseInt(char, 36)).join("");
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const weighted = i % 2 === 1 ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** As Luhn's sum, but a letter is one position with a value of 10 to 35, and every second of the first 11 counts twice. */
function isFigi(value: string): boolean {
  let sum = 0;
  for (let i = 0; i < 11; i++) {
    const weighted = Number.parseInt(value[i]!, 36) * (i % 2 === 1 ? 2 : 1);
    sum += Math.floor(weighted / 10) + (weighted % 10);
  }
  return (10 - (sum % 10)) % 10 === Number(value[11]);
}

const library =
  (country: string, name: string): Check =>
  (value) =>
    loadNumbers().stdnum[country]![name]!.validate(value).isValid;

/** VIES writes EL for Greece and XI for Northern Ireland, whose numbers are British ones. */
function isEuVat(value: string): boolean {
  const { stdnum, euVat } = loadNumbers();
  const country = value.slice(0, 2);
  if (country === "XI") return stdnum["GB"]!["vat"]!.validate(value.slice(2)).isValid;
  const validators = euVat[country === "EL" ? "GR" : country] ?? [];
  return validators.some((validator) => validator.validate(value.slice(2)).isValid);
}

/** Schemes that are not here have no check digits, so their numbers are neither right nor wrong. */
const CHECKS: Readonly<Partial<Record<SchemeName, Check>>> = {
  lei: isLei,
  isin: isIsin,
  figi: isFigi,
  bic: (value) => COUNTRIES.has(value.slice(4, 6)) || value.slice(4, 6) === "XK",
  ch_uid: library("CH", "uid"),
  ch_vat: library("CH", "vat"),
  us_ein: library("US", "ein"),
  gb_vat: library("GB", "vat"),
  de_vat: library("DE", "vat"),
  at_fn: library("AT", "businessid"),
  at_vat: library("AT", "uid"),
  fr_siren: library("FR", "siren"),
  fr_siret: library("FR", "siret"),
  fr_vat: library("FR", "tva"),
  be_kbo: library("BE", "vat"),
  dk_cvr: library("DK", "cvr"),
  no_orgnr: library("NO", "orgnr"),
  se_orgnr: library("SE", "orgnr"),
  fi_ytunnus: library("FI", "ytunnus"),
  pl_nip: library("PL", "nip"),
  cz_ico: library("CZ", "ico"),
  sk_ico: library("CZ", "ico"),
  it_piva: library("IT", "iva"),
  es_nif: library("ES", "cif"),
  eu_vat: isEuVat,
  jp_cn: library("JP", "cn"),
  au_abn: library("AU", "abn"),
  au_acn: library("AU", "acn"),
  cn_uscc: library("CN", "uscc"),
  br_cnpj: library("BR", "cnpj"),
  sg_uen: library("SG", "uen"),
};

/** Whether the check digits hold; null: the scheme has none. */
export const checkDigitsHold = (scheme: SchemeName, value: string): boolean | null =>
  CHECKS[scheme]?.(value) ?? null;
