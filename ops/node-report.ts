/** A node's report about itself to operators, from what runs on it. */
import type { Cluster } from "../cluster/embedded.ts";
import type { NodeFigures, NodeReport } from "../cluster/ports/node-directory.ts";
import type { BuildInfo } from "./build-info.ts";
import type { Config } from "./config.ts";
import type { HttpServers } from "./http.ts";
import type { Membership } from "./cluster.ts";

export interface NodeReportDeps {
  readonly config: Config;
  readonly build: BuildInfo;
  readonly membership: Membership;
  readonly http: Pick<HttpServers, "apiAddress" | "status_address" | "listening">;
  readonly started_ms: number;
  readonly draining: () => boolean;
  /** Figures that features add. */
  readonly figures: () => readonly NodeFigures[];
}

export function nodeReport(deps: NodeReportDeps): NodeReport {
  const { config, build, membership, http, started_ms, draining, figures } = deps;
  const { cluster, node } = membership;
  const { activations, running_work, pending_asks } = cluster.stats();
  return {
    node,
    ...build,
    roles: config.cluster.roles,
    reads_shared_bodies: true,
    reads_rights_of_pages: true,
    tiers: tiersOf(cluster.roles),
    // Only while it listens: other nodes share the port with the nodes that report it.
    address: http.apiAddress(),
    status_address: http.status_address ?? http.listening().address,
    started_ms,
    draining: draining(),
    clock_skew_ms: membership.clock_skew_ms(),
    partitions: membership.ownedPartitions(),
    active_actors: Object.values(activations).reduce((sum, count) => sum + count, 0),
    background_works: running_work,
    pending_asks,
    ...Object.assign({}, ...figures()),
  };
}

function tiersOf(roles: Cluster["roles"]): NodeReport["tiers"] {
  const figures = roles.figures();
  return Object.entries(roles.loads()).map(([tier, load]) => ({ tier, ...load, ...figures[tier]! }));
}
