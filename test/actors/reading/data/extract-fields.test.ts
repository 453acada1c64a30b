/** Extraction rules on a page: values by type, lists, nesting, what is missing, and where it ends. */
import { describe, expect, test } from "vitest";
import { numberIn } from "../../../../actors/reading/data/number-in.ts";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { readWanted } from "../../../../actors/reading/dom/read-wanted.ts";
import { extractMistake, type ExtractFields } from "../../../../schemas/extract.ts";

const PAGE = `<!doctype html><html lang="de-CH"><head><base href="/shop/"></head><body>
<h1> Lampen <i>für</i> Schiffe</h1><p class="intro">Seit <b>1890</b>.</p><time datetime="1890-05-04">früher</time>
<ul><li class="lamp" data-sku="7"><a href="a?x=1">Sturm</a><b class="price">CHF 1’024.50</b><i class="stock">ja</i>
<span class="date">4. März 2027</span></li>
<li class="lamp"><a href="mailto:x">Deck</a><b class="price">auf Anfrage</b><i class="stock">No</i></li></ul></body></html>`;

function extract(fields: ExtractFields, html = PAGE, exclude: string[] = []) {
  const reading = { only_main_content: null, include: [], exclude, data: { extract: { fields } } };
  const bytes = Buffer.from(html);
  const task = {
    bytes,
    url: "https://a.example/",
    content_type: "text/html; charset=utf-8",
    kind: "html",
  } as const;
  const { formats } = readWanted({ ...task, now_ms: Date.UTC(2026, 2, 1) }, reading, readHtml);
  return { ...formats!.extract!, warnings: formats!.warnings ?? [] };
}

test("values have the type of their rule", () => {
  const { data, errors } = extract({
    title: { selector: "h1" },
    sku: { selector: ".lamp", attribute: "data-sku", type: "number" },
    price: { selector: ".price", type: "number" },
    day: { selector: ".date", type: "date" },
    since: { selector: "time", type: "date" },
    link: { selector: "a", type: "url" },
    intro: { selector: ".intro", type: "html" },
    words: { selector: ".intro", type: "markdown" },
    inStock: { selector: ".stock", type: "boolean" },
    onSale: { selector: ".sale", type: "boolean" },
    hasSku: { selector: ".lamp", attribute: "data-sku", type: "boolean" },
  });
  expect(data).toEqual({
    title: "Lampen für Schiffe",
    sku: 7,
    price: 1024.5,
    day: "2027-03-04",
    since: "1890-05-04",
    link: "https://a.example/shop/a?x=1",
    intro: '<p class="intro">Seit <b>1890</b>.</p>',
    words: "Seit **1890**.",
    inStock: true,
    onSale: false,
    hasSku: true,
  });
  expect(errors).toEqual([]);
});

test("lists and objects stand in one another; a rule without a selector is the element around it", () => {
  const offer = {
    name: { selector: "a" },
    sku: { attribute: "data-sku" },
    stock: { selector: ".stock", type: "boolean" },
  } as const;
  const { data } = extract({
    shop: { selector: "ul", fields: { lamps: { selector: ".lamp", many: true, fields: offer } } },
    names: { selector: ".lamp a", many: true },
    none: { selector: ".absent", many: true },
  });
  expect(data).toEqual({
    shop: {
      lamps: [
        { name: "Sturm", sku: "7", stock: true },
        { name: "Deck", sku: null, stock: false },
      ],
    },
    names: ["Sturm", "Deck"],
    none: [],
  });
});

test("what is not there is null; what is required, or not of its type, is told with its place", () => {
  const offer = {
    price: { selector: ".price", type: "number" },
    link: { selector: "a", type: "url" },
    "a/b~c": { attribute: "data-sku", required: true },
  } as const;
  const { data, errors } = extract({
    absent: { selector: ".absent" },
    wanted: { selector: ".absent", required: true },
    lamps: { selector: ".lamp", many: true, fields: offer },
    title: { selector: "h1", type: "date" },
  });
  expect(data).toMatchObject({
    absent: null,
    wanted: null,
    title: null,
    lamps: [{}, { price: null, link: null }],
  });
  expect(errors).toEqual([
    { path: "/wanted", reason: "missing" },
    { path: "/lamps/1/price", reason: "not_a_number" },
    { path: "/lamps/1/link", reason: "not_a_url" },
    { path: "/lamps/1/a~1b~0c", reason: "missing" },
    { path: "/title", reason: "not_a_date" },
  ]);
});

test("what is excluded is not there", () => {
  expect(extract({ name: { selector: ".lamp a" } }, PAGE, ["li:first-child"]).data).toEqual({ name: "Deck" });
});

test("names of the caller are names, whatever they are elsewhere", () => {
  const fields = JSON.parse(
    '{"__proto__": {"selector": "h1"}, "constructor": {"selector": "b"}}',
  ) as ExtractFields;
  expect(JSON.stringify(extract(fields).data)).toBe(
    '{"__proto__":"Lampen für Schiffe","constructor":"1890"}',
  );
});

describe("a limit ends a page's values and is told", () => {
  test("matches of one rule", () => {
    const { data, warnings } = extract({ all: { selector: "b", many: true } }, "<b>x</b>".repeat(1_001));
    expect(data!["all"]).toHaveLength(1_000);
    expect(warnings).toEqual(["extract: /all has more than 1000 matches"]);
  });

  test("characters, of elements in one another a square of the page", () => {
    const nested = "<div>words".repeat(3_000);
    const { data, warnings } = extract({ all: { selector: "div", many: true } }, nested);
    expect(JSON.stringify(data).length).toBeLessThan(1_100_000);
    expect(warnings.at(-1)).toContain("1000000 characters");
    expect(extract({ all: { selector: "div", many: true, type: "html" } }, nested).warnings).toHaveLength(2);
  });

  test("errors", () => {
    const { errors } = extract(
      { all: { selector: "b", many: true, type: "number" } },
      "<b>x</b>".repeat(200),
    );
    expect(errors).toHaveLength(100);
  });
});

test.each([
  ["1,234.50 USD", null, 1234.5],
  ["1.234,50 €", null, 1234.5],
  ["1 234,5", "fr", 1234.5],
  ["CHF 1’234.–", "de-CH", 1234],
  ["−3.5 °C", null, -3.5],
  ["24.50", "de", 24.5],
  ["1.234", "de", 1234],
  ["1.234", "en", 1.234],
  ["1,234", "en-GB", 1234],
  ["1,234", "de", 1.234],
  ["1.234", null, 1234],
  ["0.125", null, 0.125],
  ["1.234.567", null, 1234567],
  ["1e3", null, 1000],
  ["4 of 5", "not a tag!", 4],
  ["none", "en", null],
  ["", null, null],
] as const)("the number in %j on a page in %j is %j", (text, language, number) => {
  expect(numberIn(text, language)).toBe(number);
});

const deep = (levels: number): ExtractFields => ({
  a: levels === 1 ? { selector: "b" } : { selector: "b", fields: deep(levels - 1) },
});
test.each([
  [
    "as many rules as there may be",
    Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`n${at}`, {}])),
    "nothing is wrong",
  ],
  [
    "a rule too many",
    Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`n${at}`, {}])),
    "more than 100 rules",
  ],
  ["four levels", deep(4), "nothing is wrong"],
  ["five levels", deep(5), "a.a.a.a.a is more than 4 levels deep"],
  ["a misspelt word", { a: { selecter: "b" } as object }, 'a has the unknown name "selecter"'],
  ["a type beside fields", { a: { type: "number", fields: {} } }, "a has fields, so it has no type"],
  ["a name without characters", { "": {} }, "a name in fields is empty"],
  ["a name with a line break", { a: { fields: { "x\ny": {} } } }, "a name in a is empty, too long"],
] as [string, ExtractFields, string][])("rules are checked at once: %s", (_, fields, mistake) => {
  expect(extractMistake({ fields }, null) ?? "nothing is wrong").toContain(mistake);
});
