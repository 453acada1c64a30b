/** The route `browser` of a node with that role: Chromium, the egress proxy before it, and the pool of pages. */
import { egressProxy } from "../../../../cluster/adapters/egress/egress.proxy.ts";
import type { OpeningNode } from "../../../../node/feature.ts";
import { ownRequestOpener, withAuthorization } from "../../../lib/web/own-request.ts";
import { sessionJars } from "../../../lib/web/session-jar.ts";
import { secretsOpener } from "../../../lib/web/session-secrets.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import { browserPool } from "../adapters/browser-pool.ts";
import { MAX_PAGES } from "../adapters/pool-limits.ts";
import { playwrightChromium } from "../adapters/running-browsers.ts";
import { type Chromium, findChromium } from "../adapters/chromium.ts";
import { programFolder, sandboxed } from "../adapters/sandbox.ts";
import { printPage } from "../adapters/print-page.ts";
import { browserTransport } from "../adapters/transport.browser.ts";
import { readCapacities } from "../policy.ts";
import type { Print } from "../printer.actor.ts";
import type { TiersSettings } from "./settings.ts";

export interface OpenBrowser {
  /** Null: the route is off, because the browser does not run in its sandbox and has to. */
  readonly transport: Transport | null;
  /** Null: as of `transport`. */
  readonly print: Print | null;
  /** Pages at once. */
  readonly max_pages: number;
  /** For /ready. */
  readonly warnings: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** Null without a Chromium: the route is not configured. Chromium is started with the first page. */
export async function openBrowser(
  {
    blobs,
    config,
    clock,
    metrics,
    log,
    destination,
    unowned_destination,
    ca,
    dataPath,
    secrets,
  }: OpeningNode,
  settings: TiersSettings,
): Promise<OpenBrowser | null> {
  const found = configuredChromium(settings, dataPath);
  if (found === null) {
    const path = settings.chromium_path;
    log[path === "none" ? "info" : "warn"]("There is no Chromium: the route browser is not configured", {
      ...(path !== undefined && { TRAWL_CHROMIUM_PATH: path }),
    });
    return null;
  }
  const chromium = sandboxed(found, { setting: settings.chromium_sandbox, folder: dataPath("chromium") });
  let warning: string | null = null;
  const tried = chromium.sandbox().then(
    (state) => {
      warning = state.is_on ? null : `The browser runs without its sandbox: ${state.why}`;
      if (warning !== null) log.warn("The browser runs without its sandbox", { why: warning });
    },
    (problem: unknown) => {
      warning = `The route browser is off: ${problem instanceof Error ? problem.message : String(problem)}`;
      log.warn("The route browser is off", { problem: warning });
    },
  );
  // With a required sandbox the route is not offered before the browser was tried; else nothing waits for that.
  if (chromium.is_required) await tried;
  const isOff = chromium.is_required && warning !== null;
  log.info("The route browser is configured", { chromium: chromium.sentence });
  // Requests that a page makes by itself must not reach hosts that a feature owns either.
  const { dns_servers } = config.egress;
  const proxy = await egressProxy({
    judge: unowned_destination,
    dns_servers,
    ca,
    onHiddenName: (name) =>
      log.debug("A name leads to refused addresses only", { name, answered: "dns_nxdomain" }),
  });
  const { browser: max_pages = MAX_PAGES } = readCapacities(settings.capacities);
  const pool = browserPool({ chromium, proxy, metrics, log, limits: { pages: max_pages } });
  return {
    transport: isOff
      ? null
      : withAuthorization(
          secrets,
          browserTransport({
            pool,
            clock,
            destination,
            openOwn: ownRequestOpener(secrets),
            jars: sessionJars(secrets, () => clock.now()),
            openSecrets: secretsOpener(secrets),
            blobs,
          }),
        ),
    print: isOff ? null : printPage(pool),
    max_pages,
    warnings: () => (warning === null ? [] : [warning]),
    async close() {
      await pool.close();
      await proxy.close();
      await tried;
      await chromium.close();
    },
  };
}

/** The browser that the settings name, or that is found. */
export const configuredChromium = (
  { chromium_path }: Pick<TiersSettings, "chromium_path">,
  dataPath: (name: string) => string,
): Chromium | null =>
  findChromium({
    path: chromium_path ?? null,
    folder: programFolder(dataPath("chromium")),
    playwright: playwrightChromium,
  });
