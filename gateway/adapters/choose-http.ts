/** Which server carries the HTTP port here: uWebSockets.js where its native module loads, node:http elsewhere. */
import type { Listen } from "../http.ts";
import { listenNode } from "./http.node.ts";
import { loadUws } from "./http.uws.ts";

export interface Chosen {
  readonly listen: Listen;
  /** A sentence for the operator: which server, and why not the faster one. */
  readonly sentence: string;
}

/** `isTls`: node:http, whose TLS is Node's own and is renewed while it serves (ops/decisions/0041-tls-by-node.md). */
export async function chooseHttp(load: () => Promise<Listen> = loadUws, isTls = false): Promise<Chosen> {
  if (isTls) return { listen: listenNode, sentence: "HTTPS by node:http" };
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
