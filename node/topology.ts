/** The roles of this node, and the engines it runs on. Computed once, from the settings. */
import { type Tier, TIERS } from "../schemas/tier-table.ts";
import type { NodeConfig } from "./node-settings.ts";

export interface Topology {
  /** It serves the API. */
  readonly isGateway: boolean;
  /** It owns actors, and offers every tier that is configured but the browser. */
  readonly isWorker: boolean;
  /** The tiers among its roles. */
  readonly named_tiers: ReadonlySet<Tier>;
  /** The tiers that it offers as far as they are configured. */
  readonly tiers: ReadonlySet<Tier>;
  /** The service is one process, and there is no bus between nodes. */
  readonly isAlone: boolean;
  readonly documents: "sqlite" | "mongodb";
  readonly blobs: "files" | "s3";
}

export function topologyOf({ cluster, storage }: Pick<NodeConfig, "cluster" | "storage">): Topology {
  const roles: ReadonlySet<string> = new Set(cluster.roles);
  const isWorker = roles.has("worker");
  const named_tiers = new Set(TIERS.filter((tier) => roles.has(tier)));
  return {
    isGateway: roles.has("gateway"),
    isWorker,
    named_tiers,
    tiers: isWorker ? new Set(TIERS.filter((tier) => tier !== "browser" || roles.has(tier))) : named_tiers,
    isAlone: cluster.bus === "memory",
    documents: storage.documents.startsWith("sqlite") ? "sqlite" : "mongodb",
    blobs: storage.blobs.startsWith("s3:") ? "s3" : "files",
  };
}

/** Why roles, bus and stores of a node do not fit together, as one sentence; null when they do. */
export function topologyProblem(
  { isGateway, isWorker, isAlone, documents }: Topology,
  { blobs }: Pick<NodeConfig["storage"], "blobs">,
): string | null {
  const missing = !isGateway ? "gateway" : !isWorker ? "worker" : null;
  if (isAlone)
    return missing === null
      ? null
      : `TRAWL_ROLES without "${missing}" needs other nodes: set TRAWL_BUS to a NATS server they share`;
  if (documents === "sqlite")
    return "TRAWL_BUS is NATS, so nodes must share their documents: set TRAWL_DOCUMENTS to mongodb://…";
  if (blobs === "file")
    return "TRAWL_BUS is NATS, so nodes must share their bodies: set TRAWL_BLOBS to s3://…, or to a file:PATH on a disk that all nodes share";
  return null;
}
