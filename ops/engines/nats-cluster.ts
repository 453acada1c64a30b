/**
 * Three servers of NATS that form a cluster, for the suites. The first two connect
 * to each other and to the third, which connects to none: a test that puts a link before its port can cut it off from the others.
 * A server of NATS tells the others where it is reached, and they connect there too. So the first two tell an address
 * where nothing listens: told their own, the third would connect to them past the link.
 */
import { freePort, start } from "./adapters/process.ts";
import type { Engine, Program, Settings } from "./engine.ts";

export const SERVERS = ["n1", "n2", "n3"] as const;

/** A port where no server listens. */
const NOWHERE = 1;

export interface NatsCluster {
  /** In the order of SERVERS. */
  readonly servers: readonly Engine[];
  readonly settings: Settings;
  readonly stop: () => Promise<void>;
}

/** `through`: the port through which the others reach the third server. Default: its own. */
export async function startNatsCluster(
  program: Program,
  through: (port: number) => Promise<number> = async (port) => port,
): Promise<NatsCluster> {
  const { inCluster } = program;
  if (!inCluster) throw new Error(`Cannot start ${program.title} as a cluster`);
  const [first, second, third] = [await freePort(), await freePort(), await freePort()];
  const to_third = await through(third);
  const members = [
    { listens_at: first, reached_at: NOWHERE, routes: [second, to_third] },
    { listens_at: second, reached_at: NOWHERE, routes: [first, to_third] },
    // NATS wants a route in a cluster, and ignores one to itself.
    { listens_at: third, reached_at: to_third, routes: [to_third] },
  ];
  const starting = members.map((member, n) =>
    start(inCluster({ server: SERVERS[n]!, cluster: `trawl-${first}`, ...member })),
  );
  const stop = async (): Promise<void> => {
    await Promise.allSettled(starting.map(async (server) => (await server).stop()));
  };
  const servers = await Promise.all(starting).catch(async (problem: unknown) => {
    await stop();
    throw problem;
  });
  const addresses = servers.map(({ port }) => `nats://127.0.0.1:${port}`);
  return { servers, settings: { TRAWL_BUS: addresses.join(",") }, stop };
}
