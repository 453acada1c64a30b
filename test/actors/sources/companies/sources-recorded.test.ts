/**
 * The sources over documents that they really sent: what is read of them, and that every value fits company/v1. The
 * documents are beside this repository; where they are not, the suite says so and skips.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import Schema from "typebox/schema";
import { describe, expect, test } from "vitest";
import type { FieldPath, SourceClaim } from "../../../../actors/sources/companies/claim.ts";
import type { LookupAnswer, OpenSource } from "../../../../actors/sources/companies/source.ts";
import { openCompaniesHouse } from "../../../../actors/sources/companies/sources/companies-house.ts";
import { openGleif } from "../../../../actors/sources/companies/sources/gleif.ts";
import { openKrs } from "../../../../actors/sources/companies/sources/krs.ts";
import { openPrh } from "../../../../actors/sources/companies/sources/prh.ts";
import { openRechercheEntreprises } from "../../../../actors/sources/companies/sources/recherche-entreprises.ts";
import { openSecEdgar } from "../../../../actors/sources/companies/sources/sec-edgar.ts";
import { INCLUDES, recordView } from "../../../../actors/sources/companies/view.ts";
import { COMPANY_JSON_SCHEMA } from "../../../../schemas/company-record.ts";
import { oneRegister } from "../../../harness/companies-harness.ts";
import { NOTHING_KNOWN, recordedHttp } from "../../../harness/recorded-http.ts";

const ROOT = "../shared/fixtures/companies";
const SCHEMA = "../shared/spec/company-v1.schema.json";
const isHere = existsSync(ROOT) && existsSync(SCHEMA);
if (!isHere) process.stderr.write(`Recorded answers of company sources are not tested: no ${ROOT}\n`);

const document = (path: string): string => readFileSync(`${ROOT}/${path}`, "utf8");
const BASE = "http://source.test";
const signal = new AbortController().signal;

async function look(
  open: OpenSource,
  reference: string,
  answers: Readonly<Record<string, string>>,
): Promise<LookupAnswer> {
  const [scheme = "", value = ""] = reference.split(":");
  const table = Object.entries(answers).map(([path, body]) => [`${BASE}${path}`, { body }]);
  const { http } = recordedHttp(Object.fromEntries(table));
  const groups = ["core", "people", "ownership", "relationships", "filings", "securities"] as const;
  return open({ base_url: BASE, credentials: "key" }).lookup(
    { scheme, value },
    groups,
    http,
    signal,
    NOTHING_KNOWN,
  );
}

const claimsOf = (answer: LookupAnswer): readonly SourceClaim[] =>
  answer.kind === "found"
    ? answer.groups.flatMap((group) => (group.kind === "claims" ? group.claims : []))
    : [];
const byField = (answer: LookupAnswer): Record<string, unknown> =>
  Object.fromEntries(
    claimsOf(answer).map(({ field, key, value }) => [key === null ? field : `${field} ${key}`, value]),
  );

/** The definition of company/v1 that a field's values have. */
const DEFINITIONS: Readonly<Partial<Record<FieldPath, string>>> = {
  identifiers: "Identifier",
  "names.former": "Name",
  "names.trading": "Name",
  "names.translations": "Name",
  "names.other": "Name",
  legal_form: "LegalForm",
  jurisdiction: "Jurisdiction",
  addresses: "Address",
  "dates.incorporation": "PartialDate",
  "dates.registration": "PartialDate",
  "dates.deregistration": "PartialDate",
  activities: "Activity",
  capital: "Capital",
  "size.employees": "Quantity",
  people: "Person",
  "ownership.direct_parent": "Party",
  "ownership.ultimate_parent": "Party",
  relationships: "Relationship",
  filings: "Filing",
  financials: "Financials",
  events: "Event",
  securities: "Security",
};
/** The register fills these in. */
const FILLED_IN: Readonly<Partial<Record<FieldPath, object>>> = {
  people: { claim: "clm_0123456789abcdefghjk" },
};

function misfits(claims: readonly SourceClaim[]): readonly string[] {
  const { $defs } = JSON.parse(readFileSync(SCHEMA, "utf8")) as { $defs: Record<string, object> };
  return claims.flatMap(({ field, key, value }) => {
    const name = DEFINITIONS[field];
    if (name === undefined) return [];
    const filled = FILLED_IN[field] ? { ...(value as object), ...FILLED_IN[field] } : value;
    const [fits, errors] = Schema.Errors({ $defs, $ref: `#/$defs/${name}` }, filled);
    return fits ? [] : [`${field} ${key}: ${JSON.stringify(errors.slice(0, 2))}`];
  });
}

const LEIS = [
  "21380068P1DRHMJ8KU70",
  "254900MSZM6DMP853B11",
  "529900GRZ2BQY5ZM9N49",
  "5493001KJTIIGC8Y1R12",
  "549300YX4S1LLSMK2627",
  "984500983AD71E4FBC41",
];
/** Every recorded answer below one LEI record, by the address it was asked for. */
function gleifAnswers(lei: string): Record<string, string> {
  const answers: Record<string, string> = {
    [`/lei-records/${lei}`]: document(`gleif/lei_records/single_lei_record_${lei}.json`),
  };
  for (const folder of ["lei_records", "relationships", "reporting_exceptions"])
    for (const file of readdirSync(`${ROOT}/gleif/${folder}`)) {
      const what = file.replace(`_${lei}.json`, "");
      if (file.endsWith(`_${lei}.json`))
        answers[`/lei-records/${lei}/${what}`] = document(`gleif/${folder}/${file}`);
    }
  answers[`/lei-records/${lei}/isins?page%5Bnumber%5D=1&page%5Bsize%5D=200`] = document(
    `gleif/isins/isins_${lei}.json`,
  );
  return answers;
}

interface RecordedCompany {
  readonly open: OpenSource;
  readonly reference: string;
  readonly answers: () => Record<string, string>;
}
const RECORDED: readonly RecordedCompany[] = [
  ...LEIS.map((lei) => ({ open: openGleif, reference: `lei:${lei}`, answers: () => gleifAnswers(lei) })),
  ...(
    [
      [openCompaniesHouse, "gb_coh:00445790", "/company/00445790", "companies_house/api/company-tesco.json"],
      [openPrh, "fi_ytunnus:0112038-9", "/companies?businessId=0112038-9", "prh/lookup-nokia.json"],
      [
        openRechercheEntreprises,
        "fr_siren:780129987",
        "/search?q=780129987&per_page=25",
        "recherche_entreprises/lookup-siren-renault.json",
      ],
      [
        openKrs,
        "pl_krs:0000006865",
        "/OdpisAktualny/0000006865?rejestr=P&format=json",
        "krs/lookup-cd-projekt.json",
      ],
      [
        openSecEdgar,
        "us_cik:0001318605",
        "/submissions/CIK0001318605.json",
        "sec_edgar/company_submission.json",
      ],
    ] as const
  ).map(([open, reference, path, file]) => ({
    open,
    reference,
    answers: () => ({ [path]: document(file) }),
  })),
];

describe.runIf(isHere)("recorded answers", () => {
  test.each(RECORDED)(
    "become a record that fits company/v1: $reference",
    async ({ open, reference, answers }) => {
      const table = Object.entries(answers()).map(([path, body]) => [`${BASE}${path}`, { body }]);
      const source = open({ base_url: BASE, credentials: "key" });
      const register = oneRegister(() => [
        {
          ...source,
          lookup: (identifier, groups, _http, stop, company) =>
            source.lookup(identifier, groups, recordedHttp(Object.fromEntries(table)).http, stop, company),
        },
      ]);
      const groups = ["people", "ownership", "filings", "financials", "events"] as const;
      const found = await register.get(reference, { groups });
      const context = { sources: register.sources, now_ms: register.clock.now() };
      const record = recordView(found!, new Set(INCLUDES), context);
      expect(Schema.Errors(COMPANY_JSON_SCHEMA, record)[1]).toEqual([]);
      for (const { claim } of Object.values(record["provenance"] as Record<string, { claim: string }>))
        expect(JSON.stringify(record["claims"])).toContain(claim);
      await register.stop();
    },
  );

  test.each(LEIS)("LEI record %s", async (lei) => {
    const answer = await look(openGleif, `lei:${lei}`, gleifAnswers(lei));
    expect(answer).toMatchObject({ kind: "found", native_id: lei });
    expect(misfits(claimsOf(answer))).toEqual([]);
    expect(byField(answer)).toMatchObject({ status: "active", [`identifiers lei:${lei}`]: { valid: true } });
  });

  test("PUMA SE: the day at its place, the exceptions of its parents", async () => {
    const answer = await look(openGleif, "lei:529900GRZ2BQY5ZM9N49", gleifAnswers("529900GRZ2BQY5ZM9N49"));
    expect(byField(answer)).toMatchObject({
      "names.legal": "PUMA SE",
      "dates.registration": "2011-07-25",
      legal_form: { elf: "SGST", label: "Europäische Aktiengesellschaft", category: "european_company" },
      "identifiers de_hrb:D3304V.HRB13085": { display: "Amtsgericht Fürth HRB 13085" },
      "identifiers bic:PUMADE77XXX": { valid: true },
      "ownership.exceptions DIRECT_ACCOUNTING_CONSOLIDATION_PARENT": { reason: "NO_KNOWN_PERSON" },
    });
  });

  test("Apple Energy: its number in Delaware, its parents by name", async () => {
    const answer = await look(openGleif, "lei:549300YX4S1LLSMK2627", gleifAnswers("549300YX4S1LLSMK2627"));
    expect(byField(answer)).toMatchObject({
      jurisdiction: "US-DE",
      "identifiers us_de_file:6021863": {},
      "ownership.direct_parent": { ref: "lei:HWUPKR0MPOU8FGXBT394", name: expect.any(String) },
    });
  });

  test("Tesco: two former names, its form and its first day", async () => {
    const answer = await look(openCompaniesHouse, "gb_coh:00445790", {
      "/company/00445790": document("companies_house/api/company-tesco.json"),
    });
    expect(misfits(claimsOf(answer))).toEqual([]);
    expect(byField(answer)).toMatchObject({
      "names.legal": "TESCO PLC",
      "dates.incorporation": "1947-11-27",
      legal_form: { category: "public_limited" },
      "names.former tesco stores holdings limited": { valid_to: "1981-12-14" },
      "activities uksic2007:47110": { primary: true },
    });
  });

  test("Nokia: names of three kinds, the trade register's day, the EUID", async () => {
    const answer = await look(openPrh, "fi_ytunnus:0112038-9", {
      "/companies?businessId=0112038-9": document("prh/lookup-nokia.json"),
    });
    expect(misfits(claimsOf(answer))).toEqual([]);
    expect(byField(answer)).toMatchObject({
      "names.legal": "Nokia Oyj",
      "names.translations nokia corporation": {},
      "names.trading vertu": {},
      "dates.registration": "1896-12-19",
      legal_form: { category: "public_limited" },
      "identifiers euid:FIFPRO.0112038-9": {},
      "addresses registered": { city: "ESPOO" },
      "web.homepage": "https://www.nokia.com",
    });
    expect(
      await look(openPrh, "fi_ytunnus:0112038-9", {
        "/companies?businessId=0112038-9": document("prh/lookup-not-found.json"),
      }),
    ).toMatchObject({ kind: "not_found" });
  });

  test("Renault: the placeholder of a date, auditors by their number, the year's figures", async () => {
    const answer = await look(openRechercheEntreprises, "fr_siren:780129987", {
      "/search?q=780129987&per_page=25": document("recherche_entreprises/lookup-siren-renault.json"),
    });
    expect(misfits(claimsOf(answer))).toEqual([]);
    const claims = byField(answer);
    expect(claims).not.toHaveProperty(["dates.incorporation"]);
    expect(claims).toMatchObject({
      "names.legal": "RENAULT SAS",
      legal_form: { category: "private_limited", label: expect.stringMatching(/^Société/) },
      "people kpmg sa|auditor|": { party: { ref: "fr_siren:775726417" } },
      "financials annual|2024|": { items: [{ value: "52491000000" }, { value: "2664000000" }] },
      "size.category": "large",
    });
  });

  test("CD Projekt and Caritas: one register each; of masked people the roles are read", async () => {
    const answer = await look(openKrs, "pl_krs:0000006865", {
      "/OdpisAktualny/0000006865?rejestr=P&format=json": document("krs/lookup-cd-projekt.json"),
    });
    expect(misfits(claimsOf(answer))).toEqual([]);
    expect(byField(answer)).toMatchObject({
      "names.legal": "CD PROJEKT SPÓŁKA AKCYJNA",
      "dates.registration": "2001-04-06",
      "capital share:PLN": { amount: "99910510.00" },
      "capital authorised:PLN": { amount: "7038081.00" },
      "identifiers ra:RA000654:492707333": {},
      "people czlonek zarzadu 7|management|": {
        party: { kind: "anonymous", name: null },
        role: { label: "CZŁONEK ZARZĄDU" },
      },
      "people prokurent 2|signatory|": { signature: { type: "unknown" } },
      "filings krs:roczne sprawozdanie finansowe ROK 2001": { date: "2002-06-26", title: "ROK 2001" },
      "identifiers pl_nip:7342867148": { valid: true },
      "web.emails gielda@cdprojekt.com": "gielda@cdprojekt.com",
    });
    expect(JSON.stringify(claimsOf(answer))).not.toContain("**");
    const caritas = await look(openKrs, "pl_krs:0000198645", {
      "/OdpisAktualny/0000198645?rejestr=S&format=json": document("krs/lookup-caritas.json"),
    });
    expect(misfits(claimsOf(caritas))).toEqual([]);
    expect(byField(caritas)).toMatchObject({ "names.legal": "CARITAS POLSKA" });
  });

  test("Tesla: its former name, its listing, an address without the text None", async () => {
    const answer = await look(openSecEdgar, "us_cik:0001318605", {
      "/submissions/CIK0001318605.json": document("sec_edgar/company_submission.json"),
    });
    expect(misfits(claimsOf(answer))).toEqual([]);
    expect(byField(answer)).toMatchObject({
      jurisdiction: "US-DE",
      "names.former tesla motors inc": { valid_to: "2017-01-27" },
      "identifiers ticker:XNAS:TSLA": {},
      "identifiers us_ein:912197729": { valid: true },
      "addresses business": { formatted: "3500 DEER CREEK RD, 94304 PALO ALTO, US" },
    });
  });
});
