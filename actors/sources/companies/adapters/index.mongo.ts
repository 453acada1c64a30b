/**
 * The search index in MongoDB: one document per company in a collection of its own, its blocking keys in an array with an
 * index. A company's entry is written with its version as the condition, so a late writer changes nothing.
 */
import { type AnyBulkWriteOperation, type Collection, MongoBulkWriteError, MongoClient } from "mongodb";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { commonAbove, frequenciesOf, keysOfNames, MAX_POSTINGS, rankByKeys } from "../search-keys.ts";
import {
  type CompanyEntry,
  type CompanyIndex,
  type IndexFilter,
  type IndexState,
  namesOf,
} from "../search-index.ts";

const COLLECTION = "company_index";
const STATE_COLLECTION = "company_index_state";
const STATE = "index";
/** Entries in one command. */
const WRITTEN_AT_ONCE = 500;
const COMMAND_MS = 5_000;
const DUPLICATE_KEY = 11_000;
/** Companies that are read for all keys of a search at once; more have a common key among theirs, and are read by key. */
const MAX_TOGETHER = 2 * MAX_POSTINGS;
/** Common keys that a node remembers; then it forgets them all. */
const MAX_COMMON_KEYS = 100_000;

type Postings = readonly { readonly key: number; readonly companies: readonly string[] }[];

interface Entry {
  readonly _id: string;
  readonly version: number;
  readonly keys: readonly number[];
  readonly country: string | null;
  readonly status: string | null;
  readonly legal_form: string | null;
  /** JSON of the indexed company. */
  readonly entry: string;
}

export function mongoCompanyIndex(address: string): CompanyIndex {
  const client = new MongoClient(address, {
    serverSelectionTimeoutMS: COMMAND_MS,
    socketTimeoutMS: COMMAND_MS,
    connectTimeoutMS: COMMAND_MS,
  });
  const name = /^[^:]+:\/\/[^/]+\/([^/?]+)/.exec(address)?.[1] ?? "trawl";
  const collection: Collection<Entry> = client.db(name).collection<Entry>(COLLECTION);
  const states: Collection<IndexState & { readonly _id: string }> = client
    .db(name)
    .collection(STATE_COLLECTION);
  let indexes: Promise<unknown> | null = null;
  /**
   * Keys, each with its filter, that were on more companies than count. They are read again only when no other key finds
   * anything, as `rankByKeys` uses them: most postings of a search would be theirs.
   */
  const common = new Set<string>();

  async function prepare(): Promise<void> {
    indexes ??= collection.createIndexes([{ key: { keys: 1 } }]);
    try {
      await indexes;
    } catch (problem) {
      indexes = null;
      throw problem;
    }
  }

  async function reach<T>(what: string, command: () => Promise<T>): Promise<T> {
    try {
      await prepare();
      return await command();
    } catch (cause) {
      throw new Fault("documents_unreachable", `Cannot ${what} in "${COLLECTION}"`, { cause });
    }
  }

  /** Counted up to where a word is common; that it is, the node remembers. */
  async function readFrequencies(
    names: readonly string[],
    companies: number,
  ): Promise<ReadonlyMap<string, number>> {
    const limit = Math.ceil(commonAbove(companies)) + 1;
    const keys: number[] = [];
    frequenciesOf(names, (key) => keys.push(key));
    const counts = await Promise.all(
      keys.map(async (key): Promise<[number, number]> => {
        if (common.has(`${key} of all`)) return [key, limit];
        const count = await collection.countDocuments({ keys: key }, { limit });
        if (count === limit) remember(`${key} of all`);
        return [key, count];
      }),
    );
    const byKey = new Map(counts);
    return frequenciesOf(names, (key) => byKey.get(key) ?? 0);
  }

  function remember(key: string): void {
    if (common.size >= MAX_COMMON_KEYS) common.clear();
    common.add(key);
  }

  return {
    put: (entries) =>
      reach(`index ${entries.length} companies`, async () => {
        const writes = [...new Map(entries.map((each) => [each.id, each])).values()].map(writeOf);
        for (let at = 0; at < writes.length; at += WRITTEN_AT_ONCE)
          await writeAll(collection, writes.slice(at, at + WRITTEN_AT_ONCE));
      }),
    remove: (ids) =>
      reach(`remove ${ids.length} companies`, async () => {
        if (ids.length > 0) await collection.deleteMany({ _id: { $in: [...ids] } });
      }),
    candidates: ({ names, filter }, limit) =>
      reach("search companies", async () => {
        const conditions = conditionsOf(filter);
        const within = JSON.stringify(conditions);
        const isCommon = (key: number): boolean => common.has(`${key} ${within}`);
        const learn = (postings: Postings): Postings => {
          for (const { key, companies } of postings)
            if (companies.length > MAX_POSTINGS) remember(`${key} ${within}`);
          return postings;
        };

        /** The companies of all these keys in one command; null: they are more than it reads. */
        async function readTogether(keys: readonly number[]): Promise<Postings | null> {
          const found = await collection
            .aggregate<{ readonly _id: string; readonly shared: readonly number[] }>([
              { $match: { keys: { $in: [...keys] }, ...conditions } },
              { $limit: MAX_TOGETHER + 1 },
              { $project: { shared: { $setIntersection: ["$keys", [...keys]] } } },
            ])
            .toArray();
          if (found.length > MAX_TOGETHER) return null;
          const postings = new Map<number, string[]>(keys.map((key) => [key, []]));
          for (const { _id, shared } of found) for (const key of shared) postings.get(key)!.push(_id);
          return learn([...postings].map(([key, companies]) => ({ key, companies })));
        }

        const readEach = async (keys: readonly number[]): Promise<Postings> =>
          learn(
            await Promise.all(
              keys.map(async (key) => {
                const found = collection
                  .find({ keys: key, ...conditions }, { projection: { _id: 1 } })
                  .limit(MAX_POSTINGS + 1);
                return { key, companies: (await found.toArray()).map(({ _id }) => _id) };
              }),
            ),
          );

        const keys = keysOfNames(names);
        const rare = keys.filter((key) => !isCommon(key));
        let postings = (await readTogether(rare)) ?? (await readEach(rare));
        if (!postings.some(({ companies }) => companies.length > 0 && companies.length <= MAX_POSTINGS))
          postings = await readEach(keys);
        const ids = rankByKeys(
          postings.map(({ companies }) => ({ count: companies.length, companies: () => companies })),
          limit,
        );
        const entries = await collection
          .find({ _id: { $in: [...ids] } }, { projection: { entry: 1 } })
          .toArray();
        const byId = new Map(entries.map(({ _id, entry }) => [_id, JSON.parse(entry) as CompanyEntry]));
        const companies = await collection.estimatedDocumentCount();
        return {
          entries: ids.flatMap((id) => byId.get(id) ?? []),
          frequencies: await readFrequencies(names, companies),
          companies,
        };
      }),
    count: () => reach("count companies", () => collection.countDocuments()),
    readState: () =>
      reach("read how far the index is made", async () => {
        const stored = await states.findOne({ _id: STATE });
        return stored ? { layout: stored.layout, through: stored.through } : null;
      }),
    writeState: (state) =>
      reach("write how far the index is made", async () => {
        await states.replaceOne({ _id: STATE }, state, { upsert: true });
      }),
    close: () => client.close(),
  };
}

const conditionsOf = (filter: IndexFilter): Partial<Entry> =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));

function writeOf(company: CompanyEntry): AnyBulkWriteOperation<Entry> {
  const { id, version = 0, country = null, status = null, legal_form = null } = company;
  const keys = keysOfNames(namesOf(company));
  const values = { version, keys, country, status, legal_form, entry: JSON.stringify(company) };
  return {
    updateOne: { filter: { _id: id, version: { $lte: version } }, update: { $set: values }, upsert: true },
  };
}

async function writeAll(
  collection: Collection<Entry>,
  writes: AnyBulkWriteOperation<Entry>[],
): Promise<void> {
  try {
    if (writes.length > 0) await collection.bulkWrite(writes, { ordered: false });
  } catch (problem) {
    // The stored entry is of a later version, so the condition did not fit and the insert met it.
    const failed = problem instanceof MongoBulkWriteError ? [problem.writeErrors].flat() : [];
    if (failed.length === 0 || failed.some(({ code }) => code !== DUPLICATE_KEY)) throw problem;
  }
}
