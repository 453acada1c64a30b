/**
 * The canonical form of an identifier, from the spellings that people and registers use. Pure; the result is not checked
 * here: it has the canonical form if it matches the scheme's pattern.
 */
import type { SchemeName } from "../../../../schemas/identifier-schemes.ts";
import { canonicalRegisterNumber } from "./authorities.ts";
import { courtNameOf, germanRegisterNumber } from "./german-courts.ts";

type Canonical = (written: string) => string;

const upper: Canonical = (text) => text.replaceAll(/\s/g, "").toUpperCase();
const bare: Canonical = (text) => text.replaceAll(/[\s./-]/g, "").toUpperCase();
const padded =
  (length: number, prefix = ""): Canonical =>
  (text) => {
    const digits = bare(text).replace(new RegExp(`^${prefix}`), "");
    return /^[0-9]+$/.test(digits) ? digits.padStart(length, "0") : digits;
  };
const prefixed =
  (prefix: string): Canonical =>
  (text) => {
    const number = bare(text);
    return number.startsWith(prefix) ? number : `${prefix}${number}`;
  };
const without =
  (affix: RegExp): Canonical =>
  (text) =>
    bare(text).replace(affix, "");

const SWISS_SUFFIX = /(?:MWST|TVA|IVA|TPV|HR)$/;

/**
 * `SC 606050` and `sc6060` have 6 digits after the prefix, `445790` has 8. Registered societies end with `R` or `RS`, which takes the place
 * of digits: `IP10067R`, `SP2514RS`.
 */
function companiesHouseNumber(text: string): string {
  const number = bare(text);
  if (/^[0-9]{1,8}$/.test(number)) return number.padStart(8, "0");
  const parts = /^([A-Z]{2})([0-9]{1,6})(RS?)?$/.exec(number);
  if (parts === null) return number;
  const [, prefix, digits, society = ""] = parts;
  return `${prefix!}${digits!.padStart(6 - society.length, "0")}${society}`;
}

function finnishBusinessId(text: string): string {
  const number = bare(text).replace(/^FI/, "");
  return /^[0-9]{7,8}$/.test(number)
    ? `${number.slice(0, -1).padStart(7, "0")}-${number.slice(-1)}`
    : text.replaceAll(/\s/g, "").toUpperCase();
}

/** Accepts the name of the court, and the court's code as in the EUID: `DEM1201.HRA15378`, `M1201_HRA15378`. */
function germanNumber(text: string): string {
  const named = germanRegisterNumber(text);
  if (named !== null) return named;
  return upper(text)
    .replace(/^DE(?=[A-Z][0-9]{4})/, "")
    .replace(/^([A-Z][0-9]{4}[A-Z]?)_/, "$1.");
}

const CANONICAL: Readonly<Record<SchemeName, Canonical>> = {
  lei: upper,
  ch_uid: without(SWISS_SUFFIX),
  ch_ehraid: bare,
  ch_chid: bare,
  ch_vat: bare,
  us_cik: padded(10, "CIK"),
  us_ein: bare,
  us_de_file: bare,
  gb_coh: companiesHouseNumber,
  gb_vat: prefixed("GB"),
  de_hrb: germanNumber,
  de_vat: prefixed("DE"),
  euid: upper,
  at_fn: (text) => bare(text).toLowerCase().replace(/^fn/, ""),
  at_vat: prefixed("ATU"),
  li_fl: bare,
  fr_siren: bare,
  fr_siret: bare,
  fr_vat: prefixed("FR"),
  nl_kvk: padded(8),
  be_kbo: padded(10, "BE"),
  lu_rcs: bare,
  ie_cro: bare,
  dk_cvr: without(/^DK/),
  no_orgnr: (text) => bare(text).replace(/^NO/, "").replace(/MVA$/, ""),
  se_orgnr: bare,
  fi_ytunnus: finnishBusinessId,
  pl_krs: padded(10),
  pl_nip: without(/^PL/),
  cz_ico: padded(8),
  sk_ico: padded(8),
  it_piva: prefixed("IT"),
  es_nif: without(/^ES(?=[A-Z])/),
  eu_vat: bare,
  jp_cn: bare,
  au_abn: bare,
  au_acn: bare,
  cn_uscc: bare,
  br_cnpj: bare,
  in_cin: bare,
  sg_uen: bare,
  ocid: (text) => text.trim(),
  wikidata: upper,
  duns: bare,
  permid: bare,
  // The head office, where no branch is named.
  bic: (text) => upper(text).replace(/^.{8}$/, "$&XXX"),
  isin: upper,
  figi: upper,
  wkn: upper,
  ticker: (text) => text.trim().toUpperCase(),
  northdata: bare,
  ra: canonicalRegisterNumber,
};

export const canonicalForm = (scheme: SchemeName, written: string): string => CANONICAL[scheme](written);

const swissNumber = (value: string): string => value.replace(/^CHE(\d{3})(\d{3})(\d{3})/, "CHE-$1.$2.$3");

const DISPLAY: Readonly<Partial<Record<SchemeName, Canonical>>> = {
  ch_uid: swissNumber,
  ch_vat: (value) => swissNumber(value).replace(/(?<=\d)(?=[A-Z])/, " "),
  ch_chid: (value) => value.replace(/^CH(\d{3})(\d{7})(\d)$/, "CH-$1-$2-$3"),
  de_hrb(value) {
    const [, code, type, number, suffix] = /^([A-Z0-9]+)\.([A-Z]+)([0-9]+)([A-Z]*)$/.exec(value) ?? [];
    const court = code === undefined ? undefined : courtNameOf(code);
    return court === undefined ? value : `Amtsgericht ${court} ${type} ${number}${suffix && ` ${suffix}`}`;
  },
  us_ein: (value) => `${value.slice(0, 2)}-${value.slice(2)}`,
  se_orgnr: (value) => `${value.slice(0, 6)}-${value.slice(6)}`,
  br_cnpj: (value) => value.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, "$1.$2.$3/$4-$5"),
};

/** As people write it; the canonical form where that is the same. */
export const displayForm = (scheme: SchemeName, value: string): string => DISPLAY[scheme]?.(value) ?? value;
