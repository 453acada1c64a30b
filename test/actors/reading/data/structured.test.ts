/** Structured data of a page in extruct's forms: extruct's own samples where they are, and each quirk by a small page. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { elementsIn, elementsOf } from "../../../../actors/reading/dom/document.ts";
import { structuredData } from "../../../../actors/reading/data/page-data.ts";
import type { MicrodataItem, StructuredData } from "../../../../schemas/page-data.ts";

const SAMPLES = "../shared/fixtures/structured";

function read(html: string, url: string | null = null): StructuredData & { warnings: string[] } {
  const warnings: string[] = [];
  const data = structuredData(elementsIn(elementsOf(html).root()[0]!), url, (warning) => {
    warnings.push(warning);
  });
  return { ...data, warnings };
}
const ld = (...blocks: string[]) =>
  read(blocks.map((block) => `<script type="application/ld+json">${block}</script>`).join(""));
const itemsOf = (body: string) => read(`<body>${body}`, "https://a.example/dir/page").microdata;

/** The item with an array for each property and type. */
const strict = (item: unknown): unknown => {
  if (typeof item !== "object" || item === null || !("properties" in item)) return item;
  const { properties = {}, ...others } = item as MicrodataItem;
  const lists = Object.entries(properties).map(([name, value]) => [name, [value].flat().map(strict)]);
  return {
    ...others,
    ...(others.type !== undefined && { type: [others.type].flat() }),
    properties: Object.fromEntries(lists),
  };
};

const reason = existsSync(SAMPLES) ? "" : ` (left out: there is no ${SAMPLES})`;
describe.skipIf(!existsSync(SAMPLES))(`extruct's samples${reason}`, () => {
  const html = (name: string): string => readFileSync(`${SAMPLES}/${name}.html`, "utf8");
  const expected = (name: string): any => JSON.parse(readFileSync(`${SAMPLES}/${name}`, "utf8"));

  test.each([
    "custom.invalid__JSONLD_with_control_characters_comment",
    "custom.invalid__JoinAction.001",
    "misc__null_ld_mock",
    "schema.org.invalid__AllocateAction.001",
    "schema.org.invalid__JoinAction.001",
  ])("JSON-LD of %s", (name) => {
    expect(read(html(name))).toMatchObject({ "json-ld": expected(`${name}.jsonld`), warnings: [] });
  });

  test.each([
    "schema.org__Event.002",
    "schema.org__Event.003",
    "schema.org__Event.004",
    "schema.org__LocalBusiness.002",
    "schema.org__SearchAction.001",
  ])("microdata of %s", (name) => {
    expect(read(html(name)).microdata).toEqual(expected(`${name}.json`));
  });

  test.each([
    ["w3c__microdata.4.2.meter", null],
    ["w3c__microdata.4.2.strings", null],
    ["w3c__microdata.4.2.strings.unclean", null],
    ["w3c__microdata.5.5", null],
    ["w3c__microdata.7.1", "http://blog.example.com/progress-report"],
  ] as const)("microdata of %s, each property as an array", (name, url) => {
    expect(read(html(name), url).microdata.map(strict)).toEqual(expected(`${name}.json`));
  });

  test("Open Graph and Dublin Core of pages", () => {
    expect(read(html("misc__opengraph_test")).opengraph).toEqual(expected("misc__opengraph_test.json"));
    expect(read(html("misc__dublincore_test")).dublincore).toEqual(expected("misc__dublincore_test.json"));
  });

  test("everything of a page that has all of it", () => {
    const { microformat: _, ...data } = expected("songkick__elysianfields.json");
    const address = "http://www.songkick.com/artists/236156-elysian-fields";
    expect(read(html("songkick__elysianfields"), address)).toEqual({ ...data, warnings: [] });
  });

  const ordered = (nodes: any[]) => nodes.toSorted((a, b) => (a["@id"] < b["@id"] ? -1 : 1));
  test.each([
    ["w3c.rdf11primer.example014", "w3crdfa__w3c.rdf11primer.example014"],
    ["w3c.rdfalite.example003", "w3crdfa__w3c.rdfalite.example003"],
    ["wikipedia's", "wikipedia__xhtml+rdfa"],
  ])("RDFa of %s", (_, name) => {
    const { rdfa } = read(html(name), "http://www.example.com/index.html");
    expect(ordered(rdfa)).toEqual(ordered(expected(`${name}.expanded.json`)));
  });

  // The folder has half of each of these two samples: the statements of one are those of the other.
  test("RDFa of the primer, whose statements are written in two ways", () => {
    const { rdfa } = read(html("w3crdfa__w3c.rdfaprimer.example007"), "http://www.example.com/index.html");
    expect(ordered(rdfa)).toEqual(ordered(expected("w3crdfa__w3c.rdfaprimer.example007.expanded.json")));
  });
});

describe("JSON-LD", () => {
  test.each([
    ["line breaks in strings", '{"a": "x\ny\t"}', { a: "x\ny\t" }],
    [
      "comments of both kinds",
      '{"a": 1, // one\n /* two */ "b": "// no /* comment */"}',
      { a: 1, b: "// no /* comment */" },
    ],
    ["a comment of HTML before it", '<!-- x -->\n{"a": "<!-- y -->", }', { a: "<!-- y -->" }],
    ["a comment of HTML around it", '<!--\n{"a": 1}\n-->', { a: 1 }],
    ["CDATA around it", '//<![CDATA[\n{"a": 1}\n//]]>', { a: 1 }],
    ["commas too many", '{"a": [1, 2, ], }', { a: [1, 2] }],
    ["a semicolon at its end", '{"a": "b;"};', { a: "b;" }],
    ["a byte order mark", '\uFEFF{"a": 1}', { a: 1 }],
    ["a quote that is escaped", '{"a": "\\",}", }', { a: '",}' }],
  ])("is read with %s", (_, block, value) => {
    expect(ld(block)).toMatchObject({ "json-ld": [value], warnings: [] });
  });

  test("is as the page has it: arrays are spread, empty values dropped, nothing expanded or decoded", () => {
    const graph = { "@graph": [{ name: "a &amp; b" }] };
    expect(ld(JSON.stringify([1, null, {}, graph]), "null")["json-ld"]).toEqual([1, graph]);
  });

  test("is found whatever the case and the parameters of its type", () => {
    const html = `<script type="Application/LD+JSON; charset=utf-8">{"a":1}</script><script>{"b":1}</script>`;
    expect(read(html)["json-ld"]).toEqual([{ a: 1 }]);
  });

  test("that cannot be read is told by its place, and the others are there", () => {
    expect(ld('{"a": ', '{"b": 1}')).toMatchObject({
      "json-ld": [{ b: 1 }],
      warnings: ["structured: JSON-LD block 1 is no JSON"],
    });
  });

  test("has halves of pairs and NUL replaced, also in names", () => {
    expect(ld('{"\\ud83d": "\\u0000"}')["json-ld"]).toEqual([{ "\uFFFD": "\uFFFD" }]);
  });

  test("deeper than 100 levels, or beyond a million characters, is left out with a warning", () => {
    const levels = (count: number): string => `${"[".repeat(count)}1${"]".repeat(count)}`;
    expect(ld(levels(100))["json-ld"]).toHaveLength(1);
    expect(ld(levels(100_000), '{"b": 1}')).toMatchObject({
      "json-ld": [{ b: 1 }],
      warnings: [expect.stringContaining("more than 100 levels")],
    });
    const long = `{"a": "${"x".repeat(600_000)}"}`;
    const { "json-ld": found, warnings } = ld(long, long);
    expect(found).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining("1000000 characters")]);
  });

  test.each([
    ["comments that do not end", "<!--"],
    ["slashes", "/*/"],
    ["quotes", '"\\'],
    ["commas", ",\n"],
  ])("ends with a block of nothing but %s, for which quadratic time would be minutes", (_, repeated) => {
    expect(ld(repeated.repeat(900_000 / repeated.length), '{"b": 1}')["json-ld"]).toEqual([{ b: 1 }]);
  });
});

describe("microdata", () => {
  test("takes the value of each kind of element", () => {
    const [item] = itemsOf(`<div itemscope>
      <meta itemprop="meta" content="c"><img itemprop="img" src="i.png"><a itemprop="a" href="?x">t</a>
      <object itemprop="object" data="/o"></object><data itemprop="data" value="7">seven</data>
      <time itemprop="time" datetime="2026-03-04">March</time><time itemprop="bare">March</time>
      <span itemprop="content" content="said">shown</span><p itemprop="text two">one<br>two <b>three</b></p></div>`);
    expect(item!.properties).toEqual({
      meta: "c",
      img: "https://a.example/dir/i.png",
      a: "https://a.example/dir/page?x",
      object: "https://a.example/o",
      data: "7",
      time: "2026-03-04",
      bare: "",
      content: "said",
      text: "one\ntwo three",
      two: "one\ntwo three",
    });
  });

  test("has addresses by the page's base", () => {
    const page = `<base href="/b/"><div itemscope><link itemprop="url" href="x"></div>`;
    expect(read(page, "https://a.example/").microdata[0]!.properties).toEqual({
      url: "https://a.example/b/x",
    });
  });

  test("has an id only with a type, and the text of an item without properties", () => {
    expect(
      itemsOf(`<p itemscope itemid="urn:x">Plain</p><p itemscope itemtype="T" itemid=" urn:x ">Typed</p>`),
    ).toEqual([{ value: "Plain" }, { type: "T", id: "urn:x", value: "Typed" }]);
  });

  test("follows itemref, stays in the scope of what it refers to, and ends where items refer to each other", () => {
    const items = itemsOf(`<div itemscope itemref="more"><b itemprop="a">1</b></div>
      <div id="more"><b itemprop="b">2</b><div itemprop="inner" itemscope><b itemprop="c">3</b></div></div>
      <div itemscope id="x" itemprop="self" itemref="x"><b itemprop="d">4</b></div>`);
    expect(items).toEqual([
      { properties: { a: "1", b: "2", inner: { properties: { c: "3" } } } },
      { properties: { d: "4", self: null } },
    ]);
  });

  test("is bounded in levels, items and characters, and says so", () => {
    const deep = "<div itemscope itemprop=a>".repeat(3_000);
    expect(read(deep).warnings).toEqual([expect.stringContaining("50 levels")]);
    const wide = read("<p itemscope><b itemprop=a>x</b></p>".repeat(6_000));
    expect(wide.microdata).toHaveLength(5_000);
    expect(wide.warnings).toHaveLength(1);
    // Each element's text is that of all below it: a square of the page's size.
    const nested = read(`<div itemscope>${"<i itemprop=a>word".repeat(20_000)}`);
    expect(JSON.stringify(nested.microdata).length).toBeLessThan(1_500_000);
    expect(nested.warnings).toHaveLength(1);
  });
});

describe("RDFa", () => {
  const nodesOf = (body: string) => read(`<body>${body}`, "https://a.example/page").rdfa;

  test("has values as texts, typed texts and addresses, by prefixes, vocabulary and whole addresses", () => {
    const nodes = nodesOf(`<div about="#lamp" typeof="schema:Product x:Own" prefix="x: https://x.example/">
      <b property="x:name schema:name" xml:lang="en">Storm <i>lamp</i></b><meta property="x:price" content="24.50" datatype="xsd:decimal">
      <time property="x:since" datetime="1890">long</time><a property="x:maker" href="/maker">Maker</a>
      <p vocab="https://v.example/" property="color" resource="[x:red]">red</p><p property="unknown">no</p></div>`);
    expect(nodes).toEqual([
      {
        "@id": "https://a.example/page#lamp",
        "@type": ["http://schema.org/Product", "https://x.example/Own"],
        "https://x.example/name": [{ "@value": "Storm lamp", "@language": "en" }],
        "http://schema.org/name": [{ "@value": "Storm lamp", "@language": "en" }],
        "https://x.example/price": [
          { "@value": "24.50", "@type": "http://www.w3.org/2001/XMLSchema#decimal" },
        ],
        "https://x.example/since": [{ "@value": "1890" }],
        "https://x.example/maker": [{ "@id": "https://a.example/maker" }],
        "https://v.example/color": [{ "@id": "https://x.example/red" }],
      },
      {
        "@id": "https://a.example/page",
        "http://www.w3.org/ns/rdfa#usesVocabulary": [{ "@id": "https://v.example/" }],
      },
    ]);
  });

  test("relates elements to those inside, forwards and backwards, and numbers what has no address", () => {
    const nodes =
      nodesOf(`<div rel="schema:offers"><p typeof="schema:Offer"><b property="schema:price">1</b></p><p typeof="schema:Offer"></p></div>
      <div rev="schema:brand" resource="#lamp"></div><i about="_:x" property="schema:name">X</i><i about="_:x" property="schema:name">X</i>`);
    expect(nodes).toEqual([
      {
        "@id": "_:000001",
        "@type": ["http://schema.org/Offer"],
        "http://schema.org/price": [{ "@value": "1" }],
      },
      {
        "@id": "https://a.example/page",
        "http://schema.org/offers": [{ "@id": "_:000001" }, { "@id": "_:000002" }],
      },
      { "@id": "_:000002", "@type": ["http://schema.org/Offer"] },
      {
        "@id": "https://a.example/page#lamp",
        "http://schema.org/brand": [{ "@id": "https://a.example/page" }],
      },
      { "@id": "_:000003", "http://schema.org/name": [{ "@value": "X" }] },
    ]);
  });

  test("is nothing on a page that says nothing", () => {
    expect(nodesOf('<a href="/x" rel="nofollow">x</a><p>y</p>')).toEqual([]);
  });

  const relations = Array.from({ length: 100 }, (_, at) => `schema:r${at}`).join(" ");
  const abouts = Array.from({ length: 11_000 }, (_, at) => `<i about="#${at}" property="schema:name">x</i>`);
  test.each([
    ["statements", abouts.join("")],
    ["texts in one another", '<i property="schema:name">words'.repeat(20_000)],
    [
      "relations that many elements complete",
      `<div rel="${relations}">${'<p resource="#x"></p>'.repeat(60_000)}`,
    ],
    ["prefixes", '<i prefix="a: b:"></i>'.repeat(30_000)],
  ])("is bounded in %s, and says so", (_, html) => {
    const { rdfa, warnings } = read(html, "https://a.example/");
    expect(JSON.stringify(rdfa).length).toBeLessThan(2_500_000);
    expect(warnings).toEqual([expect.stringContaining("RDFa beyond 10000 statements")]);
  });
});

describe("Open Graph", () => {
  test("has declared prefixes and its own, in order with repeats, from the head alone", () => {
    const html = `<html prefix="fb: https://f.example/#"><head><meta property="og:image" content="1"><meta property="og:image" content="2">
      <meta property="fb:app" content="7"><meta property="x:y" content="no"><meta property="og:title" content=""></head>
      <body><meta property="og:title" content="no"></body>`;
    expect(read(html).opengraph).toEqual([
      {
        namespace: { fb: "https://f.example/#", og: "http://ogp.me/ns#" },
        properties: [
          ["og:image", "1"],
          ["og:image", "2"],
          ["fb:app", "7"],
        ],
      },
    ]);
    expect(read("<meta name=x content=y>").opengraph).toEqual([]);
  });

  test("ends at 1,000 properties, and says so", () => {
    const { opengraph, warnings } = read(`<meta property="og:image" content="1">`.repeat(1_001));
    expect(opengraph[0]!.properties).toHaveLength(1_000);
    expect(warnings).toEqual([expect.stringContaining("Open Graph beyond 1000")]);
  });
});
