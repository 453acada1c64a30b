/** Firecrawl's API for a browser and a page's elements: steps before a page is read, values of attributes. */
import { describe, expect, test } from "vitest";
import { chromium_path } from "../harness/installed-browser.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { prose } from "../harness/web.ts";

const SHOP = `<!doctype html><title>Shop</title><form><input name=word><button>Go</button></form><p>${prose(12)}</p>
  <ul><li data-sku=a1><a href=/a1>One</a></li><li data-sku=b2><a href=/b2>Two</a></li><li>None</li></ul>
  <script>document.forms[0].onsubmit = (event) => {
    event.preventDefault();
    document.title = "Shop: " + document.forms[0].word.value;
  }</script>`;

const STEPS = [
  { type: "click", selector: "input" },
  { type: "write", text: "lamp" },
  { type: "press", key: "Enter" },
  { type: "wait", milliseconds: 50 },
  { type: "scroll", direction: "down" },
  { type: "scroll", direction: "up" },
  { type: "executeJavascript", script: "document.title" },
  { type: "scrape" },
  { type: "screenshot", fullPage: true },
  { type: "pdf" },
];

describe.runIf(chromium_path !== null).each(SETUPS)("pages of Firecrawl's API, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_CHROMIUM_PATH: chromium_path! }));
  const scrape = (body: object) => service.call("POST", "/v2/scrape", { body });

  test("steps are taken before the page is read, and what came of them stands in their form", async () => {
    const { origin } = sites.site({ "/": { body: SHOP } });
    const { status, json } = await scrape({ url: `${origin}/`, formats: ["markdown"], actions: STEPS });
    expect([status, json.error]).toEqual([200, undefined]);
    const { actions, metadata } = json.data;
    expect(metadata.title).toBe("Shop: lamp");
    expect(actions).toEqual({
      screenshots: [expect.stringContaining("/v1/bodies/")],
      scrapes: [{ url: `${origin}/`, html: expect.stringContaining("<title>Shop: lamp</title>") }],
      javascriptReturns: [{ type: "string", value: "Shop: lamp" }],
      pdfs: [expect.stringContaining("/v1/bodies/")],
    });
    const pdf = await service.call("GET", new URL(actions.pdfs[0]).pathname);
    expect(pdf.status).toBe(200);
  });

  test("a step that fails is an error of theirs; steps that are none are refused", async () => {
    const { origin } = sites.site({ "/": { body: SHOP } });
    const url = `${origin}/`;
    const missing = await scrape({
      url,
      actions: [
        { type: "click", selector: "#none" },
        { type: "wait", milliseconds: 10 },
      ],
    });
    expect([missing.status, missing.json.code]).toEqual([500, "SCRAPE_ACTION_ERROR"]);
    expect(missing.json.error).toContain("#none");
    const wrong = await Promise.all(
      [[{ type: "fly" }], [{ type: "click" }], [{ type: "click", selector: "a", all: true }]].map((actions) =>
        scrape({ url, actions }),
      ),
    );
    expect(wrong.map(({ status, json }) => [status, json.code])).toEqual([
      [400, "BAD_REQUEST"],
      [400, "BAD_REQUEST"],
      [400, "NOT_SUPPORTED"],
    ]);
    expect(wrong[0]!.json.error).toContain("actions.0");
  });

  test("attributes are collected from a page and from the pages of a batch", async () => {
    const { origin } = sites.site({ "/": { body: SHOP } });
    const formats = [
      "markdown",
      {
        type: "attributes",
        selectors: [
          { selector: "li", attribute: "data-sku" },
          { selector: "h6", attribute: "id" },
        ],
      },
    ];
    const attributes = [
      { selector: "li", attribute: "data-sku", values: ["a1", "b2"] },
      { selector: "h6", attribute: "id", values: [] },
    ];
    const { json } = await scrape({ url: `${origin}/`, formats });
    expect(json.data.attributes).toEqual(attributes);
    const { json: job } = await service.call("POST", "/v2/batch/scrape", {
      body: { urls: [`${origin}/`], formats },
    });
    const status = async () => (await service.call("GET", `/v2/batch/scrape/${job.id}`)).json;
    await expect.poll(async () => (await status()).status, { timeout: 60_000 }).toBe("completed");
    expect((await status()).data[0].attributes).toEqual(attributes);
  });
});
