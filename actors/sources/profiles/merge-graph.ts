/**
 * A profile from its page and its graph. The graph adds companies and persons that the page does not list; parents and
 * subsidiaries are never concluded from it. Pure.
 */
import type {
  Connections,
  Discovery,
  PageProfile,
  Profile,
  ProfileConnection,
  ProfileOfficer,
  ProfileRelation,
} from "../../../schemas/profiles.ts";

interface ProfileSource {
  readonly source_url: string;
  readonly scraped_at: string;
  readonly fetch_tier: Profile["fetch_tier"];
  readonly parser_version: string;
  readonly provider: string;
  readonly discovery: Discovery | null;
  readonly legal_form: string | null;
}

const keyOf = (name: string): string => name.normalize("NFKC").replaceAll(/\s+/g, " ").trim().toLowerCase();

export function profileOf(page: PageProfile, graph: Connections | null, source: ProfileSource): Profile {
  const { discovery, ...rest } = source;
  const companies = new Set([...page.related.map(({ name }) => keyOf(name)), keyOf(page.name ?? "")]);
  const persons = new Set(page.officers.map(({ name }) => keyOf(name)));
  const related = missing(companies, graph?.company_connections ?? []).map(relationOf);
  const officers = missing(persons, graph?.person_connections ?? []).map(officerOf);
  return {
    ...page,
    ...rest,
    related: [...page.related, ...related],
    officers: [...page.officers, ...officers],
    network_graph: graph === null ? pageGraph(page) : { ...graph, source: "data.json" },
    shareholders: [],
    subsidiaries: [],
    parent_companies: [],
    financials: null,
    discovery_query: discovery?.query ?? null,
    discovery_score: discovery?.score ?? null,
    discovery_method: discovery?.discovery_method ?? null,
    name_similarity: discovery?.name_similarity ?? null,
  };
}

/** Connections whose name is not listed yet, each name once. */
function missing(
  listed: ReadonlySet<string>,
  connections: readonly ProfileConnection[],
): readonly ProfileConnection[] {
  const seen = new Set(listed);
  return connections.filter(({ name }) => !seen.has(keyOf(name)) && seen.add(keyOf(name)));
}

const relationOf = ({ name, url, absolute_url }: ProfileConnection): ProfileRelation => ({
  name,
  relation: "related",
  url,
  absolute_url,
});

const officerOf = ({
  name,
  url,
  absolute_url,
  since,
  until,
  current,
}: ProfileConnection): ProfileOfficer => ({
  name,
  role: "person",
  since,
  until,
  url,
  absolute_url,
  current,
});

const CONNECTED = { id: null, direction: null } as const;

/** The graph made from the page, where the site's own could not be fetched. */
function pageGraph({ officers, related }: PageProfile): Profile["network_graph"] {
  return {
    company_connections: related.map(({ name, relation, url, absolute_url }) => ({
      ...CONNECTED,
      name,
      kind: "company",
      relation,
      since: null,
      until: null,
      current: true,
      url,
      absolute_url,
    })),
    person_connections: officers.map(({ name, role, since, until, current, url, absolute_url }) => ({
      ...CONNECTED,
      name,
      kind: "person",
      relation: role,
      since,
      until,
      current,
      url,
      absolute_url,
    })),
    other_connections: [],
    source: "page",
  };
}
