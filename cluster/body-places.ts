/** The places of bodies that share an object, as documents: one for each body under its digest, tagged by the object. */
import type { BodyPlace, BodyPlaces, KnownPlace } from "./ports/body-places.ts";
import type { DocumentEntry, Documents, PutOptions, Versioned } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import { collection } from "./collection.ts";

export const BODY_PLACES = collection<BodyPlace>("body_places");

const LISTED_AT_ONCE = 1_000;

const options = ({ object }: BodyPlace): PutOptions => ({ tag: object });
const known = (sha256: string, { value, version }: Versioned<BodyPlace>): KnownPlace => ({
  sha256,
  place: value,
  version,
});
const listed = (entry: DocumentEntry<BodyPlace>): KnownPlace => known(entry.key, entry);

async function orFault<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    throw new Fault("bodies_unreachable", `Cannot ${what}: ${cause.message}`, { cause });
  }
}

/** After the last key that begins with these digits. */
const endOf = (digits: string): string => `${digits}g`;

export function bodyPlaces(documents: Documents): BodyPlaces {
  return {
    async find(sha256) {
      const stored = await orFault(`find body "${sha256}"`, BODY_PLACES.read(documents, sha256));
      return stored && known(sha256, stored);
    },
    async put(sha256, place, read) {
      const value = { value: place, options: options(place) };
      const before = read && { value: read.place, version: read.version };
      await orFault(
        "store a body",
        BODY_PLACES.update(documents, sha256, () => value, before),
      );
    },
    replace: ({ sha256, version }, place) =>
      orFault("move a body", BODY_PLACES.put(documents, sha256, place, version, options(place))),
    remove: ({ sha256, version }) =>
      orFault(`remove body "${sha256}"`, BODY_PLACES.remove(documents, sha256, version)),
    async *list(digits) {
      for (let from: string | null = digits; from !== null;) {
        const range = { from, to: endOf(digits), limit: LISTED_AT_ONCE };
        const page: readonly DocumentEntry<BodyPlace>[] = await orFault(
          "list bodies",
          BODY_PLACES.list(documents, range),
        );
        yield* page.map(listed);
        from = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
      }
    },
    async within(object) {
      const found = await orFault(
        `look into object "${object}"`,
        BODY_PLACES.list(documents, { tag: object, limit: LISTED_AT_ONCE }),
      );
      return found.map(listed);
    },
  };
}
