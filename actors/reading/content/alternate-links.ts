/**
 * Where else the text of a page may be found, from the page itself: the feeds it declares, its DOI, and the primary
 * sources its teaser links to (judgments, authorities, press releases, papers, PDFs). It sends no requests.
 */
import type { PrimarySource } from "../../../schemas/fetch.ts";
import type { HtmlSource } from "../article/html-source.ts";
import { isLdType, type LdNode, ldText, readLinkedData } from "../article/jsonld.ts";
import { readPage, unseenAnywhere } from "../article/marks.ts";
import { buildTree, collapse, type Tree } from "../article/tree.ts";
import { parseUrl, siteOf } from "../../lib/web/url.ts";

export interface Leads {
  readonly feeds: readonly string[];
  readonly doi: string | null;
  readonly primary_sources: readonly PrimarySource[];
}

const MAX_FEEDS = 3;
const MAX_SOURCES = 50;
const MAX_SOURCE_CHARS = 300;
/** Attributes are cut at this length, so a longer one is not a whole address. */
const MAX_HREF_CHARS = 2_048;

/** Hidden text of HTML that is not declared free is not used. */
export function readLeads(html: string | HtmlSource, url: string): Leads {
  const tree = buildTree(html);
  const base = URL.parse(tree.base ?? url, url) ?? new URL(url);
  const { nodes } = readLinkedData(tree.jsonLd);
  return {
    feeds: feedsIn(tree, base),
    doi: doiIn(tree, nodes) ?? doiInUrl(url),
    primary_sources: sourcesIn(tree, base, siteOf(new URL(url).hostname)),
  };
}

const FEED_TYPE = /^application\/(?:rss|atom|rdf)\+xml\b/i;

function feedsIn(tree: Tree, base: URL): string[] {
  const declared = tree.links.flatMap(({ rel, type, href, title }) => {
    if (!/(?:^|\s)alternate(?:\s|$)/i.test(rel ?? "") || !FEED_TYPE.test(type ?? "")) return [];
    const feed = parseUrl(href ?? "", base)?.href;
    return feed === undefined ? [] : [{ feed, last: /comment|kommentar/i.test(`${title ?? ""} ${feed}`) }];
  });
  // A feed of comments, if there is no other: it may contain the page as well.
  const sorted = declared.toSorted((a, b) => Number(a.last) - Number(b.last)).map(({ feed }) => feed);
  return [...new Set(sorted)].slice(0, MAX_FEEDS);
}

const DOI = /\b10\.\d{4,9}\/[^\s"'<>?#&|]+/;
const DOI_METAS: ReadonlySet<string> = new Set([
  "citation_doi",
  "dc.identifier",
  "dc.identifier.doi",
  "dcterms.identifier",
  "prism.doi",
  "bepress_citation_doi",
  "doi",
]);

/** The DOI of a text, in lower case because case has no meaning in it; null if there is none. */
function asDoi(text: string | null): string | null {
  if (text === null) return null;
  const doi = DOI.exec(text)?.[0].replace(/(?<![.,;:)\]}])[.,;:)\]}]+$/, "");
  return doi === undefined || doi.length > 300 ? null : doi.toLowerCase();
}

function doiIn(tree: Tree, nodes: readonly LdNode[]): string | null {
  for (const [name, content] of tree.metas)
    if (DOI_METAS.has(name)) {
      const doi = asDoi(content);
      if (doi) return doi;
    }
  for (const node of nodes) {
    if (!isLdType(node, /Article|Report|Thesis|Chapter|CreativeWork/)) continue;
    for (const value of [node["doi"], node["identifier"], node["sameAs"], node["@id"]].flat()) {
      const text = typeof value === "object" && value !== null ? (value as LdNode)["value"] : value;
      const doi = asDoi(ldText(text));
      if (doi) return doi;
    }
  }
  return null;
}

/** Publishers append the shown part of a paper to its DOI. */
const VIEW =
  /(?:\/(?:full|fulltext|abstract|pdf|epdf|html|meta|summary|references|figures)|\.(?:full|abstract|pdf|short)){1,5}$/i;

/** `/doi/full/10.1000/x`, `https://doi.org/10.1000/x` and their like. */
export function doiInUrl(url: string): string | null {
  const { pathname, searchParams } = new URL(url);
  let path = pathname;
  try {
    path = decodeURIComponent(pathname);
  } catch {
    // Not a valid escape: the path as it is.
  }
  return asDoi(searchParams.get("doi")) ?? asDoi(path)?.replace(VIEW, "") ?? null;
}

const COURT =
  /(?:^|\.)(?:[a-z0-9-]*(?:supreme|high|district|appeals?)-?courts?|courts?|uscourts|courtlistener|judiciary|judiciales|curia|bger|bvger|bstger|bundesgericht|bundesverfassungsgericht|bundesgerichtshof|bundesarbeitsgericht|bundessozialgericht|bundesfinanzhof|bverwg|vfgh|ogh|vwgh|hudoc|echr|icj-cij|icc-cpi|bailii|caselaw|austlii|canlii|scc-csc|conseil-etat|conseil-constitutionnel|courdecassation|cortecostituzionale|cortedicassazione|tribunalconstitucional|poderjudicial|supremecourt|hcourt|entscheidsuche)\.[a-z.]{2,}$/i;
const GOVERNMENT =
  /(?:^|\.)(?:gov|mil|gob|gouv|govt|gub)(?:\.[a-z]{2})?$|(?:^|\.)(?:go|gc|gv)\.(?:jp|kr|th|id|ke|ug|tz|cr|ca|at)$|(?:^|\.)(?:europa\.eu|admin\.ch|bund\.de|bundestag\.de|bundesrat\.de|bundesregierung\.de|bayern\.de|nrw\.de|hessen\.de|berlin\.de|parlament\.(?:ch|gv\.at)|parliament\.uk|parlament\.[a-z]{2}|senat\.fr|assemblee-nationale\.fr|legifrance\.gouv\.fr|governo\.it|senato\.it|camera\.it|gazzettaufficiale\.it|boe\.es|lamoncloa\.es|congreso\.es|fedlex\.ch|un\.org|who\.int|wto\.org|imf\.org|worldbank\.org|oecd\.org|coe\.int)$/i;
const PRESS_HOST =
  /(?:^|\.)(?:prnewswire|businesswire|globenewswire|presseportal|newswire|accesswire|einpresswire|cision|eurekalert|idw-online|pressetext|ots|presseagentur|news-medical)\.[a-z.]{2,6}$/i;
const PRESS_PATH =
  /\/(?:press|news)-?_?releases?(?:\/|[-_.]|$)|\/(?:presse|medien)-?mitteilung(?:en)?(?:\/|[-_.]|$)|\/communiques?(?:-de-presse)?(?:\/|[-_.]|$)|\/comunicat[io](?:-stampa)?(?:\/|[-_.]|$)|\/notas?-de-prensa(?:\/|[-_.]|$)|\/ad-hoc(?:\/|[-_.]|$)/i;

/** The kind of primary source at an address; null: the address does not show one. */
export function sourceKindOf(url: URL): PrimarySource["kind"] | null {
  const { hostname, pathname } = url;
  const host = hostname.toLowerCase().replace(/\.$/, "");
  if (COURT.test(host)) return "court";
  if (GOVERNMENT.test(host)) return "government";
  if (PRESS_HOST.test(host) || PRESS_PATH.test(pathname)) return "press_release";
  if (/(?:^|\.)doi\.org$/.test(host) && asDoi(pathname)) return "doi";
  return /\.pdf$/i.test(pathname) ? "pdf" : null;
}

const FRAME: ReadonlySet<string> = new Set(["nav", "footer", "aside"]);

/** Links in the page's text to documents of other sites, in order, each once. */
function sourcesIn(tree: Tree, base: URL, site: string): PrimarySource[] {
  const unseen = unseenAnywhere(readPage(tree, true));
  const sourcesByUrl = new Map<string, PrimarySource>();
  for (let i = 1; i < tree.tag.length && sourcesByUrl.size < MAX_SOURCES; i++) {
    if (FRAME.has(tree.tag[i]!)) i = Math.max(i, tree.end[i]! - 1);
    const href = tree.tag[i] === "a" && !unseen[i] ? tree.attributes[i]?.["href"] : undefined;
    if (href === undefined || href.length >= MAX_HREF_CHARS) continue;
    const url = parseUrl(href.trim(), base);
    if (url === null || siteOf(url.hostname) === site || sourcesByUrl.has(url.href)) continue;
    const kind = sourceKindOf(url);
    if (kind === null) continue;
    let text = "";
    for (let inner = i; inner < tree.end[i]! && text.length < MAX_SOURCE_CHARS; inner++)
      if (!unseen[inner]) text += tree.text[inner]!;
    sourcesByUrl.set(url.href, {
      url: url.href,
      kind,
      text: collapse(text).slice(0, MAX_SOURCE_CHARS) || null,
    });
  }
  return [...sourcesByUrl.values()];
}
