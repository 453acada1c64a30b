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

export async function chooseHttp(
  { isTls, isNode }: Wishes = { isTls: false, isNode: false },
  load: () => Promise<Listen> = loadUws,
): Promise<Chosen> {
  if (isTls) return { listen: listenNode, sentence: "HTTPS by node:http" };
  if (isNode) return { listen: listenNode, sentence: "HTTP by node:http" };
  try {
    return { listen: await load(), sentence: "HTTP by uWebSockets.js" };
  } catch (problem) {
    const [reason] = String(problem instanceof Error ? problem.message : problem).split("\n");
    return {
      listen: listenNode,
      sentence: `HTTP by node:http: uWebSockets.js does not load here (${reason!.trim()})`,
    };
  }
}
