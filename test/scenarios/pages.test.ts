/** The pages for people in a real browser: the documentation can be read, a search and a fetch can be tried, nothing is refused. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeStaticDocs } from "../../ops/release/static-docs.ts";
import { browsers } from "../harness/browser-harness.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
const [, found] = browsers[0] ?? [];
/** As any web server tells them. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".md": "text/markdown",
  ".txt": "text/plain",
};

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

  const DOCUMENTS = [
    "/docs",
    "/docs/api/fetch",
    "/docs/reference",
    "/docs/reference/fetch",
    "/docs/errors/timeout",
    "/changelog/0.1.0",
    "/status",
    "/status/incidents",
    "/status/components/fetch",
  ];
  const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

  test.each(
    DOCUMENTS.flatMap((path) => (["light", "dark"] as const).map((scheme) => [path, scheme] as const)),
  )("%s can be read by everybody, %s", async (path, scheme) => {
    const { page, complaints } = await open(path);
    await page.emulateMedia({ colorScheme: scheme });
    await page.locator("h1").waitFor();
    await look(page, `page${path.replaceAll("/", "-")}-${scheme}`);
    await page.evaluate(AXE);
    const { violations } = (await page.evaluate("axe.run()")) as {
      violations: { id: string; impact: string; nodes: { html: string }[] }[];
    };
    const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    expect(grave.map(({ id, nodes }) => [id, nodes[0]!.html])).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("/docs is searched in the browser, by keyboard alone", async () => {
    const { page, complaints } = await open("/docs");
    await page.keyboard.press("/");
    await page.keyboard.type("screenshot full page");
    await page.locator("#found a").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/.+/);
    await page.locator("h1").waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("the documentation as files works from any web server, and asks nothing else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-static-docs-"));
    const server = createServer((request, response) => {
      const path = new URL(request.url!, "http://files").pathname;
      const file = join(folder, path.slice("/any/place".length));
      if (!path.startsWith("/any/place/") || !existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { "content-type": TYPES[extname(file)]! }).end(readFileSync(file));
    }).listen(0, "127.0.0.1");
    try {
      const { files } = await writeStaticDocs(service.url, service.url, folder);
      const written = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
        /\.\w+$/.test(name),
      );
      expect(written.length).toBe(files);
      const names = new Set(written);
      const broken = written
        .filter((name) => /\.(?:html|md)$/.test(name))
        .flatMap((name) => {
          const text = readFileSync(join(folder, name), "utf8");
          const wrong = name.endsWith(".md")
            ? text.matchAll(/\]\((\/)?[^)]*\)/g).filter(([, root]) => root !== undefined)
            : text
                .matchAll(/ (?:href|src|data-index)="(?!https?:|data:|mailto:|#)([^"#]*)/g)
                .filter(([, target]) => !names.has(join(dirname(name), target!)));
          return [...wrong].map(([link]) => `${name}: ${link}`);
        });
      expect(broken).toEqual([]);
      const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}/any/place`;
      for (const scheme of ["light", "dark"] as const) {
        const page = await browser!.newPage({ colorScheme: scheme });
        const complaints: string[] = [];
        page.on("console", (message) => {
          if (message.type() === "error") complaints.push(message.text());
        });
        page.on("request", (request) => {
          if (!request.url().startsWith(`${root}/`) && !request.url().startsWith("data:"))
            complaints.push(`asked ${request.url()}`);
        });
        await page.goto(`${root}/index.html`);
        await page.keyboard.press("/");
        await page.keyboard.type("screenshot full page");
        await page.locator("#found a").first().click();
        await page.waitForURL(/\/any\/place\/(?!index)\S+\.html/);
        await page.goto(`${root}/api/fetch.html`);
        await page.getByRole("tab", { name: "Python" }).first().click();
        await look(page, `static-docs-${scheme}`);
        // Devtools' evaluation is not held by the page's policy.
        const { violations } = (await page.evaluate(`${AXE}; axe.run()`)) as {
          violations: { id: string; impact: string }[];
        };
        expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
        expect(complaints).toEqual([]);
        await page.close();
      }
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("a request of a guide is shown in the language that was chosen last", async () => {
    const { page } = await open("/docs/api/fetch");
    await page.getByRole("tab", { name: "Python" }).first().click();
    expect(await page.locator("pre:visible", { hasText: "from trawl_client" }).count()).toBeGreaterThan(0);
    await page.goto(`${service.url}/docs/reference/search`);
    expect(await page.getByRole("tab", { name: "Python" }).getAttribute("aria-selected")).toBe("true");
    await page.close();
  });

  test("nothing is wider than a phone", async () => {
    const widest = async (path: string, prepare: (page: Page) => Promise<unknown>): Promise<number> => {
      const { page } = await open(path);
      await page.setViewportSize({ width: 390, height: 844 });
      await prepare(page);
      const right = await page.evaluate(
        "Math.max(...[...document.querySelectorAll('button, input, nav a, main, pre, .table')].map((e) => e.getBoundingClientRect().right))",
      );
      await look(page, `phone${path.replace("/", "-")}`);
      await page.close();
      return Number(right);
    };
    expect(await widest("/", async () => {})).toBeLessThanOrEqual(390);
    expect(await widest("/changelog", async () => {})).toBeLessThanOrEqual(390);
    for (const path of DOCUMENTS) expect(await widest(path, async () => {})).toBeLessThanOrEqual(390);
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
