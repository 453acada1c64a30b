/**
 * Another profile site for tests, with other addresses and other markup: a directory whose pages are tables, whose
 * suggestions are a list of lines, and which has no tokens.
 */
import type { Provider } from "../../actors/sources/profiles/provider.ts";
import { northdata } from "../../actors/sources/profiles/providers/northdata.ts";
import type { PageProfile } from "../../schemas/profiles.ts";

const PATH = /^\/firm\/(\w{2})\/(\d+)\/([^/]+)$/;
const NOTHING = { company_connections: [], person_connections: [], other_connections: [] };

export const directory: Provider = {
  name: "directory",
  parser_version: "1",
  site_name: "Firm Directory",
  pathOf({ pathname }) {
    const [, country, , slug] = PATH.exec(pathname) ?? [];
    if (country === undefined || slug === undefined) return null;
    return { words: slug.replaceAll("-", " "), country: country.toUpperCase(), has_register: true };
  },
  isEntityId: (text) => /^[a-z]\d+$/.test(text),
  suggestUrl: (origin, query) => `${origin}/complete/${encodeURIComponent(query)}`,
  graphUrl: (origin, id) => `${origin}/links/${id}.json`,
  wallOf: (page) => (page("#sign-in-to-read").length > 0 ? "login" : null),
  readProfile(page, url) {
    const rows = new Map(
      page("table.firm tr")
        .toArray()
        .map((row) => [page(row).find("th").text(), page(row).find("td").text()]),
    );
    const name = rows.get("Firm") ?? null;
    if (name === null) return null;
    const [, country = ""] = PATH.exec(new URL(url).pathname) ?? [];
    const profile: PageProfile = {
      name,
      register_id: rows.get("No.") ?? null,
      court: null,
      status: rows.get("State") ?? null,
      identifiers: [],
      address: null,
      city: rows.get("Town") ?? null,
      country: null,
      path_country: country.toUpperCase(),
      entity_id: rows.get("Key") ?? null,
      lei: null,
      industry: null,
      former_names: [],
      former_addresses: [],
      corporate_purpose: null,
      additional_info: null,
      history: [],
      publications: [],
      mentions: [],
      officers: [],
      related: [],
    };
    return { profile, graph_token: null, unknown_sections: [] };
  },
  readSuggest: (document, url) =>
    Array.isArray(document)
      ? (document as [string, string][]).map(([name, path]) => ({
          name,
          url: new URL(path, url).href,
          type: "company" as const,
        }))
      : null,
  readGraph(document, url) {
    const owners = (document as { owners?: string[] }).owners;
    if (!owners) return null;
    const connections = northdata.readGraph(
      { result: [{ nodes: owners.map((label) => ({ type: "company", label })), links: [] }] },
      url,
    );
    return connections ?? NOTHING;
  },
};
