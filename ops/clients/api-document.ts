/** The API document of clients, as a node of this checkout serves it: the node runs in this process, on stores in a folder of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../compose.ts";
import { readConfig } from "../config.ts";
import type { ApiDocument } from "./api-model.ts";

const NO_FILE = (path: string): never => {
  throw new Error(`Cannot read "${path}": this node is given no files`);
};

export async function apiDocument(): Promise<ApiDocument> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-clients-"));
  const environment = {
    HOST: "127.0.0.1",
    PORT: "0",
    TRAWL_DATA_DIR: folder,
    TRAWL_ADMIN_KEY: "ak_clients_0123456789abcdef",
    TRAWL_CHROMIUM_PATH: "none",
    TRAWL_LOG_LEVEL: "error",
  };
  const node = await start(readConfig(environment, NO_FILE));
  try {
    const answer = await fetch(new URL("/openapi.json", node.address));
    return (await answer.json()) as ApiDocument;
  } finally {
    await node.stop(0);
    rmSync(folder, { recursive: true });
  }
}
