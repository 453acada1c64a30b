/** Structured data, tables and comments of a page, as clients see them: single, from the cache, in a batch and in a crawl; the site is asked once. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ExtractFields, ExtractRule } from "../../schemas/extract.ts";
import type { FetchBody } from "../../schemas/fetch.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const SHOP = article("Lamps").replace(
  "</body>",
  `<script type="application/ld+json">{"@type": "Product", "name": "Storm lamp",}</script><script type="application/ld+json">{</script>
   <p about="https://example.org/lamps#storm" property="schema:name">Storm lamp</p><div itemscope itemtype="https://schema.org/Product"><a itemprop="url" href="/lamps/1">Storm lamp</a></div>
   <table class="prices"><tr><th>Lamp<th>Price<tr><td>Storm<td rowspan="2">24.50<tr><td>Deck</table>
   <table><tr><th>A<th>B<tr><td>1<td>2</table></body>`,
);

const COMMENTS = [
  { author: "Ada Berg", published_at: "2026-03-04T05:06:07Z", text: "The storm lamp leaks at the hinge." },
  { author: "Jon Lind", published_at: "2026-03-05T08:00:00Z", text: "Mine does not.\nIt is ten years old." },
];
const DISCUSSED = article("Lamps").replace(
  "</body>",
  `<section id="comments"><h3>2 comments</h3>${COMMENTS.map(
    ({ author, published_at, text }) =>
      `<div class="comment"><b class="author">${author}</b> <time datetime="${published_at}">in March</time> 2026, 10:00
       ${text
         .split("\n")
         .map((line) => `<p>${line}</p>`)
         .join("")}<a href="#r">Reply</a></div>`,
  ).join("")}</section></body>`,
);

/** A field of Crawl4AI's JsonCssExtractionStrategy. */
interface TheirField {
  readonly name: string;
  readonly type: "text" | "attribute" | "nested" | "nested_list" | "list";
  readonly selector?: string;
  readonly attribute?: string;
  readonly default?: string;
  readonly fields?: readonly TheirField[];
}
interface TheirPage {
  readonly path: string;
  readonly html: string;
  readonly schema: {
    readonly baseSelector: string;
    readonly baseFields?: readonly TheirField[];
    readonly fields: readonly TheirField[];
  };
  /** Items that Crawl4AI takes out of the page. */
  readonly expected: readonly object[];
}

const THEIR_PAGES: readonly TheirPage[] = JSON.parse(
  readFileSync(new URL("../fixtures/crawl4ai/pages.json", import.meta.url), "utf8"),
);

const rulesOf = (fields: readonly TheirField[]): ExtractFields =>
  Object.fromEntries(fields.map((field) => [field.name, ruleOf(field)]));
const ruleOf = ({ type, selector, attribute, fields }: TheirField): ExtractRule => ({
  ...(selector !== undefined && { selector }),
  ...(attribute !== undefined && { attribute }),
  ...(fields && { fields: rulesOf(fields) }),
  ...((type === "list" || type === "nested_list") && { many: true }),
});
const rulesOfSchema = ({ baseSelector, baseFields = [], fields }: TheirPage["schema"]): ExtractFields => ({
  found: { selector: baseSelector, many: true, fields: rulesOf([...baseFields, ...fields]) },
});

/** Where there is nothing they leave a name out, or put its default; they lose the spaces around an element within a text. */
function asTheirs(value: unknown, fields: readonly TheirField[] = []): unknown {
  if (typeof value === "string") return value.replaceAll(/\s/g, "");
  if (Array.isArray(value)) return value.map((each) => asTheirs(each, fields));
  if (typeof value !== "object" || value === null) return value;
  const named = Object.entries(value).map(([name, each]) => {
    const field = fields.find((one) => one.name === name);
    return [name, each ?? field?.default ?? null, field?.fields] as const;
  });
  const there = named.filter(([, each]) => each !== null);
  return Object.fromEntries(there.map(([name, each, inner]) => [name, asTheirs(each, inner)]));
}

/** Each attribute of their schema as Firecrawl's format `attributes` has it, with all values that were found. */
function attributesOf({ schema, expected }: TheirPage) {
  const places: { readonly selector: string; readonly attribute: string; readonly values: unknown[] }[] = [];
  const visit = (fields: readonly TheirField[], scope: string, found: readonly any[]): void => {
    for (const { name, selector, attribute, fields: inner } of fields) {
      const at = selector === undefined ? scope : `${scope} ${selector}`;
      const values = found.flatMap((each) => each[name] ?? []);
      if (inner) visit(inner, at, values);
      else if (attribute !== undefined) places.push({ selector: at, attribute, values });
    }
  };
  visit([...(schema.baseFields ?? []), ...schema.fields], schema.baseSelector, expected);
  return places;
}

describe.each(SETUPS)("data of a page, $setup", ({ setup, start }) => {
  const { sites, service } = scenario(start);

  test("is answered single, from the cache, in a batch and in a crawl, with one request to the site", async () => {
    const site = sites.site({ "/": { body: SHOP } });
    const url = `${site.origin}/`;
    const plain = await service.fetch({ url });
    const options: Omit<FetchBody, "url"> = {
      formats: ["structured", "tables"],
      include_selectors: [".prices"],
    };
    const data = {
      cached: true,
      structured: {
        "json-ld": [{ "@type": "Product", name: "Storm lamp" }],
        microdata: [{ type: "https://schema.org/Product", properties: { url: `${site.origin}/lamps/1` } }],
        opengraph: [],
        rdfa: [
          {
            "@id": "https://example.org/lamps#storm",
            "http://schema.org/name": [{ "@value": "Storm lamp" }],
          },
        ],
        dublincore: [],
      },
      tables: [
        {
          parent: null,
          caption: null,
          headers: ["Lamp", "Price"],
          rows: [
            ["Storm", "24.50"],
            ["Deck", "24.50"],
          ],
          spans: [{ row: 0, column: 1, rows: 2, columns: 1 }],
          truncated: false,
        },
      ],
      warnings: ["structured: JSON-LD block 2 is no JSON"],
    };
    expect(await service.fetch({ url, ...options })).toMatchObject(data);
    const whole = await service.fetch({ url, formats: ["tables"] });
    expect(whole).toMatchObject({
      text: plain.text,
      title: plain.title,
      tables: [{}, { headers: ["A", "B"] }],
    });
    expect(whole).not.toHaveProperty("structured");
    expect(await service.fetch({ url, formats: ["markdown", "structured"] })).toMatchObject({
      text: plain.text,
      markdown: expect.stringContaining("# Lamps"),
      structured: data.structured,
    });
    const jobs = client(service);
    const { job_id } = (await jobs.create([{ url, ...options }, { url }])).json;
    await jobs.finished(job_id);
    const [item, other] = await jobs.items(job_id);
    expect(item!.result).toMatchObject(data);
    expect(other!.result).not.toHaveProperty("tables");
    const crawl = await service.call("POST", "/v1/crawl", { body: { url, max_depth: 0, fetch: options } });
    await jobs.finished(crawl.json.job_id);
    expect((await jobs.items(crawl.json.job_id))[0]!.result).toMatchObject(data);
    expect(site.hits("/")).toBe(1);
  });

  test("comments are no text unless they are asked for: single, from the cache, in a batch and in a crawl", async () => {
    const site = sites.site({ "/": { body: DISCUSSED } });
    const url = `${site.origin}/`;
    const plain = await service.fetch({ url, formats: ["markdown"] });
    expect(plain.text.length).toBeGreaterThan(500);
    expect(plain.text + plain.markdown!).not.toContain("hinge");
    expect(plain).not.toHaveProperty("comments");
    const options: Omit<FetchBody, "url"> = { formats: ["comments", "markdown"], include_comments: true };
    const whole = {
      cached: true,
      comments: COMMENTS,
      text: expect.stringMatching(/hinge[^]*ten years/),
      markdown: expect.stringMatching(/hinge[^]*ten years/),
    };
    expect(await service.fetch({ url, ...options })).toMatchObject(whole);
    const listed = await service.fetch({ url, formats: ["comments"] });
    expect(listed).toMatchObject({ text: plain.text, comments: COMMENTS });
    expect(listed).not.toHaveProperty("markdown");
    const jobs = client(service);
    const { job_id } = (await jobs.create([{ url, ...options }])).json;
    await jobs.finished(job_id);
    expect((await jobs.items(job_id))[0]!.result).toMatchObject(whole);
    const crawl = await service.call("POST", "/v1/crawl", { body: { url, max_depth: 0, fetch: options } });
    await jobs.finished(crawl.json.job_id);
    expect((await jobs.items(crawl.json.job_id))[0]!.result).toMatchObject(whole);
    expect(site.hits("/")).toBe(1);
  });

  const fields: NonNullable<FetchBody["extract"]>["fields"] = {
    title: { selector: "h1" },
    lamps: {
      selector: ".prices tr:has(td)",
      many: true,
      fields: { name: { selector: "td" }, price: { selector: "td + td", type: "number", required: true } },
    },
  };

  test("is taken out by rules: single, from the cache, in a batch and in a crawl, with one request to the site", async () => {
    const site = sites.site({ "/": { body: SHOP } });
    const url = `${site.origin}/`;
    const extract = {
      data: {
        title: "Lamps",
        lamps: [
          { name: "Storm", price: 24.5 },
          { name: "Deck", price: null },
        ],
      },
      errors: [{ path: "/lamps/1/price", reason: "missing" }],
    };
    const first = await service.fetch({ url, extract: { fields } });
    expect(first).toMatchObject({ cached: false, extract });
    expect(await service.fetch({ url, extract: { fields } })).toMatchObject({ cached: true, extract });
    expect(await service.fetch({ url })).not.toHaveProperty("extract");
    const jobs = client(service);
    const { job_id } = (await jobs.create([{ url, extract: { fields } }])).json;
    await jobs.finished(job_id);
    expect((await jobs.items(job_id))[0]!.result).toMatchObject({ text: first.text, extract });
    const body = { url, max_depth: 0, fetch: { extract: { fields } } };
    const crawl = await service.call("POST", "/v1/crawl", { body });
    await jobs.finished(crawl.json.job_id);
    expect((await jobs.items(crawl.json.job_id))[0]!.result).toMatchObject({ extract });
    expect(site.hits("/")).toBe(1);
  });

  test("is of twenty pages what Crawl4AI's rules and Firecrawl's option names find there", async () => {
    expect(THEIR_PAGES).toHaveLength(20);
    // Reading is the same on a cluster: one page of each kind is enough there.
    const pages = setup === "embedded" ? THEIR_PAGES : THEIR_PAGES.filter(({ path }) => path.endsWith("/0"));
    // Several sites, because each is asked politely.
    const hosts = pages.map(({ path, html }) => sites.site({ [path]: { body: html } }));
    const urls = pages.map(({ path }, n) => `${hosts[n]!.origin}${path}`);
    const jobs = client(service);
    const items = pages.map(({ schema }, n) => ({
      url: urls[n]!,
      extract: { fields: rulesOfSchema(schema) },
    }));
    const { job_id } = (await jobs.create(items)).json;
    await jobs.finished(job_id);
    const results = await jobs.items(job_id);
    for (const [n, { path, schema, expected }] of pages.entries()) {
      const { data } = results[n]!.result!["extract"] as { data: { found: unknown } };
      const given = [...(schema.baseFields ?? []), ...schema.fields];
      expect([path, asTheirs(data.found, given)]).toEqual([path, asTheirs(expected)]);
    }
    const asked = pages.map(async (page, n) => {
      const places = attributesOf(page);
      const selectors = places.map(({ selector, attribute }) => ({ selector, attribute }));
      const formats = [{ type: "attributes", selectors }];
      const { json } = await service.call("POST", "/v2/scrape", { body: { url: urls[n], formats } });
      expect([page.path, json.data?.attributes]).toEqual([page.path, places]);
    });
    await Promise.all(asked);
    expect(pages.map(({ path }, n) => hosts[n]!.hits(path))).toEqual(pages.map(() => 1));
  });

  test("has rules that are refused with the place of what is wrong, before anything is fetched", async () => {
    const url = "http://any.test/";
    const selector = { fields: { a: { fields: { b: { selector: "p::before" } } } } };
    const name = { fields: { a: { selecter: "p" } } };
    for (const [path, wrap, at] of [
      ["/v1/fetch", (extract: object) => ({ url, extract }), ["body"]],
      [
        "/v1/batch/fetch",
        (extract: object) => ({ items: [{ url, extract }], idempotency_key: "r" }),
        ["body", "items", 0],
      ],
      ["/v1/crawl", (extract: object) => ({ url, fetch: { extract } }), ["body", "fetch"]],
    ] as const) {
      const inSelector = await service.call("POST", path, { body: wrap(selector) });
      expect([inSelector.status, inSelector.json.detail]).toMatchObject([
        422,
        [{ loc: [...at, "extract", "fields", "a", "fields", "b", "selector"] }],
      ]);
      const inName = await service.call("POST", path, { body: wrap(name) });
      expect([inName.status, inName.json.detail]).toMatchObject([
        422,
        [{ loc: [...at, "extract"], msg: expect.stringContaining('unknown name "selecter"') }],
      ]);
    }
  });

  test("is null and empty for what has no elements", async () => {
    const site = sites.site({ "/": { type: "text/plain", body: "plain words" } });
    const formats: FetchBody["formats"] = ["structured", "tables", "comments"];
    const answer = await service.fetch({ url: `${site.origin}/`, formats, extract: { fields } });
    expect(answer).toMatchObject({ text: "plain words", structured: null, tables: [], comments: [] });
    expect(answer.extract).toEqual({ data: null, errors: [{ path: "", reason: "no_elements" }] });
  });
});
