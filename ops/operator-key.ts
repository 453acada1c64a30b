/** Reads the operator key in the data folder, without the stores that write it (operator-key-file.ts). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";

export const OPERATOR_KEY_FILE = "operator.key";

export function readOperatorKey({ storage }: Pick<Config, "storage">): string | null {
  try {
    return readFileSync(join(storage.data_dir, OPERATOR_KEY_FILE), "utf8").trim();
  } catch (problem) {
    // The file of another user has no key of this one.
    if (["ENOENT", "EACCES", "ENOTDIR"].includes((problem as NodeJS.ErrnoException).code!)) return null;
    throw problem;
  }
}
