/** The route `browser` of a node with that role: Chromium, the egress proxy before it, and the pool of pages. */
import { egressProxy } from "../../../cluster/adapters/egress/egress.proxy.ts";
import type { FeatureContext } from "../../../ops/feature.ts";
import type { Transport } from "../../lib/web/transport.ts";
import { browserPool, MAX_PAGES, playwrightChromium } from "../../tiers/adapters/browser-pool.ts";
import { findChromium } from "../../tiers/adapters/chromium.ts";
import { browserTransport } from "../../tiers/adapters/transport.browser.ts";
import type { FetchSettings } from "./settings.ts";

export interface OpenBrowser {
  readonly transport: Transport;
  /** Pages at once. */
  readonly max_pages: number;
  readonly close: () => Promise<void>;
}

/** Null without a Chromium: the route is not configured. Chromium is started with the first page. */
export async function openBrowser(
  { config, clock, metrics, log, destination, unreserved_destination, dataPath }: FeatureContext,
  { tiers }: FetchSettings,
): Promise<OpenBrowser | null> {
  const chromium = findChromium({
    path: tiers.chromium_path ?? null,
    folder: dataPath("chromium"),
    playwright: playwrightChromium(),
  });
  if (chromium === null) {
    const path = tiers.chromium_path;
    log[path === "none" ? "info" : "warn"]("There is no Chromium: the route browser is not configured", {
      ...(path !== undefined && { TRAWL_CHROMIUM_PATH: path }),
    });
    return null;
  }
  log.info("The route browser is configured", { chromium: chromium.sentence });
  // What a page loads by itself must not reach reserved hosts either.
  const { dns_servers } = config.egress;
  const proxy = await egressProxy({ judge: unreserved_destination, dns_servers });
  const pool = browserPool({ chromium, proxy, metrics, log });
  return {
    transport: browserTransport({ pool, clock, destination }),
    max_pages: MAX_PAGES,
    async close() {
      await pool.close();
      await proxy.close();
    },
  };
}
