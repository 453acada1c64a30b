/** The file with the keys of stored secrets: one key a line, base64 of 32 bytes; `#` begins a comment. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../cluster/adapters/files/durable-files.ts";
import { SECRET_KEY_BYTES, type SecretKey, secretKey } from "../cluster/adapters/secrets/secrets.aes.ts";
import { SecretsError } from "./secrets-error.ts";

/** More lines are a mistake. */
const MAX_KEYS = 20;

/** Null: there is no file. Throws SecretsError. */
export function readKeyFile(path: string): readonly SecretKey[] | null {
  if (!existsSync(path)) return null;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (problem) {
    throw new SecretsError(`Cannot read the keys of secrets from "${path}": ${(problem as Error).message}`);
  }
  const lines = text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
  const keys = lines.map((line, at) => {
    const bytes = Buffer.from(line, "base64");
    if (bytes.length !== SECRET_KEY_BYTES)
      throw new SecretsError(
        `Cannot read the keys of secrets from "${path}": key ${at + 1} is not ${SECRET_KEY_BYTES} bytes in base64, as of ` +
          "openssl rand -base64 32",
      );
    return secretKey(bytes);
  });
  if (keys.length === 0 || keys.length > MAX_KEYS)
    throw new SecretsError(
      `Cannot read the keys of secrets from "${path}": it has ${keys.length} keys, and 1 to ${MAX_KEYS} are expected`,
    );
  return keys;
}

/** Whole or not at all, readable for its owner only. */
export function writeKeyFile(path: string, keys: readonly SecretKey[]): void {
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { force: true });
  const descriptor = openSync(unfinished, "wx", 0o600);
  const lines = keys.map(({ id, bytes }) => `${bytes.toString("base64")} # ${id}\n`);
  try {
    writeSync(
      descriptor,
      `# Keys of Trawl's stored secrets, the current one first. Keep a copy apart from the data.\n${lines.join("")}`,
    );
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, path);
  makeFolder(dirname(path), "power");
}
