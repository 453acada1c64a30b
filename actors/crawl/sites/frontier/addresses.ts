/**
 * Which addresses a crawl knows, and what has become of each: 64 bits of a digest an address that is keyed with the crawl's id,
 * so that no site can make two of its addresses look alike, and no text. 9 bytes an address, and 5 to 10 in the table.
 */
import { hash } from "node:crypto";

const SEGMENT = 4_096;
const NONE = -1;
const MAX_LOAD = 0.8;

export const WAITING = 0;
export const ADMITTED = 1;
export const EXCLUDED = 2;
/** Excluded by how it was found: another link to it may change that. */
export const REVOCABLE = 3;

export interface Addresses {
  readonly count: () => number;
  /** The ordinal of an address; -1: it is not known. */
  readonly find: (key: string) => number;
  /** Adds an address that is not known, and returns its ordinal. */
  readonly add: (key: string, status: number) => number;
  readonly statusOf: (ordinal: number) => number;
  readonly setStatus: (ordinal: number, status: number) => void;
  readonly bytes: () => number;
}

export function addresses(salt: string): Addresses {
  // In segments, so that growing copies nothing.
  const low: Uint32Array[] = [];
  const high: Uint32Array[] = [];
  const status: Uint8Array[] = [];
  /** Ordinals plus one, by open addressing; 0: free. */
  let places = new Uint32Array(1_024);
  let count = 0;
  const at = (segments: readonly Uint32Array[], ordinal: number): number =>
    segments[Math.floor(ordinal / SEGMENT)]![ordinal % SEGMENT]!;

  const digestOf = (key: string): readonly [low: number, high: number] => {
    const digest = hash("sha256", `${salt} ${key}`, "buffer");
    return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
  };

  function occupy(ordinal: number, first: number): void {
    const mask = places.length - 1;
    let place = first & mask;
    while (places[place] !== 0) place = (place + 1) & mask;
    places[place] = ordinal + 1;
  }

  function find(l: number, h: number): number {
    const mask = places.length - 1;
    for (let place = l & mask; places[place] !== 0; place = (place + 1) & mask) {
      const ordinal = places[place]! - 1;
      if (at(low, ordinal) === l && at(high, ordinal) === h) return ordinal;
    }
    return NONE;
  }

  return {
    count: () => count,
    find: (key) => find(...digestOf(key)),
    add(key, its_status) {
      if (count % SEGMENT === 0) {
        low.push(new Uint32Array(SEGMENT));
        high.push(new Uint32Array(SEGMENT));
        status.push(new Uint8Array(SEGMENT));
      }
      if (count >= places.length * MAX_LOAD) {
        places = new Uint32Array(places.length * 2);
        for (let ordinal = 0; ordinal < count; ordinal++) occupy(ordinal, at(low, ordinal));
      }
      const [l, h] = digestOf(key);
      low.at(-1)![count % SEGMENT] = l;
      high.at(-1)![count % SEGMENT] = h;
      status.at(-1)![count % SEGMENT] = its_status;
      occupy(count, l);
      return count++;
    },
    statusOf: (ordinal) => status[Math.floor(ordinal / SEGMENT)]![ordinal % SEGMENT]!,
    setStatus(ordinal, its_status) {
      status[Math.floor(ordinal / SEGMENT)]![ordinal % SEGMENT] = its_status;
    },
    bytes: () => low.length * SEGMENT * 9 + places.byteLength,
  };
}
