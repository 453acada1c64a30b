/**
 * The metadata of a page: title, author, dates, language and the rest of ArticleMeta, from JSON-LD, meta elements,
 * microdata and the visible page, in that order unless a field has another one. A field without a value in the page is null.
 */
import type { ArticleMeta } from "../../../schemas/fetch.ts";
import { dateInUrl, parseDate } from "./dates.ts";
import { isLdType, ldAbout, ldNames, type LdNode, ldText, type LinkedData } from "./jsonld.ts";
import { languageOf } from "./language.ts";
import { namedLike, type Names } from "./marks.ts";
import { type ChooseTitle, letters, type Meta, siteOf, titleCandidates } from "./title.ts";
import type { PageKind } from "./kind.ts";
import { nodeText, type Tree, unmarked } from "./tree.ts";

/** "2023-01-05" */
const DAY_CHARS = 10;
const DAY_MS = 86_400_000;
/** A byline or the line of a date. */
const SHORT_LINE_CHARS = 80;
const STATED_MAX = 3;
/** Elements with as many different dates under names of dates are events or teasers. */
const LISTED_DAYS = 3;
const DESCRIPTION_CHARS_MAX = 2_000;
const AUTHORS_MAX = 12;

export interface PageMeta {
  /** The JSON-LD node about this page. */
  readonly about: LdNode | null;
  readonly title: string | null;
  /** language.ts */
  readonly needs_detector: boolean;
  readonly meta: Omit<ArticleMeta, "word_count">;
}

const LEAD_IN =
  /^(?:(?:written|posted|published|reviewed|medically reviewed|story|words|text|article|photos?|report|edited|updated|reported|created|asked|answered)\s+(?:and \w+ )?by|by|von|par|por|di|door|av|af|text|autor(?:in|e|a)?|auteur|author|authors|words|from|der)(?:\s*:\s*|\s+|(?<=by)(?=\p{Lu}))/iu;
/** Lead-ins in other scripts and languages; those without spaces need none behind it. */
const FOREIGN_LEAD_IN =
  /^(?:(?:作者|记者|記者|撰文|文字|文|著者|筆者|執筆|글|بقلم|الكاتب|نویسنده|מאת|โดย|लेखक|লেখক)\s*[:：／/]?\s*|(?:авторы?|текст|автор тексту|autorzy|autori|tekst|napisała?|szerző|írta|yazar|yazan|συντάκτ(?:ης|ρια)|γράφει(?: [οη])?|kirjoittaja|teksti|skribent|penulis|oleh|tác giả)(?:\s*[:：]\s*|\s+))/iu;
/** "홍길동 기자": the reporter. */
const FOREIGN_ROLE = /(?:(?<!\s)\s+)?(?:기자|特派員|记者|記者)$/u;
/** A whole name of few characters without a space. */
const SHORT_NAME = /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Katakana}]{2,6}$/u;
const NOBODY =
  /^(?:admin(?:istrator)?|editors?|editorial(?: (?:team|staff|board))?|staff|staff (?:writer|reporter)|(?:the )?(?:editorial )?(?:team|staff)|redaktion|redaction|la rédaction|rédaction|redacción|redazione|redação|guest(?: (?:author|post|contributor))?|contributor|webmaster|web ?team|marketing|news ?desk|unknown|anonymous|none|null|n\/?a|user|author|press release|super ?user|root|owner|website|content team|wpadmin)$/i;
/** The editors as a whole: less than a name, more than nothing. */
const DESK =
  /^(?:\S+ ){0,4}(?:team|staff|admin|editors|contributors|editorial|newsroom|news ?desk|redaktion|rédaction|redacción|redazione|redação)$|^(?:team|redaktion|rédaction|redacción|redazione|redação) /iu;
/** A control or a heading in the place of a name: "Reply to Jonna Wikander". */
const NO_NAME =
  /^(?:reply to|fact[- ]checked|leave a|(?:view|see) (?:all|full|more)|(?:read )?full bio|(?:all )?(?:posts|articles|stories)(?: by)?|more (?:by|from)|follow|about the|log ?in|sign (?:in|up))\b/i;
/** "Learn about our policies": a name has no two ordinary words behind its first. */
const PHRASE = /^\p{Lu}.*\s\p{Ll}{4,}(?:\s.*)?\s\p{Ll}{4,}/u;
const AFTER_NAME =
  /(?:(?<!\s)\s+)?(?:[|•·●∙⋅▪–—/]|\((?!\p{L}+\)(?:$|\s\p{Lu}))|\s-\s|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.? \d{1,2}\b|\b(?:updated|published|posted|last|modified|reviewed|edited|on|in|for|min|minutes?|at|am|um)\b|,\s*(?:reuters|ap|afp|dpa|associated press|staff writer|staff reporter|contributor|contributing|senior|special|correspondent|editor|reporter|columnist|writer|cnn|bbc|the)\b).*$/iu;
/** Degrees and licences behind a name are part of it as the page states it: "Jonna Wikander, MS, RD". */
const CREDENTIALS =
  /^(?:M\.?D|D\.?O|Ph\.?D|Psy\.?D|Ed\.?D|Pharm\.?D|J\.?D|LL\.?M|[DV]\.?M\.?D|DVM|DDS|DPT|DC|ND|RDN?|LDN?|RN|BSN|MSN|NP|FNP|PA-C|PT|MPH|M\.?B\.?A|M\.?Sc?|M\.?A|B\.?Sc?|B\.?A|CPA|CFP|CFA|LMFT|LCSW|LPC|CSCS|CDCES|Esq)\b\.?®?(?:[\s/]+\p{Lu}[\p{Lu}.-]{1,7})*$/u;
/** Another degree behind a known one. */
const MORE_CREDENTIALS = /^\p{Lu}[\p{Lu}.-]{1,7}(?:\s\(\p{L}+\))?$/u;
/** "Jonna Wikander, Home and Digital Security Expert": no second person behind the "and". */
const ROLE =
  /,\s+(?:\p{L}[\p{L}-]*\s+){1,4}(?:and|&)\s+(?:\p{L}[\p{L}-]*\s+){0,4}(?:expert|specialist|editor|writer|author|analyst|consultant|director|manager|officer|founder|president|engineer|professor|development|marketing|strategist)s?\b[^;]*$/iu;

/** Whom the names of an author field may name: people; or also desks; or also the site itself. */
type Authorship = "people" | "desks" | "site";

/** Whether a name is that of the site, alone or with words behind it ("Harbour Post Sponsored", but not "Harbour Berg"). */
function isOfSite(name: string, site: string | null): boolean {
  if (site === null) return false;
  if (letters(name) === letters(site)) return true;
  return site.includes(" ") && name.toLowerCase().startsWith(`${site.toLowerCase()} `);
}

interface Person {
  readonly name: string;
  /** With the comma before them. */
  readonly credentials: string;
}

/** The people in one part of a list. "Last, First" is one name; "First Last, First Last" are several. */
function peopleIn(part: string): Person[] {
  const people: Person[] = [];
  for (const name of part.split(/(?:(?<!\s)\s+)?,\s+/)) {
    const last = people.at(-1);
    if (last && (last.credentials === "" ? CREDENTIALS : MORE_CREDENTIALS).test(name))
      people[people.length - 1] = { ...last, credentials: `${last.credentials}, ${name}` };
    else people.push({ name, credentials: "" });
  }
  const isList = people.every(
    ({ name }) => /^\S+(?:\s+\S+){1,3}$/.test(name) && !AFTER_NAME.test(`x, ${name}`),
  );
  return people.length === 1 || isList
    ? people
    : [{ name: people.map(({ name }) => name).join(", "), credentials: people[0]!.credentials }];
}

/** The name of an account or a brand, where a person would have two words: "jwikander", "Harbourly". */
const isAccount = (name: string): boolean => !name.includes(" ") && /^[\p{Script=Latin}\d._-]+$/u.test(name);

/** Names in the text of an author field, without addresses and roles. */
function cleanAuthors(
  values: readonly string[],
  site: string | null,
  strict: boolean,
  authorship: Authorship,
): string[] {
  const names: string[] = [];
  for (const value of values.slice(0, 50)) {
    const text = unmarked(value.slice(0, 1_000)).slice(0, 300);
    if (/https?:|www\.|@\w+\.\w|[{}<>=»›/]/i.test(text) || /^(?:written |posted )?by:?$/i.test(text))
      continue;
    const listed = text
      .replace(LEAD_IN, "")
      .replace(FOREIGN_LEAD_IN, "")
      .replace(ROLE, "")
      .split(
        /(?:(?<!\s)\s+)?(?:;|\||\n|、|\s(?:and|und|et|y|e|en|och|og|и|та|i|και|ve|&)\s|,\s+(?:and|und|et|y)\s+|·|•)\s*/i,
      );
    for (const each of listed) {
      for (const { name: person, credentials } of peopleIn(each)) {
        const whole = person.replace(LEAD_IN, "");
        // A site's name may have words that end a person's: "Harbour On Water".
        const isSite = site !== null && letters(whole) === letters(site);
        let name = (isSite ? whole : whole.replace(AFTER_NAME, ""))
          .replace(FOREIGN_ROLE, "")
          .replace(/^[\s@"'“.,:-]+|[\s"'”,:;*-]+$|(?<=\p{Lu}{3})\.$/gu, "")
          .trim();
        if (!strict && name === "") name = person.trim();
        const words = name.split(/\s+/).length;
        if (name.length < 2 || name.length > 60 || words > 5 || !/\p{L}/u.test(name)) continue;
        if (NOBODY.test(name) || NO_NAME.test(name) || PHRASE.test(name)) continue;
        if (authorship !== "site" && isOfSite(name, site)) continue;
        if (authorship === "people" && DESK.test(name)) continue;
        const isWhole = words > 1 || SHORT_NAME.test(name);
        if (strict && (/\d/.test(name) || !/^\p{Lu}|^\p{Lo}/u.test(name) || !isWhole)) continue;
        name += credentials;
        if (!names.some((known) => letters(known) === letters(name))) names.push(name);
      }
    }
  }
  return names.slice(0, AUTHORS_MAX);
}

const BY_LINE =
  /^(?:(?:written|posted|published|words|story|text) by|by|von|par|por|di|author|autor(?:in)?|text|автор|текст|autorzy|tekst|szerző|írta|yazar|συντάκτ(?:ης|ρια)|oleh|penulis)(?:\s*:|\s)\s*\p{Lu}|^(?:作者|记者|記者|撰文|著者|筆者|بقلم|נכתב|מאת|نویسنده|โดย|लेखक)\s*(?:[:：]\s*)?\p{Lo}|^\p{Script=Hangul}{2,4} 기자$/iu;
const BY_LINE_CHARS = 70;
const SIGNED = /^(?:(?:written|article|posted|story) by|author|by(?=:))(?:\s*:|\s)\s*\S/i;
const SIGNED_LABEL = /^(?:(?:written|article|posted|story) by|author):?$/i;
const USER_NAMES =
  / (?:username|user name|bigusername|user link|poster(?! ip)|postauthor|post username|creator|nickname|user details|mention name|author name) /;
/** The address of a user's page, with the user's name in it. */
const PROFILE = /^(?:https?:\/\/[^/]+)?\/(?:(?:users?|u)\/(?:\d+\/)?|[~@])([^/?#%]+)\/?(?:[?#].*)?$/i;
/** Addresses of users in forums, with the user's number: SMF, phpBB, vBulletin, XenForo, IP.Board. */
const USER_PAGE =
  /[?&;](?:action=profile|mode=viewprofile)\b|\/(?:members?|profiles?)(?:\.php\?|\/)[^/]+\/?$/i;
const PROFILE_REACH = 60;
const PUBLISHED_META =
  /(?:publish|pub)\w{0,20}[-_:. ]?(?:date|time|on)|date[-_:. ]?(?:of[-_ ])?(?:publi|creat|issued)|^(?:article|post)[-_:.]?date$/;

const AUTHOR_NAMES =
  / (?:author name|author|authors|byline|by line|byline name|writer|contributor|contributors|autor|auteur|autore|posted by|article author|entry author|post author|vcard|fn) /;
const DATE_NAMES =
  / (?:date|dateline|published|publish date|date published|published date|pub date|pubdate|post date|entry date|article date|posted on|posted|timestamp|time stamp|datum|\w*datum|fecha|fecha\w*|data publikacji|дата|date time|datetime|publish time|pubtime|post time|publication date|meta date|created|authored|submitted) /;
/** Words with which pages tell when a text was published, in the languages that tell it in a sentence. */
const PUBLISHED_WORDS =
  /\b(?:published|posted|submitted|created)\b|veröffentlicht|publiziert|geschrieben|gepostet|gespeichert|verfasst|erstellt|eingestellt|erschienen|publié|mis en ligne|publicado|publicada|pubblicato|gepubliceerd|geplaatst|publicerad|publisert|publiceret|julkaistu|opublikowan|data publikacji|zveřejněno|publikováno|közzétéve|megjelent|yayın|опубликован|дата публикации|публикувано|опубліковано|δημοσιεύ|ημερομηνία|发布|发表|發布|發表|公開日|掲載|입력|등록|نُ?شر|đăng ngày/iu;
const NOT_HERE =
  / (?:comment|comments|reply|replies|related|sidebar|recommended|footer|nav|menu|widget|most read|popular|trending|latest|recent|teaser|(?<!message )card|cards|search|carousel|more) /;
const UPDATED =
  / (?:modified|updated|update|last modified|last updated|date modified) |updated|modified|aktualisier|letzte änderung|mis à jour|actualizado|aggiornato|atualizado|bijgewerkt|uppdaterad|oppdatert|opdateret|päivitetty|zaktualizowan|aktualizacj|aktualizováno|güncelle|обновлен|оновлено|изменен|ενημερ|수정/;
/** A line before and from the words that announce a change: "Published on Oct 21, 2025. Updated on Mar 9, 2026". */
function atChange(line: string): readonly [before: string, change: string] {
  const changed = UPDATED.exec(` ${line.toLowerCase()} `)?.index;
  if (changed === undefined) return [line, ""];
  const at = Math.max(0, changed - 1);
  return [line.slice(0, at), line.slice(at)];
}

const CHANGE_LINE_CHARS = 60;
/** A line that begins with a change of the page, and what it says of it; posts and reviews are edited and dated, too. */
const CHANGED =
  /^(?:(?:this )?(?:page|article|post|guide) )?(?:was )?(?:(?:last|most recently) )?(?:updated|modified|revised)(?: on)?[:\s]\s*(.+)$/i;
/** Lines with as many different days are of entries of a list. */
const LISTED_CHANGES = 3;
/** "14. - 20. Januar 2022", "31. Dezember 2021-06. Januar 2022". */
const PERIOD = /(?<![-\d])\d{1,2}\.?\s?[-–—]\s?\d{1,2}\.?\s+\p{L}{3}|\d{4}\s?[-–—]\s?\d{1,2}\.\s+\p{L}{3}/u;
/** Anything, unless it has the form of a date in ISO 8601. */
const NUMBER_ALONE = /^(?!(?:19|20)\d{2}-[01]\d-[0-3]\d$)[\d\s+()-]+$/;
/** A date before a text in the same line: "(18.01.2023) ", "LINDHOLM, 18 January 2023 – ". */
const DATELINE = /^(.{6,45}?)(?:\s?[–—]|\s-|\)|:)\s/;

/** The text of an element that is named after authors. */
interface NamedAuthor {
  readonly node: number;
  readonly text: string;
}

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

/** Nodes of the visible page that may name an author or a date: near the text, and not in teasers. */
interface Visible {
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

/** The user whose page on this site is declared as the author. */
function userAt(address: string | null | undefined, page: string): string[] {
  const profile = absolute(address, page);
  if (profile === null || !URL.canParse(page) || new URL(profile).host !== new URL(page).host) return [];
  const name = PROFILE.exec(profile)?.[1];
  return name === undefined ? [] : [name];
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
function lookAround(tree: Tree, names: Names, unseen: Uint8Array, firstProse: number | undefined): Visible {
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
  return { authors: around.authors, dates: around.dates, framed };
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
/** More people than that are users of a forum, or authors of teasers. */
const LINKED_PEOPLE_MAX = 4;
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
  let name = tree.attributes[node]?.["content"] ?? "";
  for (let j = node + 1; name === "" && j < tree.end[node]! && j < node + 60; j += 1)
    if (tree.attributes[j]?.["itemprop"] === "name")
      name = tree.attributes[j]?.["content"] ?? nodeText(tree, j, 120, unseen);
  if (authors.itemprop.length < 6)
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

const TAGS_MAX = 500;
const canonicalTags = new Map<string, string | null>();

/** A tag of BCP 47 in its canonical form, or null. Few tags are declared by all pages, and ICU takes long for each. */
function canonicalTag(tag: string): string | null {
  const known = canonicalTags.get(tag);
  if (known !== undefined) return known;
  let locale: string | null = null;
  try {
    locale = Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    // No tag of a language.
  }
  if (canonicalTags.size < TAGS_MAX) canonicalTags.set(tag, locale);
  return locale;
}

function languageTag(value: string | null | undefined): string | null {
  if (!value) return null;
  const tag = value
    .trim()
    .split(/[,;\s]/, 1)[0]!
    .replaceAll("_", "-");
  const locale = canonicalTag(tag);
  return locale === null || locale === "und" || locale === "mul" || !/^[a-z]{2,3}(?:-|$)/.test(locale)
    ? null
    : locale;
}

function absolute(value: string | null | undefined, base: string): string | null {
  if (!value) return null;
  const parsed = URL.canParse(value.trim(), base) ? new URL(value.trim(), base) : null;
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.href : null;
}

/** At the end of a word. */
function cut(text: string, chars_max: number): string {
  if (text.length <= chars_max) return text;
  const short = text.slice(0, chars_max);
  const space = short.lastIndexOf(" ");
  return space > chars_max / 2 ? short.slice(0, space) : short;
}

const nonEmpty = (value: string | null | undefined): string | null => {
  const text = value ? unmarked(value) : "";
  return text === "" ? null : text;
};

/** The zone that forums state at their foot: "All times are GMT -6." */
const STATED_ZONE =
  /(?:all times are|alle zeiten sind|alle zeitangaben|toutes les heures|todos los horarios|todas las horas|tutti gli orari|alle tijden|часовой пояс|wszystkie czasy)[^\d]{0,30}(?:GMT|UTC)\s*([+-])\s?(\d{1,2})(?::?(\d{2}))?/i;
const LOCAL_TIME_CHARS = "2023-01-05T10:20:30".length;
const ZONE_LINES = 400;

/** A time without a zone, in the zone that the page states for all of its times. */
function inStatedZone(date: string, lines: readonly { readonly text: string }[], now_ms: number): string {
  if (date.length !== LOCAL_TIME_CHARS) return date;
  for (const { text } of lines.slice(-ZONE_LINES)) {
    const found = text.length < 3 * SHORT_LINE_CHARS ? STATED_ZONE.exec(text) : null;
    if (!found) continue;
    const [, sign, hours, minutes] = found;
    return parseDate(`${date}${sign}${hours!.padStart(2, "0")}:${minutes ?? "00"}`, null, now_ms) ?? date;
  }
  return date;
}

/** Declarations that mean the publication of the text; the others ("date", "dc.date") often hold the page's last change. */
const PUBLICATION_METAS = [
  "article:published_time",
  "og:published_time",
  "citation_publication_date",
  "citation_date",
  "citation_online_date",
  "parsely-pub-date",
] as const;

/**
 * The declared date that the page also shows: a declared date that the reader does not see may be of an import or of a change.
 * Where the page declares no publication, what it shows counts.
 */
function agreedDate(
  declared: string,
  publications: readonly (string | null)[],
  seen: readonly (string | null)[],
  isInLine: (day: string) => boolean,
): string {
  const isDay = (value: string | null): value is string => value !== null && value.length >= DAY_CHARS;
  const dayOf = (value: string): string => value.slice(0, DAY_CHARS);
  const shown = seen.filter(isDay);
  // A date that is shown twice counts more.
  const first =
    shown.find((value, i) => shown.some((other, k) => k !== i && dayOf(other) === dayOf(value))) ?? shown[0];
  if (first === undefined) return declared;
  // An instant in UTC may be of another day than the local date that is shown.
  const isShown = (value: string): boolean =>
    shown.some((each) => Math.abs(Date.parse(dayOf(each)) - Date.parse(dayOf(value))) <= DAY_MS);
  const stated = publications.filter(isDay);
  if (stated.length > 0) {
    if (isShown(declared)) return declared;
    // A text is not shown with a day before its publication: the declared one is that of an import or of a change.
    const isEarlier = dayOf(first) < dayOf(declared) && !isInLine(dayOf(declared));
    return stated.find(isShown) ?? (isEarlier ? first : declared);
  }
  return dayOf(first) >= dayOf(declared) && (isShown(declared) || isInLine(dayOf(declared)))
    ? declared
    : first;
}

/** The day of the last change, which a short line says alone: "Last updated: 9 March 2026". */
function changeIn(
  lines: readonly { readonly text: string; readonly node: number }[],
  framed: Uint8Array,
  published: string | null,
  dayIn: (text: string) => string | null,
): string | null {
  const days = new Set<string>();
  for (const { text, node } of lines) {
    if (text.length > CHANGE_LINE_CHARS || framed[node] || !/\p{Nd}/u.test(text)) continue;
    const change = CHANGED.exec(text)?.[1];
    const day = change === undefined ? null : dayIn(change);
    if (day !== null && day.slice(0, DAY_CHARS) >= (published ?? "").slice(0, DAY_CHARS)) days.add(day);
  }
  const [first = null] = days;
  return days.size < LISTED_CHANGES ? first : null;
}

const isByLine = (line: string): boolean => line.length < BY_LINE_CHARS && BY_LINE.test(line);

const onlyName = (names: readonly string[]): string[] => (names.length === 1 ? [...names] : []);

/** The links to people's pages, unless they are those of a forum's users or of teasers. */
function fewPeople(linked: readonly NamedAuthor[]): readonly NamedAuthor[] {
  return new Set(linked.map(({ text }) => letters(text))).size <= LINKED_PEOPLE_MAX ? linked : [];
}

/** The person whom the byline names where the page declares an account, or null when the page shows the account too. */
function personShown(
  accounts: readonly string[],
  beside: readonly NamedAuthor[],
  related: readonly string[],
  bylines: readonly string[],
  site: string | null,
): string[] | null {
  const texts = beside.map(({ text }) => text);
  const shown = [...texts, ...related].map(letters);
  if (accounts.some((account) => shown.some((name) => name.includes(letters(account))))) return null;
  for (const text of [...texts, ...bylines]) {
    const people = cleanAuthors([text], site, true, "people");
    if (people.length > 0) return people;
  }
  return null;
}

/** Anywhere on the page: "Written by Jonna Wikander", or "Author" with the name on the next line. */
function signedLines(
  lines: readonly { readonly text: string; readonly node: number }[],
  framed: Uint8Array,
): string[] {
  return lines.flatMap(({ text: line, node }, i) => {
    if (line.length >= BY_LINE_CHARS || framed[node]) return [];
    if (SIGNED.test(line)) return [line];
    const next = lines[i + 1]?.text ?? "";
    return SIGNED_LABEL.test(line) && next.length < BY_LINE_CHARS ? [next] : [];
  });
}

export function readMeta(
  tree: Tree,
  linked: LinkedData,
  names: Names,
  unseen: Uint8Array,
  lines: readonly { readonly text: string; readonly node: number }[],
  first_prose: number,
  text: string,
  url: string,
  now_ms: number,
  kind: PageKind,
  choose: ChooseTitle,
): PageMeta {
  const first = new Map<string, string>();
  const every = new Map<string, string[]>();
  for (const [name, content] of tree.metas) {
    if (content.trim() === "") continue;
    if (!first.has(name)) first.set(name, content.trim());
    const same = every.get(name);
    if (same) same.push(content);
    else every.set(name, [content]);
  }
  const meta: Meta = (...keys) => {
    for (const name of keys) {
      const value = first.get(name);
      if (value !== undefined) return value;
    }
    return null;
  };
  const base = absolute(tree.base, url) ?? url;
  const canonical =
    absolute(tree.links.find(({ rel }) => /(?:^|\s)canonical(?:\s|$)/i.test(rel!))?.["href"], base) ??
    absolute(meta("og:url"), base);
  const about = ldAbout(linked, canonical ? [url, canonical] : [url]);
  const html = tree.tag.indexOf("html");
  const declared_language =
    languageTag(html < 0 ? null : tree.attributes[html]?.["lang"]) ??
    languageTag(meta("og:locale")) ??
    languageTag(about && ldText(about["inLanguage"])) ??
    languageTag(meta("content-language", "language", "dc.language"));
  const { language, needs_detector } = languageOf(declared_language, text);

  const website = linked.nodes.find((node) => isLdType(node, /^WebSite$/));
  const publisherLd = about && ldNames(about["publisher"], linked)[0];
  const site =
    nonEmpty(meta("og:site_name")) ??
    nonEmpty(website && ldText(website["name"])) ??
    nonEmpty(meta("application-name", "apple-mobile-web-app-title"));
  const publisher =
    nonEmpty(publisherLd && !/^https?:/.test(publisherLd) ? publisherLd : null) ??
    nonEmpty(meta("dc.publisher", "citation_publisher", "publisher"));
  const visible = lookAround(tree, names, unseen, lines[first_prose]?.node);

  const named = (keys: readonly string[]): string[] => keys.flatMap((name) => every.get(name) ?? []);
  const declared = about ? ldNames(about["author"] ?? about["creator"], linked) : [];
  const labelled = /written|by|author/i.test(meta("twitter:label1") ?? "")
    ? [meta("twitter:data1") ?? ""]
    : [];
  const named_meta = [
    ...named([
      "author",
      "article:author",
      "dc.creator",
      "dc.creator.author",
      "parsely-author",
      "sailthru.author",
      "byl",
      "dcterms.creator",
    ]),
    ...labelled,
  ];
  const heading = lines.findIndex(({ node }) => tree.tag[node] === "h1");
  const beside_title = (heading < 0 ? [] : lines.slice(Math.max(0, heading - 4), heading + 8))
    .filter((line) => !visible.framed[line.node])
    .map((line) => line.text);
  const stated = (): string[] =>
    lines
      .filter(
        ({ text: line, node }) =>
          line.length < 2 * SHORT_LINE_CHARS &&
          !visible.framed[node] &&
          (PUBLISHED_WORDS.test(line) || BY_LINE.test(line)),
      )
      .slice(0, STATED_MAX)
      .map((line) => line.text);
  const opening = lines
    .slice(Math.max(0, first_prose - 15), first_prose + 6)
    .filter((line) => !visible.framed[line.node])
    .map((line) => line.text);
  const [starts, stops] = [
    lines[Math.max(0, first_prose - 15)]?.node ?? 0,
    lines[first_prose + 6]?.node ?? Infinity,
  ];
  const isInOpening = ({ node }: NamedAuthor): boolean => node > starts && node < stops;
  const linkedAuthors =
    kind === "article" || kind === "forum" ? fewPeople(visible.authors.linked).filter(isInOpening) : [];
  const profiles = [
    ...tree.links.filter(({ rel }) => rel === "author").map(({ href }) => href),
    ...(every.get("article:author") ?? []),
  ];
  type Source = (authorship: Authorship) => string[];
  const declaredSources: Source[] = [
    (of) => cleanAuthors(declared, site, false, of),
    (of) => cleanAuthors(named(["citation_author"]), site, false, of),
    (of) => cleanAuthors(named_meta, site, false, of),
  ];
  const shownSources: Source[] = [
    (of) => cleanAuthors(visible.authors.itemprop.slice(0, 1), site, false, of).slice(0, 4),
    (of) => cleanAuthors(visible.authors.rel.slice(0, 3), site, false, of),
    (of) => authorList(tree, visible.authors.named, (name) => cleanAuthors([name], site, true, of)),
    (of) => authorList(tree, linkedAuthors, (name) => cleanAuthors([name], site, false, of)),
    (of) => cleanAuthors(opening.filter(isByLine).slice(0, 1), site, true, of),
    (of) => cleanAuthors(visible.authors.users.slice(0, 1), site, false, of),
    (of) => cleanAuthors(beside_title.filter(isByLine).slice(0, 1), site, true, of),
    (of) => cleanAuthors(signedLines(lines, visible.framed).slice(0, 1), site, true, of),
    (of) => (kind === "article" ? onlyName(cleanAuthors(visible.authors.relBeside, site, true, of)) : []),
    (of) =>
      cleanAuthors(
        profiles.flatMap((each) => userAt(each, url)),
        site,
        false,
        of,
      ).slice(0, 1),
  ];
  // The names that a page of goods shows are those of reviewers and brands.
  const sources =
    kind === "product" || kind === "collection" ? declaredSources : [...declaredSources, ...shownSources];
  const firstOf = (authorship: Authorship): string[] => {
    for (const source of sources) {
      const found = source(authorship);
      if (found.length > 0) return found;
    }
    return [];
  };
  let authors = firstOf("people");
  if (kind === "article" && authors.length > 0 && authors.every(isAccount)) {
    const beside = [...visible.authors.named, ...visible.authors.linked].filter(isInOpening);
    authors = personShown(authors, beside, visible.authors.rel, opening.filter(isByLine), site) ?? authors;
  }
  if (authors.length === 0) authors = firstOf("desks");
  // The site itself, when it is declared as the author without a person's name.
  if (authors.length === 0)
    authors = cleanAuthors([...declared, ...named_meta], site, false, "site").slice(0, 1);

  /** The first with a day; else the first that is a date at all. */
  const date = (values: readonly (string | null | undefined)[]): string | null => {
    let partial: string | null = null;
    for (const value of values) {
      const parsed = value ? parseDate(value, language, now_ms) : null;
      if (parsed && parsed.length >= DAY_CHARS) return parsed;
      partial ??= parsed;
    }
    return partial;
  };
  /** A year or a month alone is no date of a line, and a number alone may be anything. */
  const dayIn = (texts: readonly string[]): string | null => {
    for (const whole of texts) {
      const [line] = atChange(whole);
      if (
        !/\p{Nd}[^\p{Nd}]/u.test(line) ||
        NUMBER_ALONE.test(line) ||
        PERIOD.test(line) ||
        (line !== whole && !PUBLISHED_WORDS.test(line))
      )
        continue;
      const found = parseDate(line, language, now_ms);
      if (found && found.length >= DAY_CHARS) return found;
    }
    return null;
  };
  const declared_date =
    date([
      about && ldText(about["datePublished"] ?? about["dateCreated"] ?? about["uploadDate"]),
      ...linked.nodes.map((node) =>
        isLdType(node, /Article|Posting|WebPage|Question/) ? ldText(node["datePublished"]) : null,
      ),
      meta(
        "article:published_time",
        "og:published_time",
        "og:article:published_time",
        "datepublished",
        "date",
        "dc.date",
        "dc.date.issued",
        "dcterms.created",
        "dcterms.date",
        "dc.date.created",
        "dcterms.issued",
        "pubdate",
        "publishdate",
        "publish_date",
        "publication_date",
        "publish-date",
        "parsely-pub-date",
        "sailthru.date",
        "citation_publication_date",
        "citation_date",
        "citation_online_date",
        "article.published",
        "published",
        "release_date",
        "originalpublicationdate",
        "cxenseparse:recs:publishtime",
        "rnews:datepublished",
        "created",
      ),
      ...tree.metas.map(([name, content]) => (PUBLISHED_META.test(name) ? content : null)),
      ...visible.dates.itemprop,
      ...visible.dates.time.slice(0, 1),
      ...visible.dates.named.slice(0, 4),
    ]) ?? dateInUrl(canonical ?? url, now_ms);
  const isWhole = declared_date !== null && declared_date.length >= DAY_CHARS;
  const short_lines = opening.filter((line) => line.length < SHORT_LINE_CHARS);
  const isList =
    isWhole &&
    new Set(visible.dates.named.map((value) => date([value])?.slice(0, DAY_CHARS))).size >= LISTED_DAYS;
  const isInLine = (day: string): boolean => {
    const [year, number] = [day.slice(2, 4), String(Number(day.slice(8)))];
    return lines.some(
      ({ text: line }) =>
        line.length < 2 * SHORT_LINE_CHARS &&
        line.includes(year) &&
        line.includes(number) &&
        dayIn([line])?.startsWith(day),
    );
  };
  const found_date = isWhole
    ? agreedDate(
        declared_date,
        [
          date([about && ldText(about["datePublished"] ?? about["dateCreated"] ?? about["uploadDate"])]),
          ...PUBLICATION_METAS.map((name) => date([meta(name)])),
        ],
        [
          ...[visible.dates.itemprop, visible.dates.time, isList ? [] : visible.dates.named].map((values) =>
            date(values.slice(0, 1)),
          ),
          dayIn(short_lines),
        ],
        isInLine,
      )
    : (date(visible.dates.time.slice(0, 1)) ??
      dayIn(short_lines) ??
      dayIn(beside_title.filter((line) => line.length < SHORT_LINE_CHARS)) ??
      dayIn(opening.flatMap((line) => DATELINE.exec(line)?.[1] ?? [])) ??
      dayIn(stated()) ??
      dayIn(PERIOD.test(tree.title) ? [] : tree.title.split(/\s[|–—-]\s/).slice(1)) ??
      declared_date);
  const published = found_date && inStatedZone(found_date, lines, now_ms);
  const modified =
    date([
      about && ldText(about["dateModified"]),
      meta(
        "article:modified_time",
        "og:updated_time",
        "og:modified_time",
        "article:modified",
        "last-modified",
        "dcterms.modified",
        "dc.date.modified",
        "datemodified",
        "lastmod",
        "modified",
      ),
      ...visible.dates.modified,
    ]) ?? changeIn(lines, visible.framed, published, (line) => dayIn([line]));
  const description =
    nonEmpty(meta("description", "og:description")) ??
    nonEmpty(about && ldText(about["description"])) ??
    nonEmpty(meta("twitter:description", "dc.description"));

  return {
    about,
    needs_detector,
    title: choose(titleCandidates(tree, about, meta, siteOf(site, url), unseen, kind)),
    meta: {
      author: authors.length > 0 ? authors.join("; ") : null,
      published_at: published,
      modified_at: modified,
      language,
      canonical_url: canonical,
      publisher,
      site_name: site,
      description: description && cut(description, DESCRIPTION_CHARS_MAX),
      section:
        nonEmpty(about && ldText(about["articleSection"])) ??
        nonEmpty(meta("article:section", "parsely-section", "section", "cxenseparse:category")),
    },
  };
}
