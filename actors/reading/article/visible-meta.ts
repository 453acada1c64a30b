/**
 * Looks at the visible page for what may name its authors and dates: elements by their names and attributes, links to people's pages, and
 * the lines around the heading and the beginning of the text. It only notes them: authors.ts and page-dates.ts read and choose.
 */
import { LEAD_IN } from "./author-names.ts";
import type { Line } from "./lines.ts";
import { namedLike, type Names } from "./marks.ts";
import { letters } from "./title.ts";
import { nodeText, type Tree } from "./tree.ts";

const USER_NAMES =
  / (?:username|user name|bigusername|user link|poster(?! ip)|postauthor|post username|creator|nickname|user details|mention name|author name) /;
/** The address of a user's page, with the user's name in it. */
export const PROFILE = /^(?:https?:\/\/[^/]+)?\/(?:(?:users?|u)\/(?:\d+\/)?|[~@])([^/?#%]+)\/?(?:[?#].*)?$/i;
/** Addresses of users in forums, with the user's number: SMF, phpBB, vBulletin, XenForo, IP.Board. */
const USER_PAGE =
  /[?&;](?:action=profile|mode=viewprofile)\b|\/(?:members?|profiles?)(?:\.php\?|\/)[^/]+\/?$/i;
const PROFILE_REACH = 60;
const AUTHOR_NAMES =
  / (?:author name|author|authors|byline|by line|byline name|writer|contributor|contributors|autor|auteur|autore|posted by|article author|entry author|post author|vcard|fn) /;
const DATE_NAMES =
  / (?:date|dateline|published|publish date|date published|published date|pub date|pubdate|post date|entry date|article date|posted on|posted|timestamp|time stamp|datum|\w*datum|fecha|fecha\w*|data publikacji|дата|date time|datetime|publish time|pubtime|post time|publication date|meta date|created|authored|submitted) /;
const NOT_HERE =
  / (?:comment|comments|reply|replies|related|sidebar|recommended|footer|nav|menu|widget|most read|popular|trending|latest|recent|teaser|(?<!message )card|cards|search|carousel|more) /;
const UPDATED =
  / (?:modified|updated|update|last modified|last updated|date modified) |updated|modified|aktualisier|letzte änderung|mis à jour|actualizado|aggiornato|atualizado|bijgewerkt|uppdaterad|oppdatert|opdateret|päivitetty|zaktualizowan|aktualizacj|aktualizováno|güncelle|обновлен|оновлено|изменен|ενημερ|수정/;
/** A line before and from the words that announce a change: "Published on Oct 21, 2025. Updated on Mar 9, 2026". */
export function atChange(line: string): readonly [before: string, change: string] {
  const changed = UPDATED.exec(` ${line.toLowerCase()} `)?.index;
  if (changed === undefined) return [line, ""];
  const at = Math.max(0, changed - 1);
  return [line.slice(0, at), line.slice(at)];
}

/** Lines above and below the first of running text that may hold a byline and a date, and around the heading. */
const OPENING = { above: 15, below: 6 } as const;
const BESIDE_TITLE = { above: 4, below: 8 } as const;

/** The text of an element that is named after authors. */
export interface NamedAuthor {
  readonly node: number;
  readonly text: string;
}

/** Nodes of the visible page that may name an author or a date: near the text, and not in teasers. */
export interface Visible {
  /** 1 for nodes in navigation, in the footer, and in asides that are named after teasers. */
  readonly framed: Uint8Array;
  readonly authors: {
    readonly rel: string[];
    /** In margins and teasers. */
    readonly relBeside: string[];
    readonly itemprop: string[];
    readonly named: NamedAuthor[];
    /** Links to a page about the author whose address has a part of the name. */
    readonly linked: NamedAuthor[];
    readonly users: string[];
  };
  readonly dates: {
    readonly itemprop: string[];
    readonly time: string[];
    readonly named: string[];
    readonly modified: string[];
  };
  /** Lines around the beginning of the text, and around the heading, without framed ones. */
  readonly opening: readonly string[];
  readonly beside_title: readonly string[];
  readonly isInOpening: (element: NamedAuthor) => boolean;
}

/** The text of the first link to a user's page in a subtree. */
function userIn(tree: Tree, node: number, unseen: Uint8Array): string | null {
  const stop = Math.min(tree.end[node]!, node + PROFILE_REACH);
  for (let i = node; i < stop; i += 1) {
    const href = tree.tag[i] === "a" ? tree.attributes[i]?.["href"] : undefined;
    const text =
      href !== undefined && (PROFILE.test(href) || USER_PAGE.test(href)) ? nodeText(tree, i, 60, unseen) : "";
    if (text !== "") return text;
  }
  return null;
}

/** The address of a page about a subject. */
const SUBJECT = /\/(?:tags?|categor(?:y|ies)|topics?|subjects?|rubri(?:k|que|ka))\//i;

/** The text of an element that is named after authors, without the subjects that some templates put beside the names. */
function bylineText(tree: Tree, node: number, unseen: Uint8Array): string {
  let text = nodeText(tree, node, 120, unseen);
  for (let i = node; i < tree.end[node]! && i < node + PROFILE_REACH; i += 1)
    if (tree.tag[i] === "a" && SUBJECT.test(tree.attributes[i]?.["href"] ?? ""))
      text = text.replace(nodeText(tree, i, 60, unseen), "").trim();
  return text;
}

/** State of lookAround, which each of its parts gets with a node. */
interface Around {
  readonly tree: Tree;
  readonly names: Names;
  readonly unseen: Uint8Array;
  readonly away: Uint8Array;
  readonly isAuthor: (node: number) => boolean;
  readonly isUser: (node: number) => boolean;
  readonly isDate: (node: number) => boolean;
  readonly authors: Visible["authors"];
  readonly dates: Visible["dates"];
}

/**
 * Several short functions and not one: V8 optimises a function anew as often as a page shows it a case that it has not seen, and
 * one of their length took a tenth of the CPU time of a new reader's first hundred pages.
 */
export function lookAround(
  tree: Tree,
  names: Names,
  unseen: Uint8Array,
  lines: readonly Line[],
  first_prose: number,
): Visible {
  const firstProse = lines[first_prose]?.node;
  const count = tree.tag.length;
  const away = new Uint8Array(count);
  const framed = new Uint8Array(count);
  const isNotHere = namedLike(names, NOT_HERE);
  const around: Around = {
    tree,
    names,
    unseen,
    away,
    isAuthor: namedLike(names, AUTHOR_NAMES),
    isUser: namedLike(names, USER_NAMES),
    isDate: namedLike(names, DATE_NAMES),
    authors: { rel: [], relBeside: [], itemprop: [], named: [], linked: [], users: [] },
    dates: { itemprop: [], time: [], named: [], modified: [] },
  };
  for (let i = 1; i < count; i += 1) {
    const up = tree.parent[i]!;
    const tag = tree.tag[i]!;
    away[i] = away[up]!;
    const aside = tag === "aside";
    // Some templates have author and date in a footer above the text.
    const footer = tag === "footer" && (away[i] || firstProse === undefined || tree.end[i]! > firstProse);
    framed[i] = tag === "nav" || footer || (aside && isNotHere(i)) ? 1 : framed[up]!;
    if (tag === "#text") continue;
    if (framed[i] || aside) away[i] = 1;
    if (!tree.attributes[i]) continue;
    if (isNotHere(i) && tree.end[i]! - i < 0.5 * count) away[i] = 1;
    noteElement(around, i);
  }
  const { authors, dates } = around;
  return { framed, authors, dates, ...linesAround(tree, lines, framed, first_prose) };
}

function linesAround(
  tree: Tree,
  lines: readonly Line[],
  framed: Uint8Array,
  first_prose: number,
): Pick<Visible, "opening" | "beside_title" | "isInOpening"> {
  const textsOf = (some: readonly Line[]): string[] =>
    some.filter(({ node }) => !framed[node]).map(({ text }) => text);
  const from = Math.max(0, first_prose - OPENING.above);
  const to = first_prose + OPENING.below;
  const [starts, stops] = [lines[from]?.node ?? 0, lines[to]?.node ?? Infinity];
  const heading = lines.findIndex(({ node }) => tree.tag[node] === "h1");
  const beside =
    heading < 0 ? [] : lines.slice(Math.max(0, heading - BESIDE_TITLE.above), heading + BESIDE_TITLE.below);
  return {
    opening: textsOf(lines.slice(from, to)),
    beside_title: textsOf(beside),
    isInOpening: ({ node }) => node > starts && node < stops,
  };
}

function noteElement(around: Around, node: number): void {
  const { tree, unseen, away } = around;
  const attributes = tree.attributes[node]!;
  const itemprop = attributes["itemprop"];
  if (unseen[node] && itemprop === undefined && attributes["property"] === undefined) return;
  if (tree.tag[node] === "a" && attributes["rel"]?.includes("author")) noteRelated(around, node);
  if (tree.tag[node] === "a" && !away[node]) noteLinked(around, node);
  if (itemprop === "author" || itemprop === "creator") {
    if (away[node]) return;
    noteDeclared(around, node);
  } else if (!away[node] && around.isAuthor(node)) noteNamed(around, node);
  if (around.isUser(node)) noteUser(around, node);
  // RDFa says the same with a prefix.
  const property = itemprop ?? attributes["property"]?.replace(/^\w+:/, "");
  if (property === "datePublished" || property === "dateCreated" || property === "uploadDate") {
    if (!away[node]) around.dates.itemprop.push(datedText(around, node));
  } else if (property === "dateModified") around.dates.modified.push(datedText(around, node));
  else if (!away[node] && tree.tag[node] === "time") noteTime(around, node);
  else if (!away[node] && around.isDate(node)) noteDate(around, node);
}

function noteRelated({ tree, unseen, away, authors }: Around, node: number): void {
  const links = away[node] ? authors.relBeside : authors.rel;
  if (links.length < 6) links.push(nodeText(tree, node, 120, unseen));
}

/** The address of a page about an author, with the name in it. */
const AUTHOR_PAGE =
  /\/(?:authors?|contributors?|writers?|columnists?|bylines?|by|autor(?:es|en)?|auteurs?|redakteure?|profiles?|members?|editors?|bio|people|staff|team|experts?)\/(?:\d+\/)?([^/?#]+)\/?(?:[?#].*)?$/i;
const LINKED_MAX = 12;
const LINKED_CHARS = 60;
/** No byline is as long. */
const SPOKEN_CHARS = 130;
/** The words before a link are in one of as many nodes before it. */
const LEAD_IN_REACH = 8;
/** A link behind these words names someone else. */
const NOT_WRITTEN =
  /\b(?:reviewed|edited|checked|verified|updated|photos?|illustrat\w+|approved|for|to|about)(?: \w+)?(?: by)?:?\s*$/i;

/** Whether the text of a link is the name in its address: "Jonna Wikander" in "jwikander", but "Jonna" in "jonna" only. */
function isNameIn(address: string, text: string): boolean {
  const name = text.replace(LEAD_IN, "").trim();
  if (!name.includes(" ")) return letters(name) === address;
  return name.split(/\s+/).some((word) => word.length > 2 && address.includes(letters(word)));
}

function noteLinked({ tree, unseen, authors }: Around, node: number): void {
  if (authors.linked.length >= LINKED_MAX) return;
  const slug = AUTHOR_PAGE.exec(tree.attributes[node]!["href"] ?? "")?.[1];
  if (slug === undefined) return;
  const address = letters(slug);
  let text = nodeText(tree, node, LINKED_CHARS, unseen);
  // The link around a card about the author has a role and a date beside the name.
  if (text.split(" ").length > 4)
    for (let i = node + 1; i < Math.min(tree.end[node]!, node + PROFILE_REACH); i += 1)
      if (tree.tag[i] === "#text" && isNameIn(address, tree.text[i]!)) {
        text = tree.text[i]!.trim();
        break;
      }
  if (!isNameIn(address, text)) return;
  // In running text, the person is spoken of.
  if (nodeText(tree, tree.parent[node]!, SPOKEN_CHARS, unseen).length === SPOKEN_CHARS) return;
  let before = node - 1;
  while (before > node - LEAD_IN_REACH && tree.tag[before] !== "#text") before -= 1;
  if (tree.tag[before] === "#text" && NOT_WRITTEN.test(tree.text[before]!)) return;
  authors.linked.push({ node, text });
}

function noteDeclared({ tree, unseen, authors }: Around, node: number): void {
  if (authors.itemprop.length >= 6) return;
  let name = tree.attributes[node]?.["content"] ?? "";
  for (let j = node + 1; name === "" && j < tree.end[node]! && j < node + 60; j += 1)
    if (tree.attributes[j]?.["itemprop"] === "name")
      name = tree.attributes[j]?.["content"] ?? nodeText(tree, j, 120, unseen);
  name ||= tree.itemNames.find((item) => item.node >= node && item.node < tree.end[node]!)?.name ?? "";
  authors.itemprop.push(name || (userIn(tree, node, unseen) ?? nodeText(tree, node, 120, unseen)));
}

function noteNamed({ tree, unseen, authors }: Around, node: number): void {
  if (authors.named.length >= 12) return;
  const text = bylineText(tree, node, unseen);
  if (text.length >= 2 && text.length < 90) authors.named.push({ node, text });
  const user = authors.users.length < 3 ? userIn(tree, node, unseen) : null;
  if (user !== null) authors.users.push(user);
}

function noteUser({ tree, unseen, authors }: Around, node: number): void {
  if (authors.users.length >= 3) return;
  const text = userIn(tree, node, unseen) ?? nodeText(tree, node, 60, unseen);
  if (text.length >= 2 && text.length < 40 && !/\s\S+\s\S+\s/.test(text)) authors.users.push(text);
}

function noteTime({ tree, names, unseen, dates }: Around, node: number): void {
  const attributes = tree.attributes[node]!;
  const up = tree.parent[node]!;
  const value = attributes["datetime"] || nodeText(tree, node, 80, unseen);
  const changed =
    UPDATED.test(`${names.words[names.of[node]!]} ${nodeText(tree, up, 60, unseen).toLowerCase()}`) &&
    !/publish|posted/i.test(nodeText(tree, up, 60, unseen));
  if (attributes["pubdate"] !== undefined) dates.itemprop.push(value);
  else if (dates.time.length < 8 && !changed) dates.time.push(value);
  else if (changed && dates.modified.length < 4) dates.modified.push(value);
}

function noteDate({ tree, unseen, dates }: Around, node: number): void {
  if (dates.named.length >= 12) return;
  const { datetime, content } = tree.attributes[node]!;
  const whole = datetime ?? content ?? nodeText(tree, node, 100, unseen);
  if (whole.length >= 100) return;
  const [text, change] = atChange(whole);
  if (text.length >= 6 && /\d/.test(text)) dates.named.push(text);
  if (dates.modified.length < 4 && /\d/.test(change)) dates.modified.push(change);
}

/** The date that an element says, by the attribute for values first. */
function datedText({ tree, unseen }: Around, node: number): string {
  const { content, datetime } = tree.attributes[node]!;
  return content ?? datetime ?? nodeText(tree, node, 80, unseen);
}
