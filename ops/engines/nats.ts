/** NATS with JetStream on: one server, or one of several that form a cluster; its store is in the data folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { firstWords } from "./adapters/process.ts";
import type { ClusterMember, Program } from "./engine.ts";

/** Version that `cluster/README.md` asks for in production; older servers lack atomic batches. */
export const NATS_AT_LEAST = [2, 12] as const;

/** In the data folder of the server. */
export const CONFIGURATION = "nats.conf";
/**
 * Storage that streams may reserve together. By default it is three quarters of what is free on the disk, which some forty clusters with
 * streams of their own have reserved, though they hold a few messages each.
 */
const MAX_RESERVED = "1TB";

/** Without a pool of routes, so that two servers have one connection, which a test can cut. */
const clusterBlock = ({ server, cluster, listens_at, reached_at, routes }: ClusterMember): string =>
  `server_name: ${server}\n` +
  `cluster { name: ${cluster}, listen: "127.0.0.1:${listens_at}", advertise: "127.0.0.1:${reached_at}", ` +
  `no_advertise: true, routes: [${routes.map((port) => `"nats://127.0.0.1:${port}"`).join(", ")}], pool_size: -1 }\n`;

/** `member`: of a cluster. Default: it stands alone. */
export function nats(binary: string, version: string, member: ClusterMember | null = null): Program {
  return {
    name: "bus",
    title: member ? `nats-server ${version} (${member.server})` : `nats-server ${version}`,
    async prepare(data) {
      await mkdir(data, { recursive: true });
      const limits = `store_dir: ${JSON.stringify(data)}, max_file_store: ${MAX_RESERVED}`;
      const cluster = member ? clusterBlock(member) : "";
      await writeFile(join(data, CONFIGURATION), `jetstream { ${limits} }\n${cluster}`);
    },
    inCluster: (of) => nats(binary, version, of),
    command(data, port) {
      const address = ["-a", "127.0.0.1", "-p", String(port)];
      return [binary, "-c", join(data, CONFIGURATION), ...address];
    },
    // It speaks first: INFO and JSON, in one line.
    answers: async (port) => (await firstWords(port)).includes('"jetstream":true'),
    settings: (port) => ({ TRAWL_BUS: `nats://127.0.0.1:${port}` }),
  };
}
