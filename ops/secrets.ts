/**
 * The keys of stored secrets: the file (secrets-file.ts), and the document `secrets/keys`, by which every node and command sees
 * that it has the key of the documents. The document says which key seals; all keys of the file read. rotate-secrets.ts changes
 * the key, reseal.ts seals everything anew after a change.
 */
import {
  aesSecrets,
  newSecretKey,
  type SecretKey,
  type SecretKeyName,
} from "../cluster/adapters/secrets/secrets.aes.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents, Versioned } from "../cluster/ports/documents.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Secrets } from "../cluster/ports/secrets.ts";
import type { Config } from "./config.ts";
import { repeatedly } from "./every-minute.ts";
import { SecretsError } from "./secrets-error.ts";
import { readKeyFile, writeKeyFile } from "./secrets-file.ts";
import { dataPath } from "./stores.ts";
import { collection } from "../cluster/collection.ts";

const KEY = "keys";
const FILE = "secrets.key";
const SETTING = "TRAWL_SECRETS_KEY_FILE";
/** A running node follows a change of the key within this time. */
export const FOLLOW_MS = 5_000;

/** The document. */
export interface KeysRecord {
  readonly current: SecretKeyName;
  /** Keys with which something may still be sealed. */
  readonly former: readonly SecretKeyName[];
  /** The id of the key with which everything was sealed when that was last proved; null: texts in clear may be left. */
  readonly all_sealed_with: string | null;
}

export const SECRETS = collection<KeysRecord>("secrets");

export interface OpenSecrets extends Secrets {
  readonly path: string;
  readonly current: () => SecretKeyName;
  /** Whether everything was sealed with the current key when the secrets were opened. */
  readonly isAllSealed: boolean;
}

export const secretsPath = ({ storage }: Config): string =>
  storage.secrets_key_file ?? dataPath(storage.data_dir, FILE, storage.durability);

/** Whether the file is the one that the first start makes: then Trawl changes it, else only the operator does. */
export const isOwnFile = ({ storage }: Config): boolean => storage.secrets_key_file === undefined;

export const readKeysRecord = (documents: Documents): Promise<Versioned<KeysRecord> | null> =>
  SECRETS.read(documents, KEY);

/** Changes the record, which exists. Throws Fault. */
export async function changeKeysRecord(
  documents: Documents,
  change: (record: KeysRecord) => KeysRecord,
): Promise<KeysRecord> {
  const changed = await SECRETS.update(documents, KEY, (record) => ({ value: change(record!) }));
  return changed!.value;
}

/** The first start: the key of the file, or a new one. */
async function createKeys(config: Config, documents: Documents): Promise<void> {
  const path = secretsPath(config);
  let keys = readKeyFile(path);
  if (keys === null) {
    if (!isOwnFile(config))
      throw new SecretsError(
        `Cannot read the keys of secrets: ${SETTING} names "${path}", and there is no such file. Make it with ` +
          "openssl rand -base64 32, the same for every node",
      );
    keys = [newSecretKey()];
    writeKeyFile(path, keys);
  }
  const { id, check } = keys[0]!;
  const record: KeysRecord = { current: { id, check }, former: [], all_sealed_with: null };
  // Another node may have been first: its key is the one to have.
  await SECRETS.put(documents, KEY, record, 0);
}

/** Throws SecretsError when this node has not the key of the documents, Fault when they do not answer. */
export async function openSecrets(
  config: Config,
  documents: Documents,
  clock: Pick<Clock, "now">,
): Promise<OpenSecrets & { readonly follow: () => Promise<void> }> {
  const path = secretsPath(config);
  const stored = await readKeysRecord(documents);
  if (stored === null) await createKeys(config, documents);
  const record = stored?.value ?? (await readKeysRecord(documents))!.value;
  let keys = readKeyFile(path) ?? [];
  let current = own(keys, record.current) ?? missing(path, keys, record.current);
  let read_ms = clock.now();

  /** The file again: a command may have added a key. At most once a second, because clients can ask for what is sealed. */
  function readAgain(): void {
    if (Math.abs(clock.now() - read_ms) < 1_000) return;
    read_ms = clock.now();
    keys = readKeyFile(path) ?? keys;
  }

  function find(id: string): SecretKey | undefined {
    const known = keys.find((key) => key.id === id);
    if (known) return known;
    readAgain();
    return keys.find((key) => key.id === id);
  }

  return {
    ...aesSecrets({ current: () => current, find, all: () => keys }),
    path,
    current: () => ({ id: current.id, check: current.check }),
    isAllSealed: record.all_sealed_with === current.id,
    /** Seals with the key of the record from now on. Throws SecretsError when the file has it not. */
    async follow() {
      const wanted = (await readKeysRecord(documents))?.value.current;
      if (!wanted || wanted.id === current.id) return;
      keys = readKeyFile(path) ?? keys;
      current = own(keys, wanted) ?? missing(path, keys, wanted);
    },
  };
}

/** Follows a change of the key while the node runs. */
export const followSecrets = (
  { follow }: { readonly follow: () => Promise<void> },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Disposable =>
  repeatedly(
    {
      clock,
      every_ms: FOLLOW_MS,
      onFailure: (problem) =>
        log.warn("This node does not follow the change of the key of secrets", { problem: String(problem) }),
    },
    follow,
  );

const own = (keys: readonly SecretKey[], wanted: SecretKeyName): SecretKey | undefined =>
  keys.find(({ id, check }) => id === wanted.id && check === wanted.check);

function missing(path: string, keys: readonly SecretKey[], { id }: SecretKeyName): never {
  const has = keys.length === 0 ? "does not exist" : `has ${keys.map((key) => `"${key.id}"`).join(", ")}`;
  throw new SecretsError(
    `Cannot use the stored secrets: the documents are sealed with key "${id}", and "${path}" ${has}. Give every node the same ` +
      `file in ${SETTING}, or put the key back; if it is lost, trawl secrets rotate --lost gives up what it sealed`,
  );
}
