/**
 * An index of names by the whole name, its beginning, or any part of it. Names are folded and stored as lines of one
 * buffer. Blocks of 64 lines are indexed by the trigrams they contain, so a search reads only the blocks that contain
 * every trigram of the needle; a whole name is found by its hash. 800,000 names take 52 MB. Matches come in the order of
 * the names.
 */
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";

/** The form in which names are compared: no diacritics, upper case, & as AND, one space between words. */
export function foldName(name: string): string {
  const bare = name
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toUpperCase();
  return bare
    .replaceAll("&", " AND ")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

export interface NameIndex {
  readonly count: number;
  /** Calls `onMatch` with the position of each match, in order, until it returns false. */
  readonly find: (
    match: "whole" | "start" | "within",
    folded: string,
    onMatch: (at: number) => boolean,
  ) => void;
}

const NAMES_A_BLOCK = 64;
const LINE_FEED = 0x0a;
/** Trigrams use 6 bits a byte: A to Z, digits, space and line feed have a class each; other bytes share the rest. */
const CLASSES = classes();
const PIECES = 64 ** 3;
/** More trigrams do not reduce the blocks to read, they only cost time. */
const MAX_ASKED = 12;

function classes(): Uint8Array {
  const of = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) of[byte] = 38 + (byte % 26);
  for (let i = 0; i < 26; i++) of[65 + i] = i;
  for (let i = 0; i < 10; i++) of[48 + i] = 26 + i;
  of[0x20] = 36;
  of[LINE_FEED] = 37;
  return of;
}

const pieceAt = (text: Uint8Array, at: number): number =>
  (CLASSES[text[at]!]! << 12) | (CLASSES[text[at + 1]!]! << 6) | CLASSES[text[at + 2]!]!;

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash;
}

/** One algorithm: builds the index of folded names and searches it. Yields to the event loop after every `slice_names` names. */
export async function nameIndex(
  folded: readonly string[],
  yieldToEventLoop: YieldToEventLoop,
  slice_names = 4_096,
): Promise<NameIndex> {
  const { length } = folded;
  let bytes = 1;
  for (let at = 0; at < length; at++) {
    if (at % slice_names === 0) await yieldToEventLoop();
    bytes += 1 + Buffer.byteLength(folded[at]!);
  }
  const text = Buffer.allocUnsafe(bytes);
  /** Where each line begins, its leading line feed included. The last entry is the end of the last line. */
  const starts = new Uint32Array(length + 1);
  let size = 0;
  for (let at = 0; at < length; at++) {
    if (at % slice_names === 0) await yieldToEventLoop();
    starts[at] = size;
    text[size++] = LINE_FEED;
    size += text.write(folded[at]!, size);
  }
  starts[length] = size;
  text[size] = LINE_FEED;

  /** A hash table: by hash the first name, by name the next one with the same hash; position + 1, 0: none. */
  const mask = 2 ** Math.max(4, Math.ceil(Math.log2(length + 1))) - 1;
  const heads = new Uint32Array(mask + 1);
  const nexts = new Uint32Array(length);
  for (let at = length - 1; at >= 0; at--) {
    if (at % slice_names === 0) await yieldToEventLoop();
    const bucket = hashOf(text, starts[at]! + 1, starts[at + 1]!) & mask;
    nexts[at] = heads[bucket]!;
    heads[bucket] = at + 1;
  }

  const blocks = Math.ceil(length / NAMES_A_BLOCK);
  const blockEnd = (block: number): number => starts[Math.min(length, (block + 1) * NAMES_A_BLOCK)]!;
  /** Calls back once for each trigram of each block; the last line feed of a block is the first of the next. */
  const scan = async (each: (piece: number, block: number) => void): Promise<void> => {
    const last = new Uint32Array(PIECES);
    for (let block = 0; block < blocks; block++) {
      if (block % Math.ceil(slice_names / NAMES_A_BLOCK) === 0) await yieldToEventLoop();
      const to = blockEnd(block) - 2;
      for (let at = starts[block * NAMES_A_BLOCK]!; at < to + 1; at++) {
        const piece = pieceAt(text, at);
        if (last[piece] === block + 1) continue;
        last[piece] = block + 1;
        each(piece, block);
      }
    }
  };
  /** Where the blocks of each trigram begin in `postings`. */
  const offsets = new Uint32Array(PIECES + 1);
  await scan((piece) => void offsets[piece + 1]!++);
  for (let piece = 0; piece < PIECES; piece++) offsets[piece + 1]! += offsets[piece]!;
  const postings = new Uint16Array(offsets[PIECES]!);
  // Block numbers have 16 bits: four million names.
  if (blocks > 65_536)
    throw new RangeError(`Cannot index ${length} names: at most ${65_536 * NAMES_A_BLOCK}`);
  const filled = offsets.slice();
  await scan((piece, block) => void (postings[filled[piece]!++] = block));

  /** The line that contains this byte. */
  const placeOf = (byte: number): number => {
    let low = 0;
    let high = length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= byte) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  /** For each trigram of the needle its blocks, the shortest list first. Null: no block contains some trigram. */
  const listsOf = (needle: Buffer): readonly Uint16Array[] | null => {
    if (needle.length < 2) return [];
    if (needle.length === 2) {
      // The trigrams that begin with these two bytes stand side by side.
      const first = pieceAt(Buffer.of(...needle, 65), 0);
      const has = new Uint8Array(blocks);
      for (let at = offsets[first]!; at < offsets[first + 64]!; at++) has[postings[at]!] = 1;
      const list = new Uint16Array(blocks);
      let many = 0;
      for (let block = 0; block < blocks; block++) if (has[block] === 1) list[many++] = block;
      return many === 0 ? null : [list.subarray(0, many)];
    }
    const pieces = new Set<number>();
    for (let at = 0; at + 3 <= needle.length; at++) pieces.add(pieceAt(needle, at));
    const lists = [...pieces].map((piece) => postings.subarray(offsets[piece], offsets[piece + 1]));
    if (lists.some((list) => list.length === 0)) return null;
    return lists.toSorted((a, b) => a.length - b.length).slice(0, MAX_ASKED);
  };

  return {
    count: length,
    find(match, name, onMatch) {
      if (name === "") return;
      if (match === "whole") {
        const nameBytes = Buffer.from(name);
        let next = heads[hashOf(nameBytes, 0, nameBytes.length) & mask]!;
        for (; next > 0; next = nexts[next - 1]!) {
          const line = next - 1;
          const isSame = nameBytes.equals(text.subarray(starts[line]! + 1, starts[line + 1]));
          if (isSame && !onMatch(line)) return;
        }
        return;
      }
      const needle = Buffer.from(match === "within" ? name : `\n${name}`);
      const lists = listsOf(needle);
      if (lists === null || length === 0) return;
      const [shortest, ...otherLists] = lists;
      const cursors = otherLists.map(() => 0);
      const holdsAll = (block: number): boolean =>
        otherLists.every((list, i) => {
          let at = cursors[i]!;
          while (at < list.length && list[at]! < block) at++;
          cursors[i] = at;
          return list[at] === block;
        });
      /** Whether a line begins with the needle, whose first byte is the line feed before the line. */
      const isAt = (line: number): boolean => {
        const start = starts[line]!;
        for (let at = 1; at < needle.length; at++) if (text[start + at] !== needle[at]) return false;
        return true;
      };
      const readLines = (block: number): boolean => {
        const last = Math.min(length, (block + 1) * NAMES_A_BLOCK);
        for (let line = block * NAMES_A_BLOCK; line < last; line++)
          if (isAt(line) && !onMatch(line)) return false;
        return true;
      };
      const readAnywhere = (block: number): boolean => {
        // A match may end on the line feed after the block's last line.
        const to = blockEnd(block) + 1;
        let from = starts[block * NAMES_A_BLOCK]!;
        const lines = text.subarray(0, to);
        for (;;) {
          const at = lines.indexOf(needle, from);
          if (at < 0) return true;
          const line = placeOf(at);
          if (Math.floor(line / NAMES_A_BLOCK) !== block) return true;
          if (!onMatch(line)) return false;
          from = starts[line + 1]!;
        }
      };
      const read = match === "within" ? readAnywhere : readLines;
      if (shortest === undefined) {
        for (let block = 0; block < blocks; block++) if (!read(block)) return;
        return;
      }
      for (const block of shortest) if (holdsAll(block) && !read(block)) return;
    },
  };
}
