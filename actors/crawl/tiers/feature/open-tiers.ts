/** The tiers that a node offers: for each a transport, as far as it is configured, and its actor, placed by role. */
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import type { OpeningNode } from "../../../../node/feature.ts";
import { type Tier, TIERS } from "../../../../schemas/tier-table.ts";
import { ownRequestOpener, withAuthorization } from "../../../lib/web/own-request.ts";
import { sessionJars } from "../../../lib/web/session-jar.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import { importedFinder } from "../../archive/import/find-imported.ts";
import { archiveTransport } from "../adapters/transport.archive.ts";
import { directTransport } from "../adapters/transport.direct.ts";
import { proxyTransport } from "../adapters/transport.proxy.ts";
import { renderTransport } from "../adapters/transport.render.ts";
import { readCapacities, tierPolicy } from "../policy.ts";
import { type Print, printerActor } from "../printer.actor.ts";
import { tierActor } from "../tier.actor.ts";
import { openRoom } from "../../fetch/run.ts";
import type { TiersSettings } from "./settings.ts";

export interface OpenTiers {
  readonly actors: readonly RoleActor[];
  /** Actors that print pages of the service itself. */
  readonly printers: readonly RoleActor[];
  readonly warnings: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** The tiers of this node: those of its roles, and of a worker all that are configured but the browser. */
export async function openTiers(node: OpeningNode, settings: TiersSettings): Promise<OpenTiers> {
  const { clock, metrics, log, memory } = node;
  const { transports, print, pages, warnings, close } = await openTransports(node, settings);
  const capacities = readCapacities(settings.capacities);
  const actors = TIERS.flatMap((tier) => {
    const transport = transports[tier];
    if (!transport) return [];
    const policy = tierPolicy(tier, capacities, pages);
    const room = (signal: AbortSignal) => openRoom(memory, signal);
    return [tierActor(tier, { transport, policy, clock, metrics, log, openRoom: room })];
  });
  return { actors, printers: print === null ? [] : [printerActor(print)], warnings, close };
}

interface OpenTransports {
  /** Null: it is not configured, or not of this node. */
  readonly transports: Readonly<Record<Tier, Transport | null>>;
  /** Null: this node has no browser. */
  readonly print: Print | null;
  /** Pages of the browser at once. */
  readonly pages: number;
  readonly warnings: () => readonly string[];
  readonly close: () => Promise<void>;
}

async function openTransports(node: OpeningNode, settings: TiersSettings): Promise<OpenTransports> {
  const { topology, clock, destination, egress, joined, user_agent } = node;
  const { archive_url, proxy_url, render_url, render_key } = settings;
  const isNamed = (tier: Tier): boolean => topology.named_tiers.has(tier);
  if (isNamed("archive") && archive_url === "none")
    throw new Error('TRAWL_ROLES has "archive", but TRAWL_ARCHIVE_URL is none');
  if (isNamed("proxy_render") && render_url === undefined)
    throw new Error('TRAWL_ROLES has "proxy_render", but TRAWL_RENDER_URL is not set');
  if (isNamed("proxy") && topology.isWorker && proxy_url === undefined)
    throw new Error('TRAWL_ROLES has "worker" and "proxy", but TRAWL_PROXY_URL is not set');
  const has = (tier: Tier): boolean => topology.tiers.has(tier);
  // Playwright alone takes 80 MB: a node without the role does not load it.
  const browser = isNamed("browser")
    ? await (await import("./browser.ts")).openBrowser(node, settings)
    : null;
  // Reaches only the rendering service, so that its address may be private.
  const toRenderer =
    render_url === undefined || !has("proxy_render")
      ? null
      : node.openEgress({ judge: onlyTo(new URL(render_url)) });
  const common = { egress, clock, destination };
  const openOwn = ownRequestOpener(node.secrets);
  const jars = sessionJars(node.secrets, () => clock.now());
  function openProxy(): Transport | null {
    // An egress node: other addresses than those of the workers, without a proxy behind it.
    if (proxy_url === undefined) return isNamed("proxy") ? directTransport(common) : null;
    return has("proxy") ? proxyTransport({ ...common, openOwn, jars, proxy_url, joined }) : null;
  }
  return {
    transports: {
      direct: has("direct")
        ? withAuthorization(node.secrets, directTransport({ ...common, openOwn, jars }))
        : null,
      browser: browser?.transport ?? null,
      archive:
        has("archive") && archive_url !== "none"
          ? archiveTransport({
              egress,
              clock,
              archive_url: archive_url === "imports" ? null : archive_url,
              user_agent,
              findImported: importedFinder(node),
            })
          : null,
      proxy: openProxy(),
      proxy_render: toRenderer
        ? renderTransport({
            ...common,
            egress: toRenderer,
            render_url: render_url!,
            ...(render_key !== undefined && { render_key }),
          })
        : null,
    },
    print: browser?.print ?? null,
    pages: browser?.max_pages ?? 1,
    warnings: () => browser?.warnings() ?? [],
    async close() {
      await browser?.close();
      await toRenderer?.close();
    },
  };
}
