/** Sitemaps and feeds as sites publish them: their forms, their mistakes, and what no file may cost. */
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sitemapsOf } from "../../../../actors/crawl/sites/sitemap/robots-sitemaps.ts";
import { readSitemap, type ReadOptions } from "../../../../actors/crawl/sites/sitemap/read-sitemap.ts";
import type { SitemapEntry } from "../../../../actors/crawl/sites/sitemap/sitemap.ts";

const BASE = new URL("https://example.org/maps/sitemap.xml");

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Options extends Partial<ReadOptions> {
  readonly size?: number;
}

async function read(file: string | Buffer, { size = 1_000, ...options }: Options = {}) {
  const entries: SitemapEntry[] = [];
  const summary = await readSitemap(inPieces(Buffer.from(file), size), {
    url: BASE,
    onEntry: (entry) => entries.push(entry) > 0,
    pause: async () => {},
    ...options,
  });
  return { ...summary, entries, count: summary.entries, urls: entries.map(({ url }) => url) };
}

const urlset = (inside: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${inside}</urlset>`;
const page = (path: string): string => `<url><loc>https://example.org/${path}</loc></url>`;

describe("forms", () => {
  test("a urlset: addresses, times, translations, and no addresses of images and videos", async () => {
    const file = urlset(`
      <url><loc> https://example.org/a?x=1&amp;y=2 </loc><lastmod>2026-03-04</lastmod>
        <image:image><image:loc>https://example.org/a.png</image:loc></image:image>
        <video:video><video:content_loc>https://example.org/a.mp4</video:content_loc><video:title>Film</video:title></video:video>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.org/de/a"/>
        <xhtml:link rel="stylesheet" href="https://example.org/a.css"/></url>
      <url><loc><![CDATA[/relative]]></loc><lastmod>2026-03-04T05:06:07+01:00</lastmod>
        <news:news><news:title>The tower</news:title></news:news></url>`);
    expect(await read(file)).toMatchObject({
      kind: "urlset",
      error: null,
      warnings: [],
      count: 2,
      entries: [
        { url: "https://example.org/a?x=1&y=2", kind: "page", lastmod: "2026-03-04", title: null },
        { url: "https://example.org/de/a", lastmod: "2026-03-04", is_translation: true },
        { url: "https://example.org/relative", lastmod: "2026-03-04T04:06:07.000Z", title: "The tower" },
      ],
    });
  });

  test.each([
    [
      "index",
      "<sitemapindex><sitemap><loc>a.xml.gz</loc><lastmod>2026</lastmod></sitemap></sitemapindex>",
      [{ url: "https://example.org/maps/a.xml.gz", kind: "sitemap", lastmod: "2026" }],
    ],
    [
      "rss",
      `<rss version="2.0"><channel><link>https://example.org/</link><item><title>A &amp; B</title><link>/a</link>
       <guid isPermaLink="false">7</guid><pubDate>Wed, 04 Mar 2026 05:06:07 GMT</pubDate></item>
       <item><guid>https://example.org/b</guid><description><![CDATA[<link>no</link>]]></description></item></channel></rss>`,
      [
        { url: "https://example.org/a", title: "A & B", lastmod: "2026-03-04T05:06:07.000Z" },
        { url: "https://example.org/b", title: null },
      ],
    ],
    [
      "atom",
      `<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.org/"/><entry><title>A</title>
       <link rel="self" href="/a.atom"/><link href="/a"/><updated>2026-03-04T05:06:07Z</updated></entry></feed>`,
      [{ url: "https://example.org/a", title: "A", lastmod: "2026-03-04T05:06:07.000Z" }],
    ],
    [
      "text",
      "\uFEFFhttps://example.org/a\r\nhttps://example.org/b\n\nnot an address\nhttps://example.org/c",
      [{ url: "https://example.org/a" }, { url: "https://example.org/b" }, { url: "https://example.org/c" }],
    ],
  ])("%s", async (kind, file, entries) => {
    expect(await read(file)).toMatchObject({ kind, error: null, entries });
  });

  test("gzip is recognised by its bytes, also twice", async () => {
    const file = urlset(page("a"));
    for (const bytes of [gzipSync(file), gzipSync(gzipSync(file))])
      expect(await read(bytes, { size: 1 })).toMatchObject({ kind: "urlset", error: null, count: 1 });
  });

  test("white space and a mark before the declaration, other encodings, other namespaces and cases", async () => {
    expect(await read(`\n\uFEFF ${urlset(page("a"))}`)).toMatchObject({ count: 1, error: null });
    const latin =
      '<?xml version="1.0" encoding="iso-8859-1"?><urlset><url><loc>https://example.org/é</loc></url></urlset>';
    expect((await read(Buffer.from(latin, "latin1"))).urls).toEqual(["https://example.org/%C3%A9"]);
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(urlset(page("wide")), "utf16le")]);
    expect((await read(wide, { size: 3 })).urls).toEqual(["https://example.org/wide"]);
    const shouted =
      '<sm:URLSET xmlns:sm="x"><sm:URL><sm:LOC>https://example.org/A</sm:LOC></sm:URL></sm:URLSET>';
    expect((await read(shouted)).urls).toEqual(["https://example.org/A"]);
  });

  test("the pieces in which a file comes change nothing", async () => {
    const file = Buffer.from(urlset(`${page("a&amp;b")}${page("é")}<url><loc><![CDATA[/x]]></loc></url>`));
    const whole = await read(file, { size: file.length });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: file.length }), async (size) => {
        expect(await read(file, { size })).toEqual(whole);
      }),
    );
  });
});

describe("mistakes", () => {
  test.each([
    ["a bare &", urlset("<url><loc>https://example.org/a?b&c</loc></url>" + page("d")), ["a?b&c", "d"], /^$/],
    [
      "a loc that is not closed",
      urlset(`<url><loc>https://example.org/a<lastmod>2026-01-01</lastmod></url>${page("b")}`),
      ["a", "b"],
      /"loc" is not closed before "lastmod"/,
    ],
    [
      "an entry that is not closed",
      urlset(`<url><loc>https://example.org/a</loc>${page("b")}`),
      ["a", "b"],
      /An entry is not closed before the next one/,
    ],
    ["< in a value", urlset(`<url><loc>https://example.org/a<b</loc></url>${page("c")}`), ["a", "c"], /./],
    ["an entry without an address", urlset(`<url><lastmod>2026</lastmod></url>${page("a")}`), ["a"], /./],
    ["an address of another scheme", urlset(`<url><loc>ftp://a/</loc></url>${page("a")}`), ["a"], /./],
    [
      "control characters",
      urlset(`<url><loc>https://example.org/a\u0001z</loc></url>${page("b")}`),
      ["a%01z", "b"],
      /^$/,
    ],
  ])("%s", async (_name, file, paths, warnings) => {
    const result = await read(file);
    expect(result.urls).toEqual(paths.map((path) => `https://example.org/${path}`));
    expect([result.error, result.warnings.join("; ")]).toEqual([null, expect.stringMatching(warnings)]);
  });

  test("a file that is cut off gives its whole entries, says so, and leaves the cut one out", async () => {
    const file = urlset(`${page("a")}${page("b")}${page("cut-in-the-middle")}`);
    const cut = file.slice(0, file.indexOf("-in-the-middle"));
    expect(await read(cut)).toMatchObject({
      error: "malformed",
      urls: ["https://example.org/a", "https://example.org/b"],
      warnings: ['It ends inside "loc"'],
    });
    const many = urlset(Array.from({ length: 5_000 }, (_, n) => page(String(n * 7_919))).join(""));
    const zipped = gzipSync(many);
    const { count, error } = await read(zipped.subarray(0, zipped.length / 2));
    expect(error).toBe("malformed");
    expect(count).toBeGreaterThan(1_000);
    const damaged = Buffer.from(zipped);
    damaged.fill(0xff, zipped.length / 2);
    expect(await read(damaged)).toMatchObject({ error: "malformed" });
  });

  test.each([
    ["a page", "<!doctype html><html><body><a href='/'>Not found</a></body></html>"],
    ["a robots.txt", `User-agent: *\nDisallow: /a\nSitemap: /sitemap.xml\n${"Disallow: /b\n".repeat(50)}`],
    ["JSON", '{"urls": ["https://example.org/"]}'],
    ["nothing", ""],
    ["other XML", "<svg><url><loc>https://example.org/</loc></url></svg>"],
    ["bytes", Buffer.from([0, 1, 2, 3, 255, 254])],
  ])("%s is no sitemap", async (_name, file) => {
    expect(await read(file)).toMatchObject({ kind: null, error: "not_a_sitemap", count: 0 });
  });

  test("entities of a DTD are never expanded", async () => {
    const bomb = `<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>${urlset("<url><loc>https://example.org/&b;&x;</loc></url>").replace(/^<\?xml.*\n/, "")}`;
    expect((await read(bomb)).urls.join()).not.toMatch(/aaaa|root:/);
  });
});

describe("limits", () => {
  test("bytes are counted behind the compression", async () => {
    const file = gzipSync(urlset(page("a") + " ".repeat(100_000) + page("b")));
    expect(file.length).toBeLessThan(1_000);
    expect(await read(file, { max_bytes: 50_000 })).toMatchObject({
      error: "too_large",
      urls: ["https://example.org/a"],
    });
  });

  test("elements inside each other, and the length of a tag", async () => {
    const deep = urlset(page("a") + "<x>".repeat(2_000_000));
    expect(await read(deep, { size: 65_536 })).toMatchObject({ error: "malformed", count: 1 });
    const long = urlset(
      `${page("a")}<url x="${"y".repeat(3_000_000)}"><loc>https://example.org/b</loc></url>`,
    );
    expect(await read(long, { size: 65_536 })).toMatchObject({ error: "malformed", count: 1 });
    const comment = urlset(`${page("a")}<!-- ${"<y>".repeat(1_000_000)} -->${page("b")}`);
    expect(await read(comment, { size: 65_536 })).toMatchObject({ error: "malformed", count: 1 });
  });

  test("ends when the caller wants no more, and when its time is over", async () => {
    const file = urlset(Array.from({ length: 1_000 }, (_, n) => page(String(n))).join(""));
    let wanted = 3;
    expect((await read(file, { onEntry: () => --wanted > 0 })).count).toBe(3);
    expect(wanted).toBe(0);
    let pieces = 0;
    const late = await read(file, { isLate: () => ++pieces > 5 });
    expect(late).toMatchObject({ error: "too_slow" });
    expect(late.count).toBeGreaterThan(0);
  });
});

test("robots.txt names sitemaps anywhere, in any case, absolute and relative, each once", () => {
  const robots = `\uFEFFUser-agent: *\nDisallow: /\nSITEMAP: https://cdn.example.net/Map.xml # all\r\n  sitemap:/b.xml\rSite-map: c.xml\nSitemap:\nSitemap: ftp://x/\nsitemap: /b.xml\n#Sitemap: /no.xml`;
  expect(sitemapsOf(robots, new URL("https://example.org/robots.txt"))).toEqual([
    "https://cdn.example.net/Map.xml",
    "https://example.org/b.xml",
    "https://example.org/c.xml",
  ]);
});

const SHARED = "../shared/fixtures/sitemaps";
interface Expected {
  readonly file: string;
  readonly kind: string;
  readonly suite_count: number;
}
const recorded = (
  existsSync(`${SHARED}/EXPECTED.json`) ? JSON.parse(readFileSync(`${SHARED}/EXPECTED.json`, "utf8")) : []
) as Expected[];
if (recorded.length === 0) console.info(`Skipped: the recorded sitemaps of ${SHARED} are not here`);

describe.skipIf(recorded.length === 0)("recorded files, and how many addresses other parsers find", () => {
  test.each(recorded.map((each) => [each.file, each] as const))("%s", async (file, { kind, suite_count }) => {
    const result = await read(readFileSync(`${SHARED}/${file}`));
    expect(result.kind).toBe(kind.split("+")[0]);
    expect(result.count).toBe(suite_count);
  });

  test.each([
    ["gopher-parse-sitemap/sitemap-index.xml", 3],
    ["gopher-parse-sitemap/sitemap.xml", 4],
    // Its only address has a host with quotation marks.
    ["sitemap.js/unescaped-lt.xml", 0],
    ["sitemap.js/index-unescaped-lt.xml", 2],
  ])("%s", async (file, count) => {
    expect((await read(readFileSync(`${SHARED}/${file}`))).count).toBe(count);
  });
});
