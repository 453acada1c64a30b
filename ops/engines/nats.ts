/** NATS with JetStream on: one server, its store in the data folder. */
import { firstWords } from "./adapters/process.ts";
import type { Program } from "./engine.ts";

/** What `cluster/README.md` asks for in production; older servers lack atomic batches. */
export const NATS_AT_LEAST = [2, 12] as const;

export function nats(binary: string, version: string): Program {
  return {
    name: "bus",
    title: `nats-server ${version}`,
    command: (data, port) => [binary, "-js", "-sd", data, "-a", "127.0.0.1", "-p", String(port)],
    // It speaks first: INFO and JSON, in one line.
    answers: async (port) => (await firstWords(port)).includes('"jetstream":true'),
    settings: (port) => ({ TRAWL_BUS: `nats://127.0.0.1:${port}` }),
  };
}
