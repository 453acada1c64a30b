/**
 * ReplayWeb.page, the program for people who were sent an archive, shows one of pages in a browser: each has the text that it had there,
 * from the file alone.
 */
import { existsSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { system } from "../harness/browser-harness.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { prose } from "../harness/web.ts";

/** The package of npm as it is published: its dependencies are in its two scripts. */
const PROGRAM = "/opt/replaywebpage/package";
const isThere = system !== null && existsSync(`${PROGRAM}/ui.js`);
const how = isThere
  ? ""
  : " (not tried: needs Debian's chromium, and npm pack replaywebpage unpacked in /opt/replaywebpage)";
const { start } = SETUPS[0]!;

const PIXEL = Buffer.from("R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=", "base64");
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  wacz: "application/wacz",
};

/** Pages whose text is there once their script has loaded the rest, each in another way. */
const FILLED: Readonly<Record<string, string>> = {
  fetched: `fetch("/data/fetched").then((r) => r.json()).then(({ text }) => { a.textContent = text })`,
  requested: `const r = new XMLHttpRequest(); r.onload = () => { a.textContent = JSON.parse(r.responseText).text };
    r.open("GET", "/data/requested?b=2&a=1"); r.send()`,
  module: `import("/module.js").then(({ text }) => { a.textContent = text })`,
  pictured: `const i = new Image(); i.onload = () => { a.textContent = "A picture of " + i.width }; i.src = "/dot.gif"`,
  plain: `a.textContent = "Z\\u00fcrich, written by a script"`,
};

describe.skipIf(!isThere)(`an archive in ReplayWeb.page${how}`, () => {
  // A whole browser, as people have it: in npm's headless shell the program shows nothing.
  const chromiumPath = async () => (await system!.ready()).path;
  const { sites, service } = scenario(start, async () => ({ TRAWL_CHROMIUM_PATH: await chromiumPath() }));
  let browser: Browser;
  let files: Server;
  let wacz: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: await chromiumPath(),
      args: ["--host-resolver-rules=MAP *.test 127.0.0.1"],
    });
    files = createServer((request, response) => {
      const { pathname } = new URL(request.url!, "http://x");
      const path = pathname === "/" ? "/index.html" : pathname;
      const known = ["/index.html", "/ui.js", "/sw.js"].includes(path) && readFileSync(PROGRAM + path);
      const content = path === "/site.wacz" ? wacz : known;
      if (!content) return void response.writeHead(404).end();
      const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
      response.setHeader("Content-Type", TYPES[path.split(".").at(-1)!]!);
      response.setHeader("Accept-Ranges", "bytes");
      if (first === undefined) return void response.end(request.method === "HEAD" ? undefined : content);
      const end = last ? Math.min(Number(last), content.length - 1) : content.length - 1;
      response.writeHead(206, { "Content-Range": `bytes ${first}-${end}/${content.length}` });
      response.end(content.subarray(Number(first), end + 1));
    }).listen(0, "127.0.0.1");
    await once(files, "listening");
  });
  afterAll(async () => {
    await browser?.close();
    files?.close();
  });

  test("shows each page as the browser did, from the file alone", { timeout: 240_000 }, async () => {
    const documents = Object.entries(FILLED).map(([name, script]) => [
      `/${name}`,
      {
        body: `<!doctype html><meta charset=utf-8><title>${name}</title><link rel=stylesheet href=/style.css>
          <h1>${name}</h1><p id=a>empty</p><p>${prose(5, name)}</p><script>${script}</script>`,
      },
    ]);
    const data = (name: string) => ({
      type: "application/json",
      body: JSON.stringify({ text: `Loaded later: ${name}` }),
    });
    const site = sites.site({
      ...Object.fromEntries(documents),
      "/data/fetched": data("fetched"),
      "/data/requested": data("requested"),
      "/module.js": { type: "text/javascript", body: `export const text = "Of a module"` },
      "/dot.gif": { type: "image/gif", body: PIXEL },
      "/style.css": { type: "text/css", body: "h1 { color: rgb(1, 2, 3) }" },
    });
    const urls = Object.keys(FILLED).map((name) => `${site.origin}/${name}`);
    const items = urls.map((url) => ({
      url,
      archive: true,
      tiers: ["browser" as const],
      render: "always" as const,
    }));
    const { job_id } = (await client(service).create(items)).json;
    await client(service).finished(job_id);
    wacz = (await service.call("GET", `/v1/jobs/${job_id}.wacz`)).bytes;
    const asked = site.arrivals.length;

    const live = await Promise.all(urls.map((url) => shownBy(browser, url)));
    const hits = site.arrivals.length;
    expect(hits).toBeGreaterThan(asked);
    expect(live.map(({ text }) => text.includes("empty"))).toEqual(urls.map(() => false));

    const base = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
    const elsewhere: string[] = [];
    for (const [at, url] of urls.entries()) {
      const context = await browser.newContext();
      context.on("request", (request) => {
        if (!request.url().startsWith(base) && request.url().startsWith("http"))
          elsewhere.push(request.url());
      });
      const page = await context.newPage();
      await page.goto(`${base}/?source=/site.wacz#view=replay&url=${encodeURIComponent(url)}`);
      const replayed = async () => {
        const frame = page.frames().find((each) => each.url().includes(`mp_/${url}`));
        return frame === undefined ? null : seenIn(frame).catch(() => null);
      };
      await expect.poll(replayed, { timeout: 40_000 }).toEqual(live[at]);
      await context.close();
    }
    expect([elsewhere, site.arrivals.length]).toEqual([[], hits]);
  });
});

interface PageLook {
  readonly text: string;
  readonly color: string;
}

const seenIn = (frame: Pick<Page, "evaluate">): Promise<PageLook> =>
  frame.evaluate(
    `({ text: document.body.innerText, color: getComputedStyle(document.querySelector("h1")).color })`,
  );

async function shownBy(browser: Browser, url: string): Promise<PageLook> {
  const page = await browser.newPage();
  try {
    await page.goto(url);
    await page.waitForFunction(`document.getElementById("a").textContent !== "empty"`, null, {
      timeout: 120_000,
    });
    return await seenIn(page);
  } finally {
    await page.close();
  }
}
