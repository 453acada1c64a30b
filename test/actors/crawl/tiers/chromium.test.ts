/** Which Chromium is run (TRAWL_CHROMIUM_PATH). */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium as playwright } from "playwright";
import { defaultPages, limitsFor } from "../../../../actors/crawl/tiers/adapters/pool-limits.ts";
import { playwrightChromium } from "../../../../actors/crawl/tiers/adapters/running-browsers.ts";
import { findChromium, SYSTEM } from "../../../../actors/crawl/tiers/adapters/chromium.ts";
import { article } from "../../../harness/web.ts";
import { browsers, browserSetup } from "../../../harness/browser-harness.ts";

let folder: string;
let program: string;
let other: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "trawl-chromium-"));
  program = join(folder, "program");
  other = join(folder, "other");
  for (const path of [program, other]) writeFileSync(path, "#!/bin/sh\necho Chromium 153\n", { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("Chromium", () => {
  const find = (
    path: string | null,
    system: string[],
    archives: string | null = null,
    installed: string | null = null,
  ) => findChromium({ path, system, archives, folder, playwright: () => installed });

  test("is the one that was named", async () => {
    const found = find(program, [other]);
    expect(found?.from).toBe("setting");
    expect(await found!.ready()).toMatchObject({ path: program });
  });

  test("is the system's when none was named, the first there is", async () => {
    const found = find(null, ["/nowhere/chromium", other, program]);
    expect([found?.from, (await found!.ready()).path]).toEqual(["system", other]);
  });

  test("is the system's headless shell where it is beside a Chromium with windows", async () => {
    const at = (path: string) => join(folder, path);
    const paths = ["/usr/lib/chromium/chromium", "/usr/lib/chromium/chromium-headless-shell"];
    const findInstalled = () => find(null, SYSTEM.linux!.map(at))!.ready();
    mkdirSync(at("/usr/lib/chromium"), { recursive: true });
    for (const path of paths) {
      writeFileSync(at(path), "", { mode: 0o755 });
      expect(await findInstalled()).toMatchObject({ path: at(path) });
    }
  });

  test.each([
    ["is not there", () => "/nowhere/chromium"],
    ["is the word none", () => "none"],
    ["is a folder", () => folder],
    [
      "may not be run",
      () => {
        const path = join(folder, "text");
        writeFileSync(path, "");
        chmodSync(path, 0o644);
        return path;
      },
    ],
  ])("is none when what was named %s, though the system has one", (_, path) => {
    expect(find(path(), [other], folder)).toBeNull();
  });

  test("is the one that Playwright's installer put there when the system has none", async () => {
    const found = find(null, ["/nowhere/chromium"], folder, program);
    expect([found?.from, (await found!.ready()).path]).toEqual(["playwright", program]);
    expect(find(null, [other], folder, program)?.from).toBe("system");
    expect(find("none", [], folder, program)).toBeNull();
  });

  test("is npm's when neither the system has one nor Playwright's installer put one there", () => {
    expect(find(null, [], folder)?.from).toBe("npm");
    expect(find(null, [], folder, join(folder, "not-installed"))?.from).toBe("npm");
  });

  test("is looked for where Playwright's installer puts it", () => {
    expect(playwrightChromium()).toMatch(/chromium-\d+/);
  });

  test("is null when there is none anywhere", () => {
    expect(find(null, [])).toBeNull();
  });

  test("gets nothing of our environment", async () => {
    const { env } = await find(program, [])!.ready();
    expect(Object.keys(env).toSorted()).toEqual(["HOME", "LANG"]);
  });

  test("that cannot be unpacked leaves nothing half done, and is tried again", async () => {
    const archives = join(folder, "archives");
    const into = join(folder, "unpacked");
    mkdirSync(archives, { recursive: true });
    writeFileSync(join(archives, "chromium.br"), "this is no brotli");
    const found = findChromium({ path: null, system: [], archives, folder: into })!;
    await expect(found.ready()).rejects.toThrow(/./);
    expect(existsSync(into) ? readdirSync(into) : []).toEqual([]);
    await expect(found.ready()).rejects.toThrow(/./);
  });
});

test.each([
  [24, 2, 6],
  [2, 2, 4],
  [24, 32, 16],
  [1, 8, 2],
  [0.25, 8, 1],
])("%f GB of memory and %i cores are %i pages at once", (gigabytes, cores, pages) => {
  expect(defaultPages(gigabytes * 2 ** 30, cores)).toBe(pages);
});

test.each([
  [2, 1_024, 2_048],
  [4, 1_024, 2_048],
  [16, 3_328, 4_352],
])(
  "%i pages at once share a browser of %i MB, and %i MB with one of the largest",
  (pages, browser_mb, total_mb) => {
    expect(limitsFor(pages)).toMatchObject({ pages, browser_mb, total_mb });
  },
);

describe.each(browsers)("%s", (_, chromium) => {
  test("renders a page behind the egress proxy", async () => {
    const it = await browserSetup({ chromium });
    const site = it.web.site({
      "/": { body: `${article("Title")}<script>document.title += " made"</script>` },
    });
    const answer = await it.fetch(`${site.origin}/`, { accept_language: "de, en;q=0.5", user_agent: null });
    expect(answer).toMatchObject({ kind: "page", status: 200, body_kind: "rendered_dom" });
    expect(answer.kind === "page" && answer.body.toString()).toContain("<title>Title made</title>");
    expect(site.arrivals[0]!.headers).toMatchObject({ "accept-language": "de, en;q=0.5" });
    expect(site.arrivals[0]!.headers["user-agent"]).not.toContain("Headless");
    await it.close();
  });

  test("would bypass the egress proxy by WebRTC if it were allowed to", async () => {
    const { createSocket } = await import("node:dgram");
    const packets: number[] = [];
    const udp = createSocket("udp4", () => void packets.push(1));
    await new Promise<void>((resolve) => void udp.bind(0, "127.0.0.2", resolve));
    const { path, env } = await chromium.ready();
    const browser = await playwright.launch({
      executablePath: path,
      env: { ...env },
      args: ["--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>"],
    });
    const page = await browser.newPage();
    await page.setContent(
      `<script>const c = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.2:${udp.address().port}" }] }); c.createDataChannel("d"); c.createOffer().then((o) => c.setLocalDescription(o))</script>`,
    );
    await expect.poll(() => packets.length).toBeGreaterThan(0);
    await browser.close();
    udp.close();
  });
});
