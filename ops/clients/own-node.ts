/** A node of this checkout, in this process, on stores in a folder of its own: for programs that read what it serves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../compose.ts";
import { readConfig } from "../config.ts";

const NO_FILE = (path: string): never => {
  throw new Error(`Cannot read "${path}": this node is given no files`);
};

/** `settings`: further environment variables. `use` is given the node's address; the node ends with it. */
export async function withOwnNode<T>(
  settings: Readonly<Record<string, string>>,
  use: (address: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-own-node-"));
  const environment = {
    HOST: "127.0.0.1",
    PORT: "0",
    TRAWL_DATA_DIR: folder,
    TRAWL_ADMIN_KEY: "ak_clients_0123456789abcdef",
    TRAWL_CHROMIUM_PATH: "none",
    TRAWL_LOG_LEVEL: "error",
    ...settings,
  };
  const node = await start(readConfig(environment, NO_FILE));
  try {
    return await use(node.address);
  } finally {
    await node.stop(0);
    rmSync(folder, { recursive: true });
  }
}
