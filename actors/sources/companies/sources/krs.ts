/**
 * The Polish court register (Krajowy Rejestr Sądowy): current extracts of entrepreneurs (P) and associations (S).
 *
 * Peculiarities of the source:
 * - A number is in one of two registers; a 404 of the first does not mean a 404 of the second.
 * - Everything is in capitals, days are DD.MM.YYYY, amounts have a decimal comma.
 * - People are masked by the register (`N****`): their roles are read, and no names.
 * - Names of merged companies end in filler dashes.
 */
import { type Static, Type } from "typebox";
import type { Json, SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import type { OpenSource, RawDocument, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { addOfficer, type RoleGroup } from "./people.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, decimalOf, dayFirstDateOf, entityParty } from "./values.ts";

const Amount = maybe(Type.Object({ wartosc: maybeText, waluta: maybeText }));
const Activity = Type.Object({
  opis: maybeText,
  kodDzial: maybeText,
  kodKlasa: maybeText,
  kodPodklasa: maybeText,
});
/** Members, of which only the role is read: the names are masked. */
const Members = maybe(Type.Array(Type.Object({ funkcjaWOrganie: maybeText })));
const FiledFor = maybe(Type.Array(Type.Object({ dataZlozenia: maybeText, zaOkresOdDo: maybeText })));
/** Its number stands as text, or in an object of its own. */
const Merged = Type.Object({
  nazwa: maybeText,
  identyfikator: maybe(Type.Object({ regon: maybeText })),
  krs: maybe(Type.Union([Type.String(), Type.Object({ krs: maybeText })])),
});
const Extract = Type.Object({
  odpis: Type.Object({
    naglowekA: Type.Object({
      numerKRS: Type.String(),
      dataRejestracjiWKRS: maybeText,
    }),
    dane: Type.Object({
      dzial1: Type.Object({
        danePodmiotu: Type.Object({
          nazwa: Type.String(),
          formaPrawna: maybeText,
          identyfikatory: maybe(Type.Object({ nip: maybeText, regon: maybeText })),
        }),
        siedzibaIAdres: maybe(
          Type.Object({
            siedziba: maybe(Type.Object({ wojewodztwo: maybeText })),
            adres: maybe(
              Type.Object({
                ulica: maybeText,
                nrDomu: maybeText,
                nrLokalu: maybeText,
                miejscowosc: maybeText,
                kodPocztowy: maybeText,
              }),
            ),
            adresPocztyElektronicznej: maybeText,
            adresStronyInternetowej: maybeText,
          }),
        ),
        kapital: maybe(
          Type.Object({
            wysokoscKapitaluZakladowego: Amount,
            czescKapitaluWplaconegoPokrytego: Amount,
            wysokoscKapitaluDocelowegoZapasowego: Amount,
            wartoscWarunkowegoPodwyzszeniaKapitaluZakladowego: Amount,
            lacznaLiczbaAkcjiUdzialow: maybeText,
            wartoscJednejAkcji: Amount,
          }),
        ),
        emisjeAkcji: maybe(
          Type.Array(Type.Object({ nazwaSeriiAkcji: maybeText, liczbaAkcjiWSerii: maybeText })),
        ),
      }),
      dzial2: maybe(
        Type.Object({
          reprezentacja: maybe(
            Type.Object({ nazwaOrganu: maybeText, sposobReprezentacji: maybeText, sklad: Members }),
          ),
          organNadzoru: maybe(Type.Array(Type.Object({ nazwa: maybeText, sklad: Members }))),
          prokurenci: maybe(Type.Array(Type.Object({ rodzajProkury: maybeText }))),
        }),
      ),
      dzial3: maybe(
        Type.Object({
          przedmiotDzialalnosci: maybe(
            Type.Object({
              przedmiotPrzewazajacejDzialalnosci: maybe(Type.Array(Activity)),
              przedmiotPozostalejDzialalnosci: maybe(Type.Array(Activity)),
            }),
          ),
          przedmiotDzialalnosciOPP: maybe(Type.Object({ nieodplatnyPkd: maybe(Type.Array(Activity)) })),
          celDzialaniaOrganizacji: maybe(Type.Object({ celDzialania: maybeText })),
          wzmiankiOZlozonychDokumentach: maybe(
            Type.Object({ wzmiankaOZlozeniuRocznegoSprawozdaniaFinansowego: FiledFor }),
          ),
          sprawozdaniaGrupyKapitalowej: maybe(
            Type.Object({ wzmiankaOZlozeniuSkonsolidowanegoRocznegoSprawozdaniaFinansowego: FiledFor }),
          ),
        }),
      ),
      dzial6: maybe(
        Type.Object({
          likwidacja: maybe(Type.Unknown()),
          postepowanieUpadlosciowe: maybe(Type.Unknown()),
          polaczeniePodzialPrzeksztalcenie: maybe(
            Type.Array(
              Type.Object({
                okreslenieOkolicznosci: maybeText,
                podmiotyPrzejmowane: maybe(Type.Array(Merged)),
              }),
            ),
          ),
        }),
      ),
    }),
  }),
});
type Extract = Static<typeof Extract>["odpis"];
const readExtract = jsonReader(Extract);

function statusOf({ dane: { dzial6 } }: Extract): string {
  if (dzial6?.postepowanieUpadlosciowe != null) return "insolvency";
  return dzial6?.likwidacja != null ? "liquidation" : "active";
}

/** A web address as the register writes it: in capitals, without a scheme. */
function homepageOf(written: string | null | undefined): string | null {
  const site = written
    ?.trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "");
  return site && /^[^\s/]+\.[a-z]{2,}(?:\/\S*)?$/.test(site) ? `https://${site}` : null;
}

/** The statistical register, in GLEIF's list of authorities: its number has no scheme of its own. */
const REGON = "RA000654";
/** The REGON of a company, 9 digits. The last five of 14 digits are a local unit's; the company itself has zeros there. */
const regonOf = (written: string | null | undefined): string | null =>
  /^([0-9]{9})(?:0{5})?$/.exec(written ?? "")?.[1] ?? null;

/** ISO 3166-2 by the voivodeship. */
const REGIONS: Readonly<Record<string, string>> = {
  DOLNOŚLĄSKIE: "PL-02",
  "KUJAWSKO-POMORSKIE": "PL-04",
  LUBELSKIE: "PL-06",
  LUBUSKIE: "PL-08",
  ŁÓDZKIE: "PL-10",
  MAŁOPOLSKIE: "PL-12",
  MAZOWIECKIE: "PL-14",
  OPOLSKIE: "PL-16",
  PODKARPACKIE: "PL-18",
  PODLASKIE: "PL-20",
  POMORSKIE: "PL-22",
  ŚLĄSKIE: "PL-24",
  ŚWIĘTOKRZYSKIE: "PL-26",
  "WARMIŃSKO-MAZURSKIE": "PL-28",
  WIELKOPOLSKIE: "PL-30",
  ZACHODNIOPOMORSKIE: "PL-32",
};

const countOf = (written: string | null | undefined): number | null =>
  /^[0-9]{1,15}$/.test(written ?? "") ? Number(written) : null;

/** The series of shares; a register entry keeps series of which no share is left. Without series, all shares. */
function sharesOf({ dane: { dzial1 } }: Extract): readonly Json[] {
  const nominal = decimalOf(dzial1.kapital?.wartoscJednejAkcji?.wartosc);
  const series = (dzial1.emisjeAkcji ?? []).flatMap(
    ({ nazwaSeriiAkcji, liczbaAkcjiWSerii }): readonly Json[] => {
      const count = countOf(liczbaAkcjiWSerii);
      return count === null ? [] : [{ class: nazwaSeriiAkcji?.trim() || null, count, nominal }];
    },
  );
  const count = countOf(dzial1.kapital?.lacznaLiczbaAkcjiUdzialow);
  return series.length > 0 || count === null ? series : [{ class: null, count, nominal }];
}

function peopleClaims(document: RawDocument, { dane: { dzial2 } }: Extract): readonly SourceClaim[] {
  const list = claimList(document);
  const add = (
    group: RoleGroup,
    label: string | null | undefined,
    at: number,
    signature: string | null,
  ): void => {
    if (!label) return;
    addOfficer(list, {
      kind: "anonymous",
      name: `${label} ${at + 1}`,
      role: { group, label },
      signature,
      current: true,
    });
  };
  const board = dzial2?.reprezentacja;
  for (const [at, { funkcjaWOrganie }] of (board?.sklad ?? []).entries())
    add("management", funkcjaWOrganie ?? board?.nazwaOrganu, at, board?.sposobReprezentacji ?? null);
  const supervisors = (dzial2?.organNadzoru ?? []).flatMap(({ nazwa, sklad }) =>
    (sklad ?? []).map(({ funkcjaWOrganie }) => funkcjaWOrganie ?? nazwa),
  );
  for (const [at, label] of supervisors.entries()) add("supervisory", label, at, null);
  for (const [at, { rodzajProkury }] of (dzial2?.prokurenci ?? []).entries())
    add("signatory", "PROKURENT", at, rodzajProkury ?? null);
  return list.claims;
}

/** The accounts that were filed: the register has the day and the period, and no document. */
function filingClaims(document: RawDocument, { dane: { dzial3 } }: Extract): readonly SourceClaim[] {
  const list = claimList(document);
  for (const [type, filed] of [
    [
      "roczne sprawozdanie finansowe",
      dzial3?.wzmiankiOZlozonychDokumentach?.wzmiankaOZlozeniuRocznegoSprawozdaniaFinansowego,
    ],
    [
      "skonsolidowane roczne sprawozdanie finansowe",
      dzial3?.sprawozdaniaGrupyKapitalowej?.wzmiankaOZlozeniuSkonsolidowanegoRocznegoSprawozdaniaFinansowego,
    ],
  ] as const)
    for (const { dataZlozenia, zaOkresOdDo } of filed ?? []) {
      const date = dayFirstDateOf(dataZlozenia);
      if (date === null) continue;
      const id = `krs:${type} ${zaOkresOdDo ?? date}`;
      list.add("filings", id, {
        id,
        source: "krs",
        type,
        title: zaOkresOdDo ?? null,
        date,
        language: "pl",
        amendment: false,
      });
    }
  return list.claims;
}

export function coreClaims(document: RawDocument, extract: Extract): readonly SourceClaim[] {
  const { danePodmiotu: entity, siedzibaIAdres: seat, kapital } = extract.dane.dzial1;
  const list = claimList(document);
  list.set("names.legal", entity.nazwa.trim(), { language: "pl" });
  if (entity.formaPrawna)
    list.set("legal_form", {
      local: { scheme: "krs", code: entity.formaPrawna },
      label: entity.formaPrawna,
      category: legalFormCategory(entity.formaPrawna, "PL") ?? categoryOfName(entity.nazwa, "PL") ?? "other",
    });
  list.set("status", statusOf(extract));
  list.set("jurisdiction", "PL");
  list.set("dates.registration", dayFirstDateOf(extract.naglowekA.dataRejestracjiWKRS), {
    raw_value: extract.naglowekA.dataRejestracjiWKRS ?? null,
  });
  const address = seat?.adres;
  if (address) {
    const number = [address.nrDomu, address.nrLokalu].filter(Boolean).join("/");
    const line = [address.ulica, number].filter(Boolean).join(" ");
    list.add(
      "addresses",
      "registered",
      addressOf({
        type: "registered",
        lines: [line],
        street: address.ulica,
        house_number: number,
        postal_code: address.kodPocztowy,
        city: address.miejscowosc,
        region: REGIONS[seat.siedziba?.wojewodztwo?.trim() ?? ""] ?? null,
        country: "PL",
        language: "pl",
      }),
    );
  }
  for (const [type, written] of [
    ["share", kapital?.wysokoscKapitaluZakladowego],
    ["paid_up", kapital?.czescKapitaluWplaconegoPokrytego],
    ["authorised", kapital?.wysokoscKapitaluDocelowegoZapasowego],
    // The conditional capital.
    ["other", kapital?.wartoscWarunkowegoPodwyzszeniaKapitaluZakladowego],
  ] as const) {
    const amount = decimalOf(written?.wartosc);
    if (amount === null || !written?.waluta) continue;
    const shares = type === "share" ? sharesOf(extract) : [];
    list.add("capital", `${type}:${written.waluta}`, {
      type,
      amount,
      currency: written.waluta,
      ...(shares.length > 0 && { shares }),
    });
  }
  list.add("purpose", "pl", extract.dane.dzial3?.celDzialaniaOrganizacji?.celDzialania, { language: "pl" });
  const { przedmiotPrzewazajacejDzialalnosci: main, przedmiotPozostalejDzialalnosci: others } =
    extract.dane.dzial3?.przedmiotDzialalnosci ?? {};
  for (const [activities, primary] of [
    [main, true],
    [others, false],
    [extract.dane.dzial3?.przedmiotDzialalnosciOPP?.nieodplatnyPkd, false],
  ] as const)
    for (const { opis, kodDzial, kodKlasa, kodPodklasa } of activities ?? []) {
      const code = [kodDzial, kodKlasa, kodPodklasa].filter(Boolean).join(".");
      if (code !== "")
        list.add("activities", `other:${code}`, { scheme: "other", code, label: opis ?? null, primary });
    }
  return list.claims;
}

function relationshipClaims(document: RawDocument, { dane: { dzial6 } }: Extract): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { podmiotyPrzejmowane } of dzial6?.polaczeniePodzialPrzeksztalcenie ?? [])
    for (const { nazwa, krs, identyfikator } of podmiotyPrzejmowane ?? []) {
      const name = (nazwa ?? "").replace(/(?<![,\s-])[,\s-]+$/, "");
      const number = typeof krs === "string" ? krs : krs?.krs;
      const regon = regonOf(identyfikator?.regon);
      const ref = /^[0-9]{10}$/.test(number ?? "")
        ? `pl_krs:${number}`
        : regon === null
          ? null
          : `ra:${REGON}:${regon}`;
      if (name === "" && ref === null) continue;
      list.add("relationships", `took_over|out|${ref ?? foldName(name)}`, {
        type: "took_over",
        direction: "out",
        party: entityParty({ name, ref, country: "PL" }),
        current: true,
      });
    }
  return list.claims;
}

const DESCRIPTION: SourceDescription = {
  name: "krs",
  title: "Krajowy Rejestr Sądowy",
  countries: ["PL"],
  schemes: { lookup: ["pl_krs"], yields: ["pl_krs", "pl_nip", "ra"] },
  home_register_of: ["PL"],
  capabilities: ["lookup", "people", "relationships", "filings"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    relationships: { precedence: 100, freshness: "registry_core" },
    people: { precedence: 100, freshness: "registry_people" },
    filings: { precedence: 100, freshness: "filings" },
    web: { precedence: 100, freshness: "registry_core" },
  },
  licence: {
    id: "LicenseRef-krs-public-register",
    url: "https://prs.ms.gov.pl/krs/openApi",
    attribution: "Krajowy Rejestr Sądowy, Ministerstwo Sprawiedliwości",
    redistribution: "open",
  },
  terms_url: "https://prs.ms.gov.pl/krs/openApi",
  limits: { requests_per_second: 2, max_in_flight: 2 },
  parser_version: "2",
  canaries: [
    {
      identifier: { scheme: "pl_krs", value: "0000006865" },
      expect: [{ field: "names.legal", key: null, value: "CD PROJEKT SPÓŁKA AKCYJNA" }],
    },
  ],
};

const REGISTERS = ["P", "S"] as const;

export const openKrs: OpenSource = ({ base_url }) => ({
  description: DESCRIPTION,
  inactive_because: null,

  async lookup({ value }, _groups, http) {
    const missing: RawDocument[] = [];
    for (const register of REGISTERS) {
      const url = `${base_url}/OdpisAktualny/${value}?rejestr=${register}&format=json`;
      const response = await http({ method: "GET", url });
      if (response.kind === "failed") return response;
      const { document } = response;
      if (response.status === 404) {
        missing.push(document);
        continue;
      }
      if (response.status !== 200) return statusFailure(response);
      const reading = readExtract(response);
      if (reading.kind === "failed") return reading;
      const extract = reading.value.odpis;
      const { identyfikatory } = extract.dane.dzial1.danePodmiotu;
      const numbers = claimList(document);
      numbers.identifier("pl_krs", extract.naglowekA.numerKRS);
      numbers.identifier("pl_nip", identyfikatory?.nip);
      numbers.registerNumber(REGON, regonOf(identyfikatory?.regon), "PL");
      const web = claimList(document);
      const { adresStronyInternetowej: site, adresPocztyElektronicznej } =
        extract.dane.dzial1.siedzibaIAdres ?? {};
      const email = adresPocztyElektronicznej?.trim().toLowerCase() ?? "";
      web.set("web.homepage", homepageOf(site), { raw_value: site ?? null });
      web.add("web.emails", email, email);
      const own = { kind: "claims", is_complete: true, documents: [document] } as const;
      return {
        kind: "found",
        native_id: extract.naglowekA.numerKRS,
        groups: [
          { group: "core", ...own, claims: coreClaims(document, extract) },
          { group: "identifiers", ...own, claims: numbers.claims },
          { group: "relationships", ...own, claims: relationshipClaims(document, extract) },
          { group: "people", ...own, claims: peopleClaims(document, extract) },
          { group: "filings", ...own, claims: filingClaims(document, extract) },
          { group: "web", ...own, claims: web.claims },
        ],
      };
    }
    return { kind: "not_found", documents: missing };
  },
});
