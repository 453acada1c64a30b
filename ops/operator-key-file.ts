/** The file in the data directory with the operator key of the command line. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyFile } from "../actors/business/accounts/operator-key.ts";
import type { Config } from "./config.ts";
import { OPERATOR_KEY_FILE as FILE_NAME, readOperatorKey } from "./operator-key.ts";
import { dataPath } from "./stores.ts";

const PRIVATE_FILE = 0o600;

export const operatorKeyFile = ({ storage }: Pick<Config, "storage">): KeyFile => ({
  read: () => readOperatorKey({ storage }),
  write(key) {
    const path = dataPath(storage.data_dir, FILE_NAME, storage.durability);
    const draft = `${path}.new`;
    writeFileSync(draft, `${key}\n`, { mode: PRIVATE_FILE, flush: storage.durability === "power" });
    renameSync(draft, path);
  },
  remove: () => rmSync(join(storage.data_dir, FILE_NAME), { force: true }),
});
