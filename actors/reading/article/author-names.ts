/**
 * Reads the names in the text of an author field or a byline: lead-ins, roles and dates are no part of them, degrees are. It looks at
 * nothing but the text, which authors.ts chooses.
 */
import { letters } from "./title.ts";
import { unmarked } from "./tree.ts";

const AUTHORS_MAX = 12;

export const LEAD_IN =
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

/** The beginning of a line that names an author. */
export const BY_LINE =
  /^(?:(?:written|posted|published|words|story|text) by|by|von|par|por|di|author|autor(?:in)?|text|автор|текст|autorzy|tekst|szerző|írta|yazar|συντάκτ(?:ης|ρια)|oleh|penulis)(?:\s*:|\s)\s*\p{Lu}|^(?:作者|记者|記者|撰文|著者|筆者|بقلم|נכתב|מאת|نویسنده|โดย|लेखक)\s*(?:[:：]\s*)?\p{Lo}|^\p{Script=Hangul}{2,4} 기자$/iu;

/** Whom the names of an author field may name: people; or also desks; or also the site itself. */
export type Authorship = "people" | "desks" | "site";

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

/** Names in the text of an author field, without addresses and roles. */
export function cleanAuthors(
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
