/**
 * The authors of a page. Its sources are asked for people in turn, and the first that names some is believed: JSON-LD and meta elements,
 * then elements, links and lines of the visible page. If none does, they are asked for editorial desks; the site itself comes last.
 */
import { type Authorship, BY_LINE, cleanAuthors } from "./author-names.ts";
import { type LdNode, ldNames, type LinkedData } from "./jsonld.ts";
import type { PageKind } from "./kind.ts";
import type { Line } from "./lines.ts";
import { letters, type Meta } from "./title.ts";
import type { Tree } from "./tree.ts";
import { type NamedAuthor, PROFILE, type Visible } from "./visible-meta.ts";

const AUTHOR_METAS = [
  "author",
  "article:author",
  "dc.creator",
  "dc.creator.author",
  "parsely-author",
  "sailthru.author",
  "byl",
  "dcterms.creator",
] as const;
const BY_LINE_CHARS = 70;
const SIGNED = /^(?:(?:written|article|posted|story) by|author|by(?=:))(?:\s*:|\s)\s*\S/i;
const SIGNED_LABEL = /^(?:(?:written|article|posted|story) by|author):?$/i;
/** More people than that are users of a forum, or authors of teasers. */
const LINKED_PEOPLE_MAX = 4;

/** The parts of a page that may name its authors. */
export interface AuthorsPage {
  readonly tree: Tree;
  readonly lines: readonly Line[];
  readonly kind: PageKind;
  readonly url: string;
  /** The name of the site, which is no person's. */
  readonly site: string | null;
  readonly linked: LinkedData;
  /** The JSON-LD node about this page. */
  readonly about: LdNode | null;
  readonly meta: Meta;
  /** The contents of all meta elements of a name. */
  readonly contents: ReadonlyMap<string, readonly string[]>;
  readonly visible: Visible;
}

/** The names that one place of the page has for its authors. */
type Source = (authorship: Authorship) => string[];

export function authorsOf(page: AuthorsPage): string[] {
  const { kind, site, visible } = page;
  const declared = declaredTexts(page);
  // The names that a page of goods shows are those of reviewers and brands.
  const isOfGoods = kind === "product" || kind === "collection";
  const sources = [...declaredSources(declared, site), ...(isOfGoods ? [] : shownSources(page))];
  const people = firstNames(sources, "people");
  if (people.length > 0)
    return (kind === "article" && people.every(isAccount) && personShown(people, visible, site)) || people;
  const desks = firstNames(sources, "desks");
  if (desks.length > 0) return desks;
  // The site itself, when it is declared as the author without a person's name.
  return cleanAuthors([...declared.data, ...declared.metas], site, false, "site").slice(0, 1);
}

function firstNames(sources: readonly Source[], authorship: Authorship): string[] {
  for (const source of sources) {
    const found = source(authorship);
    if (found.length > 0) return found;
  }
  return [];
}

/** The texts of declared author fields. */
interface DeclaredTexts {
  /** In JSON-LD. */
  readonly data: readonly string[];
  /** In meta elements of scientific journals, one for each author. */
  readonly citation: readonly string[];
  readonly metas: readonly string[];
}

function declaredTexts({ linked, about, meta, contents }: AuthorsPage): DeclaredTexts {
  const isLabelled = /written|by|author/i.test(meta("twitter:label1") ?? "");
  return {
    data: about ? ldNames(about["author"] ?? about["creator"], linked) : [],
    citation: contents.get("citation_author") ?? [],
    metas: [
      ...AUTHOR_METAS.flatMap((name) => contents.get(name) ?? []),
      ...(isLabelled ? [meta("twitter:data1") ?? ""] : []),
    ],
  };
}

const declaredSources = ({ data, citation, metas }: DeclaredTexts, site: string | null): Source[] =>
  [data, citation, metas].map((texts) => (of) => cleanAuthors(texts, site, false, of));

function shownSources({ tree, lines, kind, url, site, contents, visible }: AuthorsPage): Source[] {
  const { authors, opening, beside_title, framed, isInOpening } = visible;
  const linkedAuthors =
    kind === "article" || kind === "forum" ? fewPeople(authors.linked).filter(isInOpening) : [];
  const profiles = [
    ...tree.links.filter(({ rel }) => rel === "author").map(({ href }) => href),
    ...(contents.get("article:author") ?? []),
  ];
  return [
    (of) => cleanAuthors(authors.itemprop.slice(0, 1), site, false, of).slice(0, 4),
    (of) => cleanAuthors(authors.rel.slice(0, 3), site, false, of),
    (of) => authorList(tree, authors.named, (name) => cleanAuthors([name], site, true, of)),
    (of) => authorList(tree, linkedAuthors, (name) => cleanAuthors([name], site, false, of)),
    (of) => cleanAuthors(opening.filter(isByLine).slice(0, 1), site, true, of),
    (of) => cleanAuthors(authors.users.slice(0, 1), site, false, of),
    (of) => cleanAuthors(beside_title.filter(isByLine).slice(0, 1), site, true, of),
    (of) => cleanAuthors(signedLines(lines, framed).slice(0, 1), site, true, of),
    (of) => (kind === "article" ? onlyName(cleanAuthors(authors.relBeside, site, true, of)) : []),
    (of) =>
      cleanAuthors(
        profiles.flatMap((each) => userAt(each, url)),
        site,
        false,
        of,
      ).slice(0, 1),
  ];
}

/** The name of an account or a brand, where a person would have two words: "jwikander", "Harbourly". */
const isAccount = (name: string): boolean => !name.includes(" ") && /^[\p{Script=Latin}\d._-]+$/u.test(name);

const isByLine = (line: string): boolean => line.length < BY_LINE_CHARS && BY_LINE.test(line);

const onlyName = (names: readonly string[]): string[] => (names.length === 1 ? [...names] : []);

/** Names in elements beside each other are a list; an element around a list is none of its names. */
function authorList(
  tree: Tree,
  named: readonly NamedAuthor[],
  namesIn: (text: string) => string[],
): string[] {
  const isAround = ({ node }: NamedAuthor): boolean =>
    named.filter((other) => other.node > node && other.node < tree.end[node]!).length > 1;
  const single = named.filter((each) => !isAround(each));
  const at = single.findIndex(({ text }) => namesIn(text).length > 0);
  if (at < 0) return [];
  const { node, text } = single[at]!;
  const list = tree.parent[node]!;
  const beside = single
    .slice(at + 1)
    .filter((other) => tree.tag[other.node] === tree.tag[node] && tree.parent[other.node] === list);
  return [
    ...new Set([
      ...namesIn(text).slice(0, beside.length === 0 ? 1 : undefined),
      ...beside.flatMap((other) => namesIn(other.text)),
    ]),
  ];
}

/** The links to people's pages, unless they are those of a forum's users or of teasers. */
function fewPeople(linked: readonly NamedAuthor[]): readonly NamedAuthor[] {
  return new Set(linked.map(({ text }) => letters(text))).size <= LINKED_PEOPLE_MAX ? linked : [];
}

/** The person whom the byline names where the page declares an account, or null when the page shows the account too. */
function personShown(
  accounts: readonly string[],
  { authors, opening, isInOpening }: Visible,
  site: string | null,
): string[] | null {
  const texts = [...authors.named, ...authors.linked].filter(isInOpening).map(({ text }) => text);
  const shown = [...texts, ...authors.rel].map(letters);
  if (accounts.some((account) => shown.some((name) => name.includes(letters(account))))) return null;
  for (const text of [...texts, ...opening.filter(isByLine)]) {
    const people = cleanAuthors([text], site, true, "people");
    if (people.length > 0) return people;
  }
  return null;
}

/** Anywhere on the page: "Written by Jonna Wikander", or "Author" with the name on the next line. */
function signedLines(lines: readonly Line[], framed: Uint8Array): string[] {
  return lines.flatMap(({ text: line, node }, i) => {
    if (line.length >= BY_LINE_CHARS || framed[node]) return [];
    if (SIGNED.test(line)) return [line];
    const next = lines[i + 1]?.text ?? "";
    return SIGNED_LABEL.test(line) && next.length < BY_LINE_CHARS ? [next] : [];
  });
}

/** The user whose page on this site is declared as the author. */
function userAt(address: string | undefined, page: string): string[] {
  const profile = address ? URL.parse(address.trim(), page) : null;
  if (profile === null || profile.host !== URL.parse(page)?.host) return [];
  const name = PROFILE.exec(profile.href)?.[1];
  return name === undefined ? [] : [name];
}
