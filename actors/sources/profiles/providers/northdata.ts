/**
 * North Data (northdata.com, northdata.de): company pages with sections under ribbon labels, and timelines as JSON in
 * attributes. Sections are recognised by their titles, which are data below, in German, English and French; a section
 * that is not known is left out and named.
 *
 * Pages that this was written from had name, identification, address, purpose and persons complete; the other
 * sections and the English and French titles follow descriptions of the site.
 */
import type { Cheerio, CheerioAPI } from "cheerio/slim";
import type { Element } from "domhandler";
import type {
  Connections,
  PageProfile,
  ProfileConnection,
  ProfileEvent,
  ProfileIdentifier,
  ProfileOfficer,
  ProfilePublication,
  ProfileRelation,
  SuggestItem,
} from "../../../../schemas/profiles.ts";
import type { ProfilePath, ProfileReading, Provider, Wall } from "../provider.ts";

// ---- The site's words

const SECTIONS = {
  name: "Name|Nom|Firma|Dénomination",
  identification:
    "Identifikation|Register|Handelsregister|Identification|Commercial register|Registre|Registre du commerce",
  address: "Adresse|Address|Anschrift",
  purpose: "Gegenstand|Corporate purpose|Purpose|Objet|Objet social|Unternehmensgegenstand",
  industry: "Branche|Industry|Secteur|Secteur d'activité",
  more: "Weitere Informationen|More information|Further information|Additional information|Autres informations",
  people: "Personen|People|Persons|Personnes",
  management:
    "Management|Geschäftsführung|Vorstand|Verwaltungsrat|Board of directors|Managing directors|Direction|Dirigeants",
  history: "Historie|History|Historique",
  control:
    "Merger/Akquisition/Kontrolle|M&A / control|M&A/control|M&A|Mergers & acquisitions|Fusion/acquisition/contrôle",
  network: "Netzwerk|Network|Réseau",
  publications: "Publikationen|Publications|Bekanntmachungen",
  mentions: "Erwähnungen|Mentions|Mentioned in",
  /** Known, and not read. */
  ignored:
    "Finanzkennzahlen|Kennzahlen|Financials|Finanzen|Chiffres clés|Finances|Marken|Trademarks|Karte|Map",
} as const;
type Section = keyof typeof SECTIONS;

const titleOf = (text: string): string => text.replaceAll(/\s+/g, " ").trim().toLowerCase();
const SECTION_OF: ReadonlyMap<string, Section> = new Map(
  (Object.entries(SECTIONS) as [Section, string][]).flatMap(([section, titles]) =>
    titles.split("|").map((title): [string, Section] => [titleOf(title), section]),
  ),
);

/** The longest that begins a text is the role. */
const ROLES = [
  "Geschäftsführer|Geschäftsführerin|Geschäftsführender Gesellschafter|Geschäftsführende Gesellschafterin",
  "Vorstand|Vorstandsmitglied|Vorstandsvorsitzender|Vorstandsvorsitzende|Stellvertretender Vorstandsvorsitzender",
  "Prokura|Prokurist|Prokuristin|Einzelprokura|Gesamtprokura|Liquidator|Liquidatorin|Insolvenzverwalter|Abwickler",
  "Aufsichtsrat|Aufsichtsratsvorsitzender|Aufsichtsratsvorsitzende|Mitglied des Aufsichtsrats|Abschlussprüfer",
  "Gesellschafter|Gesellschafterin|Persönlich haftender Gesellschafter|Komplementär|Kommanditist|Inhaber|Inhaberin",
  "Verwaltungsrat|Verwaltungsratspräsident|Präsident des Verwaltungsrates|Mitglied des Verwaltungsrates|Direktor",
  "Managing Director|Director|Chief Executive Officer|CEO|CFO|Board Member|Chairman|Chairwoman|Secretary",
  "Authorised Signatory|Authorized Signatory|Procuration|Auditor|Shareholder|Partner|Member of the Board",
  "Gérant|Gérante|Président|Présidente|Directeur général|Directrice générale|Administrateur|Liquidateur",
]
  .flatMap((line) => line.split("|"))
  .toSorted((a, b) => b.length - a.length);

/** Words that the site writes beside the name of a company that has ended, or is about to. */
const STATUSES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:terminated|gelöscht|erloschen|aufgelöst und gelöscht|radiée)\b/i, "Terminated"],
  [/\b(?:in liquidation|liquidation|i\. ?l\.|i\. ?liqu\.|en liquidation)(?=\W|$)/i, "Liquidation"],
  [/\b(?:dissolved|dissoute|aufgelöst)\b/i, "Dissolved"],
];

const CATEGORIES: Readonly<Record<string, string>> = {
  e: "event",
  p: "person",
  m: "merger",
  a: "acquisition",
  c: "control",
};

/** Registers by the number's form, and the country whose register it is. */
const REGISTERS: readonly (readonly [RegExp, string])[] = [
  [/^(?:.{1,200}\s)?(?:HRA|HRB|GnR|GsR|PR|VR|GüR)\s{0,9}\d{1,20}(?:\s+\w+){0,5}$/i, "DE"],
  [/^FN\s*\d+\s*[a-z]$/i, "AT"],
  [/^CHE?[-\s]?[\d.-]{6,}$/i, "CH"],
];
/** The rest of the site's registers: their numbers have three digits at least. */
const NUMBERED = /\d\D*\d\D*\d/;
const COURT_AND_NUMBER =
  /^(.{0,300}?)(?:(?<!\s)\s+)?((?:HRA|HRB|GnR|GsR|PR|VR|GüR)\s*\d+(?:\s+[A-Z]{1,4})?|FN\s*\d+\s*[a-z]|CHE-[\d.]+)$/i;
const REGISTER_LABEL = /^(?:ut|hr|register|registre|fn|uid|che)$/i;
const REGISTER_SOURCE = /handelsregister|commercial register|firmenbuch|registre du commerce/i;
/** The end of a company's name: what follows the last comma is no place then. */
const LEGAL_END =
  /\b(?:GmbH|AG|KG|KGaA|SE|OHG|UG|e\.? ?V\.?|e\.? ?G\.?|e\.? ?K\.?|Ltd\.?|Limited|Inc\.?|PLC|S\.?A\.?|SARL|S\.à r\.l\.|SAS|LLC|LLP|B\.?V\.?|N\.?V\.?)\s*$/i;

const LOGIN_PATH = "/_login";
const RESULTS_TITLE = /^\s*(?:Suche nach|Suchergebnis|Search(?: results)? for|Recherche)\b/i;
const HUMAN_CHECK = /cdn-cgi\/challenge|challenge-platform|cf-turnstile|g-recaptcha|h-captcha/;
const HUMAN_WORDS = /Just a moment|Verify you are human|Bestätigen Sie, dass Sie ein Mensch sind/i;

/** Entries of one list of a page; pages of the largest companies have some hundred. */
const MAX_ENTRIES = 2_000;

// ---- Addresses

function decoded(segment: string): string {
  const spaced = segment.replaceAll("+", " ").replaceAll("·", ".");
  try {
    return decodeURIComponent(spaced).replaceAll("·", ".");
  } catch {
    return spaced;
  }
}

/** `/{Name},+{City}/{Register}` */
function pathOf({ pathname }: URL): ProfilePath | null {
  const [first, second, ...more] = pathname.split("/").slice(1).map(decoded);
  if (first === undefined || second === undefined || more.length > 0) return null;
  const register = second.trim();
  if (first.trim() === "" || first.startsWith("_") || register === "") return null;
  const known = REGISTERS.find(([form]) => form.test(register));
  if (!known && !NUMBERED.test(register)) return null;
  return { words: first.trim(), country: known?.[1] ?? null, has_register: true };
}

const absolute = (link: string | null | undefined, base: string): string | null =>
  link ? (URL.parse(link, base)?.href ?? null) : null;

// ---- Texts

const clean = (text: string | null | undefined): string | null => {
  const spaced = text?.replaceAll(/\s+/g, " ").trim() ?? "";
  return spaced === "" ? null : spaced;
};
const textOf = (node: Cheerio<Element>): string | null => clean(node.text());

/** DD.MM.YYYY and YYYY-MM-DD as YYYY-MM-DD. */
function dateOf(text: string | null | undefined): string | null {
  const german = /^\s*(\d{1,2})\.(\d{1,2})\.(\d{4})/.exec(text ?? "");
  if (german) return `${german[3]}-${german[2]!.padStart(2, "0")}-${german[1]!.padStart(2, "0")}`;
  return /^\s*(\d{4}-\d{2}-\d{2})/.exec(text ?? "")?.[1] ?? null;
}

/** "Nordlicht Anlagenbau GmbH, Hamburg": the place is what follows the last comma, unless the name ends there. */
function nameAndPlace(heading: string): { readonly name: string; readonly place: string | null } {
  const comma = heading.lastIndexOf(", ");
  const rest = comma < 0 ? "" : heading.slice(comma + 2);
  if (comma < 0 || LEGAL_END.test(rest) || rest.startsWith("haftungsbeschränkt"))
    return { name: heading, place: null };
  return { name: heading.slice(0, comma), place: rest };
}

// ---- Timelines: {event: [{date, desc, text, type, href, url, old}]} as JSON in an attribute

interface TimelineEvent {
  readonly date?: unknown;
  readonly desc?: unknown;
  readonly text?: unknown;
  readonly type?: unknown;
  readonly href?: unknown;
  readonly url?: unknown;
  readonly old?: unknown;
}

const stringOf = (value: unknown): string | null => (typeof value === "string" ? clean(value) : null);

/** Broken JSON, or JSON of another shape, is an empty timeline. */
function eventsOf(figure: Cheerio<Element>): readonly TimelineEvent[] {
  try {
    const data = JSON.parse(figure.attr("data-data") ?? "") as { readonly event?: unknown } | null;
    const events = Array.isArray(data?.event) ? (data.event as unknown[]) : [];
    return events.filter((event): event is TimelineEvent => typeof event === "object" && event !== null);
  } catch {
    return [];
  }
}

const linkOf = ({ href, url }: TimelineEvent): string | null => stringOf(href) ?? stringOf(url);

/** Dates before the words: "15.01.2012 - 31.03.2019 Geschäftsführer Max Muster". */
const DATES =
  /^(?:(?:seit|since|depuis|ab|from)\s+)?(\d{1,2}\.\d{1,2}\.\d{4}|\d{4}-\d{2}-\d{2})(?:\s*[-–—]\s*(\d{1,2}\.\d{1,2}\.\d{4}|\d{4}-\d{2}-\d{2})?)?\s*:?\s*/i;

function describedBy(event: TimelineEvent): {
  readonly from: string | null;
  readonly to: string | null;
  readonly words: string | null;
} {
  const description = stringOf(event.desc) ?? stringOf(event.text);
  const dates = DATES.exec(description ?? "");
  return {
    from: dateOf(dates?.[1]) ?? dateOf(stringOf(event.date)),
    to: dateOf(dates?.[2]),
    words: clean(description?.slice(dates?.[0].length ?? 0)),
  };
}

function roleAndName(words: string): { readonly role: string | null; readonly name: string } {
  const role = ROLES.find(
    (each) => words.toLowerCase().startsWith(each.toLowerCase()) && /^\W/.test(words.slice(each.length)),
  );
  if (role === undefined) return { role: null, name: words };
  const name = words.slice(role.length).replace(/^[\s:,]+/, "");
  return name === "" ? { role: null, name: words } : { role: words.slice(0, role.length), name };
}

function officerOf(event: TimelineEvent, base: string): ProfileOfficer | null {
  const { from, to, words } = describedBy(event);
  if (words === null) return null;
  const { role, name } = roleAndName(words);
  const url = linkOf(event);
  const current = event.old !== true && to === null;
  return { name, role, since: from, until: to, url, absolute_url: absolute(url, base), current };
}

/** "Verschmolzen: Südwind GmbH, Musterstadt": the partner is what follows the colon. */
function partnerOf(event: TimelineEvent, base: string): ProfileRelation | null {
  const relation = CATEGORIES[String(event.type)];
  if (relation === undefined || relation === "event" || relation === "person") return null;
  const { words } = describedBy(event);
  const partner = clean(words?.slice(words.indexOf(":") + 1));
  if (partner === null) return null;
  const url = linkOf(event);
  return { name: nameAndPlace(partner).name, relation, url, absolute_url: absolute(url, base) };
}

function historyOf(event: TimelineEvent, base: string): ProfileEvent {
  return {
    category: CATEGORIES[String(event.type)] ?? null,
    date: dateOf(stringOf(event.date)) ?? describedBy(event).from,
    description: stringOf(event.desc),
    text: stringOf(event.text),
    url: absolute(linkOf(event), base),
  };
}

const byDate =
  <T>(dateOfEntry: (entry: T) => string | null) =>
  (a: T, b: T): number =>
    (dateOfEntry(a) ?? "").localeCompare(dateOfEntry(b) ?? "");

// ---- The page

const PARTS = "h3.ribbon.label, .general-information > .item, p, figure.bizq, div.ui.feed div.event";

type Parts = ReadonlyMap<Section, readonly Cheerio<Element>[]>;

/** The parts of the page under the title before them. */
function partsOf(page: CheerioAPI): { readonly parts: Parts; readonly unknown_sections: readonly string[] } {
  const parts = new Map<Section, Cheerio<Element>[]>();
  const unknown = new Set<string>();
  let section: Section | null = null;
  for (const node of page(PARTS).toArray()) {
    const part = page(node as Element);
    if (part.is("h3")) {
      const title = clean(part.text()) ?? "";
      section = SECTION_OF.get(titleOf(title)) ?? null;
      if (section === null) unknown.add(title);
      else if (!parts.has(section)) parts.set(section, []);
    } else if (section !== null && (part.is("p") ? section === "purpose" || section === "more" : true)) {
      const entries = parts.get(section)!;
      if (entries.length < MAX_ENTRIES) entries.push(part);
    }
  }
  return { parts, unknown_sections: [...unknown] };
}

const isFormer = (item: Cheerio<Element>): boolean => item.hasClass("former");

function itemsOf(parts: Parts, section: Section, former: boolean): readonly string[] {
  return (parts.get(section) ?? [])
    .filter((item) => item.hasClass("item") && isFormer(item) === former)
    .flatMap((item) => textOf(item) ?? []);
}

function identifiersOf(parts: Parts): readonly ProfileIdentifier[] {
  return (parts.get("identification") ?? []).flatMap((item) => {
    if (!item.hasClass("item")) return [];
    const label = item.find(".source.label").first() as Cheerio<Element>;
    const written = item.find("span").last() as Cheerio<Element>;
    const value = written.length > 0 ? textOf(written) : clean(item.text().replace(label.text(), ""));
    if (value === null) return [];
    const source = clean(label.attr("title"));
    return [{ label: textOf(label), source, value, current: !isFormer(item) }];
  });
}

function registeredAs(identifiers: readonly ProfileIdentifier[]): {
  readonly register_id: string | null;
  readonly court: string | null;
} {
  const current = identifiers.filter((identifier) => identifier.current);
  const entry =
    current.find(
      ({ label, source }) => REGISTER_SOURCE.test(source ?? "") || REGISTER_LABEL.test(label ?? ""),
    ) ?? current.find(({ label, value }) => label === null && COURT_AND_NUMBER.test(value));
  if (!entry) return { register_id: null, court: null };
  const [, court, number] = COURT_AND_NUMBER.exec(entry.value) ?? [];
  return { register_id: clean(number) ?? entry.value, court: clean(court) };
}

/** "Hafenweg 1, D-20457 Hamburg, Deutschland" */
function placeOf(address: string | null): { readonly city: string | null; readonly country: string | null } {
  const pieces = address?.split(",").map((piece) => piece.trim()) ?? [];
  const at = pieces.findLastIndex((piece) => /^(?:[A-Z]{1,3}-)?\d{4,6}\s+\S/.test(piece));
  if (at >= 0) {
    const city = clean(pieces[at]!.replace(/^(?:[A-Z]{1,3}-)?\d{4,6}\s+/, ""));
    return { city, country: clean(pieces[at + 1]) };
  }
  return { city: null, country: null };
}

function statusOf(page: CheerioAPI, name: string | null, register_id: string | null): string | null {
  const heading = page("h1.ui.header");
  const beside = `${heading.clone().find(".heading").remove().end().text()} ${heading.parent().find(".status.label").text()}`;
  const ending =
    /(?:,\s*|\s)(?:in Liquidation|i\. ?L\.|i\. ?Liqu\.|en liquidation)\s*$/i.exec(name ?? "")?.[0] ?? "";
  const marked = STATUSES.find(([words]) => words.test(`${beside} ${ending}`));
  return marked?.[1] ?? (register_id === null ? null : "Active");
}

function publicationsOf(parts: Parts, section: "publications" | "mentions"): readonly ProfilePublication[] {
  return (parts.get(section) ?? []).flatMap((event) => {
    if (!event.hasClass("event")) return [];
    const summary = textOf(event.find(".summary a").first() as Cheerio<Element>);
    const whole = textOf(event.find(".summary").first() as Cheerio<Element>);
    const company = textOf(event.find(".company").first() as Cheerio<Element>);
    const date = dateOf(event.find(".date").first().text());
    if (summary === null && whole === null) return [];
    return [{ date, summary: summary ?? whole, company_name: company }];
  });
}

/** Items as "Geschäftsführer: Erika Beispiel", or with the role as a label. */
function managersOf(parts: Parts, base: string): readonly ProfileOfficer[] {
  const items = [...(parts.get("management") ?? []), ...(parts.get("people") ?? [])];
  return items.flatMap((item) => {
    if (!item.hasClass("item")) return [];
    const label = item.find(".label").first() as Cheerio<Element>;
    const labelled = textOf(label);
    const link = item.find("a[href]").first();
    const words = clean(item.text().replace(label.text(), ""));
    if (words === null) return [];
    const { role, name } = roleAndName(words.replace(/^([^:]{2,60}):\s+/, "$1 "));
    const url = link.attr("href") ?? null;
    const person = textOf(link as Cheerio<Element>) ?? name;
    const dates = { since: null, until: null };
    const absolute_url = absolute(url, base);
    return [{ name: person, role: labelled ?? role, ...dates, url, absolute_url, current: !isFormer(item) }];
  });
}

const timelineOf = (parts: Parts, section: Section): readonly TimelineEvent[] =>
  (parts.get(section) ?? []).flatMap((part) => (part.is("figure") ? eventsOf(part) : []));

/** Officers, each person in a role once; the timeline, which has dates, comes first. */
function officersOf(parts: Parts, base: string): readonly ProfileOfficer[] {
  const dated = timelineOf(parts, "people")
    .flatMap((event) => officerOf(event, base) ?? [])
    .toSorted(byDate(({ since }) => since));
  const known = new Set(dated.map(({ name, role }) => `${name} ${role}`));
  const listed = managersOf(parts, base).filter(({ name, role }) => !known.has(`${name} ${role}`));
  return [...dated, ...listed];
}

function headingOf(page: CheerioAPI): string | null {
  const heading = clean(page("h1.ui.header .heading").first().text());
  return heading ?? clean(page("h1.ui.header.qualified").first().text());
}

function readProfile(page: CheerioAPI, url: string): ProfileReading | null {
  const heading = headingOf(page);
  const { parts, unknown_sections } = partsOf(page);
  if (heading === null || parts.size === 0) return null;
  const headed = nameAndPlace(heading);
  const [listed = null] = itemsOf(parts, "name", false);
  const name = listed ?? headed.name;
  const identifiers = identifiersOf(parts);
  const registered = registeredAs(identifiers);
  const [address = null] = itemsOf(parts, "address", false);
  const place = placeOf(address);
  // A heading is "name, city", also where the name has a comma.
  const city =
    listed !== null && heading.startsWith(`${listed}, `) ? heading.slice(listed.length + 2) : headed.place;
  const entity_id =
    page("figure.bizq[data-id]")
      .toArray()
      .map((figure) => page(figure).attr("data-id") ?? "")
      .find(isEntityId) ?? null;
  const history = timelineOf(parts, "history").map((event) => historyOf(event, url));
  const profile: PageProfile = {
    name,
    ...registered,
    status: statusOf(page, name, registered.register_id),
    identifiers: [...identifiers],
    address,
    city: place.city ?? clean(city),
    country: place.country,
    path_country: pathOf(new URL(url))?.country ?? null,
    entity_id,
    lei: identifiers.find(({ label, current }) => current && /^lei$/i.test(label ?? ""))?.value ?? null,
    industry: itemsOf(parts, "industry", false)[0] ?? null,
    former_names: [...itemsOf(parts, "name", true)],
    former_addresses: [...itemsOf(parts, "address", true)],
    corporate_purpose: textsOf(parts, "purpose"),
    additional_info: textsOf(parts, "more"),
    history: history.toSorted(byDate(({ date }) => date)),
    publications: [...publicationsOf(parts, "publications")],
    mentions: [...publicationsOf(parts, "mentions")],
    officers: [...officersOf(parts, url)],
    related: timelineOf(parts, "control").flatMap((event) => partnerOf(event, url) ?? []),
  };
  const graph_token = page("body").attr("data-token") ?? null;
  return { profile, graph_token, unknown_sections };
}

function textsOf(parts: Parts, section: Section): string | null {
  const texts = (parts.get(section) ?? []).flatMap((part) => textOf(part) ?? []);
  return texts.length === 0 ? null : texts.join("\n");
}

function wallOf(page: CheerioAPI, url: string): Wall | null {
  if (URL.parse(url)?.pathname.startsWith(LOGIN_PATH)) return "login";
  if (page(`form[action*="${LOGIN_PATH}"]`).find("input[type=password]").length > 0) return "login";
  const title = page("title").first().text();
  const isProfile = headingOf(page) !== null;
  if (!isProfile && (HUMAN_WORDS.test(title) || HUMAN_WORDS.test(page.root().text().slice(0, 2_000))))
    return "challenge";
  if (
    !isProfile &&
    page("script[src], iframe[src], div[class]")
      .toArray()
      .some((node) => {
        const { src = "", class: classes = "" } = page(node).attr() ?? {};
        return HUMAN_CHECK.test(`${src} ${classes}`);
      })
  )
    return "challenge";
  return RESULTS_TITLE.test(title) ? "results" : null;
}

// ---- Suggestions and the graph

const isEntityId = (text: string): boolean => /^\d{1,20}$/.test(text);
type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
const listOf = (value: unknown): readonly Fields[] =>
  (Array.isArray(value) ? (value as unknown[]) : []).map(fieldsOf).filter((entry) => entry !== null);

/** `{results: [{name, title, url, type}]}` */
function readSuggest(document: unknown, url: string): readonly SuggestItem[] | null {
  const results = fieldsOf(document)?.["results"];
  if (!Array.isArray(results)) return null;
  return listOf(results).flatMap((result) => {
    const name = stringOf(result["name"]) ?? stringOf(result["title"]);
    const address = absolute(stringOf(result["url"]), url);
    if (result["type"] !== "company" || name === null || address === null) return [];
    return [{ name, url: address, type: "company" as const }];
  });
}

/** `{result: [{nodes: [{id, type, label, url, old, root}], links: [{source, target, label, since}]}]}` */
function readGraph(document: unknown, url: string): Connections | null {
  const [graph] = listOf(fieldsOf(document)?.["result"]);
  if (!graph || !Array.isArray(graph["nodes"])) return null;
  const nodes = listOf(graph["nodes"]);
  const links = listOf(graph["links"]);
  const root = nodes.find((node) => node["root"] === true)?.["id"] ?? null;
  const connections: Record<"company" | "person" | "other", ProfileConnection[]> = {
    company: [],
    person: [],
    other: [],
  };
  for (const node of nodes.slice(0, MAX_ENTRIES)) {
    const name = stringOf(node["label"]) ?? stringOf(fieldsOf(node["query"])?.["name"]);
    if (node["root"] === true || name === null) continue;
    const link = links.find(
      ({ source, target }) =>
        (source === node["id"] && target === root) || (target === node["id"] && source === root),
    );
    const kind = node["type"] === "company" || node["type"] === "person" ? node["type"] : "other";
    const written = stringOf(node["url"]);
    const until = dateOf(stringOf(link?.["until"]));
    connections[kind].push({
      id: typeof node["id"] === "string" || typeof node["id"] === "number" ? String(node["id"]) : null,
      name,
      kind,
      relation: stringOf(link?.["label"]) ?? stringOf(link?.["type"]),
      direction: link === undefined ? null : link["source"] === node["id"] ? "in" : "out",
      since: dateOf(stringOf(link?.["since"])),
      until,
      current: node["old"] !== true && link?.["old"] !== true && until === null,
      url: written,
      absolute_url: absolute(written, url),
    });
  }
  return {
    company_connections: connections.company,
    person_connections: connections.person,
    other_connections: connections.other,
  };
}

export const northdata: Provider = {
  name: "northdata",
  parser_version: "4",
  site_name: "North Data",
  pathOf,
  isEntityId,
  suggestUrl(origin, query, country) {
    const parameters = new URLSearchParams({ query, ...(country !== null && { countries: country }) });
    return `${origin}/suggest.json?${parameters.toString()}`;
  },
  graphUrl(origin, entity_id, token) {
    const parameters = new URLSearchParams({
      id: entity_id,
      type: "graph",
      ...(token !== null && { token }),
    });
    return `${origin}/data.json?${parameters.toString()}`;
  },
  wallOf,
  readProfile,
  readSuggest,
  readGraph,
};
