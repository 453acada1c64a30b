/**
 * How much of what GLEIF sends stands in the record. Each leaf of the recorded documents is either at a named place of company/v1
 * or left out with a reason; a leaf that is neither fails the test, so nothing new is dropped unseen. Of the leaves that have a
 * place 95 % must be at it, with their value. Of the other sources' documents the values are looked for anywhere in the record; what is left
 * out is listed with its reason.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { foldName } from "../../../../actors/sources/companies/names/fold.ts";
import type { OpenSource } from "../../../../actors/sources/companies/source.ts";
import { openBrreg } from "../../../../actors/sources/companies/sources/brreg.ts";
import { openCompaniesHouse } from "../../../../actors/sources/companies/sources/companies-house.ts";
import { openGleif } from "../../../../actors/sources/companies/sources/gleif.ts";
import { openKrs } from "../../../../actors/sources/companies/sources/krs.ts";
import {
  type FtmEntity,
  ftmGroups,
  openSanctions,
} from "../../../../actors/sources/companies/sources/opensanctions.ts";
import { openPrh } from "../../../../actors/sources/companies/sources/prh.ts";
import { openRechercheEntreprises } from "../../../../actors/sources/companies/sources/recherche-entreprises.ts";
import { openSecEdgar } from "../../../../actors/sources/companies/sources/sec-edgar.ts";
import { openZefix } from "../../../../actors/sources/companies/sources/zefix.ts";
import { INCLUDES, recordView } from "../../../../actors/sources/companies/view.ts";
import { oneRegister } from "../../../harness/companies-harness.ts";
import { recordedHttp } from "../../../harness/recorded-http.ts";

const ROOT = "../shared/fixtures/companies/gleif";
const isHere = existsSync(ROOT);
if (!isHere) process.stderr.write(`Recorded answers of GLEIF are not counted: no ${ROOT}\n`);
const BASE = "http://source.test";
const LEIS = [
  "21380068P1DRHMJ8KU70",
  "254900MSZM6DMP853B11",
  "529900GRZ2BQY5ZM9N49",
  "5493001KJTIIGC8Y1R12",
  "549300YX4S1LLSMK2627",
  "984500983AD71E4FBC41",
];

/** The value as the record has it. */
type Form = (leaf: string) => string;
type Place = readonly [path: RegExp, at: RegExp, form?: Form];
type LeftOut = readonly [path: RegExp, because: string];

const DAY_MS = 86_400_000;
const HALF_DAY_MS = DAY_MS / 2;
/** The day of a midnight that is written in UTC; every recorded place is less than half a day from it. */
const midnight: Form = (leaf) =>
  new Date(Date.parse(leaf) + (leaf.includes("T00:00") ? 0 : HALF_DAY_MS)).toISOString().slice(0, 10);
const moment: Form = (leaf) => (/T[0-9]{2}:00:00/.test(leaf) ? midnight(leaf) : leaf.slice(0, 10));
const lei: Form = (leaf) => `lei:${leaf}`;
/** GLEIF's word in lower case, where the record has it as its own. */
const lower: Form = (leaf) => leaf.toLowerCase();
const STATUS: Readonly<Record<string, string>> = { ACTIVE: "active", INACTIVE: "dissolved" };

const ADDRESS = (part: string, type: string): readonly Place[] => [
  [new RegExp(`${part}\\.language$`), /^addresses\[\]\.language$/],
  [new RegExp(`${part}\\.addressLines`), /^addresses\[\]\.lines\[\]$/],
  [new RegExp(`${part}\\.addressNumber$`), /^addresses\[\]\.house_number$/],
  [new RegExp(`${part}\\.mailRouting$`), /^addresses\[\]\.care_of$/],
  [new RegExp(`${part}\\.city$`), /^addresses\[\]\.city$/],
  [new RegExp(`${part}\\.region$`), /^addresses\[\]\.region$/],
  [new RegExp(`${part}\\.country$`), /^addresses\[\]\.country$/],
  [new RegExp(`${part}\\.postalCode$`), /^addresses\[\]\.postal_code$/],
  [new RegExp(`${part}\\.type$`), /^addresses\[\]\.type$/, () => type],
];
const ENTITY = "^data\\.attributes\\.entity\\.";

const EVERYWHERE: readonly LeftOut[] = [
  [/^links\.|\.links\.|^data(?:\[\])?\.links/, "addresses of the API"],
  [/^meta\./, "the golden copy and the page, not the company"],
  [/^data(?:\[\])?\.(?:type|id)$/, "ids of the API's documents"],
];

interface Rules {
  readonly places: readonly Place[];
  readonly left_out: readonly LeftOut[];
}

const RECORD: Rules = {
  places: [
    [/^data\.attributes\.lei$/, /^identifiers\[\]\.value$/],
    [new RegExp(`${ENTITY}legalName\\.name$`), /^names\.legal$/],
    [new RegExp(`${ENTITY}legalName\\.language$`), /^names\.language$/],
    [new RegExp(`${ENTITY}otherNames\\[\\]\\.name$`), /^names\.\w+\[\]\.name$/],
    [new RegExp(`${ENTITY}otherNames\\[\\]\\.language$`), /^names\.\w+\[\]\.language$/],
    [new RegExp(`${ENTITY}otherNames\\[\\]\\.type$`), /^names\.\w+\[\]\.type$/, () => "former"],
    ...ADDRESS(`${ENTITY}legalAddress`, "registered"),
    ...ADDRESS(`${ENTITY}headquartersAddress`, "headquarters"),
    [/\.(?:registeredAt|validatedAt)\.id$/, /^identifiers\[\]\.issuer\.ra_code$/],
    // A German number has its court before it.
    [/\.(?:registeredAs|validatedAs)$/, /^identifiers\[\]\.(?:value|display)$/, (leaf) => `…${leaf}`],
    [/\.jurisdiction$/, /^jurisdiction$/],
    [/\.legalForm\.id$/, /^legal_form\.elf$/],
    [new RegExp(`${ENTITY}status$`), /^status$/, (leaf) => STATUS[leaf]!],
    [/\.creationDate$/, /^dates\.registration$/, midnight],
    [/\.events\[\]\.effectiveDate$/, /^events\[\]\.date$/, midnight],
    [/\.events\[\]\.recordedDate$/, /^events\[\]\.published_on$/, midnight],
    [/\.events\[\]\.type$/, /^events\[\]\.title$/],
    [/\.registration\.initialRegistrationDate$/, /^identifiers\[\]\.valid_from$/, moment],
    [/\.registration\.nextRenewalDate$/, /^identifiers\[\]\.valid_to$/, moment],
    [/\.registration\.managingLou$/, /^identifiers\[\]\.issuer\.name$/, lei],
    [
      /\.registration\.status$/,
      /^identifiers\[\]\.status$/,
      (leaf) => (leaf === "ISSUED" ? "active" : "inactive"),
    ],
    [/\.bic\[\]$/, /^identifiers\[\]\.value$/],
    [/\.ocid$/, /^identifiers\[\]\.value$/],
  ],
  left_out: [
    [/\.entity\.category$/, "GENERAL says nothing; the other categories are the form's"],
    [/\.lastUpdateDate$/, "when the issuer wrote, not when the company changed"],
    [/\.corroborationLevel$/, "the precedence of the claims"],
    [/\.(?:qcc|spglobal\[\]|mic\[\])$/, "numbers of vendors without a scheme"],
    [/\.conformityFlag$/, "of the issuer's quality"],
    [
      /\.eventGroups\[\]\.groupType$|\.events\[\]\.(?:validation\w+|status)$/,
      "how the issuer proved the event",
    ],
  ],
};

const RELATIONSHIP: Rules = {
  places: [
    [/\.relationship\.endNode\.id$/, /^relationships\[\]\.party\.ref$/, lei],
    [/\.relationship\.type$/, /^relationships\[\]\.type$/, lower],
    [/\.relationship\.status$/, /^relationships\[\]\.status$/],
    [/\.periods\[\]\.startDate$/, /^relationships\[\]\.periods\[\]\.start$/, midnight],
    [/\.periods\[\]\.endDate$/, /^relationships\[\]\.periods\[\]\.end$/, midnight],
    [/\.periods\[\]\.type$/, /^relationships\[\]\.periods\[\]\.type$/],
    [/\.registration\.corroborationLevel$/, /^relationships\[\]\.corroboration$/],
  ],
  left_out: [
    [/\.startNode\.|\.endNode\.type$/, "the company itself, and the kind of id"],
    [/\.validFrom$/, "of the golden copy"],
    [/\.registration\.(?!corroborationLevel)/, "of the issuer's record of the relationship"],
  ],
};

const PARTY: Rules = {
  places: [
    [/\.attributes\.lei$/, /^relationships\[\]\.party\.ref$/, lei],
    [/\.entity\.legalName\.name$/, /^relationships\[\]\.party\.name$/],
    [/\.entity\.legalAddress\.country$/, /^relationships\[\]\.party\.country$/],
  ],
  left_out: [
    [
      /\.(?:entity|registration)\.|\.(?:bic|mic|spglobal)\[\]$|\.(?:qcc|ocid|conformityFlag)$/,
      "another company's record, by its own LEI",
    ],
  ],
};

const EXCEPTION: Rules = {
  places: [
    [/\.attributes\.category$/, /^ownership\.exceptions\[\]\.category$/],
    [/\.attributes\.reason$/, /^ownership\.exceptions\[\]\.reason$/],
    [/\.attributes\.reference$/, /^ownership\.exceptions\[\]\.reference$/],
  ],
  left_out: [[/\.attributes\.lei$/, "the company itself"]],
};

const isEntityField = (field: string): boolean => /\/lei:Entity\//.test(field);

const RULES: Readonly<Record<string, Rules>> = {
  "": RECORD,
  "direct-parent": PARTY,
  "ultimate-parent": PARTY,
  "direct-children": PARTY,
  "direct-parent-relationship": RELATIONSHIP,
  "ultimate-parent-relationship": RELATIONSHIP,
  "direct-parent-reporting-exception": EXCEPTION,
  "ultimate-parent-reporting-exception": EXCEPTION,
  isins: {
    places: [[/\.attributes\.isin$/, /^securities\[\]\.isin$/]],
    left_out: [[/\.attributes\.lei$/, "the company itself"]],
  },
  "field-modifications": {
    places: [
      [/\.attributes\.date$/, /^events\[\]\.date$/, (leaf) => leaf.slice(0, 10)],
      [/\.attributes\.value(?:Old|New)$/, /^events\[\]\.text$/, (leaf) => `…${leaf}…`],
      [/\.attributes\.modificationType$/, /^events\[\]\.title$/, (leaf) => `…${leaf.toLowerCase()}`],
    ],
    left_out: [
      [
        /\.attributes\.(?:lei|recordType|field)$/,
        "the company itself; the element is in the title, without its path",
      ],
    ],
  },
};

/** Lists that the source asks for in pages. The recorded first page stands for the whole list. */
const LISTS: Readonly<Record<string, string>> = {
  "direct-children": "lei_records/direct-children",
  isins: "isins/isins",
  "field-modifications": "field_modifications/field_modifications",
};

interface Answer {
  readonly kind: string;
  readonly path: string;
  readonly body: unknown;
}

function answersOf(lei_of: string): readonly Answer[] {
  const json = (file: string): unknown => JSON.parse(readFileSync(`${ROOT}/${file}`, "utf8"));
  const base = `/lei-records/${lei_of}`;
  const answers: Answer[] = [
    { kind: "", path: base, body: json(`lei_records/single_lei_record_${lei_of}.json`) },
  ];
  for (const folder of ["lei_records", "relationships", "reporting_exceptions"])
    for (const file of readdirSync(`${ROOT}/${folder}`)) {
      const kind = file.replace(`_${lei_of}.json`, "");
      if (kind !== file && /^(?:direct|ultimate)-parent/.test(kind))
        answers.push({ kind, path: `${base}/${kind}`, body: json(`${folder}/${file}`) });
    }
  for (const [kind, file] of Object.entries(LISTS)) {
    const { meta, data: all } = json(`${file}_${lei_of}.json`) as {
      meta: object;
      data: readonly { attributes: { field?: string } }[];
    };
    // Registration's dates are most of the modifications and no event of the company.
    const data = all.filter(({ attributes: { field } }) => field === undefined || isEntityField(field));
    const body = { meta: { ...meta, pagination: { total: data.length } }, data };
    answers.push({ kind, path: `${base}/${kind}?page%5Bnumber%5D=1&page%5Bsize%5D=200`, body });
  }
  return answers;
}

/** Every leaf of JSON that says something, with its path. */
function* leavesOf(value: unknown, path = ""): Generator<readonly [path: string, leaf: string]> {
  if (value === null || value === undefined || value === "" || value === false) return;
  if (Array.isArray(value)) for (const item of value) yield* leavesOf(item, `${path}[]`);
  else if (typeof value === "object")
    for (const [name, part] of Object.entries(value))
      yield* leavesOf(part, path === "" ? name : `${path}.${name}`);
  else yield [path, typeof value === "string" ? value : JSON.stringify(value)];
}

interface Count {
  readonly placed: number;
  readonly missing: readonly string[];
  readonly unaccounted: readonly string[];
}

const plain = (text: string): string => foldName(text).replaceAll(" ", "");

/** `…` at an end of the form: the record's value may go on there. */
function isAt(form: string, value: string): boolean {
  const [starts, ends] = [form.startsWith("…"), form.endsWith("…")];
  const [wanted, has] = [plain(form.replaceAll("…", "")), plain(value)];
  if (starts && ends) return has.includes(wanted);
  return starts ? has.endsWith(wanted) : has === wanted;
}

function countOf(answers: readonly Answer[], record: unknown): Count {
  const places = [...leavesOf(record)];
  const missing: string[] = [];
  const unaccounted: string[] = [];
  let placed = 0;
  for (const { kind, body } of answers)
    for (const [path, leaf] of leavesOf(body)) {
      const rules = RULES[kind]!;
      const place = rules.places.find(([pattern]) => pattern.test(path));
      if (place === undefined) {
        if (![...EVERYWHERE, ...rules.left_out].some(([pattern]) => pattern.test(path)))
          unaccounted.push(`${kind} ${path}`);
        continue;
      }
      const [, at, form] = place;
      const wanted = form ? form(leaf) : leaf;
      placed += 1;
      if (!places.some(([where, value]) => at.test(where) && isAt(wanted, value)))
        missing.push(`${kind} ${path}: ${leaf}`);
    }
  return { placed, missing, unaccounted: [...new Set(unaccounted)] };
}

async function recordOf(lei_of: string, answers: readonly Answer[]): Promise<Record<string, unknown>> {
  const source = openGleif({ base_url: BASE, credentials: null });
  const table = Object.fromEntries(answers.map(({ path, body }) => [`${BASE}${path}`, { body }]));
  const register = oneRegister(() => [
    {
      ...source,
      lookup: (identifier, groups, _http, stop, company) =>
        source.lookup(identifier, groups, recordedHttp(table).http, stop, company),
    },
  ]);
  const groups = ["ownership", "relationships", "securities", "events"] as const;
  const found = await register.get(`lei:${lei_of}`, { groups });
  const context = { sources: register.sources, now_ms: register.clock.now() };
  const include = new Set(INCLUDES.filter((each) => each !== "claims"));
  const record = recordView(found!, include, context);
  await register.stop();
  return record as Record<string, unknown>;
}

describe.runIf(isHere)("of what GLEIF sends", () => {
  test("every leaf has a place or a reason, and 95 % of those with a place are at it", async () => {
    let placed = 0;
    const missing: string[] = [];
    for (const each of LEIS) {
      const answers = answersOf(each);
      const count = countOf(answers, await recordOf(each, answers));
      expect(count.unaccounted).toEqual([]);
      placed += count.placed;
      missing.push(...count.missing);
    }
    expect(placed).toBeGreaterThan(400);
    const share = 1 - missing.length / placed;
    expect([share >= 0.95, share >= 0.95 ? [] : missing]).toEqual([true, []]);
  });

  test("a field that the record loses is missed", async () => {
    const [each = ""] = LEIS;
    const answers = answersOf(each);
    const record = await recordOf(each, answers);
    const before = countOf(answers, record).missing.length;
    for (const field of ["names", "identifiers", "addresses", "dates", "securities", "ownership", "events"])
      expect([field, countOf(answers, { ...record, [field]: null }).missing.length > before]).toEqual([
        field,
        true,
      ]);
  });

  test("every path that is left out is in a document", () => {
    const all = LEIS.flatMap(answersOf);
    const unused = Object.entries(RULES).flatMap(([kind, { left_out }]) =>
      left_out.filter(
        ([pattern]) =>
          !all.some(
            (answer) =>
              answer.kind === kind && [...leavesOf(answer.body)].some(([path]) => pattern.test(path)),
          ),
      ),
    );
    expect(unused).toEqual([]);
  });
});

interface RecordedSource {
  readonly open: OpenSource;
  readonly reference: string;
  /** Documents by the address that they were asked from: the file of a recorded one, or an invented one. */
  readonly documents: Readonly<Record<string, string | object>>;
  readonly left_out: readonly LeftOut[];
  /** Values that the record has in its own words. */
  readonly forms: readonly (readonly [path: RegExp, form: Form])[];
}

const COUNTRIES: Readonly<Record<string, string>> = { "United Kingdom": "GB", Norge: "NO" };
const country: Form = (leaf) => COUNTRIES[leaf] ?? leaf;

/** A company with everything that Zefix' interface describes, but people. */
const SWISS = {
  name: "Kranwerk AG",
  ehraid: 154_673,
  uid: "CHE101602521",
  chid: "CH02030069990",
  legalSeatId: 261,
  legalSeat: "Zürich",
  registryOfCommerceId: 20,
  legalForm: {
    id: 3,
    uid: "0106",
    name: { de: "Aktiengesellschaft", fr: "Société anonyme", it: "Società anonima", en: "Limited" },
    shortName: { de: "AG", fr: "SA", it: "SA", en: "Ltd" },
  },
  status: "CANCELLED",
  deletionDate: "2024-02-01",
  sogcDate: "2024-02-02",
  translation: ["Kranwerk SA", "Kranwerk Ltd"],
  purpose: "Bau von Kranen",
  canton: "ZH",
  capitalNominal: "100000.00",
  capitalCurrency: "CHF",
  cantonalExcerptWeb: "https://zh.chregister.ch/1",
  zefixDetailWeb: { de: "https://www.zefix.ch/de/1", en: "https://www.zefix.ch/en/1" },
  address: {
    organisation: "Kranhaus",
    careOf: "c/o Nordkran AG",
    street: "Bahnhofstrasse",
    houseNumber: "7",
    addon: "Hof 2",
    poBox: "Postfach 12",
    city: "Zürich",
    swissZipCode: "8001",
  },
  branchOffices: [{ name: "Kranwerk AG, Zweigniederlassung Basel", ehraid: 7, uid: "CHE101602521" }],
  hasTakenOver: [{ name: "Altkran AG", ehraid: 8, uid: "CHE116281710", status: "CANCELLED" }],
  auditCompanies: [{ name: "Prüfkran AG", ehraid: 9, uid: "CHE102909703", legalSeat: "Bern" }],
  oldNames: [{ name: "Kranbau AG", sequenceNr: 1, translation: ["Kranbau SA"] }],
  sogcPub: [
    {
      sogcDate: "2020-03-20",
      sogcId: 1_004_812_345,
      registryOfCommerceId: 20,
      registryOfCommerceCanton: "ZH",
      registryOfCommerceJournalId: 12_345,
      registryOfCommerceJournalDate: "2020-03-17",
      message: 'Kranwerk AG, Domizil neu: <FT TYPE="S">Bahnhofstrasse 7</FT>.',
      mutationTypes: [{ id: 1, key: "adressaenderung" }],
    },
  ],
};

/** A company with every property of FollowTheMoney that is read, and those of its kin that are not. */
const SANCTIONED = {
  id: "NK-kran",
  caption: "Kranwerk Trading Ltd",
  schema: "Company",
  referents: ["gb-kran"],
  datasets: ["us_ofac_sdn"],
  first_seen: "2022-01-01T00:00:00",
  last_seen: "2026-01-01T00:00:00",
  last_change: "2025-01-01T00:00:00",
  target: true,
  properties: {
    name: ["Kranwerk Trading Ltd", "Kranwerk Trading Limited"],
    alias: ["Kranich Handel"],
    weakAlias: ["KT"],
    previousName: ["Altkran Ltd"],
    jurisdiction: ["gb"],
    country: ["gb", "cy"],
    legalForm: ["Private Limited Company"],
    incorporationDate: ["2001-02-03"],
    dissolutionDate: ["2023-04-05"],
    status: ["Dissolved"],
    address: ["1 Crane Street, Leeds"],
    website: ["https://kranwerk.example"],
    email: ["info@kranwerk.example"],
    phone: ["+441234567890"],
    registrationNumber: ["00445790"],
    leiCode: ["2138002P5RNKC5W2JZ46"],
    innCode: ["7707083893"],
    taxNumber: ["1234"],
    vatCode: ["GB220430231"],
    swiftBic: ["DEUTDEFF"],
    wikidataId: ["Q42"],
    cikCode: ["0000320193"],
    sourceUrl: ["https://list.example/1"],
    topics: ["sanction"],
    programId: ["US-RUS"],
    notes: ["Builder of cranes"],
    sector: ["Cranes"],
  },
};
/** It has no API: a file's record answers for it. */
const openSanctionsOf: OpenSource = () => ({
  ...openSanctions,
  inactive_because: null,
  description: {
    ...openSanctions.description,
    schemes: { lookup: ["lei"], yields: openSanctions.description.schemes.yields },
  },
  lookup: async (_identifier, _groups, http) => {
    const response = await http({ method: "GET", url: `${BASE}/ftm` });
    if (response.kind === "failed") return response;
    const { document } = response;
    const own = { kind: "claims", is_complete: true, documents: [document] } as const;
    const groups = ftmGroups(document, JSON.parse(response.body.toString()) as FtmEntity);
    return { kind: "found", native_id: "NK-kran", groups: groups.map((group) => ({ ...own, ...group })) };
  },
});

const documentOf = (document: string | object): unknown =>
  typeof document === "string" ? JSON.parse(readFileSync(`${ROOT}/../${document}`, "utf8")) : document;

const NEWEST = 100;
/** The record has the newest filings; all others are pages of GET /v1/companies/{ref}/filings. */
function newestFilings(file: string): object {
  const filer = documentOf(file) as { filings: { recent: Readonly<Record<string, readonly unknown[]>> } };
  const recent = Object.entries(filer.filings.recent).map(([name, values]) => [
    name,
    values.slice(0, NEWEST),
  ]);
  return { ...filer, filings: { recent: Object.fromEntries(recent) } };
}

const SOURCES: readonly RecordedSource[] = [
  {
    open: openCompaniesHouse,
    reference: "gb_coh:00445790",
    documents: { "/company/00445790": "companies_house/api/company-tesco.json" },
    left_out: [
      [/^links\.|^etag$/, "addresses and version of the API's documents"],
      [/^accounts\.accounting_reference_date\./, "in the text of an event, as month and day"],
      [/^last_full_members_list_date$/, "of the register's files"],
    ],
    forms: [
      [/\.country$/, country],
      [/^jurisdiction$/, () => "GB-EAW"],
    ],
  },
  {
    open: openBrreg,
    reference: "no_orgnr:923609016",
    documents: {
      "/enheter/923609016": "bulk/brreg/entity_923609016.json",
      "/enheter/923609016/roller": "bulk/brreg/roles_923609016.json",
    },
    left_out: [
      [/_links\./, "addresses of the API"],
      [/kommunenummer$/, "the municipality's number; its name is in the address"],
      [/^institusjonellSektorkode|^maalform$/, "statistics and the language of letters"],
      [/^frivilligMva|^registreringsdato/, "registers of taxes and employees beside the unit's own"],
      [/^sisteInnsendteAarsregnskap$|^vedtektsdato$/, "company/v1 has no place"],
      [/^kapital\.(?:type|innfortDato)$/, "the only type; when the register wrote it"],
      [/rekkefolge$|sistEndret$/, "the order and the last change of a list"],
      [/valgtAv\./, "who chose an officer: company/v1 has no place"],
      [/roller\[\]\.enhet\.(?:organisasjonsform|godkjenningsstatus)/, "another company's record"],
      [/fodselsdato$/, "the day of birth is not kept"],
    ],
    forms: [[/\.land$/, country]],
  },
  {
    open: openPrh,
    reference: "fi_ytunnus:0112038-9",
    documents: { "/companies?businessId=0112038-9": "prh/lookup-nokia.json" },
    left_out: [
      [/^totalResults$/, "of the answer"],
      [/\.(?:source|version|typeCodeSet|lastModified)$/, "how the register keeps the value"],
      [/languageCode$|descriptions\[\]\.description$/, "the same in three languages: the first one is kept"],
      [/\.type$|\.register$|\.authority$/, "numbers of lists of the register"],
      [/^companies\[\]\.(?:tradeRegisterStatus|status)$/, "numbers of lists; the record has its own word"],
      [/registeredEntries\[\]/, "entries in registers of taxes"],
      [/municipalityCode$/, "the municipality's number; its name is in the address"],
      [/postOffices\[\]\.city$/, "the same in two languages: the first one is kept"],
      [
        /(?:website|mainBusinessLine|addresses\[\]|businessId)\.registrationDate$/,
        "since when the register has the value",
      ],
    ],
    forms: [],
  },
  {
    open: openRechercheEntreprises,
    reference: "fr_siren:780129987",
    documents: {
      "/search?q=780129987&per_page=25": "recherche_entreprises/lookup-siren-renault.json",
    },
    left_out: [
      [/^(?:total_results|page|per_page|total_pages)$/, "of the answer"],
      [/nombre_etablissements/, "branches are counted, not listed"],
      [/naf25$|section_activite/, "the same activity in other classifications"],
      [
        /siege\.(?:adresse|commune|complement_adresse|coordonnees|departement|epci|region|indice_repetition|numero_voie)$/,
        "the address in parts and codes of statistics",
      ],
      [
        /siege\.(?:caractere_employeur|date_\w+|etat_administratif|liste_\w+\[\]|statut_\w+|tranche_\w+)$/,
        "of the establishment, not of the company",
      ],
      [/date_mise_a_jour/, "when the source wrote"],
      [/categorie_entreprise$|statut_diffusion$/, "statistics"],
      [/complements\./, "labels of other registers"],
      [
        /type_dirigeant$|date_de_naissance$|annee_de_naissance$/,
        "in the record as its own word; the day of birth is not kept",
      ],
    ],
    forms: [
      [/^results\[\]\.etat_administratif$/, () => "active"],
      [/^results\[\]\.tranche_effectif_salarie$/, () => "10000"],
    ],
  },
  {
    open: openKrs,
    reference: "pl_krs:0000006865",
    documents: {
      "/OdpisAktualny/0000006865?rejestr=P&format=json": "krs/lookup-cd-projekt.json",
    },
    left_out: [
      [/naglowekA\.(?!numerKRS|dataRejestracji)/, "of the extract and the register's last entry"],
      [/kraj$|wojewodztwo$/, "in the record as codes"],
      [/siedziba\.(?:powiat|gmina)$/, "districts; the city is in the address"],
      [/adresDoDoreczenElektronicznych/, "an address of the state's own mail: company/v1 has no place"],
      [/umowaStatut\.|czasNaJaki/, "what the register says of the articles has no day"],
      [/wniesioneAporty\.|rodzajUprzywilejowania$|RodzajUprzywilejowania$/, "company/v1 has no place"],
      [/nazwisko\.|imiona\.|identyfikator\.(?:pesel|dataUrodzenia)$/, "masked by the register"],
      [/kod(?:Dzial|Klasa|Podklasa)$/, "parts of the code of the activity"],
      [
        /wzmiankaOZlozeniu(?:Opinii|Uchwaly|SprawozdaniaZ)\w+\[\]\.zaOkresOdDo$/,
        "without a day; they accompany the accounts",
      ],
      [/dzienKonczacyPierwszyRokObrotowy$/, "company/v1 has no place"],
      [
        /okreslenieOkolicznosci$|opisPolaczenia|nazwaSadu$|krajNazwaRejestru$/,
        "words about a merger, without a day",
      ],
    ],
    forms: [
      [/dataRejestracjiWKRS$|dataZlozenia$/, (leaf) => leaf.split(".").toReversed().join("-")],
      [/regon$/, (leaf) => leaf.slice(0, 9)],
    ],
  },
  {
    open: openSecEdgar,
    reference: "us_cik:0001318605",
    documents: isHere
      ? { "/submissions/CIK0001318605.json": newestFilings("sec_edgar/company_submission.json") }
      : {},
    left_out: [
      [/^entityType$|^insiderTransaction/, "the filing system's own kinds of filers"],
      [/\.street2$/, "`None` stands for no value"],
      [/(?:stateOrCountry|stateOfIncorporation)(?:Description)?$/, "in the record as codes of ISO 3166-2"],
      [
        /\.recent\.(?:acceptanceDateTime|act|fileNumber|filmNumber|items|size|isXBRL|isInlineXBRL)\[\]$/,
        "of the filing: GET /v1/filings has it",
      ],
    ],
    forms: [[/formerNames\[\]\.(?:from|to)$/, (leaf) => leaf.slice(0, 10)]],
  },
  {
    open: openZefix,
    reference: "ch_uid:CHE101602521",
    documents: { "/api/v1/company/uid/CHE101602521": [SWISS] },
    left_out: [
      [/Id$|\.id$|sequenceNr$|registryOfCommerceCanton$/, "numbers of the register's own lists"],
      [/legalForm\.(?:name|shortName)\.(?:fr|it|en)$/, "the same in four languages: the first one is kept"],
      [/^\[\]\.status$/, "the record has its own word"],
      [/^\[\]\.sogcDate$/, "of the last publication, which is an event"],
      [/Web(?:\.\w+)?$/, "pages of the register"],
      [/(?:hasTakenOver|auditCompanies)\[\]\.(?:ehraid|status|legalSeat)$/, "another company's record"],
    ],
    forms: [
      [/canton$/, (leaf) => `CH-${leaf}`],
      [/message$/, (leaf) => leaf.replaceAll(/<[^<>]*>/g, "")],
    ],
  },
  {
    open: openSanctionsOf,
    reference: "lei:2138002P5RNKC5W2JZ46",
    documents: { "/ftm": SANCTIONED },
    left_out: [
      [/^(?:referents|datasets)|_(?:seen|change)$/, "of the list that has the entity"],
      [/properties\.country\[\]$/, "one country is the jurisdiction"],
      [/(?:innCode|taxNumber)\[\]$/, "numbers without a scheme of company/v1"],
      [/(?:sourceUrl|programId|notes|topics|sector)\[\]$/, "why it is on a list: company/v1 has no place"],
    ],
    forms: [],
  },
];

async function otherRecord({ open, reference, documents }: RecordedSource): Promise<unknown> {
  const source = open({ base_url: BASE, credentials: "key" });
  const table = Object.fromEntries(
    Object.entries(documents).map(([path, file]) => [`${BASE}${path}`, { body: documentOf(file) }]),
  );
  const register = oneRegister(() => [
    {
      ...source,
      lookup: (identifier, groups, _http, stop, company) =>
        source.lookup(identifier, groups, recordedHttp(table).http, stop, company),
    },
  ]);
  const groups = ["people", "ownership", "relationships", "events", "securities", "filings"] as const;
  const found = await register.get(reference, { groups });
  const context = { sources: register.sources, now_ms: register.clock.now() };
  const record = recordView(found!, new Set(INCLUDES.filter((each) => each !== "claims")), context);
  await register.stop();
  return record;
}

const leavesOfSource = ({ documents }: RecordedSource) =>
  Object.values(documents).flatMap((file) => [...leavesOf(documentOf(file))]);

function sharedBy({ forms, left_out, ...source }: RecordedSource, record: unknown) {
  const values = [...leavesOf(record)].map(([, value]) => plain(value));
  const isIn = (wanted: string): boolean =>
    values.some((value) => value === wanted || (wanted.length > 3 && value.includes(wanted)));
  let placed = 0;
  const missing: string[] = [];
  for (const [path, leaf] of leavesOfSource({ forms, left_out, ...source })) {
    const form = forms.find(([pattern]) => pattern.test(path))?.[1];
    const isPlaced = isIn(plain(form ? form(leaf) : leaf));
    if (!isPlaced && left_out.some(([pattern]) => pattern.test(path))) continue;
    placed++;
    if (!isPlaced) missing.push(`${path}: ${leaf}`);
  }
  return { share: 1 - missing.length / placed, missing };
}

describe.runIf(isHere)("of what other sources send", () => {
  test.each(SOURCES)("95 % of what is not left out is in the record: $reference", async (source) => {
    const record = (await otherRecord(source)) as Record<string, unknown>;
    const { share, missing } = sharedBy(source, record);
    expect([share >= 0.95, share >= 0.95 ? [] : missing]).toEqual([true, []]);
    // A record without its addresses and names would not pass.
    const bare = { ...record, addresses: [], names: null, filings: [] };
    expect(sharedBy(source, bare).share).toBeLessThan(0.95);
    const leaves = leavesOfSource(source);
    const unused = source.left_out.filter(([pattern]) => !leaves.some(([path]) => pattern.test(path)));
    expect(unused).toEqual([]);
  });
});
