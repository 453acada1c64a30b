/** Identifier schemes: what is read, what it becomes, and which numbers are wrong. */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { schemesOfAuthority } from "../../../../actors/sources/companies/schemes/authorities.ts";
import { elfForm } from "../../../../actors/sources/companies/schemes/elf.ts";
import { readRegisterNumber } from "../../../../actors/sources/companies/schemes/register-number.ts";
import { parseIdentifier, parseReference } from "../../../../actors/sources/companies/schemes/identifier.ts";
import { IDENTIFIER_SCHEMES } from "../../../../schemas/identifier-schemes.ts";

/** `scheme:value`, with a ! when the check digits are wrong; null: malformed. */
function read(scheme: string, written: string): string | null {
  const result = parseIdentifier(scheme, written);
  if (result.kind !== "identifier") return null;
  const { identifier } = result;
  return `${identifier.scheme}:${identifier.value}${identifier.valid === false ? " !" : ""}`;
}

describe("the catalogue", () => {
  test.each(IDENTIFIER_SCHEMES)(
    "$scheme: its example is in canonical form, and its check digits hold",
    (scheme) => {
      const result = parseIdentifier(scheme.scheme, scheme.example);
      const isNational = scheme.scheme === "eu_vat";
      expect(result).toMatchObject({
        kind: "identifier",
        identifier: { scheme: isNational ? "de_vat" : scheme.scheme, value: scheme.example },
      });
      const hasCheck = !["none", "court table", "MIC list"].includes(scheme.check);
      expect(result).toMatchObject({ identifier: { valid: hasCheck ? true : null } });
    },
  );

  const published = "../shared/spec/identifier-schemes.json";
  test.runIf(existsSync(published))("is the published one, where that is beside this repository", () => {
    expect(IDENTIFIER_SCHEMES).toEqual(JSON.parse(readFileSync(published, "utf8")));
  });

  test("schemes have different names, and no two have the same registration authority", () => {
    const names = IDENTIFIER_SCHEMES.map(({ scheme }) => scheme);
    expect(new Set(names).size).toBe(names.length);
    const codes = IDENTIFIER_SCHEMES.flatMap((scheme) => ("ra" in scheme ? [scheme.ra] : []));
    expect(new Set(codes).size).toBe(codes.length);
    expect(schemesOfAuthority("RA000548")).toEqual(["ch_uid"]);
    expect(schemesOfAuthority("RA999999")).toEqual([]);
  });
});

const LISTS = "../../../../actors/sources/companies/schemes/lists";

describe("a number at a register of GLEIF's list", () => {
  const numbersOf = (ra_code: string, written: string) =>
    readRegisterNumber(ra_code, written).map((number) => read(number.scheme, number.written));

  test.each([
    ["RA000247", "HRB 13085", ["de_hrb:D3304V.HRB13085"], "the authority is the court"],
    ["RA000242", "HRB 12345", ["de_hrb:M1201.HRB12345"], "the court has names with a place"],
    ["RA000236", "HRB 12345", ["ra:RA000236:HRB12345"], "a court that keeps no register any more"],
    ["RA000372", "Amtsgericht München HRB 6684", ["de_hrb:D2601V.HRB6684"], "the register of all courts"],
    ["RA000586", "SC 6060", ["gb_coh:SC006060"], "one scheme, several authorities"],
    ["RA000192", "732 829 320", ["fr_siren:732829320"], "one of France's two"],
    ["RA000407", "01940680745", ["it_piva:IT01940680745"], "an Italian tax number"],
    ["RA000407", "MI - 1234567", ["ra:RA000407:MI-1234567"], "an Italian REA number"],
    ["RA000059", "60.701.190/0001-04", ["br_cnpj:60701190000104"], "a CNPJ, by its check digits"],
    ["RA000059", "35300027817", ["ra:RA000059:35300027817"], "a number of the board of trade"],
    ["RA000681", "60.701.190/0001-05", ["br_cnpj:60701190000105 !", "ra:RA000681:60701190/0001-05"], "wrong"],
    ["RA000181", "1234567", ["ra:RA000181:01234567"], "padded"],
    ["RA000466", "0012345", ["ra:RA000466:12345"], "counted"],
    ["RA000161", "ΗΕ 12345", ["ra:RA000161:HE12345"], "Greek characters"],
    ["RA000497", "J40/1/2001", ["ra:RA000497:J40/1/2001"], "a slash means something"],
    ["RA000432", "B 7479", ["lu_rcs:B7479"], "shorter than others"],
    ["RA000236", "N/A", [null], "no number"],
    ["RA000585", "00000000", ["gb_coh:00000000"], "the form of a scheme"],
    ["RA999999", "12345", [], "no register"],
    ["RA999998", "12345", [], "a code that is not in the list"],
  ] as const)("%s %s is %j: %s", (ra_code, written, expected, _why) => {
    expect(numbersOf(ra_code, written)).toEqual(expected);
  });

  test("is never lost, at any register of the list", () => {
    const { rows } = JSON.parse(
      readFileSync(new URL(`${LISTS}/registration-authorities.json`, import.meta.url), "utf8"),
    );
    const codes = Object.keys(rows).filter((code) => !/^RA(?:7{6}|8{6}|9{6})$/.test(code));
    expect(codes.length).toBeGreaterThan(1_000);
    for (const code of codes) {
      const numbers = numbersOf(code, "Q-77 123").filter((each) => each !== null && !each.endsWith("!"));
      expect([code, numbers.length]).toEqual([code, 1]);
    }
  });

  test("is what callers write, in any spelling", () => {
    for (const text of ["ra:RA000236:HRB 12345", "RA:ra000236:hrb12345"])
      expect(parseReference(text)).toMatchObject({
        kind: "identifier",
        identifier: { scheme: "ra", value: "RA000236:HRB12345" },
      });
    expect(parseReference("ra:RA123456:HRB 12345")).toMatchObject({ kind: "invalid" });
  });
});

describe("legal forms by their code", () => {
  test.each([
    ["6QQB", "Aktiengesellschaft", "AG", "public_limited"],
    ["2HBR", "Gesellschaft mit beschränkter Haftung", "GmbH", "private_limited"],
    ["SGST", "Europäische Aktiengesellschaft", "SE", "european_company"],
    ["8Z6G", "Kommanditgesellschaft", "KG", "limited_partnership"],
    ["H0PO", "Private Limited Company", "Ltd", "private_limited"],
    ["XTIQ", "Corporation", null, null],
  ])("%s is %s (%s): %s", (code, label, abbreviation, category) => {
    expect(elfForm(code)).toMatchObject({ label, abbreviation, category });
  });

  test("are all of the list; what is not on it has no form", () => {
    const { rows } = JSON.parse(readFileSync(new URL(`${LISTS}/legal-forms.json`, import.meta.url), "utf8"));
    expect(Object.keys(rows).length).toBeGreaterThan(3_500);
    expect(["8888", "9999", "ZZZZ"].map(elfForm)).toEqual([null, null, null]);
  });
});

describe("spellings", () => {
  test.each([
    ["lei", "5493 001k jtii gc8y 1r12", "lei:5493001KJTIIGC8Y1R12"],
    ["ch_uid", "CHE-101.602.521", "ch_uid:CHE101602521"],
    ["ch_uid", "CHE-101.602.521 MWST", "ch_uid:CHE101602521"],
    ["ch_chid", "CH-270-3005159-0", "ch_chid:CH27030051590"],
    ["ch_vat", "CHE-107.787.577 MWST", "ch_vat:CHE107787577MWST"],
    ["us_cik", "1318605", "us_cik:0001318605"],
    ["us_cik", "CIK0001318605", "us_cik:0001318605"],
    ["us_ein", "91-2197729", "us_ein:912197729"],
    ["gb_coh", "445790", "gb_coh:00445790"],
    ["gb_coh", "sc 6060", "gb_coh:SC006060"],
    ["gb_coh", "CE029767", "gb_coh:CE029767"],
    ["gb_coh", "IP10067R", "gb_coh:IP10067R"],
    ["gb_coh", "ip 8400r", "gb_coh:IP08400R"],
    ["gb_coh", "SP2514RS", "gb_coh:SP2514RS"],
    ["gb_coh", "R0000123", "gb_coh:R0000123"],
    ["de_hrb", "Amtsgericht München HRB 6684", "de_hrb:D2601V.HRB6684"],
    ["de_hrb", "AG Nürnberg, HRA 15378", "de_hrb:D3310V.HRA15378"],
    ["de_hrb", "HRB 19360 (Amtsgericht Stuttgart)", "de_hrb:B8534.HRB19360"],
    ["de_hrb", "Amtsgericht Charlottenburg (Berlin) HRB 158855 B", "de_hrb:F1103R.HRB158855B"],
    ["de_hrb", "amtsgericht koeln hrb 1", "de_hrb:R3306.HRB1"],
    ["de_hrb", "DEM1201.HRA15378", "de_hrb:M1201.HRA15378"],
    ["de_hrb", "M1201_HRA15378", "de_hrb:M1201.HRA15378"],
    ["de_vat", "129 273 398", "de_vat:DE129273398"],
    ["at_fn", "FN 99738 x", "at_fn:99738x"],
    ["fr_siret", "552 120 222 00013", "fr_siret:55212022200013"],
    ["fr_siret", "35600000049837", "fr_siret:35600000049837"],
    ["nl_kvk", "1234567", "nl_kvk:01234567"],
    ["be_kbo", "BE 893.097.113", "be_kbo:0893097113"],
    ["no_orgnr", "NO 923 609 016 MVA", "no_orgnr:923609016"],
    ["se_orgnr", "556233-7880", "se_orgnr:5562337880"],
    ["fi_ytunnus", "17487214", "fi_ytunnus:1748721-4"],
    ["fi_ytunnus", "1748721-4", "fi_ytunnus:1748721-4"],
    ["pl_krs", "477046", "pl_krs:0000477046"],
    ["pl_nip", "PL 856-734-62-15", "pl_nip:8567346215"],
    ["au_acn", "154 914 075", "au_acn:154914075"],
    ["br_cnpj", "46.426.796/0001-40", "br_cnpj:46426796000140"],
    ["br_cnpj", "12.ABC.345/01DE-35", "br_cnpj:12ABC34501DE35"],
    ["eu_vat", "DE129273398", "de_vat:DE129273398"],
    ["eu_vat", "IT 00743110157", "it_piva:IT00743110157"],
    ["eu_vat", "EL094259216", "eu_vat:EL094259216"],
    ["eu_vat", "XI980780684", "eu_vat:XI980780684"],
    ["ticker", "xnas:tsla", "ticker:XNAS:TSLA"],
    ["isin", "us0378331005", "isin:US0378331005"],
    ["bic", "cobadeff xxx", "bic:COBADEFFXXX"],
  ])("%s %s", (scheme, written, expected) => expect(read(scheme, written)).toBe(expected));

  test.each([
    ["lei", "SPARSE00000000000001"],
    ["lei", "5493001KJTIIGC8Y1R13"],
    ["isin", "US0378331006"],
    ["figi", "BBG000BLNNH7"],
    ["bic", "COBAZZFF"],
    ["ch_uid", "CHE101602522"],
    ["fr_siret", "55212022200014"],
    ["fr_vat", "FR41303265045"],
    ["gb_vat", "GB980780685"],
    ["pl_nip", "8567346216"],
    ["us_ein", "079999999"],
    ["eu_vat", "EL094259217"],
    ["sk_ico", "31333533"],
  ])("%s %s has wrong check digits", (scheme, written) => expect(read(scheme, written)).toMatch(/ !$/));

  test.each([
    ["lei", "5493001KJTIIGC8Y1R1"],
    ["lei", ""],
    ["de_hrb", "HRB 13085"],
    ["de_hrb", "Amtsgericht Entenhausen HRB 1"],
    ["ch_uid", "101602521"],
    ["gb_coh", "123456789"],
    ["gb_coh", "IP123456R"],
    ["gb_coh", "1234567R"],
    ["us_cik", "12345678901"],
    ["isin", "ＵＳ0378331005"],
    ["ticker", "TSLA"],
    ["figi", "BSG000BLNNH6"],
    ["eu_vat", "US123456789"],
    ["ocid", "x".repeat(10_000)],
  ])("%s %.40s is malformed", (scheme, written) => expect(read(scheme, written)).toBeNull());

  test("has a form for people", () => {
    const shown = (scheme: string, written: string) => {
      const result = parseIdentifier(scheme, written);
      return result.kind === "identifier" ? result.identifier.display : null;
    };
    expect(shown("ch_uid", "CHE101602521")).toBe("CHE-101.602.521");
    expect(shown("ch_vat", "CHE107787577MWST")).toBe("CHE-107.787.577 MWST");
    expect(shown("ch_chid", "CH27030051590")).toBe("CH-270-3005159-0");
    expect(shown("de_hrb", "M1201.HRA15378")).toBe("Amtsgericht Frankfurt am Main HRA 15378");
    expect(shown("de_hrb", "Z9999.HRB1")).toBe("Z9999.HRB1");
    expect(shown("us_cik", "1318605")).toBe("0001318605");
  });
});

describe("laws", () => {
  const base36 = Array.from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const chars = (count: number) =>
    fc.array(fc.constantFrom(...base36), { minLength: count, maxLength: count }).map((list) => list.join(""));
  const mod97 = (text: string) =>
    Number(BigInt(Array.from(text, (char) => Number.parseInt(char, 36)).join("")) % 97n);
  const lei = chars(18).map((base) => `${base}${String(98 - mod97(`${base}00`)).padStart(2, "0")}`);

  test("a LEI with the check digits of ISO 7064 holds, and a digit or a letter changed breaks it", () => {
    fc.assert(
      fc.property(lei, fc.nat(17), fc.constantFrom(...base36), (value, at, char) => {
        expect(read("lei", value)).toBe(`lei:${value}`);
        // A letter is two digits: a digit in its place moves the others, which the check may miss.
        fc.pre(char !== value[at] && /[0-9]/.test(char) === /[0-9]/.test(value[at]!));
        expect(read("lei", `${value.slice(0, at)}${char}${value.slice(at + 1)}`)).toMatch(/ !$/);
      }),
    );
  });

  test("the canonical form is its own canonical form, however it was spaced", () => {
    const written = fc.constantFrom(...IDENTIFIER_SCHEMES).chain((scheme) =>
      fc.tuple(fc.constant(scheme), fc.nat(scheme.example.length)).map(([{ scheme: name, example }, at]) => ({
        name,
        text:
          name === "ocid" || name === "ticker"
            ? ` ${example} `
            : `${example.slice(0, at)} ${example.slice(at)}`,
      })),
    );
    fc.assert(
      fc.property(written, ({ name, text }) => {
        const once = read(name, text)!;
        const [scheme, ...rest] = once.split(":");
        expect(read(scheme!, rest.join(":"))).toBe(once);
      }),
    );
  });

  test.each(
    "isin ch_uid fr_siren fr_siret dk_cvr no_orgnr se_orgnr fi_ytunnus pl_nip it_piva de_vat be_kbo au_abn cn_uscc br_cnpj".split(
      " ",
    ),
  )("%s: one changed digit of its example is noticed", (name) => {
    const { example } = IDENTIFIER_SCHEMES.find(({ scheme }) => scheme === name)!;
    for (let at = 0; at < example.length; at++) {
      if (!/[0-9]/.test(example[at]!)) continue;
      for (const digit of "0123456789".replace(example[at]!, "")) {
        const changed = read(name, `${example.slice(0, at)}${digit}${example.slice(at + 1)}`);
        expect(changed === null || changed.endsWith(" !"), `${changed}`).toBe(true);
      }
    }
  });

  test("no text throws", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...IDENTIFIER_SCHEMES),
        fc.string({ unit: "grapheme" }),
        ({ scheme }, text) => {
          expect(parseIdentifier(scheme, text).kind).toMatch(/^(?:identifier|malformed)$/);
          for (const reference of [text, `${scheme}:${text}`])
            expect(parseReference(reference)).toHaveProperty("kind");
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("a reference", () => {
  test.each([
    ["cmp_0123456789abcdef", { kind: "company_id", id: "cmp_0123456789abcdef" }],
    ["LEI:5493001KJTIIGC8Y1R12", { kind: "identifier", identifier: { scheme: "lei" } }],
    ["ticker:XNAS:TSLA", { kind: "identifier", identifier: { scheme: "ticker", value: "XNAS:TSLA" } }],
    ["de_hrb:Amtsgericht München HRB 6684", { kind: "identifier", identifier: { value: "D2601V.HRB6684" } }],
  ])("%s is read", (reference, expected) => expect(parseReference(reference)).toMatchObject(expected));

  test.each([
    ["lei:5493001KJTIIGC8Y1R13", 'The check digits of lei "5493001KJTIIGC8Y1R13" are wrong'],
    ["xyz:1", '"xyz" is no identifier scheme'],
    ["5493001KJTIIGC8Y1R12", "is neither a cmp_ id nor scheme:value"],
    ["lei:1", '"1" is no Legal Entity Identifier (ISO 17442): lei looks like W38RGI023J3WT1HWRP32'],
    ["", "is neither a cmp_ id nor scheme:value"],
  ])("%s is refused", (reference, message) =>
    expect(parseReference(reference)).toMatchObject({
      kind: "invalid",
      message: expect.stringContaining(message),
    }),
  );
});
