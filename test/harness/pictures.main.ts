/**
 * npm run pictures [folder]: starts a service with the demo site and takes a picture of each of its pages for people, at the width of a
 * phone and of a desk, light and dark: small WebP files in docs/pictures/pages, or PNG in full size in the folder given.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright";
import { findChromium } from "../../actors/crawl/tiers/adapters/chromium.ts";
import { CONSOLE_VIEWS } from "./console-views.ts";

const PAGES = [
  "/",
  "/docs",
  "/docs/api/fetch",
  "/docs/reference/fetch",
  "/docs/errors/timeout",
  "/changelog",
  "/replay",
  "/status",
  "/status/incidents",
  "/status/components/fetch",
  "/demo",
  "/crawler",
] as const;
const SIZES = { phone: { width: 375, height: 800 }, desk: { width: 1440, height: 900 } } as const;
const SCHEMES = ["light", "dark"] as const;
/** Scale of a picture's pixels to the page's; a picture is to stay below 30 KB. */
const SCALE = { phone: 0.8, desk: 0.5 } as const;
const WEBP_QUALITY = 40;

const SMALL = fileURLToPath(new URL("../../docs/pictures/pages", import.meta.url));
const [, , full_size] = process.argv;
const folder = full_size ?? SMALL;
mkdirSync(folder, { recursive: true });
const KEY = "ok_pictures_0123456789abcdef";
const data_dir = mkdtempSync(join(tmpdir(), "trawl-pictures-"));
const found = findChromium({ path: null, folder: join(data_dir, "browser") });
if (found === null) throw new Error("There is no Chromium to take pictures with");
const program = spawn(
  process.execPath,
  [fileURLToPath(new URL("../../ops/main.ts", import.meta.url)), "start"],
  {
    env: { PATH: process.env["PATH"], PORT: "0", TRAWL_DATA_DIR: data_dir, TRAWL_OPERATOR_KEY: KEY },
    stdio: ["ignore", "pipe", "ignore"],
  },
);
let url = "";
for await (const line of createInterface({ input: program.stdout })) {
  url = /^Trawl answers at (http\S+)$/.exec(line)?.[1] ?? "";
  if (url !== "") break;
}
program.stdout.resume();
if (url === "") throw new Error("The service did not start");
const browser = await chromium.launch({
  executablePath: (await found.ready()).path,
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage();
  for (const path of PAGES) {
    await page.goto(`${url}${path}`);
    await takeAll(page, path === "/" ? "home" : path.slice(1).replaceAll("/", "-"));
  }
  await page.goto(`${url}/console`);
  await takeAll(page, "console");
  const asked = await fetch(`${url}/v1/crawl`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ url: `${url}/demo/oskerry` }),
  });
  const { job_id } = (await asked.json()) as { readonly job_id: string };
  await page.getByLabel("API key").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText(`${KEY.slice(0, 10)}…`).waitFor();
  await page.goto(`${url}/console#/jobs/${job_id}`);
  await page.getByText("The crawl job is completed.").waitFor();
  await takeAll(page, "console-job");
  await takeAll(await pausedJob(page), "console-paused-job");
  for (const view of CONSOLE_VIEWS) {
    await page.goto(`${url}/console#/${view}`);
    await page.locator(`nav a[aria-current="page"][href="#/${view}"]`).waitFor();
    await page.getByText("Asking…").first().waitFor({ state: "detached" });
    await takeAll(page, `console-${view}`);
  }
} finally {
  await browser.close();
  const ended = new Promise((resolve) => program.once("close", resolve));
  program.kill();
  await ended;
  rmSync(data_dir, { recursive: true });
}

/** A job that waits, with the button that resumes it. */
async function pausedJob(page: Page): Promise<Page> {
  const items = Array.from({ length: 40 }, (_, n) => ({ url: `${url}/demo/oskerry?${n}` }));
  const ask = async (method: string, path: string, body: object): Promise<any> => {
    const headers = { Authorization: `Bearer ${KEY}` };
    return (await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })).json();
  };
  const job = await ask("POST", "/v1/batch/fetch", { idempotency_key: "paused", items });
  await ask("PATCH", `/v1/jobs/${job.job_id}`, { paused: true });
  await page.goto(`${url}/console#/jobs/${job.job_id}`);
  await page.getByText("The fetch job is paused.").waitFor();
  await page.waitForLoadState("networkidle");
  return page;
}

/** Says as well which page is wider than the screen. */
async function takeAll(page: Page, name: string): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  for (const colorScheme of SCHEMES)
    for (const size of ["phone", "desk"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(SIZES[size]);
      const wide = Number(await page.evaluate("document.documentElement.scrollWidth"));
      if (wide > SIZES[size].width) console.error(`${name}: ${wide} px wide on ${SIZES[size].width}`);
      const file = join(folder, `${name}-${size}-${colorScheme}`);
      if (full_size !== undefined) {
        await page.screenshot({ path: `${file}.png` });
        continue;
      }
      const { data } = await cdp.send("Page.captureScreenshot", {
        format: "webp",
        quality: WEBP_QUALITY,
        clip: { x: 0, y: 0, ...SIZES[size], scale: SCALE[size] },
      });
      writeFileSync(`${file}.webp`, Buffer.from(data, "base64"));
    }
  await cdp.detach();
}
