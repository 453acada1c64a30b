/**
 * The Polish court register (Krajowy Rejestr Sądowy): current extracts of entrepreneurs (P) and associations (S).
 *
 * Peculiarities of the source:
 * - A number is in one of two registers; a 404 of the first does not mean a 404 of the second.
 * - Everything is in capitals, days are DD.MM.YYYY, amounts have a decimal comma.
 * - People are masked by the register (`N****`), so only what has a whole name is read: nobody, at present.
 * - Names of merged companies end in filler dashes.
 */
import { type Static, Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import type { OpenSource, RawDocument, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, decimalOf, dayFirstDateOf, entityParty } from "./values.ts";

const Amount = maybe(Type.Object({ wartosc: maybeText, waluta: maybeText }));
const Activity = Type.Object({
  opis: maybeText,
  kodDzial: maybeText,
  kodKlasa: maybeText,
  kodPodklasa: maybeText,
});
/** Its number stands as text, or in an object of its own. */
const Merged = Type.Object({
  nazwa: maybeText,
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
          Type.Object({ wysokoscKapitaluZakladowego: Amount, czescKapitaluWplaconegoPokrytego: Amount }),
        ),
      }),
      dzial3: maybe(
        Type.Object({
          przedmiotDzialalnosci: maybe(
            Type.Object({
              przedmiotPrzewazajacejDzialalnosci: maybe(Type.Array(Activity)),
              przedmiotPozostalejDzialalnosci: maybe(Type.Array(Activity)),
            }),
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
        country: "PL",
        language: "pl",
      }),
    );
  }
  for (const [type, written] of [
    ["share", kapital?.wysokoscKapitaluZakladowego],
    ["paid_up", kapital?.czescKapitaluWplaconegoPokrytego],
  ] as const) {
    const amount = decimalOf(written?.wartosc);
    if (amount !== null && written?.waluta)
      list.add("capital", `${type}:${written.waluta}`, { type, amount, currency: written.waluta });
  }
  const { przedmiotPrzewazajacejDzialalnosci: main, przedmiotPozostalejDzialalnosci: others } =
    extract.dane.dzial3?.przedmiotDzialalnosci ?? {};
  for (const [activities, primary] of [
    [main, true],
    [others, false],
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
    for (const { nazwa, krs } of podmiotyPrzejmowane ?? []) {
      const name = (nazwa ?? "").replace(/(?<![,\s-])[,\s-]+$/, "");
      const number = typeof krs === "string" ? krs : krs?.krs;
      const ref = /^[0-9]{10}$/.test(number ?? "") ? `pl_krs:${number}` : null;
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
  schemes: { lookup: ["pl_krs"], yields: ["pl_krs", "pl_nip"] },
  home_register_of: ["PL"],
  capabilities: ["lookup", "relationships"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    relationships: { precedence: 100, freshness: "registry_core" },
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
  parser_version: "1",
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
          { group: "web", ...own, claims: web.claims },
        ],
      };
    }
    return { kind: "not_found", documents: missing };
  },
});
