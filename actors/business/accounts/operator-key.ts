/**
 * The operator key that the command line of a machine uses: the one in TRAWL_OPERATOR_KEY, or one that a start draws and keeps in the
 * data directory. Nodes that share their stores keep one together, in the directory of the node that drew it: a document says
 * which key it is, so that nodes without a directory that lasts do not draw one at each start.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { isOperatorKey, type Key } from "../../../schemas/accounts.ts";
import { createKey, digestOf, ensureKey, FIRST_NAME, revokeKey } from "./keys.ts";
import { KEYS, OPERATOR_KEY } from "./collections.ts";

export interface KeyFile {
  /** Null: there is none. */
  readonly read: () => string | null;
  /** Readable for its owner only. */
  readonly write: (key: string) => void;
  readonly remove: () => void;
}

export interface OperatorKeyOptions {
  /** The key in TRAWL_OPERATOR_KEY; null: it is not set. */
  readonly named_key: string | null;
  readonly file: KeyFile;
  /** Whether other nodes use the same documents. */
  readonly is_shared: boolean;
}

const KEPT = "operator key";

/** After prepareAccounts. Throws AccountError, Fault and what the file throws. */
export async function prepareOperatorKey(
  documents: Documents,
  { named_key, file, is_shared }: OperatorKeyOptions,
  now_ms: number,
): Promise<"named" | "revoked" | "kept" | "elsewhere"> {
  const activeKey = async (key_sha256: string): Promise<Key | null> => {
    const key = await KEYS.get(documents, key_sha256);
    return key && key.status === "active" && isOperatorKey(key) ? key : null;
  };
  const stored = await OPERATOR_KEY.read(documents, KEPT);
  const version = stored?.version ?? 0;
  const previous = stored && (await activeKey(stored.value.key_sha256));
  if (named_key !== null) {
    if ((await ensureKey(documents, named_key, "operator", now_ms)) === "revoked") return "revoked";
    // The other nodes of the cluster need not be given the setting.
    if (previous === null)
      await OPERATOR_KEY.put(documents, KEPT, { key_sha256: digestOf(named_key) }, version);
    return "named";
  }
  const own = file.read();
  if (own !== null && (await activeKey(digestOf(own))) !== null) return "kept";
  if (is_shared && previous !== null) return "elsewhere";
  const options = { project: FIRST_NAME, role: "operator", label: "command line" } as const;
  const { key, record } = await createKey(documents, options, now_ms);
  // The file first: a start that dies here is completed by the next one, which finds its key active.
  file.write(key);
  if (!(await OPERATOR_KEY.put(documents, KEPT, { key_sha256: digestOf(key) }, version))) {
    await revokeKey(documents, record.prefix, now_ms);
    // The command line would send a revoked key.
    file.remove();
    return "elsewhere";
  }
  // Its file is lost, so it is of no use to its owner.
  if (previous !== null && previous.label === options.label)
    await revokeKey(documents, previous.prefix, now_ms);
  return "kept";
}
