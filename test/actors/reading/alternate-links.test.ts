/** Links of a teaser to other copies of its text: feeds, a DOI, primary sources. */
import { describe, expect, test } from "vitest";
import { tasks } from "../../../actors/reading/extract.ts";
import { doiInUrl, readLeads, sourceKindOf } from "../../../actors/reading/content/alternate-links.ts";

const URL_READ = "https://www.news.example/a/ferry";
const leads = (head: string, body = "") =>
  readLeads(`<html><head>${head}</head><body><article>${body}</article></body></html>`, URL_READ);

describe("feeds", () => {
  test("are declared, made absolute, each once, comments last, three at most", () => {
    const link = (href: string, type = "application/rss+xml", title = "") =>
      `<link rel="alternate" type="${type}" href="${href}" title="${title}">`;
    const { feeds } = leads(
      link("/comments/feed") +
        link("/feed") +
        link("/feed") +
        link("https://feeds.example/news", "application/atom+xml") +
        link("/more", "application/rdf+xml") +
        link("javascript:alert(1)") +
        link("/fr", "text/html") +
        '<link rel="stylesheet" type="application/rss+xml" href="/no">',
    );
    expect(feeds).toEqual([
      "https://www.news.example/feed",
      "https://feeds.example/news",
      "https://www.news.example/more",
    ]);
  });

  test("are resolved against the page's base; an invalid base is ignored", () => {
    const feed = '<link rel="alternate" type="application/rss+xml" href="feed">';
    expect(leads(`<base href="https://cdn.example/x/">${feed}`).feeds).toEqual([
      "https://cdn.example/x/feed",
    ]);
    expect(leads(`<base href="http://[">${feed}`).feeds).toEqual(["https://www.news.example/a/feed"]);
  });
});

describe("a DOI", () => {
  const ld = (value: object) => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;
  test.each([
    ["citation_doi", '<meta name="citation_doi" content="10.1234/Tide.5">', "10.1234/tide.5"],
    ["with a prefix", '<meta name="DC.Identifier" content="doi:10.1234/tide.5">', "10.1234/tide.5"],
    ["as an address", '<meta name="prism.doi" content="https://doi.org/10.1234/tide.5">', "10.1234/tide.5"],
    [
      "JSON-LD",
      ld({ "@type": "ScholarlyArticle", sameAs: "https://doi.org/10.1234/tide.5" }),
      "10.1234/tide.5",
    ],
    [
      "JSON-LD, a property",
      ld({ "@type": "ScholarlyArticle", identifier: { "@type": "PropertyValue", value: "10.1234/tide.5" } }),
      "10.1234/tide.5",
    ],
    ["of what is no paper", ld({ "@type": "Product", identifier: "10.1234/tide.5" }), null],
    ["another identifier", '<meta name="dc.identifier" content="ISBN 978-3-16-148410-0">', null],
    ["nothing", "", null],
  ])("%s", (_, head, doi) => {
    expect(leads(head).doi).toBe(doi);
  });

  test.each([
    ["https://doi.org/10.1234/tide.5", "10.1234/tide.5"],
    ["https://pub.example/doi/full/10.1234/TIDE.5", "10.1234/tide.5"],
    ["https://pub.example/doi/10.1234/tide.5/full", "10.1234/tide.5"],
    ["https://pub.example/content/10.1234/tide.5.full.pdf", "10.1234/tide.5"],
    ["https://pub.example/doi/10.1234%2Ftide.5", "10.1234/tide.5"],
    ["https://pub.example/article?doi=10.1234/tide.5&x=1", "10.1234/tide.5"],
    ["https://pub.example/prices/10.50/kilo", null],
    ["https://pub.example/%E0%A4%A", null],
  ])("in %s: %s", (url, doi) => {
    expect(doiInUrl(url)).toBe(doi);
  });
});

describe("primary sources", () => {
  test.each([
    ["https://www.supremecourt.gov/opinions/25.pdf", "court"],
    ["https://www.courtlistener.com/docket/1/", "court"],
    ["https://curia.europa.eu/juris/x", "court"],
    ["https://www.bger.ch/ext/1", "court"],
    ["https://www.bundesverfassungsgericht.de/e/1", "court"],
    ["https://www.courtyard-hotels.example/", null],
    ["https://www.justice.gov/opa/pr/x", "government"],
    ["https://www.gov.uk/government/news/x", "government"],
    ["https://www.economie.gouv.fr/x", "government"],
    ["https://www.bag.admin.ch/x", "government"],
    ["https://ec.europa.eu/commission/presscorner/x", "government"],
    ["https://www.mof.go.jp/x", "government"],
    ["https://governor.example/x", null],
    ["https://www.prnewswire.com/news-releases/x.html", "press_release"],
    ["https://www.presseportal.de/pm/1", "press_release"],
    ["https://acme.example/press-releases/2026/x", "press_release"],
    ["https://acme.example/de/medienmitteilungen/x", "press_release"],
    ["https://acme.example/impressions/x", null],
    ["https://doi.org/10.1234/tide.5", "doi"],
    ["https://doi.org/about", null],
    ["https://acme.example/report.PDF?x=1", "pdf"],
    ["https://acme.example/pdf", null],
  ])("%s: %s", (url, kind) => {
    expect(sourceKindOf(new URL(url))).toBe(kind);
  });

  test("are links of the text to other sites, in order, each once, with their text", () => {
    const { primary_sources } = leads(
      "",
      `<nav><a href="https://www.gov.uk/nav">Government</a></nav>
       <p>See <a href="https://www.supremecourt.gov/1">the <em>judgment</em>
       of  Tuesday</a>, <a href="https://www.supremecourt.gov/1">again</a>, <a href="/terms.pdf">our terms</a>,
       <a href="https://acme.example/a.pdf"></a>, <a href="mailto:x@gov.uk">mail</a>,
       <a href="https://facebook.com/x">share</a></p>
       <p hidden>Sold: <a href="https://www.justice.gov/hidden">memo</a></p>
       <footer><a href="https://www.gov.uk/footer">x</a></footer>`,
    );
    expect(primary_sources).toEqual([
      { url: "https://www.supremecourt.gov/1", kind: "court", text: "the judgment of Tuesday" },
      { url: "https://acme.example/a.pdf", kind: "pdf", text: null },
    ]);
  });

  test("are at most fifty", () => {
    const links = Array.from({ length: 80 }, (_, n) => `<a href="https://a${n}.gov/">x</a>`).join(" ");
    expect(leads("", `<p>${links}</p>`).primary_sources).toHaveLength(50);
  });
});

describe("the extraction", () => {
  const html = (body: string) =>
    Buffer.from(
      `<title>T</title><link rel="alternate" type="application/rss+xml" href="/feed"><article>${body}</article>`,
    );
  const task = (body: string, leads_wanted?: boolean) => ({
    bytes: html(body),
    url: URL_READ,
    content_type: "text/html",
    kind: "html" as const,
    now_ms: 0,
    ...(leads_wanted !== undefined && { leads: leads_wanted }),
  });

  test("reads leads of a teaser and where they are asked for, and of no other page", async () => {
    const read = await tasks.page();
    const teaser =
      '<p>The ferry left.</p><div class="paywall">Subscribe to continue reading this article.</div>';
    expect(await read(task(teaser), () => 0)).toMatchObject({
      paywall: "hard",
      leads: { feeds: ["https://www.news.example/feed"] },
    });
    expect((await read(task("<p>Whole.</p>"), () => 0)).leads).toBeUndefined();
    expect((await read(task("<p>Whole.</p>", true), () => 0)).leads?.feeds).toHaveLength(1);
  });

  test("reads a feed's items by its charset", async () => {
    const read = await tasks.page();
    const feed = Buffer.from(
      '<?xml version="1.0" encoding="iso-8859-1"?><rss><item><title>Fähre</title><link>https://x.example/1</link></item></rss>',
      "latin1",
    );
    const items = { addresses: ["x.example/1"], title: null };
    const expected = {
      bytes: feed,
      url: "https://x.example/feed",
      content_type: "text/xml",
      kind: "xml" as const,
      now_ms: 0,
      items,
    };
    expect((await read(expected, () => 0)).items).toMatchObject([{ title: "Fähre" }]);
  });
});
