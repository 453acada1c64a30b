/** Secrets with keys that a test chooses. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { aesSecrets, type SecretKey, secretKey } from "../../cluster/adapters/secrets/secrets.aes.ts";
import type { Secrets } from "../../cluster/ports/secrets.ts";

/** The first key seals, all of them read. */
export const secretsOf = (...keys: readonly [SecretKey, ...SecretKey[]]): Secrets =>
  aesSecrets({ current: () => keys[0], find: (id) => keys.find((key) => key.id === id), all: () => keys });

/** Secrets that every node of a test shares. */
export const SAME_SECRETS = secretsOf(secretKey(Buffer.alloc(32, 7)));

/** The file of a new key that all nodes of a cluster are given. */
export function secretsFileIn(folder: string): string {
  const path = join(folder, "cluster-secrets.key");
  writeFileSync(path, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
  return path;
}
