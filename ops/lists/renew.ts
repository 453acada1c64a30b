/**
 * `npm run lists`: writes GLEIF's lists of registration authorities and of legal forms anew from its API, for a commit. A code that
 * is gone from GLEIF's list stays: records may name it for years.
 *
 *   --api URL    another place of GLEIF's API
 *   --into DIR   another folder to read the lists from and write them to
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { categoryOfForm } from "./form-category.ts";

interface Page<Attributes> {
  readonly meta: { readonly pagination: { readonly lastPage: number } };
  readonly data: readonly { readonly attributes: Attributes }[];
}

interface Authority {
  readonly code: string;
  readonly internationalName: string | null;
  readonly localName: string | null;
  readonly internationalOrganizationName: string | null;
  readonly localOrganizationName: string | null;
  readonly jurisdictions: readonly { readonly countryCode: string }[] | null;
}

interface Form {
  readonly code: string;
  readonly countryCode: string | null;
  readonly names: readonly {
    readonly localName: string | null;
    readonly transliteratedName?: string | null;
  }[];
  readonly abbreviations?: readonly { readonly localAbbreviation?: string | null }[] | null;
}

const { values: options } = parseArgs({
  options: {
    api: { type: "string", default: "https://api.gleif.org/api/v1" },
    into: {
      type: "string",
      default: fileURLToPath(new URL("../../actors/sources/companies/schemes/lists", import.meta.url)),
    },
  },
});

const MAX_PAGES = 100;

/** The day of the server's last answer. */
let as_of = "";

async function read<Attributes>(list: string): Promise<readonly Attributes[]> {
  const found: Attributes[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const url = `${options.api}/${list}?page%5Bnumber%5D=${page}&page%5Bsize%5D=200`;
    const response = await fetch(url, { headers: { accept: "application/vnd.api+json" } });
    if (!response.ok) throw new Error(`Cannot read "${url}": it answered with status ${response.status}`);
    as_of = new Date(response.headers.get("date") ?? 0).toISOString().slice(0, 10);
    const { data, meta } = (await response.json()) as Page<Attributes>;
    found.push(...data.map(({ attributes }) => attributes));
    if (page >= meta.pagination.lastPage) return found;
  }
  throw new Error(`Cannot read the list "${list}": it has more than ${MAX_PAGES} pages`);
}

/** The courts of Germany differ by their organisation, other registers by their own name; a list of several countries begins with France's. */
function authorityRow(authority: Authority): readonly [string | null, string | null] {
  const countries = (authority.jurisdictions ?? []).map(({ countryCode }) => countryCode);
  const country = countries.includes("FR") ? "FR" : (countries[0] ?? null);
  const { internationalName, localName, internationalOrganizationName, localOrganizationName } = authority;
  const name = internationalName ?? internationalOrganizationName ?? localName ?? localOrganizationName;
  return [country, country === "DE" ? (localOrganizationName ?? name) : name];
}

function formRow({ names, abbreviations, countryCode }: Form) {
  const labels = names.flatMap(({ localName }) => localName ?? []);
  const short = (abbreviations ?? []).flatMap(({ localAbbreviation }) => localAbbreviation?.split(";") ?? []);
  const category = categoryOfForm({
    names: names.flatMap(({ localName, transliteratedName }) =>
      [localName ?? [], transliteratedName ?? []].flat(),
    ),
    abbreviations: short,
    country: countryCode,
  });
  return [countryCode, labels[0] ?? null, short[0]?.trim() ?? null, category] as const;
}

function write(file: string, origin: string, rows: ReadonlyMap<string, readonly unknown[]>): void {
  const path = join(options.into, file);
  const before = JSON.parse(readFileSync(path, "utf8")) as { rows: Record<string, readonly unknown[]> };
  const all = new Map([...Object.entries(before.rows), ...rows]);
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const list = { as_of, origin, licence: "CC0-1.0", rows: Object.fromEntries(sorted) };
  writeFileSync(path, `${JSON.stringify(list, null, 2)}\n`);
  const added = all.size - Object.keys(before.rows).length;
  process.stdout.write(`${file}: ${all.size} codes, ${added} new, ${all.size - rows.size} kept\n`);
}

const authorities = await read<Authority>("registration-authorities");
write(
  "registration-authorities.json",
  "GLEIF, Registration Authorities List",
  new Map(authorities.map((each) => [each.code, authorityRow(each)])),
);
const NOT_FORMS: ReadonlySet<string> = new Set(["8888", "9999"]);
const forms = await read<Form>("entity-legal-forms");
write(
  "legal-forms.json",
  "GLEIF, Entity Legal Forms Code List",
  new Map(forms.filter(({ code }) => !NOT_FORMS.has(code)).map((each) => [each.code, formRow(each)])),
);
