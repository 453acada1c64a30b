/** The file in the data directory with the operator key of the command line. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyFile } from "../actors/business/accounts/operator-key.ts";
import type { Config } from "./config.ts";
import { dataPath } from "./stores.ts";

const FILE_NAME = "operator.key";
const PRIVATE_FILE = 0o600;

export const operatorKeyFile = ({ storage }: Config): KeyFile => ({
  read() {
    try {
      return readFileSync(join(storage.data_dir, FILE_NAME), "utf8").trim();
    } catch (problem) {
      // Of another user, it is no key of this one.
      if (["ENOENT", "EACCES", "ENOTDIR"].includes((problem as NodeJS.ErrnoException).code!)) return null;
      throw problem;
    }
  },
  write(key) {
    const path = dataPath(storage.data_dir, FILE_NAME, storage.durability);
    const draft = `${path}.new`;
    writeFileSync(draft, `${key}\n`, { mode: PRIVATE_FILE, flush: storage.durability === "power" });
    renameSync(draft, path);
  },
  remove: () => rmSync(join(storage.data_dir, FILE_NAME), { force: true }),
});
