/**
 * Collections of documents with the type of their values. A collection is declared once, with what a node has to know of it, and
 * listed by the feature that it belongs to: a node does not start with one that no list names.
 */
import assert from "node:assert/strict";
import type {
  DocumentEntry,
  DocumentPlace,
  Documents,
  KeyRange,
  PutOptions,
  Versioned,
} from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";

/** As the port of documents allows. */
const MAX_READ_AT_ONCE = 1_000;

export interface CollectionTraits {
  /** Its documents have an expiry date and are removed after it. Default: they stay. */
  readonly expires?: boolean;
  /** A cache: a store may lose these documents in a crash. Default: a write that was acknowledged is there. */
  readonly rebuildable?: boolean;
  /** With `rebuildable`: a write that was acknowledged is there all the same, because its documents have facts that cannot be made again. */
  readonly durable?: boolean;
}

export interface Declared extends CollectionTraits {
  readonly name: string;
}

/** The value that `update` stores instead. */
export interface Replacement<V> {
  readonly value: V;
  readonly options?: PutOptions;
}

/** The change that `update` makes to the stored value: null leaves it, "remove" removes the document. */
export type Change<V> = Replacement<V> | "remove" | null;

/** The methods of `Documents`, each with the same faults; `documents` is the store. */
export interface Collection<V> extends Declared {
  /** The value; null: there is no such document. */
  readonly get: (documents: Pick<Documents, "get">, key: string) => Promise<V | null>;
  /** The value with the version to write at. */
  readonly read: (documents: Pick<Documents, "get">, key: string) => Promise<Versioned<V> | null>;
  /** In the order of `keys`; a thousand are read at once. */
  readonly getMany: (
    documents: Pick<Documents, "getMany">,
    keys: readonly string[],
  ) => Promise<readonly (V | null)[]>;
  readonly list: (
    documents: Pick<Documents, "list">,
    range: KeyRange,
  ) => Promise<readonly DocumentEntry<V>[]>;
  readonly put: (
    documents: Pick<Documents, "put">,
    key: string,
    value: V,
    version: number,
    options?: PutOptions,
  ) => Promise<boolean>;
  readonly remove: (documents: Pick<Documents, "remove">, key: string, version: number) => Promise<boolean>;
  readonly removeRange: (
    documents: Pick<Documents, "removeRange">,
    from: string,
    to: string,
  ) => Promise<number>;
  /**
   * Replaces the value by what `change` makes of it, again with the newer value when another writer was first, and answers the
   * document that is stored then. `known`: as the caller has just read it. Throws Fault "document_contended" when other writers
   * were first MAX_ATTEMPTS times, and what `change` throws.
   */
  readonly update: (
    documents: Pick<Documents, "get" | "put" | "remove">,
    key: string,
    change: (stored: V | null) => Change<V> | Promise<Change<V>>,
    known?: Versioned<V> | null,
  ) => Promise<Versioned<V> | null>;
  /** This collection, for those of its documents that have another shape. */
  readonly of: <W>() => Collection<W>;
}

/** Each round of attempts has one writer that is first, so as many writers may change a document at once. */
export const MAX_ATTEMPTS = 100;

const declared = new Map<string, Declared>();

export function collection<V>(name: string, traits: CollectionTraits = {}): Collection<V> {
  assert(!declared.has(name), `The collection "${name}" is declared twice`);
  const made = typed<V>({ name, ...traits });
  declared.set(name, made);
  return made;
}

/** The collections of the loaded modules that are not in a list. */
export const missingFrom = (listed: readonly Declared[]): readonly string[] => {
  const names = new Set(listed.map(({ name }) => name));
  return [...declared.keys()].filter((name) => !names.has(name));
};

/**
 * The loop of every change: `Collection.update` for a collection whose name is all that is known of it, as a migration has it.
 */
export async function updateDocument<V>(
  documents: Pick<Documents, "get" | "put" | "remove">,
  { collection: name, key }: DocumentPlace,
  change: (stored: V | null) => Change<V> | Promise<Change<V>>,
  known?: Versioned<V> | null,
): Promise<Versioned<V> | null> {
  const read = () => documents.get(name, key) as Promise<Versioned<V> | null>;
  let stored = known === undefined ? await read() : known;
  for (let attempt = 1; ; attempt++) {
    const next = await change(stored?.value ?? null);
    if (next === null || (next === "remove" && stored === null)) return stored;
    const version = stored?.version ?? 0;
    if (next === "remove") {
      if (await documents.remove(name, key, version)) return null;
    } else if (await documents.put(name, key, next.value, version, next.options))
      return { value: next.value, version: version + 1 };
    if (attempt === MAX_ATTEMPTS) break;
    stored = await read();
  }
  throw new Fault(
    "document_contended",
    `Cannot change "${name}/${key}": other writers were first ${MAX_ATTEMPTS} times`,
  );
}

/** Here, and in `updateDocument`, a stored value gets its type. */
function typed<V>(declaration: Declared): Collection<V> {
  const { name } = declaration;
  const read: Collection<V>["read"] = (documents, key) =>
    documents.get(name, key) as Promise<Versioned<V> | null>;
  return {
    ...declaration,
    read,
    get: async (documents, key) => (await read(documents, key))?.value ?? null,
    async getMany(documents, keys) {
      const values: (V | null)[] = [];
      for (let from = 0; from < keys.length; from += MAX_READ_AT_ONCE) {
        const part = keys.slice(from, from + MAX_READ_AT_ONCE);
        const found = (await documents.getMany(name, part)) as readonly (Versioned<V> | null)[];
        values.push(...found.map((stored) => stored?.value ?? null));
      }
      return values;
    },
    list: (documents, range) => documents.list(name, range) as Promise<readonly DocumentEntry<V>[]>,
    put: (documents, key, value, version, options) => documents.put(name, key, value, version, options),
    remove: (documents, key, version) => documents.remove(name, key, version),
    removeRange: (documents, from, to) => documents.removeRange(name, from, to),
    update: (documents, key, change, known) =>
      updateDocument(documents, { collection: name, key }, change, known),
    of: <W>() => typed<W>(declaration),
  };
}
