/**
 * How much of what GLEIF sends stands in the record. Each leaf of the recorded documents is either at a named place of company/v1
 * or left out with a reason; a leaf that is neither fails the test, so nothing new is dropped unseen. Of the leaves that have a
 * place 95 % must be at it, with their value. Other sources are not counted yet.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { foldName } from "../../actors/sources/companies/names/fold.ts";
import { openGleif } from "../../actors/sources/companies/sources/gleif.ts";
import { INCLUDES, recordView } from "../../actors/sources/companies/view.ts";
import { oneRegister } from "../harness/companies-harness.ts";
import { recordedHttp } from "../harness/recorded-http.ts";

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
