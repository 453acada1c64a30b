/** Which server carries the HTTP port here: uWebSockets.js where its native module loads, node:http elsewhere. */
import type { Listen } from "../http.ts";
import { listenNode } from "./http.node.ts";
import { loadUws } from "./http.uws.ts";

export interface Chosen {
  readonly listen: Listen;
  /** A sentence for the operator: which server, and why not the faster one. */
  readonly sentence: string;
}

export interface Wishes {
  /** node:http, whose TLS is Node's own and is renewed while it serves (ops/decisions/0041-tls-by-node.md). */
  readonly isTls: boolean;
  /** The operator wants node:http (ops/decisions/0143-http-1-0.md). */
  readonly isNode: boolean;
}

/** ABIs of Node 18, 20 and 22: what the package has builds for. Asked first: its own error blames the version for any failure. */
const UWS_ABIS: ReadonlySet<string> = new Set(["108", "115", "127"]);

export async function chooseHttp(
  { isTls, isNode }: Wishes = { isTls: false, isNode: false },
  load: () => Promise<Listen> = loadUws,
  runtime: Pick<NodeJS.ProcessVersions, "node" | "modules"> = process.versions,
): Promise<Chosen> {
  if (isTls) return { listen: listenNode, sentence: "HTTPS by node:http" };
  if (isNode) return { listen: listenNode, sentence: "HTTP by node:http" };
  if (!UWS_ABIS.has(runtime.modules)) return withNode(`has no build for Node ${runtime.node}`);
  try {
    return { listen: await load(), sentence: "HTTP by uWebSockets.js" };
  } catch (problem) {
    const [reason] = String(problem instanceof Error ? problem.message : problem).split("\n");
    return withNode(`does not load here (${reason!.trim()})`);
  }
}

const withNode = (why: string): Chosen => ({
  listen: listenNode,
  sentence: `HTTP by node:http: uWebSockets.js ${why}; cached answers cost about twice the CPU time`,
});
