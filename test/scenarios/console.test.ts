/** The console in a real browser, by clicks: signing in, a crawl watched to its end, its files, keys rotated; every view by axe at three widths. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Locator, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browsers } from "../harness/browser-harness.ts";
import { CONSOLE_VIEWS } from "../harness/console-views.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
const [, found] = browsers[0] ?? [];
const POLL = { timeout: 30_000, interval: 100 };
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const WIDTHS = [375, 768, 1440] as const;
const SCHEMES = ["light", "dark"] as const;
const LIMITED = { resultTypes: ["violations"] };
/** Rules of axe in each scheme: all in the first, then those of the category colour, which alone read colours. */
const OPTIONS = {
  light: LIMITED,
  dark: { ...LIMITED, runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } },
} as const;

describe.skipIf(!found)("the console (needs a browser)", () => {
  const { sites, service } = scenario(start, () => ({ TRAWL_DEMO: "on" }));
  let browser: Browser | null = null;
  let admin = "";
  beforeAll(async () => {
    const { path, env } = await found!.ready();
    browser = await chromium.launch({ executablePath: path, env, args: ["--no-sandbox"] });
    admin = (await service.trawl("key", "create", "--project", "default", "--admin")).key;
  });
  afterAll(async () => browser?.close());

  /** A page with everything it complained about. */
  async function open(path = "/console"): Promise<{ page: Page; complaints: string[]; addresses: string[] }> {
    const context = await browser!.newContext({ acceptDownloads: true });
    const page = await context.newPage();
    const complaints: string[] = [];
    const addresses: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (problem) => complaints.push(problem.message));
    page.on("request", (request) => {
      addresses.push(request.url());
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(service.url))
        complaints.push(`asked ${request.url()}`);
    });
    await page.goto(`${service.url}${path}`);
    return { page, complaints, addresses };
  }

  async function signIn(page: Page, key: string, isRemembered = false): Promise<void> {
    await page.getByLabel("API key").fill(key);
    if (isRemembered) await page.getByLabel(/Stay signed in/).check();
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(`${key.slice(0, 10)}…`).waitFor();
  }

  async function look(page: Page, name: string): Promise<void> {
    const folder = process.env["SCREENSHOTS"];
    if (folder) await page.screenshot({ path: `${folder}/console-${name}.png`, fullPage: true });
  }

  async function saved(page: Page, button: string): Promise<string> {
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: button }).click();
    return readFileSync((await (await coming).path())!, "utf8");
  }

  const site = () =>
    sites.site({
      "/": { body: article("Start", '<a href="/a">a</a> <a href="/gone">gone</a>') },
      "/a": { body: article("Second") },
      "/gone": { status: 404, body: "gone" },
    });

  test("signs in, crawls a site, watches it end, saves the results, rotates a key and sees the old one refused", async () => {
    const { origin } = site();
    const { page, complaints, addresses } = await open();
    await signIn(page, admin);
    await page.getByLabel("What").selectOption("crawl");
    await page.getByRole("textbox", { name: "address" }).fill(`${origin}/`);
    await page.getByRole("button", { name: "Crawl a site" }).click();
    await page.getByText("The crawl job is completed.").waitFor({ timeout: 60_000 });
    await page.getByText(/^(\d+) of \1 items have ended/).waitFor();
    const lines = (await saved(page, "Results as NDJSON")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).input?.url)).toEqual(
      expect.arrayContaining([`${origin}/`, `${origin}/a`]),
    );
    expect(await saved(page, "Results as CSV")).toContain(`${origin}/a`);
    expect(await saved(page, "Addresses as CSV")).toContain(`${origin}/gone`);
    await look(page, "job");

    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByText("Make a key").click();
    await page.locator('form[aria-label="Make a key"]').getByLabel("Label").fill("by clicks");
    await page.getByRole("button", { name: "Make the key" }).click();
    const made = (await page.locator("#new-key").textContent())!;
    expect(made).toMatch(/^sk_/);
    const status = async (key: string) => (await service.call("GET", "/v1/quota", { key })).status;
    expect(await status(made)).toBe(200);
    await page.getByRole("button", { name: `Rotate: ${made.slice(0, 10)}`, exact: true }).click();
    const question = page.locator("dialog[open]");
    expect(await question.textContent()).toContain("The old one is refused within five seconds");
    await look(page, "question");
    await question.getByRole("button", { name: "Rotate", exact: true }).click();
    await expect.poll(() => page.locator("#new-key").textContent(), POLL).not.toBe(made);
    const rotated = (await page.locator("#new-key").textContent())!;
    await look(page, "keys");
    await expect.poll(() => status(made), POLL).toBe(401);
    expect(await status(rotated)).toBe(200);
    expect(complaints).toEqual([]);
    for (const key of [admin, made, rotated])
      expect(addresses.filter((address) => address.includes(key))).toEqual([]);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").fill(made);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("invalid API key").waitFor();
    await page.context().close();
  });

  const demo = () => `${service.url}/demo/oskerry`;
  const MAX_TABS = 60;
  /** Presses Tab until the element has the focus. */
  async function tabTo(page: Page, element: Locator): Promise<void> {
    await element.waitFor();
    for (let n = 0; n < MAX_TABS; n++) {
      if (await element.evaluate((each) => each === each.ownerDocument.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${element.toString()}`);
  }
  async function csvOf(page: Page, press: (button: Locator) => Promise<void>): Promise<string> {
    await page.getByText("The crawl job is completed.").waitFor({ timeout: 60_000 });
    const coming = page.waitForEvent("download");
    await press(page.getByRole("button", { name: "Results as CSV" }));
    return readFileSync((await (await coming).path())!, "utf8");
  }

  test("the start page leads to the demo site as a CSV file, by clicks alone", async () => {
    const { page, complaints } = await open("/");
    await page.getByRole("link", { name: "Console", exact: true }).click();
    await signIn(page, service.key);
    await page.getByLabel("What").selectOption("crawl");
    await page.getByRole("textbox", { name: "address" }).fill(demo());
    await page.getByRole("button", { name: "Crawl a site" }).click();
    expect(await csvOf(page, (button) => button.click())).toMatch(/^[^\n]*url[^\n]*\n[^]*\/demo\/lighthouse/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the start page leads to the demo site as a CSV file, by the keyboard alone", async () => {
    const { page, complaints } = await open("/");
    await tabTo(page, page.getByRole("link", { name: "Console", exact: true }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByLabel("API key"));
    await page.keyboard.type(service.key);
    await page.keyboard.press("Enter");
    const what = page.getByLabel("What");
    await tabTo(page, what);
    for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => what.inputValue(), POLL).toBe("crawl");
    await tabTo(page, page.getByRole("textbox", { name: "address" }));
    await page.keyboard.type(demo());
    await page.keyboard.press("Enter");
    const press = async (button: Locator): Promise<void> => {
      await tabTo(page, button);
      await page.keyboard.press("Enter");
    };
    expect(await csvOf(page, press)).toContain("/demo/lighthouse");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("fetches a page, draws the attempts, and copies the request without the key", async () => {
    const { origin } = site();
    const { page, complaints } = await open();
    await signIn(page, service.key);
    await page.getByRole("textbox", { name: "address" }).fill(`${origin}/gone`);
    await page.getByRole("button", { name: "Fetch a page" }).click();
    await page.getByRole("img", { name: "Attempts as a timeline" }).waitFor();
    expect(await page.locator("section[aria-label='Answer'] tbody tr").count()).toBeGreaterThan(0);
    for (const language of ["curl", "TypeScript", "Python"]) {
      await page.getByText(language, { exact: true }).click();
      const sample = await page.getByLabel(`The request as ${language}`).textContent();
      expect(sample).toContain(`${origin}/gone`);
      expect(sample).toContain("TRAWL_KEY");
      expect(sample).not.toContain(service.key);
    }
    await look(page, "answer");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("stays signed in by a cookie that scripts cannot read and the API does not take", async () => {
    const { page, complaints } = await open();
    await signIn(page, admin, true);
    await page.reload();
    await page.getByText(`${admin.slice(0, 10)}…`).waitFor();
    expect(
      await page.evaluate("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"),
    ).not.toContain(admin.slice(3));
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect(cookie!.value).not.toContain(admin);
    const asked = async (path: string, headers: Record<string, string>, method = "GET") =>
      (
        await fetch(`${service.url}${path}`, {
          method,
          headers: { cookie: `${cookie!.name}=${cookie!.value}`, ...headers },
          ...(method === "POST" && { body: "{}" }),
        })
      ).status;
    const mark = { "x-trawl-console": "1" };
    const own = { ...mark, origin: service.url };
    expect(await asked("/console/api/v1/quota", mark)).toBe(200);
    expect(await asked("/console/api/v1/quota", {})).toBe(401);
    expect(await asked("/v1/quota", mark)).toBe(401);
    expect(
      await asked("/console/api/v1/quota", { ...mark, authorization: `Bearer ${admin}`, cookie: "" }),
    ).toBe(401);
    expect(await asked("/console/api/v1/sessions", own, "POST")).toBe(201);
    expect(await asked("/console/api/v1/sessions", mark, "POST")).toBe(401);
    expect(await asked("/console/api/v1/sessions", { ...mark, origin: "https://evil.example" }, "POST")).toBe(
      401,
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out").waitFor();
    await expect.poll(() => page.context().cookies(), POLL).toEqual([]);
    await page.reload();
    await page.getByLabel("API key").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("an operator pauses a domain, and is told before what it does", async () => {
    const { page } = await open();
    await signIn(page, service.operator_key!);
    await page.getByRole("link", { name: "Nodes" }).click();
    await page.getByText("Tiers and their breakers, by node").waitFor();
    await page.getByText("A single process owns every key: there are no partitions.").waitFor();
    await page.getByRole("link", { name: "Domains" }).click();
    await page.getByRole("textbox", { name: "Domain" }).fill("paused.example");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("button", { name: "Pause for an hour: paused.example" }).click();
    const question = page.locator("dialog[open]");
    expect(await question.textContent()).toContain("No request is sent to paused.example for an hour");
    await question.getByRole("button", { name: "Pause for an hour" }).click();
    await expect.poll(() => question.count(), POLL).toBe(0);
    const { json } = await service.call("GET", "/v1/ops/domains/paused.example", {
      key: service.operator_key,
    });
    expect(json.operator.paused_until_ms ?? json.operator.paused_until).toBeTruthy();
    await page.context().close();
  });

  test("an operator announces an incident, and the audit log says who did it", async () => {
    const { page, complaints } = await open();
    await signIn(page, service.operator_key!);
    await page.getByRole("link", { name: "Incidents and maintenance" }).click();
    await page.getByText("Announce an incident").click();
    const form = page.locator('form[aria-label="Announce an incident"]');
    await form.getByLabel("Title").fill("Fetches of the test are slow");
    await form.getByLabel(/Message/).fill("By clicks");
    await form.getByLabel(/Components/).fill("fetch");
    await form.getByLabel("Impact").selectOption("none");
    await form.getByRole("button").click();
    const row = page.getByRole("row", { name: /Fetches of the test are slow/ });
    expect(await row.textContent()).toContain("By clicks");
    await page.getByText("Say more about an incident").click();
    const update = page.locator('form[aria-label="Update an incident"]');
    const state = update.getByLabel("State");
    const say = async (message: string): Promise<void> => {
      await update.getByLabel(/Message/).fill(message);
      await update.getByRole("button").click();
      await expect.poll(() => row.textContent(), POLL).toContain(message);
    };
    await state.selectOption("identified");
    await say("A cable is cut");
    // The form starts at the state of the incident: one that goes back is refused.
    await expect.poll(() => state.inputValue(), POLL).toBe("identified");
    await say("The cable is being mended");
    expect(await row.textContent()).toContain("identified");
    await page.getByRole("link", { name: "Audit log" }).click();
    const entry = page.getByRole("row", { name: /openIncident/ });
    expect(await entry.first().textContent()).toContain(service.operator_key!.slice(0, 10));
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("pauses a job and resumes it, told before what that does, and sees what it waits for", async () => {
    const door = gate();
    const { origin } = sites.site({
      "*": async () => {
        await door.opened;
        return { body: article("A page") };
      },
    });
    const items = Array.from({ length: 6 }, (_, n) => ({ url: `${origin}/${n}` }));
    const body = { items, idempotency_key: "pauses" };
    const { job_id } = (await service.call("POST", "/v1/batch/fetch", { key: service.key, body })).json;
    const { page, complaints } = await open();
    await signIn(page, service.key);
    await page.goto(`${service.url}/console#/jobs/${job_id}`);
    const press = async (name: string, what: string): Promise<void> => {
      await page.getByRole("button", { name: `${name}: the job` }).click();
      const question = page.locator("dialog[open]");
      expect(await question.textContent()).toContain(what);
      await question.getByRole("button", { name, exact: true }).click();
      await expect.poll(() => question.count(), POLL).toBe(0);
    };
    await press("Pause", "items starts until the job is resumed");
    await page.getByText("The fetch job is paused.").waitFor();
    await page.getByText("it is paused").waitFor();
    await look(page, "paused-job");
    door.open();
    await press("Resume", "The job goes on with its other 6 items");
    await page.getByText("The fetch job is completed.").waitFor({ timeout: 60_000 });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("takes values out of a page by rules", async () => {
    const { origin } = site();
    const { page, complaints } = await open();
    await signIn(page, service.key);
    await page.getByLabel("What").selectOption("extract");
    await page.getByRole("textbox", { name: "address" }).fill(`${origin}/a`);
    await page.getByLabel(/Rules as JSON/).fill('{"heading": {"selector": "h1"}}');
    await page.getByRole("button", { name: "Extract values from a page" }).click();
    expect(await page.getByLabel("Values of the page").textContent()).toContain("Second");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test(
    "every view is without serious findings of axe, in both schemes, and not wider than the screen",
    { timeout: 240_000 },
    async () => {
      const { page } = await open();
      const findings: string[] = [];
      const check = async (view: string): Promise<void> => {
        await page.evaluate(`globalThis.axe ?? (() => {${AXE}})()`);
        for (const colorScheme of SCHEMES)
          for (const width of WIDTHS) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width, height: 900 });
            const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
            if (wide) findings.push(`${view} ${width}: wider than the screen`);
            // Devtools' evaluation is not held by the page's policy.
            const { violations } = (await page.evaluate(
              `axe.run(${JSON.stringify(OPTIONS[colorScheme])})`,
            )) as {
              violations: { id: string; impact: string; nodes: { html: string }[] }[];
            };
            for (const { id, impact, nodes } of violations)
              if (impact === "serious" || impact === "critical")
                findings.push(`${view} ${colorScheme} ${width}: ${id} ${nodes[0]!.html}`);
            await look(page, `${view}-${colorScheme}-${width}`);
          }
      };
      await check("sign-in");
      const { origin } = site();
      for (const [path, body] of [
        ["sessions", {}],
        ["monitors", { url: `${origin}/`, every_s: 3_600 }],
        ["fetch", { url: `${origin}/` }],
        ["keys", { label: "seen" }],
        ["crawl", { url: `${origin}/` }],
      ] as const)
        expect(
          (await service.call("POST", `/v1/${path}`, { key: service.operator_key, body })).status,
        ).toBeLessThan(300);
      await signIn(page, service.operator_key!);
      for (const view of CONSOLE_VIEWS) {
        await page.goto(`${service.url}/console#/${view}`);
        // The key is in the memory of the page: an address behind # does not load it anew.
        await page.locator(`nav a[aria-current="page"][href="#/${view}"]`).waitFor();
        await expect.poll(() => page.getByText("Asking…").count(), POLL).toBe(0);
        await page
          .locator("details")
          .evaluateAll((all) => all.forEach((each) => each.setAttribute("open", "")));
        if (view === "usage") {
          await page.locator("select[name=group]").selectOption("project");
          await page.getByText("Usage by day and project").waitFor();
        }
        await check(view);
      }
      const { json } = await service.call("GET", "/v1/jobs", { key: service.operator_key });
      await page.goto(`${service.url}/console#/jobs/${json.items[0].job_id}`);
      await page.getByText("Failed and excluded, by reason").waitFor();
      await check("job");
      expect(findings).toEqual([]);
      await page.context().close();
    },
  );

  test.each(["/crawler", "/demo/oskerry"])("%s is dark where the browser asks for it", async (path) => {
    const { page, complaints } = await open(path);
    await page.emulateMedia({ colorScheme: "dark" });
    // "CanvasText" is the colour of text on the browser's own background.
    expect(
      await page.evaluate(`
        const probe = document.body.appendChild(document.createElement("p"));
        probe.style.color = "CanvasText";
        getComputedStyle(probe).color;
      `),
    ).toBe("rgb(255, 255, 255)");
    // axe takes a page without a background of its own, as those of the demo are, for white.
    await page.evaluate("document.documentElement.style.background = 'Canvas'");
    await look(page, path.slice(1).replaceAll("/", "-"));
    const { violations } = (await page.evaluate(`${AXE}; axe.run()`)) as {
      violations: { id: string; impact: string }[];
    };
    expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("is used by the keyboard alone", async () => {
    const { page } = await open();
    await page.keyboard.press("Tab");
    await page.keyboard.type(admin);
    await page.keyboard.press("Enter");
    await page.getByText(`${admin.slice(0, 10)}…`).waitFor();
    await page.locator('nav a[href="#/keys"]').focus();
    await page.keyboard.press("Enter");
    const rotate = page.getByRole("button", { name: `Rotate in an hour: ${admin.slice(0, 10)}` });
    await rotate.focus();
    await page.keyboard.press("Enter");
    const question = page.locator("dialog[open]");
    await question.waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => question.count(), POLL).toBe(0);
    await expect
      .poll(() => rotate.evaluate((button) => button.ownerDocument.activeElement === button), POLL)
      .toBe(true);
    await page.context().close();
  });
});
