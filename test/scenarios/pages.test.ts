/** The pages for people in a real browser: the API reference is drawn, a search and a fetch can be tried, nothing is refused. */
import { type Browser, chromium, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browsers } from "../harness/browser-harness.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
const [, found] = browsers[0] ?? [];

describe.skipIf(!found)("the pages for people (need a browser)", () => {
  const { sites, service } = scenario(start, () => ({ TRAWL_DEMO: "on" }));
  let browser: Browser | null = null;
  beforeAll(async () => {
    const { path, env } = await found!.ready();
    browser = await chromium.launch({ executablePath: path, env, args: ["--no-sandbox"] });
  });
  afterAll(async () => browser?.close());

  /** A page with everything it complained about. */
  async function open(path: string): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser!.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (problem) => complaints.push(problem.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith("data:"))
        complaints.push(`asked ${request.url()}`);
    });
    await page.goto(`${service.url}${path}`);
    return { page, complaints };
  }

  /** For looking at: SCREENSHOTS=<folder>. */
  async function look(page: Page, name: string): Promise<void> {
    const folder = process.env["SCREENSHOTS"];
    if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
  }

  test("/docs shows every operation of the document", async () => {
    const { page, complaints } = await open("/docs");
    await page.locator(".opblock").first().waitFor();
    const { paths } = (await service.call("GET", "/openapi.json", { key: null })).json;
    const operations = Object.values<object>(paths).flatMap((methods) => Object.keys(methods));
    expect(await page.locator(".opblock").count()).toBe(operations.length);
    await page.locator("#operations-fetch-fetch, .opblock-post").first().click();
    await look(page, "docs");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("nothing is wider than a phone", async () => {
    const widest = async (path: string, prepare: (page: Page) => Promise<unknown>): Promise<number> => {
      const { page } = await open(path);
      await page.setViewportSize({ width: 390, height: 844 });
      await prepare(page);
      const right = await page.evaluate(
        "Math.max(...[...document.querySelectorAll('button, input, nav a, .responses-table, .opblock')].map((e) => e.getBoundingClientRect().right))",
      );
      await look(page, `phone${path.replace("/", "-")}`);
      await page.close();
      return Number(right);
    };
    expect(await widest("/", async () => {})).toBeLessThanOrEqual(390);
    expect(await widest("/changelog", async () => {})).toBeLessThanOrEqual(390);
    const operation = async (page: Page): Promise<void> => {
      await page.locator("#operations-fetch-fetch").click();
      await page.locator("#operations-fetch-fetch .responses-table").first().waitFor();
    };
    expect(await widest("/docs", operation)).toBeLessThanOrEqual(390);
  });

  test("/ fetches a page with the visitor's key, and tells each attempt", async () => {
    const site = sites.site({ "/": { body: article("A page to try") } });
    const { page, complaints } = await open("/");
    await page.fill("#key", service.key);
    await page.fill("#fetch input", `${site.origin}/`);
    await page.click("#fetch button");
    await page.locator("#attempts td").first().waitFor();
    expect(await page.locator("#summary").textContent()).toMatch(
      /^A page to try: \d+ bytes by route direct \(\d+ ms\)$/,
    );
    expect(await page.locator("#attempts tbody tr").allTextContents()).toEqual([
      expect.stringMatching(/^direct200ok\d+ ms$/),
    ]);
    expect(await page.locator("#curl").textContent()).toContain(`curl ${service.url}/v1/fetch -H`);
    await look(page, "fetch");
    await page.fill("#search input", "lighthouse");
    await page.click("#search button");
    await page.locator("#results li").first().waitFor();
    await look(page, "search");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("/ shows what is wrong with a key", async () => {
    const { page } = await open("/");
    await page.fill("#key", "sk_nothing");
    await page.click("#search button");
    await expect.poll(() => page.locator("#summary").textContent()).toBe("HTTP 401: invalid API key");
    await page.close();
  });

  test("/changelog is readable", async () => {
    const { page, complaints } = await open("/changelog");
    expect(await page.locator("h2").first().textContent()).toBe("Unreleased");
    expect(await page.locator("li").count()).toBeGreaterThan(5);
    await look(page, "changelog");
    expect(complaints).toEqual([]);
    await page.close();
  });
});
