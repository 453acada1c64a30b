/** Nodes of a cluster over engines of its own, for benches: on one core, and asked with a key that has no limits. */
import { execFileSync } from "node:child_process";
import { readConfig } from "../ops/config.ts";
import { openDocuments } from "../ops/stores.ts";
import { type ClusterOf, clusterOf } from "../test/harness/cluster-of.ts";
import { keyWithoutLimits, unlinked } from "./harness.ts";

/** Settings with which a node fetches as fast as it can. */
export const UNLIMITED = { TRAWL_POLITE_DELAY_MS: "0", TRAWL_POLITE_CONCURRENCY: "64" };

/** Without nodes; by default its nodes fetch as fast as they can. */
export async function clusterWithout(
  settings: Readonly<Record<string, string>> = UNLIMITED,
): Promise<ClusterOf> {
  const cluster = await clusterOf([], { own: ["documents", "blobs"], environment: settings });
  if (!cluster) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
  return cluster;
}

/** The process id of a new node whose threads run on one core. */
export async function joinedOn(
  core: number,
  cluster: ClusterOf,
  roles: string,
  checkout?: string,
): Promise<number> {
  const { pid } = await cluster.add(roles, unlinked(cluster), checkout);
  execFileSync("taskset", ["-acp", String(core), String(pid)], { stdio: "ignore" });
  return pid;
}

export const keyOf = async ({ environment }: ClusterOf): Promise<string> =>
  keyWithoutLimits(await openDocuments(readConfig(environment)));
