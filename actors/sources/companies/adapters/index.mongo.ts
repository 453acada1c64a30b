/**
 * The search index in MongoDB: one document per company in a collection of its own, its blocking keys in an array with an
 * index. A company's entry is written with its version as the condition, so a late writer changes nothing.
 */
import { type Collection, MongoClient, MongoServerError } from "mongodb";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { keysOfNames, MAX_POSTINGS, rankByKeys } from "../search-keys.ts";
import { type CompanyIndex, type IndexedCompany, type IndexFilter, namesOf } from "../search-index.ts";

const COLLECTION = "company_index";
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
  readonly status: string;
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

  return {
    put: (company) =>
      reach(`index "${company.id}"`, async () => {
        const { id, version, country, status, legal_form } = company;
        const keys = keysOfNames(namesOf(company));
        const values = { version, keys, country, status, legal_form, entry: JSON.stringify(company) };
        try {
          await collection.updateOne(
            { _id: id, version: { $lte: version } },
            { $set: values },
            { upsert: true },
          );
        } catch (problem) {
          // The stored entry is of a later version, so the condition did not fit and the insert met it.
          if (!(problem instanceof MongoServerError && problem.code === DUPLICATE_KEY)) throw problem;
        }
      }),
    remove: (id) =>
      reach(`remove "${id}"`, async () => {
        await collection.deleteOne({ _id: id });
      }),
    candidates: (names, filter, limit) =>
      reach("search companies", async () => {
        const conditions = conditionsOf(filter);
        const within = JSON.stringify(conditions);
        const isCommon = (key: number): boolean => common.has(`${key} ${within}`);
        const learn = (postings: Postings): Postings => {
          for (const { key, companies } of postings)
            if (companies.length > MAX_POSTINGS) {
              if (common.size >= MAX_COMMON_KEYS) common.clear();
              common.add(`${key} ${within}`);
            }
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
        const ids = rankByKeys(postings, limit);
        const entries = await collection
          .find({ _id: { $in: [...ids] } }, { projection: { entry: 1 } })
          .toArray();
        const byId = new Map(entries.map(({ _id, entry }) => [_id, JSON.parse(entry) as IndexedCompany]));
        return ids.flatMap((id) => byId.get(id) ?? []);
      }),
    size: () => reach("count companies", () => collection.countDocuments()),
    close: () => client.close(),
  };
}

const conditionsOf = (filter: IndexFilter): Partial<Entry> =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
