/**
 * When a page was published and last changed: the dates that it declares, compared with those that it shows, since a declared one may be
 * of an import or a change. dates.ts reads a single date.
 */
import type { ArticleMeta } from "../../../schemas/fetch.ts";
import { BY_LINE } from "./author-names.ts";
import { dateInUrl, parseDate } from "./dates.ts";
import { isLdType, type LdNode, ldText, type LinkedData } from "./jsonld.ts";
import type { Line } from "./lines.ts";
import type { Meta } from "./title.ts";
import type { Tree } from "./tree.ts";
import { atChange, type Visible } from "./visible-meta.ts";

/** "2023-01-05" */
const DAY_CHARS = 10;
const DAY_MS = 86_400_000;
/** The line of a date. */
const SHORT_LINE_CHARS = 80;
const STATED_MAX = 3;
/** Elements with as many different dates under names of dates are events or teasers. */
const LISTED_DAYS = 3;

/** The first of these with a value counts. */
const DATE_METAS = [
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
] as const;
/** Other names of meta elements with a date of publication. */
const PUBLISHED_META =
  /(?:publish|pub)\w{0,20}[-_:. ]?(?:date|time|on)|date[-_:. ]?(?:of[-_ ])?(?:publi|creat|issued)|^(?:article|post)[-_:.]?date$/;
/** Declarations that mean the publication of the text; the others ("date", "dc.date") often hold the page's last change. */
const PUBLICATION_METAS = [
  "article:published_time",
  "og:published_time",
  "citation_publication_date",
  "citation_date",
  "citation_online_date",
  "parsely-pub-date",
] as const;
const MODIFIED_METAS = [
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
] as const;

/** Words with which pages tell when a text was published, in the languages that tell it in a sentence. */
const PUBLISHED_WORDS =
  /\b(?:published|posted|submitted|created)\b|veröffentlicht|publiziert|geschrieben|gepostet|gespeichert|verfasst|erstellt|eingestellt|erschienen|publié|mis en ligne|publicado|publicada|pubblicato|gepubliceerd|geplaatst|publicerad|publisert|publiceret|julkaistu|opublikowan|data publikacji|zveřejněno|publikováno|közzétéve|megjelent|yayın|опубликован|дата публикации|публикувано|опубліковано|δημοσιεύ|ημερομηνία|发布|发表|發布|發表|公開日|掲載|입력|등록|نُ?شر|đăng ngày/iu;
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

/** The parts of a page that may have its dates. */
export interface DatedPage {
  readonly tree: Tree;
  readonly lines: readonly Line[];
  readonly linked: LinkedData;
  /** The JSON-LD node about this page. */
  readonly about: LdNode | null;
  readonly meta: Meta;
  readonly visible: Visible;
  readonly language: string | null;
  /** The canonical one, if the page declares it. */
  readonly address: string;
  readonly now_ms: number;
}

export function pageDates(page: DatedPage): Pick<ArticleMeta, "published_at" | "modified_at"> {
  const { lines, about, meta, visible, now_ms } = page;
  const published = publishedDate(page);
  const published_at = published && inStatedZone(published, lines, now_ms);
  const modified = [
    about && ldText(about["dateModified"]),
    meta(...MODIFIED_METAS),
    ...visible.dates.modified,
  ];
  return { published_at, modified_at: dateAmong(modified, page) ?? changeIn(page, published_at) };
}

/** The first with a day; else the first that is a date at all. */
function dateAmong(
  values: readonly (string | null | undefined)[],
  { language, now_ms }: DatedPage,
): string | null {
  let partial: string | null = null;
  for (const value of values) {
    const parsed = value ? parseDate(value, language, now_ms) : null;
    if (parsed && parsed.length >= DAY_CHARS) return parsed;
    partial ??= parsed;
  }
  return partial;
}

/** A year or a month alone is no date of a line, and a number alone may be anything. */
function dayIn(whole: string, { language, now_ms }: DatedPage): string | null {
  const [line] = atChange(whole);
  if (
    !/\p{Nd}[^\p{Nd}]/u.test(line) ||
    NUMBER_ALONE.test(line) ||
    PERIOD.test(line) ||
    (line !== whole && !PUBLISHED_WORDS.test(line))
  )
    return null;
  const found = parseDate(line, language, now_ms);
  return found && found.length >= DAY_CHARS ? found : null;
}

/** The day of the first of some texts that has one. */
function dayAmong(texts: readonly string[], page: DatedPage): string | null {
  for (const text of texts) {
    const day = dayIn(text, page);
    if (day !== null) return day;
  }
  return null;
}

function publishedDate(page: DatedPage): string | null {
  const { about, meta, visible } = page;
  const { itemprop, time, named } = visible.dates;
  const stated = about && ldText(about["datePublished"] ?? about["dateCreated"] ?? about["uploadDate"]);
  const declared = declaredDate(page, stated);
  if (declared === null || declared.length < DAY_CHARS) return shownDate(page) ?? declared;
  const isList =
    new Set(named.map((value) => dateAmong([value], page)?.slice(0, DAY_CHARS))).size >= LISTED_DAYS;
  return agreedDate(
    declared,
    [stated, ...PUBLICATION_METAS.map((name) => meta(name))].map((value) => dateAmong([value], page)),
    [
      ...[itemprop, time, isList ? [] : named].map((values) => dateAmong(values.slice(0, 1), page)),
      dayAmong(visible.opening.filter(isShort), page),
    ],
    (day) => isInSomeLine(day, page),
  );
}

/** `stated` is the date of the JSON-LD node about this page. */
function declaredDate(page: DatedPage, stated: string | null): string | null {
  const { tree, linked, meta, visible, address, now_ms } = page;
  const { itemprop, time, named } = visible.dates;
  const values = [
    stated,
    ...linked.nodes.map((node) =>
      isLdType(node, /Article|Posting|WebPage|Question/) ? ldText(node["datePublished"]) : null,
    ),
    meta(...DATE_METAS),
    ...tree.metas.map(([name, content]) => (PUBLISHED_META.test(name) ? content : null)),
    ...itemprop,
    ...time.slice(0, 1),
    ...named.slice(0, 4),
  ];
  return dateAmong(values, page) ?? dateInUrl(address, now_ms);
}

/** The date that a page shows, for one that declares no day: from the likeliest place to the least likely. */
function shownDate(page: DatedPage): string | null {
  const { tree, visible } = page;
  const { opening, beside_title, dates } = visible;
  return (
    dateAmong(dates.time.slice(0, 1), page) ??
    dayAmong(opening.filter(isShort), page) ??
    dayAmong(beside_title.filter(isShort), page) ??
    dayAmong(
      opening.flatMap((line) => DATELINE.exec(line)?.[1] ?? []),
      page,
    ) ??
    dayAmong(statedLines(page), page) ??
    dayAmong(PERIOD.test(tree.title) ? [] : tree.title.split(/\s[|–—-]\s/).slice(1), page)
  );
}

const isShort = (line: string): boolean => line.length < SHORT_LINE_CHARS;

/** Lines that tell of the publication or the author, anywhere on the page. */
const statedLines = ({ lines, visible }: DatedPage): string[] =>
  lines
    .filter(
      ({ text: line, node }) =>
        line.length < 2 * SHORT_LINE_CHARS &&
        !visible.framed[node] &&
        (PUBLISHED_WORDS.test(line) || BY_LINE.test(line)),
    )
    .slice(0, STATED_MAX)
    .map((line) => line.text);

/** Whether a short line says the day. */
function isInSomeLine(day: string, page: DatedPage): boolean {
  const [year, number] = [day.slice(2, 4), String(Number(day.slice(8)))];
  return page.lines.some(
    ({ text: line }) =>
      line.length < 2 * SHORT_LINE_CHARS &&
      line.includes(year) &&
      line.includes(number) &&
      dayIn(line, page)?.startsWith(day),
  );
}

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
function changeIn(page: DatedPage, published: string | null): string | null {
  const { lines, visible } = page;
  const days = new Set<string>();
  for (const { text, node } of lines) {
    if (text.length > CHANGE_LINE_CHARS || visible.framed[node] || !/\p{Nd}/u.test(text)) continue;
    const change = CHANGED.exec(text)?.[1];
    const day = change === undefined ? null : dayIn(change, page);
    if (day !== null && day.slice(0, DAY_CHARS) >= (published ?? "").slice(0, DAY_CHARS)) days.add(day);
  }
  const [first = null] = days;
  return days.size < LISTED_CHANGES ? first : null;
}

/** The zone that forums state at their foot: "All times are GMT -6." */
const STATED_ZONE =
  /(?:all times are|alle zeiten sind|alle zeitangaben|toutes les heures|todos los horarios|todas las horas|tutti gli orari|alle tijden|часовой пояс|wszystkie czasy)[^\d]{0,30}(?:GMT|UTC)\s*([+-])\s?(\d{1,2})(?::?(\d{2}))?/i;
const LOCAL_TIME_CHARS = "2023-01-05T10:20:30".length;
const ZONE_LINES = 400;

/** A time without a zone, in the zone that the page states for all of its times. */
function inStatedZone(date: string, lines: readonly Line[], now_ms: number): string {
  if (date.length !== LOCAL_TIME_CHARS) return date;
  for (const { text } of lines.slice(-ZONE_LINES)) {
    const found = text.length < 3 * SHORT_LINE_CHARS ? STATED_ZONE.exec(text) : null;
    if (!found) continue;
    const [, sign, hours, minutes] = found;
    return parseDate(`${date}${sign}${hours!.padStart(2, "0")}:${minutes ?? "00"}`, null, now_ms) ?? date;
  }
  return date;
}
