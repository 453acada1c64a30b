/**
 * A site that is computed from a seed, a number of pages and an address, so that it takes no memory a page: what it answers at each address, and
 * what a request for that address is worth. What a crawler should reach is known by construction; `site-web.ts` serves and counts it.
 *
 * Pages 0 to COUNT - 1 form a tree of eight children a page, beside two links to any pages. A tenth of them is named by sitemaps only, another tenth by
 * links only. Some have two translations (`hreflang`), and these are pages of their own. Each address of another kind is a duplicate of a page, a
 * redirect, no page, disallowed, or a trap.
 */
import { gzipSync } from "node:zlib";

export const TRAP_SHAPES = ["calendar", "path", "sort", "facet", "session"] as const;
type Trap = (typeof TRAP_SHAPES)[number];

/** Requests that a site got, counted by their worth. */
export interface SiteFigures {
  readonly requests: number;
  /** Pages that there are, and how many of them were answered. */
  readonly real: number;
  readonly found: number;
  /** Requests for a page that was answered before. */
  readonly duplicates: number;
  readonly near_duplicates: number;
  readonly redirects: number;
  /** 404, 410 and pages that say so with 200. */
  readonly no_pages: number;
  /** By robots.txt. */
  readonly disallowed: number;
  /** robots.txt and sitemaps. */
  readonly files: number;
  /** `session`: pages that were answered before, by another session. */
  readonly traps: Record<string, number>;
}

/** Worth of a request. `page`: `slot` is the page's number in the list of all pages. */
type Worth =
  | { readonly kind: "page"; readonly slot: number; readonly by: "own" | "variant" | "session" }
  | { readonly kind: "near_duplicate"; readonly slot: number }
  | { readonly kind: "trap"; readonly trap: Trap }
  | { readonly kind: "redirect" | "no_page" | "disallowed" | "file" };

export interface SiteAnswer {
  readonly worth: Worth;
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly location?: string;
}

export interface SyntheticSite {
  /** Real pages and their translations. */
  readonly real: number;
  /** How many slots there are: three a page, of which most have no translations. */
  readonly slots: number;
  /** `target`: path and query. `origin`: of the site, for its robots.txt and sitemaps. */
  readonly answer: (target: string, origin: string) => SiteAnswer;
}

const CHILDREN = 8;
const RELATED = 2;
const WORDS_OF_PAGE = 500;
const LANGUAGES = ["en", "de", "fr"] as const;
const TRANSLATED_EVERY = 12;
const CATEGORY_EVERY = 250;
const SYLLABLES = "ba de ki lo mu na re si to vu har mon tel gis por len cam dur fez wil".split(" ");
const VOCABULARY = 3_000;
const COLOURS = ["red", "blue", "green", "black", "white", "grey"];
const SIZES = ["s", "m", "l", "xl"];
const BRANDS = ["aster", "birch", "cedar", "dahlia", "elm"];
const PRICES = ["0-10", "10-20", "20-50", "50-100"];
const SORTS = ["price", "name", "newest"];
const ARCHIVE = ["news", "press", "team", "jobs"];
const HTML = "text/html; charset=utf-8";

/** 32 bits of a number under a seed (the last step of MurmurHash3). */
function mixed(seed: number, n: number, salt: number): number {
  let hash = Math.imul(n + 1, 0x9e3779b1) ^ Math.imul(seed + salt * 7_919, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const wordOf = (n: number): string =>
  SYLLABLES[n % 20]! +
  SYLLABLES[Math.floor(n / 20) % 20]! +
  (n >= 400 ? SYLLABLES[Math.floor(n / 400)]! : "");

/** Words of which the first of the vocabulary are frequent, as in a language. */
function textOf(key: number, count: number): string[] {
  let state = key >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return wordOf(Math.floor(VOCABULARY ** (state / 2 ** 32)) - 1);
  });
}

const paragraphs = (words: readonly string[]): string =>
  Array.from({ length: Math.ceil(words.length / 80) }, (_, n) => {
    const text = words.slice(n * 80, n * 80 + 80).join(" ");
    return `<p>${text[0]!.toUpperCase()}${text.slice(1)}.</p>`;
  }).join("\n");

const anchor = (href: string, text: string, rel = ""): string =>
  `<li><a href="${href.replaceAll("&", "&amp;")}"${rel && ` rel="${rel}"`}>${text}</a></li>`;

interface Shown {
  readonly title: string;
  readonly text: readonly string[];
  readonly links: readonly string[];
  readonly head?: string;
  readonly language?: string;
}

const rendered = ({ title, text, links, head = "", language = "en" }: Shown): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${title}</title>${head}</head><body><main><article><h1>${title}</h1>${paragraphs(text)}</article></main><nav><ul>${links.join("")}</ul></nav></body></html>`;

export function syntheticSite(count: number, seed: number): SyntheticSite {
  const of = (n: number, salt: number): number => mixed(seed, n, salt);
  const isOrphan = (n: number): boolean => n > 0 && of(n, 1) % 10 === 0;
  const isUnlisted = (n: number): boolean => n > 0 && of(n, 1) % 10 === 1;
  const isCategory = (n: number): boolean => n % CATEGORY_EVERY === 3;
  const isForum = (n: number): boolean => !isCategory(n) && n > 0 && of(n, 2) % 20 >= 17;
  const isStory = (n: number): boolean => n > 0 && !isCategory(n) && of(n, 2) % 20 < 10;
  const isTranslated = (n: number): boolean => n % TRANSLATED_EVERY === 0 && isStory(n);
  const related = (n: number, link: number): number => of(n, 10 + link) % count;
  let translated = 0;
  for (let n = 0; n < count; n += TRANSLATED_EVERY) translated += Number(isTranslated(n));
  const part_size = count > 100_000 ? 50_000 : 1_000;
  const parts = Math.ceil(count / part_size);

  function pathOf(n: number, language = 0): string {
    if (n === 0) return "/";
    if (isCategory(n)) return `/shop/category-${n}`;
    const slug = `${textOf(of(n, 3), 3).join("-")}-${n}`;
    const form = of(n, 2) % 20;
    if (form < 10) return `${language > 0 ? `/${LANGUAGES[language]}` : ""}/stories/${slug}`;
    if (form < 13) {
      const [year, month, day] = [2_019 + (of(n, 4) % 7), 1 + (of(n, 5) % 12), 1 + (of(n, 6) % 28)];
      return `/${year}/${String(month).padStart(2, "0")}/${String(day).padStart(2, "0")}/${slug}`;
    }
    if (form < 15) return `/view?id=${n}&lang=en`;
    if (form < 16) return `/topics/${slug}/`;
    if (form < 17) return `/shop/${slug}`;
    return `/forum/thread-${n}`;
  }

  /** Forums write the visitor's session into each link: that of the request, else a new one a page. */
  function linkTo(n: number, from: number, session: string | null): string {
    const path = pathOf(n);
    if (!isForum(n)) return path.startsWith("/topics/") ? path.slice(0, -1) : path;
    if (session !== null) return `${path}?${session}`;
    const id = [7, 8, 9, 10].map((salt) => of(from, salt).toString(16).padStart(8, "0")).join("");
    return n % 2 === 0 ? `${path}?PHPSESSID=${id}` : `${path}?visit_id=${id.slice(0, 12)}`;
  }

  function linksOf(n: number, session: string | null): readonly string[] {
    const children = Array.from({ length: CHILDREN }, (_, child) => CHILDREN * n + 1 + child);
    const others = Array.from({ length: RELATED }, (_, link) => related(n, link));
    const pages = [...children.filter((child) => child < count), ...others].filter((to) => !isOrphan(to));
    const other = others[0]!;
    return [
      anchor("/", "Home"),
      ...pages.map((to) => anchor(linkTo(to, n, session), `Page ${to}`)),
      ...(n % 100 === 0
        ? [
            anchor("/calendar/2026/11", "Calendar"),
            anchor("/events?month=2026-11", "Events"),
            anchor("/archive/", "Archive"),
            anchor("/maze/0/", "More"),
            anchor("/index.html", "Start"),
            anchor("/loop/a", "Loop"),
            anchor("/out", "Partner"),
          ]
        : []),
      ...(n % 10 === 1 && !isForum(other)
        ? [anchor(`${pathOf(other)}${pathOf(other).includes("?") ? "&" : "?"}utm_source=page${n}`, "Shared")]
        : []),
      ...(n % 20 === 2 ? [anchor(`/print/${n}`, "Print")] : []),
      ...(n % 25 === 4 ? [anchor(`/syndicated/${n}`, "Also here")] : []),
      ...(n % 30 === 5 ? [anchor(`/old/${other}`, "Formerly")] : []),
      ...(n % 40 === 6 ? [anchor(`/missing/${n}`, "Missing")] : []),
      ...(n % 40 === 7 ? [anchor(`/gone/${n}`, "Gone")] : []),
      ...(n % 50 === 8 ? [anchor(`/private/${n}`, "Private")] : []),
      ...(n % 50 === 9 ? [anchor(`/basket/add?item=${n}`, "Buy", "nofollow")] : []),
      ...(isCategory(n) ? facetLinks(pathOf(n), new URLSearchParams()) : []),
    ];
  }

  function facetLinks(path: string, chosen: URLSearchParams): readonly string[] {
    const choices = { colour: COLOURS, size: SIZES, brand: BRANDS, price: PRICES, sort: SORTS };
    return Object.entries(choices).flatMap(([name, options]) =>
      options.map((option) => {
        const next = new URLSearchParams(chosen);
        next.set(name, option);
        return anchor(`${path}?${next.toString()}`, `${name} ${option}`);
      }),
    );
  }

  const ok = (worth: Worth, shown: Shown): SiteAnswer => ({
    worth,
    status: 200,
    type: HTML,
    body: rendered(shown),
  });
  const no = (status: number): SiteAnswer => ({
    worth: { kind: "no_page" },
    status,
    type: HTML,
    body: rendered({ title: "Not found", text: textOf(seed, 60), links: [anchor("/", "Home")] }),
  });
  const redirect = (location: string): SiteAnswer => ({
    worth: { kind: "redirect" },
    status: 301,
    type: HTML,
    body: "",
    location,
  });
  const file = (body: string | Buffer, type = "application/xml"): SiteAnswer => ({
    worth: { kind: "file" },
    status: 200,
    type,
    body,
  });

  function page(
    n: number,
    language: number,
    by: "own" | "variant" | "session",
    session: string | null,
    origin: string,
  ): SiteAnswer {
    const own = pathOf(n, language);
    const alternates = isTranslated(n)
      ? LANGUAGES.map(
          (name, at) => `<link rel="alternate" hreflang="${name}" href="${origin}${pathOf(n, at)}">`,
        )
      : [];
    // Some programs of sites name the address of a page as its own, and some do not.
    const isNamed = !(isForum(n) && n % 2 === 1);
    const canonical = isNamed ? `<link rel="canonical" href="${origin}${own.replaceAll("&", "&amp;")}">` : "";
    return ok(
      { kind: "page", slot: n * LANGUAGES.length + language, by },
      {
        title: `${LANGUAGES[language]} ${n}`,
        text: textOf(of(n, 20 + language), WORDS_OF_PAGE),
        links: linksOf(n, session),
        head: canonical + alternates.join(""),
        language: LANGUAGES[language]!,
      },
    );
  }

  function trapped(trap: Trap, key: number, links: readonly string[]): SiteAnswer {
    return ok({ kind: "trap", trap }, { title: "Overview", text: textOf(key, 80), links });
  }

  const monthAfter = (year: number, month: number, by: number): readonly [number, string] => {
    const at = year * 12 + month - 1 + by;
    return [Math.floor(at / 12), String((at % 12) + 1).padStart(2, "0")];
  };

  /** Null: no trap. */
  function trapOf(path: string, query: URLSearchParams): SiteAnswer | null {
    const calendar =
      /^\/calendar\/(\d{4})\/(\d\d)(?:\/\d\d)?$/.exec(path) ??
      /^(\d{4})-(\d\d)$/.exec(path === "/events" ? (query.get("month") ?? "") : "");
    if (calendar) {
      const [year, month] = [Number(calendar[1]), Number(calendar[2])];
      const months = [-1, 1].map((by) => monthAfter(year, month, by));
      if (path === "/events")
        return trapped(
          "calendar",
          year * 12 + month,
          months.map(([y, m]) => anchor(`/events?month=${y}-${m}`, `${m}/${y}`)),
        );
      const days = Array.from({ length: 28 }, (_, day) =>
        anchor(`/calendar/${calendar[1]}/${calendar[2]}/${String(day + 1).padStart(2, "0")}`, `${day + 1}`),
      );
      return trapped("calendar", year * 12 + month, [
        ...months.map(([y, m]) => anchor(`/calendar/${y}/${m}`, `${m}/${y}`)),
        ...days,
      ]);
    }
    // A template with links that are relative where they should not be.
    if (
      path.startsWith("/archive/") &&
      path
        .slice(9)
        .split("/")
        .every((segment) => segment === "" || ARCHIVE.includes(segment))
    )
      return trapped(
        "path",
        1,
        ARCHIVE.map((name) => anchor(`${name}/`, name)),
      );
    if (/^\/maze\/(?:[\da-f]+\/)+$/.test(path)) {
      const key = Buffer.from(path).reduce((sum, byte) => (Math.imul(sum, 31) + byte) >>> 0, seed);
      return trapped("path", key, [anchor(`${mixed(seed, key, 30).toString(16)}/`, "Deeper")]);
    }
    return null;
  }

  function sitemapPart(part: number, origin: string): string {
    const rows: string[] = [];
    for (let n = part * part_size; n < Math.min(count, (part + 1) * part_size); n++) {
      if (isUnlisted(n)) continue;
      // The sitemap names translations of every second translated page; of the others only the pages themselves say it.
      const isTold = isTranslated(n) && n % (2 * TRANSLATED_EVERY) === 0;
      const alternates = isTold
        ? LANGUAGES.map(
            (name, at) => `<xhtml:link rel="alternate" hreflang="${name}" href="${origin}${pathOf(n, at)}"/>`,
          )
        : [];
      rows.push(
        `<url><loc>${origin}${pathOf(n).replaceAll("&", "&amp;")}</loc><lastmod>2026-11-0${1 + (n % 9)}</lastmod>${alternates.join("")}</url>`,
      );
    }
    return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">${rows.join("\n")}</urlset>`;
  }

  /** The first index lists the first half of the parts and a second index, which lists the others and itself. Each second part is a gzip file. */
  function files(path: string, origin: string): SiteAnswer | null {
    if (path === "/robots.txt")
      return file(
        `User-agent: *\nDisallow: /private/\n\nSitemap: ${origin}/sitemap-index.xml\n`,
        "text/plain",
      );
    const half = Math.ceil(parts / 2);
    const address = (part: number): string =>
      `${origin}/sitemaps/part-${part}.xml${part % 2 === 1 ? ".gz" : ""}`;
    const index = (urls: readonly string[]): SiteAnswer =>
      file(
        `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join("\n")}</sitemapindex>`,
      );
    const numbers = Array.from({ length: parts }, (_, part) => part);
    if (path === "/sitemap-index.xml")
      return index([...numbers.slice(0, half).map(address), `${origin}/sitemaps/more.xml`]);
    if (path === "/sitemaps/more.xml")
      return index([...numbers.slice(half).map(address), `${origin}/sitemaps/more.xml`]);
    const part = /^\/sitemaps\/part-(\d+)\.xml(\.gz)?$/.exec(path);
    if (!part || Number(part[1]) >= parts) return null;
    const text = sitemapPart(Number(part[1]), origin);
    return part[2] ? file(gzipSync(text), "application/gzip") : file(text);
  }

  /** Null: no address of a page under any name. */
  function pageAt(path: string, query: URLSearchParams, origin: string): SiteAnswer | null {
    if (path === "/index.html") return page(0, 0, "variant", null, origin);
    const named =
      path === "/view" ? query.get("id") : path === "/" ? "0" : (/-(\d+)\/?$/.exec(path)?.[1] ?? null);
    const n = named === null ? Number.NaN : Number(named);
    if (!(n < count)) return null;
    const language = isTranslated(n)
      ? Math.max(
          0,
          LANGUAGES.findIndex((name) => path.startsWith(`/${name}/`)),
        )
      : 0;
    const own = pathOf(n, language);
    if (own === `${path}/`) return redirect(own);
    if (own.split("?", 1)[0] !== path) return null;
    const extra = [...query.keys()].filter((name) => path !== "/view" || !["id", "lang"].includes(name));
    if (extra.length === 0) return page(n, language, "own", null, origin);
    if (isForum(n)) return page(n, 0, "session", query.toString(), origin);
    if (extra.every((name) => name.startsWith("utm_"))) return page(n, language, "variant", null, origin);
    if (!isCategory(n)) return no(404);
    const trap = query.has("sort") ? "sort" : "facet";
    return trapped(trap, of(n, query.toString().length), facetLinks(path, query));
  }

  return {
    real: count + 2 * translated,
    slots: count * LANGUAGES.length,
    answer(target, origin) {
      const url = new URL(target, origin);
      const { pathname: path, searchParams: query } = url;
      const found = files(path, origin) ?? trapOf(path, query) ?? pageAt(path, query, origin);
      if (found) return found;
      const [, folder, number] = /^\/(print|syndicated|old|missing|gone|private)\/(\d+)$/.exec(path) ?? [];
      const n = Number(number);
      if (folder !== undefined && n < count)
        switch (folder) {
          case "print":
            return page(n, 0, "variant", null, origin);
          case "syndicated": {
            const text = textOf(of(n, 20), WORDS_OF_PAGE).with(50, "elsewhere").with(250, "reprinted");
            return ok(
              { kind: "near_duplicate", slot: n * LANGUAGES.length },
              { title: `en ${n}`, text, links: [anchor("/", "Home")] },
            );
          }
          case "old":
            return redirect(pathOf(n));
          case "missing":
            return { ...no(200), worth: { kind: "no_page" } };
          case "gone":
            return no(410);
          case "private":
            return { ...no(200), worth: { kind: "disallowed" } };
        }
      if (path === "/loop/a" || path === "/loop/b")
        return redirect(path === "/loop/a" ? "/loop/b" : "/loop/a");
      if (path === "/out") return redirect("http://127.66.0.1:9/");
      return no(404);
    },
  };
}
