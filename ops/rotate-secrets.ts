/** The change of the key of stored secrets, as `trawl secrets` does it: the new key into the file, into the record, and over all documents. */
import { newSecretKey } from "../cluster/adapters/secrets/secrets.aes.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Config } from "./config.ts";
import { type Resealed, resealAll } from "./reseal.ts";
import { SecretsError } from "./secrets-error.ts";
import { readKeyFile, writeKeyFile } from "./secrets-file.ts";
import {
  changeKeysRecord,
  FOLLOW_MS,
  isOwnFile,
  openSecrets,
  readKeysRecord,
  secretsPath,
} from "./secrets.ts";

export interface SecretsStatus {
  readonly file: string;
  readonly keys: readonly {
    readonly id: string;
    readonly in_file: boolean;
    /** `seals`, `reads` what is not sealed anew yet, or `unused`. */
    readonly use: "seals" | "reads" | "unused";
  }[];
  readonly all_sealed: boolean;
}

export interface Rotation extends Resealed {
  /** The id of the key that seals now. */
  readonly key: string;
  readonly advice: string;
}

interface RotateOptions {
  /** The key of the documents is lost. */
  readonly lost: boolean;
  readonly wait: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

const MAX_PASSES = 20;

export async function secretsStatus(config: Config, documents: Documents): Promise<SecretsStatus> {
  const record = (await readKeysRecord(documents))?.value ?? null;
  const file = secretsPath(config);
  const in_file = (readKeyFile(file) ?? []).map(({ id }) => id);
  const former = record?.former.map(({ id }) => id) ?? [];
  const current = record?.current.id;
  const ids = new Set([...(current === undefined ? [] : [current]), ...former, ...in_file]);
  return {
    file,
    keys: [...ids].map((id) => ({
      id,
      in_file: in_file.includes(id),
      use: id === current ? "seals" : former.includes(id) ? "reads" : "unused",
    })),
    all_sealed: current !== undefined && record!.all_sealed_with === current,
  };
}

/**
 * In a file that Trawl made a new key is drawn; in a file of the operator the first key is the new one. A rotation that was
 * interrupted goes on with its key. Throws SecretsError, Fault.
 */
export async function rotateSecrets(
  config: Config,
  documents: Documents,
  { lost, wait, now }: RotateOptions,
): Promise<Rotation> {
  const stored = await readKeysRecord(documents);
  if (stored === null)
    throw new SecretsError(
      "Cannot change the key of secrets: the service was never started on these documents",
    );
  const path = secretsPath(config);
  const { current, former } = stored.value;
  let keys = readKeyFile(path) ?? [];
  const has = (id: string): boolean => keys.some((key) => key.id === id);
  if (!has(current.id) && !lost)
    throw new SecretsError(
      `Cannot change the key of secrets: "${path}" has not the key "${current.id}" of the documents. Put it back; --lost gives up what it sealed`,
    );
  if (has(current.id) && lost)
    throw new SecretsError(
      `Cannot give up key "${current.id}": it is not lost, "${path}" has it. Leave --lost out`,
    );
  // An interrupted rotation: its key is the current one already.
  if (former.length === 0 || lost) {
    if (isOwnFile(config)) {
      keys = [newSecretKey(), ...keys];
      writeKeyFile(path, keys);
    }
    const next = keys[0];
    if (next === undefined || next.id === current.id)
      throw new SecretsError(
        `Cannot change the key of secrets: the first key of "${path}" is the current one. Put a new key (openssl rand -base64 32) ` +
          "before it, in the file of every node, and run this again",
      );
    const { id, check } = next;
    await changeKeysRecord(documents, (record) => ({
      current: { id, check },
      former: lost ? [] : [record.current, ...record.former],
      all_sealed_with: null,
    }));
    // A node seals with the former key until it has seen the record.
    await wait(2 * FOLLOW_MS);
  }
  const secrets = await openSecrets(config, documents, { now });
  let result: Resealed = { changed: 0, unreadable: 0 };
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const { changed, unreadable } = await resealAll(documents, secrets, { gives_up: lost });
    result = {
      changed: result.changed + changed,
      unreadable: lost ? result.unreadable + unreadable : unreadable,
    };
    if (changed === 0) break;
  }
  const { id } = secrets.current();
  if (result.unreadable > 0 && !lost)
    return {
      ...result,
      key: id,
      advice: `The former keys stay: ${result.unreadable} texts were not read (trawl secrets status shows the keys)`,
    };
  await changeKeysRecord(documents, (record) => ({ ...record, former: [], all_sealed_with: id }));
  if (!isOwnFile(config))
    return { ...result, key: id, advice: `Remove all keys but the first from "${path}" on every node` };
  writeKeyFile(path, [keys.find((key) => key.id === id)!]);
  return {
    ...result,
    key: id,
    advice: `The former key was removed from "${path}": keep a copy of the file apart from the data`,
  };
}
