/**
 * Profiles of the command line: services with their keys, in a file of this user's. A key of it is sent to the address beside it and to no other.
 * Only commands that are clients read it.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandError, EXIT } from "./commands/context.ts";
import type { Environment } from "./settings-reader.ts";

interface Profile {
  readonly url: string;
  readonly key: string;
}

export interface Profiles {
  /** The one that is taken where none is named; null: none is. */
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const NO_PROFILES: Profiles = { current: null, profiles: {} };
export const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
const OF_OTHERS = 0o077;

/** A path in the XDG base directories; on Windows below APPDATA. */
export function profilesPath({ XDG_CONFIG_HOME, APPDATA, HOME }: Environment): string {
  return join(XDG_CONFIG_HOME || APPDATA || join(HOME || homedir(), ".config"), "trawl", "profiles.json");
}

/** Throws CommandError for a file that others can read, or that is damaged. */
export function readProfiles(path: string): Profiles {
  let content: string;
  try {
    if (process.platform !== "win32" && (statSync(path).mode & OF_OTHERS) !== 0)
      throw new CommandError(`Others can read the keys in "${path}": chmod 600 it`, EXIT.key);
    content = readFileSync(path, "utf8");
  } catch (problem) {
    if (["ENOENT", "ENOTDIR"].includes((problem as NodeJS.ErrnoException).code ?? "")) return NO_PROFILES;
    throw problem;
  }
  const read = parsed(content);
  if (read === null) throw new CommandError(`Cannot read "${path}": it holds no profiles`, EXIT.usage);
  return read;
}

function parsed(content: string): Profiles | null {
  try {
    const { current, profiles } = JSON.parse(content) as Profiles;
    const all = Object.values(profiles);
    const isWhole = all.every(({ url, key }) => typeof url === "string" && typeof key === "string");
    return isWhole && (current === null || typeof current === "string") ? { current, profiles } : null;
  } catch {
    return null;
  }
}

export function writeProfiles(path: string, profiles: Profiles): void {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: PRIVATE_FILE });
  chmodSync(draft, PRIVATE_FILE);
  renameSync(draft, path);
}

/** Throws CommandError where the file has no such profile. */
export function profileNamed({ profiles }: Profiles, name: string): Profile {
  if (!Object.hasOwn(profiles, name))
    throw new CommandError(
      `There is no profile "${name}"; there are: ${Object.keys(profiles).join(", ") || "none (trawl login)"}`,
      EXIT.usage,
    );
  return profiles[name]!;
}
