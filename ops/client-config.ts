/**
 * The settings of commands that are clients of the service: where it is, its keys, and the data folder with the operator key. Without those of the
 * slices a command starts in a third of the CPU time (ops/decisions/0232-the-command-line.md).
 */
import { NODE_SECTIONS, type NodeConfig } from "../node/node-settings.ts";
import { checked, type Environment, readSections } from "./settings-reader.ts";

const { client, gateway, storage } = NODE_SECTIONS;

export type ClientConfig = Pick<NodeConfig, "client" | "gateway" | "storage">;

/** Throws ConfigError. */
export function readClientConfig(
  environment: Environment,
  readFile?: (path: string) => string,
): ClientConfig {
  const { config, mistakes } = readSections({ client, gateway, storage }, environment, readFile);
  return checked(config as ClientConfig, mistakes);
}
