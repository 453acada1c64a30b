/**
 * Pages as the profile site has them, with invented companies and persons: written for tests from what is known of its
 * markup, in German or English, with the sections that a test names.
 */
export interface InventedEvent {
  readonly date?: string;
  readonly desc: string;
  readonly text?: string;
  readonly type: "e" | "p" | "m" | "a" | "c";
  readonly url?: string;
  readonly old?: true;
}

export interface InventedCompany {
  readonly name: string;
  readonly city?: string;
  /** Default "Amtsgericht Musterstadt HRB 12345". */
  readonly register?: string;
  readonly former_names?: readonly string[];
  readonly identifiers?: readonly (readonly [label: string, source: string, value: string])[];
  readonly former_registers?: readonly string[];
  readonly address?: string;
  readonly former_addresses?: readonly string[];
  readonly purpose?: string;
  readonly industry?: readonly [code: string, text: string];
  readonly more?: readonly string[];
  readonly history?: readonly InventedEvent[];
  readonly people?: readonly InventedEvent[];
  readonly control?: readonly InventedEvent[];
  readonly managers?: readonly string[];
  readonly publications?: readonly (readonly [date: string, summary: string])[];
  readonly mentions?: readonly (readonly [date: string, summary: string, company: string])[];
  /** Default "9000000001"; null: no figure has an id. */
  readonly entity_id?: string | null;
  readonly token?: string;
  /** Beside the heading. */
  readonly mark?: string;
  readonly language?: "de" | "en" | "fr";
  /** HTML after the sections. */
  readonly extra?: string;
}

const TITLES = {
  de: "Name|Identifikation|Adresse|Gegenstand|Branche|Weitere Informationen|Historie|Personen|Merger/Akquisition/Kontrolle|Netzwerk|Publikationen|Erwähnungen|Geschäftsführung",
  en: "Name|Identification|Address|Corporate purpose|Industry|More information|History|People|M&amp;A / control|Network|Publications|Mentions|Management",
  fr: "Nom|Registre|Adresse|Objet social|Secteur d'activité|Autres informations|Historique|Personnes|Fusion/acquisition/contrôle|Réseau|Publications|Mentions|Direction",
};

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

const section = (title: string, body: string): string =>
  body === "" ? "" : `<h3 class="ui large ribbon blue label">\n ${title}\n</h3>\n${body}\n`;
const list = (items: readonly string[]): string =>
  items.length === 0 ? "" : `<div class="general-information ui relaxed list">${items.join("")}</div>`;
const item = (content: string, classes = "item"): string =>
  `<div class="${classes}"><div class="content">\n ${content}\n</div></div>`;
const labelled = (label: string, source: string, value: string, classes = "labeled item"): string =>
  item(
    `<div class="ui grey source label" title="${escaped(source)}">${escaped(label)}</div><span>${escaped(value)}</span>`,
    classes,
  );
const timeline = (events: readonly InventedEvent[] | undefined, id: string): string =>
  events === undefined
    ? ""
    : `<figure class="bizq" data-data="${escaped(JSON.stringify({ event: events, minDate: "2001-12-31T23:00:00Z" }))}"${id} data-layout="history"></figure>`;
const feed = (entries: readonly (readonly string[])[] | undefined): string =>
  entries === undefined
    ? ""
    : `<div class="ui feed">${entries
        .map(
          ([date, summary, company]) =>
            `<div class="event"><div class="content"><div class="date">${date}</div><div class="summary"><a href="/?id=4">${escaped(summary!)}</a>${company === undefined ? "" : ` <span class="company">${escaped(company)}</span>`}</div></div></div>`,
        )
        .join("")}</div>`;

export function profilePage(company: InventedCompany): string {
  const {
    name,
    city,
    language = "de",
    entity_id = "9000000001",
    register = "Amtsgericht Musterstadt HRB 12345",
  } = company;
  const [
    ofName,
    ofIdentification,
    ofAddress,
    ofPurpose,
    ofIndustry,
    ofMore,
    ofHistory,
    ofPeople,
    ofControl,
    ofNetwork,
    ofPublications,
    ofMentions,
    ofManagers,
  ] = TITLES[language].split("|") as [string, ...string[]] as string[];
  const heading = city === undefined ? name : `${name}, ${city}`;
  const id = entity_id === null ? "" : ` data-id="${entity_id}"`;
  const former = (text: string): string => item(escaped(text), "former item");
  const source = "Unternehmensträger im Handelsregister";
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escaped(heading)}</title></head>
<body${company.token === undefined ? "" : ` data-token="${company.token}"`}><main>
<h1 class="ui header large qualified"><span class="content"><span class="heading">
 ${escaped(heading)}
</span>${company.mark === undefined ? "" : ` <span class="status">${escaped(company.mark)}</span>`}</span></h1>
${section(ofName!, list([item(escaped(name)), ...(company.former_names ?? []).map(former)]))}
${section(
  ofIdentification!,
  list([
    ...(register === "" ? [] : [labelled("Ut", source, register)]),
    ...(company.former_registers ?? []).map((text) => labelled("Ut", source, text, "former labeled item")),
    ...(company.identifiers ?? []).map(([label, from, value]) => labelled(label, from, value)),
  ]),
)}
${section(ofAddress!, list([...(company.address === undefined ? [] : [item(`<a href="/x">${escaped(company.address)}</a>`)]), ...(company.former_addresses ?? []).map(former)]))}
${section(ofPurpose!, company.purpose === undefined ? "" : `<p class="ui small">${escaped(company.purpose)}</p>`)}
${section(ofIndustry!, company.industry === undefined ? "" : list([item(`<div title="WZ-Branchencode">${company.industry[0]}</div> ${escaped(company.industry[1])}`)]))}
${section(ofMore!, list((company.more ?? []).map((text) => item(escaped(text)))))}
<div class="history ui grey segment">${section(ofHistory!, timeline(company.history, id))}</div>
${section(ofManagers!, list((company.managers ?? []).map((text) => item(escaped(text)))))}
${section(ofPeople!, timeline(company.people, id))}
${section(ofControl!, timeline(company.control, id))}
${section(ofNetwork!, `<figure class="bizq"${id} data-layout="graph"><p>Netzwerk wird geladen ...</p></figure>`)}
${section(ofPublications!, feed(company.publications))}
${section(ofMentions!, feed(company.mentions))}
<footer>${"The pages of this site are invented for tests. ".repeat(6)}</footer>
${company.extra ?? ""}</main></body></html>`;
}

/** The graph of a company with a holding and a manager. */
export const inventedGraph = (name: string): object => ({
  result: [
    {
      id: 9_000_000_001,
      nodes: [
        { id: "c1", type: "company", root: true, label: name, url: "/?id=9000000001" },
        { id: "c2", type: "company", label: "Polarstern Beteiligungs AG", url: "/?id=9000000010" },
        { id: "p3", type: "person", label: "Wilma Erfunden", url: "/?id=33" },
        { id: "a4", type: "address", label: "Kranweg 7, Musterstadt" },
      ],
      links: [
        { source: "c2", target: "c1", label: "Beherrschung", type: "control" },
        { source: "p3", target: "c1", label: "Geschäftsführer", type: "person", since: "2019-04-01" },
      ],
    },
  ],
});
