/**
 * Names to be found by their whole, their beginning or anything in them. Names are folded and laid end to end, a line
 * each; blocks of lines are listed by the three-letter pieces they hold, so that a search reads only blocks that hold
 * every piece of what is looked for; a whole name is looked up by its hash. 800,000 names take 52 MB. Found names come in
 * the order they were given.
 */
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";

/** As names are compared: no marks, upper case, & as AND, one space between words. */
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
  /** Tells the places of names that fit, in order, until `seen` has enough and answers false. */
  readonly find: (
    match: "whole" | "start" | "within",
    folded: string,
    onMatch: (at: number) => boolean,
  ) => void;
}

const NAMES_A_BLOCK = 64;
const LINE_FEED = 0x0a;
/** Pieces are told apart by 6 bits a byte: letters, digits, space, line feed; other bytes share what is left. */
const CLASSES = classes();
const PIECES = 64 ** 3;
/** More pieces make the choice of blocks no smaller, only dearer. */
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

/** Builds in slices: `breathe` lets others have their turn after each few thousand names. Names are folded already. */
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
  /** Where each line begins: on the line feed before it. The last is the end of the last line. */
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

  /** By the hash of a name the first that has it, and by its place the next one; one more than the place, 0: none. */
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
  /** Calls back once for each piece of each block; the last line feed of a block is the next one's first. */
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
  /** Where the blocks of each piece begin in `postings`. */
  const offsets = new Uint32Array(PIECES + 1);
  await scan((piece) => void offsets[piece + 1]!++);
  for (let piece = 0; piece < PIECES; piece++) offsets[piece + 1]! += offsets[piece]!;
  const postings = new Uint16Array(offsets[PIECES]!);
  // Block numbers beyond 16 bits would need wider postings: four million names.
  if (blocks > 65_536)
    throw new RangeError(`Cannot index ${length} names: at most ${65_536 * NAMES_A_BLOCK}`);
  const filled = offsets.slice();
  await scan((piece, block) => void (postings[filled[piece]!++] = block));

  /** The first place whose line ends behind this byte. */
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

  /** Lists of blocks, each of which holds one piece of the needle; the shortest first. Null: some piece is nowhere. */
  const listsOf = (needle: Buffer): readonly Uint16Array[] | null => {
    if (needle.length < 2) return [];
    if (needle.length === 2) {
      // All pieces that begin so stand side by side.
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
      /** Whether a line is the needle, or begins with it: its own line feed is the needle's first letter. */
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
        // A line's own line feeds belong to it; a match may end on the one behind the block's last line.
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
