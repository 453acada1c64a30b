/**
 * The program of version 0.1.0 with its own packages, as it wrote the oldest data that this version migrates (format 2). `.ci/run`
 * installs it out of this repository's history, by `test/harness/earlier-version.sh`; EARLIER_VERSION names another folder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "./service.ts";

export interface EarlierVersion {
  /** The folder of its checkout. */
  readonly checkout: string;
  /** Without the settings that it does not know, which it would refuse to start with. */
  readonly settings: (environment: Environment) => Environment;
}

const FOLDER = process.env["EARLIER_VERSION"] ?? "/opt/trawl-0.1.0";

/** Settings of scenarios that the earlier version does not know. */
const UNKNOWN = new Set([
  "TRAWL_CHROMIUM_SANDBOX",
  "TRAWL_DEMO",
  "TRAWL_EGRESS_ALLOW_PROJECTS",
  "TRAWL_GLEIF_URL",
  "TRAWL_OPENFIGI_URL",
  "TRAWL_OPERATOR_KEY",
  "TRAWL_SECRETS_KEY_FILE",
  "TRAWL_WARM_READERS",
]);

/** Null where it is not installed. */
export const EARLIER_VERSION: EarlierVersion | null = existsSync(join(FOLDER, "node_modules/undici"))
  ? {
      checkout: FOLDER,
      settings: (environment) =>
        Object.fromEntries(Object.entries(environment).filter(([name]) => !UNKNOWN.has(name))),
    }
  : null;
