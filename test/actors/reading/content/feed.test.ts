/** Feeds: RSS 2.0, RSS 1.0 and Atom; valid, broken and hostile. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { feedEntries, type FeedWish, findItems } from "../../../../actors/reading/content/feed.ts";

const WISH: FeedWish = { addresses: ["news.example/a/ferry"], title: "Ferry makes its last crossing" };
const rss = (items: string): string =>
  `<?xml version="1.0"?><rss version="2.0" xmlns:content="c" xmlns:dc="d"><channel><title>News</title><link>https://news.example/</link>${items}</channel></rss>`;
const itemsOf = (feed: string, page = WISH) => findItems(feed, page);

describe("an item is found", () => {
  test.each([
    ["by its link", "<link>https://www.news.example/a/ferry/?utm_source=rss</link>"],
    [
      "by its guid",
      '<guid isPermaLink="true">https://news.example/a/ferry</guid><link>https://feeds.example/1</link>',
    ],
    [
      "by the link before redirects",
      "<feedburner:origLink>http://news.example/a/ferry</feedburner:origLink>",
    ],
    ["by a link in CDATA", "<link><![CDATA[ https://news.example/a/ferry ]]></link>"],
  ])("%s", (_, address) => {
    const feed =
      rss(`<item><title>Something else</title></item><item><title>X</title>${address}<description>short</description>
      <content:encoded><![CDATA[<p>The ferry left.</p>]]></content:encoded></item>`);
    expect(itemsOf(feed)).toEqual([
      { exact: true, title: "X", author: null, published: null, html: "<p>The ferry left.</p>" },
    ]);
  });

  test("by its title when no address fits, after those that do", () => {
    const feed = rss(
      `<item><title>Ferry makes its last crossing</title><link>https://feeds.example/1</link><description>alike</description></item>
       <item><title>Other</title><link>https://news.example/a/ferry</link><description>exact</description></item>`,
    );
    expect(itemsOf(feed).map(({ exact, html }) => [exact, html])).toEqual([
      [true, "<p>exact</p>"],
      [false, "<p>alike</p>"],
    ]);
    expect(itemsOf(feed, { ...WISH, title: null })).toHaveLength(1);
  });

  test("in RSS 1.0, whose items are beside the channel", () => {
    const feed = `<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><channel/><item rdf:about="x">
      <title>T</title><link>https://news.example/a/ferry</link><dc:creator>Ada</dc:creator><dc:date>2026-01-02</dc:date>
      <description>&lt;p&gt;Escaped &amp;amp; whole&lt;/p&gt;</description></item></rdf:RDF>`;
    expect(itemsOf(feed)).toEqual([
      { exact: true, title: "T", author: "Ada", published: "2026-01-02", html: "<p>Escaped &amp; whole</p>" },
    ]);
  });

  test("in Atom, with HTML, XHTML or text, by link or id", () => {
    const entry = (
      content: string,
      address = '<link rel="alternate" href="https://news.example/a/ferry"/>',
    ) =>
      `<feed xmlns="a"><entry><title type="html">The &lt;b&gt;Ferry&lt;/b&gt;</title>${address}
       <link rel="replies" href="https://other.example/"/><author><name>Ada Keeper</name><email>a@news.example</email></author>
       <published>2026-03-04T05:06:07Z</published><summary>S</summary>${content}</entry></feed>`;
    const html = (content: string, address?: string) => itemsOf(entry(content, address))[0];
    expect(html('<content type="html">&lt;p&gt;One&lt;/p&gt;</content>')).toEqual({
      exact: true,
      title: "The Ferry",
      author: "Ada Keeper",
      published: "2026-03-04T05:06:07Z",
      html: "<p>One</p>",
    });
    const xhtml =
      '<content type="xhtml"><div><p>Two <a href="/x?a=1&amp;b=2" onclick="x()">a&lt;b</a></p></div></content>';
    expect(html(xhtml)?.html).toBe('<div><p>Two <a href="/x?a=1&amp;b=2">a&lt;b</a></p></div>');
    expect(html('<content type="text">3 &lt; 4, and more words</content>')?.html).toBe(
      "<p>3 &lt; 4, and more words</p>",
    );
    expect(html("", "<id>https://news.example/a/ferry</id>")?.html).toBe("<p>S</p>");
  });
});

describe("an invalid feed", () => {
  test.each([
    ["nothing", ""],
    ["a page", "<!doctype html><title>Ferry makes its last crossing</title><p>https://news.example/a/ferry"],
    ["no items", rss("")],
    [
      "other items",
      rss("<item><title>Tunnel opens at last after all</title><link>https://news.example/b</link></item>"),
    ],
    ["binary", "\u0000\u0001\ufffd".repeat(100)],
    ["items without an end of anything", "<item><title>".repeat(1_000)],
  ])("%s: no item", (_, feed) => {
    expect(itemsOf(feed)).toEqual([]);
  });

  test("an entity is not expanded, even if the document type declares it", () => {
    const bomb = `<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>${rss(
      "<item><link>https://news.example/a/ferry</link><description>&b; &x;</description></item>",
    )}`;
    expect(itemsOf(bomb)[0]?.html).toBe("<p>&amp;b; &amp;x;</p>");
  });

  test("an item that never ends is read to the end of the feed", () => {
    const feed = "<rss><channel><item><link>https://news.example/a/ferry</link><description>cut o";
    expect(itemsOf(feed)).toMatchObject([{ exact: true, html: "<p>cut o</p>" }]);
  });

  test("many items and deep elements take no more than they are", () => {
    const item = "<item><title>t</title><link>https://news.example/x</link></item>";
    const wanted = "<item><link>https://news.example/a/ferry</link><description>d</description></item>";
    expect(itemsOf(rss(item.repeat(4_000) + wanted))).toHaveLength(1);
    // Items beyond the limit are not read.
    expect(itemsOf(rss(item.repeat(5_000) + wanted))).toHaveLength(0);
    const deep = `<entry><id>https://news.example/a/ferry</id><content type="xhtml">${"<b>".repeat(20_000)}x</content></entry>`;
    expect(itemsOf(`<feed>${deep}</feed>`)).toHaveLength(1);
  });

  test("no text breaks it", () => {
    const part = fc.constantFrom(
      "<item>",
      "</item>",
      "<link>",
      "<![CDATA[",
      "]]>",
      "</link>",
      "<title",
      ">",
      "&#0;",
      "&#xffffffff;",
      "https://news.example/a/ferry",
      "<!--",
      "\u0000",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string()), { maxLength: 60 }), (parts) => {
        expect(itemsOf(parts.join("")).length).toBeLessThanOrEqual(3);
      }),
    );
  });
});

describe("the entries of a document", () => {
  const url = "https://news.example/feed.xml";
  const NONE = { url: null, title: null, published_at: null, summary: null };
  test.each([
    [
      "RSS 2.0, with an id that is no address",
      `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><image><url>https://news.example/a.png</url></image>
       <item><guid isPermaLink="false">17</guid><title>A &amp;amp; B</title><link>https://news.example/a</link>
       <pubDate>Wed, 04 Mar 2026 05:06:07 +0100</pubDate><description>&lt;p&gt;First &lt;b&gt;words&lt;/b&gt;&lt;/p&gt;</description></item><item/></channel></rss>`,
      [
        {
          url: "https://news.example/a",
          title: "A &amp; B",
          published_at: "2026-03-04T04:06:07.000Z",
          summary: "First words",
        },
        NONE,
      ],
    ],
    [
      "Atom, with a relative address",
      `<feed xmlns="a"><entry><title>T</title><link href="/t"/><updated>2026-03-04</updated><content>Long</content></entry></feed>`,
      [
        {
          url: "https://news.example/t",
          title: "T",
          published_at: "2026-03-04T00:00:00.000Z",
          summary: "Long",
        },
      ],
    ],
    [
      "a sitemap, with news and pictures",
      `<urlset xmlns="s"><url><loc>https://news.example/1</loc><lastmod>2026-01-02T03:04:05Z</lastmod>
       <image:image><image:loc>https://news.example/1.png</image:loc></image:image><news:news><news:title>One</news:title></news:news></url>
       <url><loc>https://news.example/2</loc><lastmod>soon</lastmod></url></urlset>`,
      [
        { ...NONE, url: "https://news.example/1", title: "One", published_at: "2026-01-02T03:04:05.000Z" },
        { ...NONE, url: "https://news.example/2" },
      ],
    ],
    [
      "an index of sitemaps",
      "<sitemapindex><sitemap><loc>https://news.example/s1.xml</loc></sitemap></sitemapindex>",
      [{ ...NONE, url: "https://news.example/s1.xml" }],
    ],
    ["another document", "<tides><item-list/><tide>high</tide></tides>", []],
  ])("%s", (_, text, entries) => {
    expect(feedEntries(text, url)).toEqual(entries);
  });

  test("are at most 5,000", () => {
    const many = `<urlset>${"<url><loc>https://news.example/1</loc></url>".repeat(6_000)}</urlset>`;
    expect(feedEntries(many, url)).toHaveLength(5_000);
  });
});
