/** The route `browser` of a node with that role: Chromium, the egress proxy in front of it, and the pool. */
import type { Destination } from "../actors/lib/web/destination.ts";
import type { Transport } from "../actors/lib/web/transport.ts";
import { browserPool, MAX_PAGES, playwrightChromium } from "../actors/tiers/adapters/browser-pool.ts";
import { findChromium } from "../actors/tiers/adapters/chromium.ts";
import { browserTransport } from "../actors/tiers/adapters/transport.browser.ts";
import { egressProxy } from "../cluster/adapters/egress/egress.proxy.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Config } from "./config.ts";
import { dataPath } from "./stores.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";

interface BrowserDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly destination: Destination;
  /** The rule for subresources, which may be stricter. Default: the same. */
  readonly subresource_destination?: Destination;
}

export interface OpenBrowser {
  readonly transport: Transport;
  /** Maximum concurrent pages. */
  readonly max_pages: number;
  readonly close: () => Promise<void>;
}

/** Null: there is no Chromium, and the route is not configured. The first page starts the browser. */
export async function openBrowser(
  { tiers, storage, egress }: Config,
  { clock, metrics, log, destination, subresource_destination = destination }: BrowserDeps,
): Promise<OpenBrowser | null> {
  const chromium = findChromium({
    path: tiers.chromium_path ?? null,
    folder: dataPath(storage.data_dir, "chromium"),
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
  const proxy = await egressProxy({ judge: subresource_destination, dns_servers: egress.dns_servers });
  const pool = browserPool({ chromium, proxy, metrics, log });
  return {
    transport: browserTransport({ pool, clock, destination: destination }),
    max_pages: MAX_PAGES,
    async close() {
      await pool.close();
      await proxy.close();
    },
  };
}
