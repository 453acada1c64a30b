/** The pages for people in Debian's Firefox: at three widths, light and dark, nothing fails, is refused, leaves the service or scrolls sideways. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FirefoxPage, firefoxPath, type Scheme, startFirefox } from "../harness/firefox.ts";
import { CONSOLE_VIEWS } from "../harness/console-views.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const WIDTHS = [375, 768, 1440] as const;
const SCHEMES: readonly Scheme[] = ["light", "dark"];
const PAGES = [
  "/",
  "/docs",
  "/docs/api/fetch",
  "/docs/reference",
  "/docs/reference/fetch",
  "/docs/errors/timeout",
  "/changelog",
  "/changelog/0.1.0",
  "/status",
  "/status/incidents",
  "/status/components/fetch",
  "/console",
  "/replay",
] as const;
const POLL = { timeout: 30_000, interval: 100 };

describe.skipIf(firefoxPath === null)("the pages in Firefox (needs Debian's firefox-esr)", () => {
  const { service } = scenario(SETUPS.find(({ setup }) => setup === "embedded")!.start);

  describe.each(SCHEMES)("%s", (scheme) => {
    let firefox: FirefoxPage | null = null;
    beforeAll(async () => {
      firefox = await startFirefox(scheme);
    });
    afterAll(async () => firefox?.close());

    const checked = async (): Promise<unknown> => {
      const { complaints, addresses } = await firefox!.observed();
      const outside = addresses.filter(
        (address) => !/^(?:data|blob):/.test(address) && !address.startsWith(`${service.url}/`),
      );
      return { complaints, outside, isAsked: addresses.length > 0 };
    };
    const overflow = (): Promise<unknown> =>
      firefox!.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

    test.each(PAGES)("%s", async (path) => {
      for (const width_px of WIDTHS) {
        await firefox!.open(`${service.url}${path}`, width_px);
        await expect
          .poll(() => firefox!.evaluate('document.body.innerText.trim() !== "" && innerWidth'), POLL)
          .toBe(width_px);
        expect([
          width_px,
          await firefox!.evaluate(`matchMedia("(prefers-color-scheme: ${scheme})").matches`),
        ]).toEqual([width_px, true]);
        expect([width_px, await overflow()]).toEqual([width_px, 0]);
        expect(await checked()).toEqual({ complaints: [], outside: [], isAsked: true });
      }
    });

    test("the console's views, signed in", async () => {
      await firefox!.open(`${service.url}/console`, 375);
      await expect
        .poll(() => firefox!.evaluate('document.querySelectorAll("input[type=password]").length'), POLL)
        .toBe(1);
      await firefox!.type("input[type=password]", `${service.operator_key}\n`);
      for (const view of CONSOLE_VIEWS) {
        await firefox!.evaluate(`void (location.hash = "#/${view}")`);
        await expect
          .poll(() => firefox!.evaluate("document.querySelector('nav a[aria-current=page]')?.hash"), POLL)
          .toBe(`#/${view}`);
        await expect
          .poll(() => firefox!.evaluate('document.body.innerText.includes("Asking…")'), POLL)
          .toBe(false);
        for (const width_px of WIDTHS) {
          await firefox!.resize(width_px);
          expect([view, width_px, await overflow()]).toEqual([view, width_px, 0]);
        }
      }
      expect(await checked()).toEqual({ complaints: [], outside: [], isAsked: true });
    });

    test("sees what a page does wrong", async () => {
      await firefox!.open(`${service.url}/`, 375);
      await firefox!.observed();
      await firefox!.evaluate(
        'document.body.append(Object.assign(new Image(), { src: "http://192.0.2.1/" }))',
      );
      await firefox!.evaluate('document.body.style.setProperty("width", "900px")');
      await expect.poll(overflow, POLL).toBeGreaterThan(0);
      await expect
        .poll(async () => (await firefox!.observed()).complaints.join(), POLL)
        .toContain("Refused by Content-Security-Policy: img-src http://192.0.2.1/");
    });
  });
});
