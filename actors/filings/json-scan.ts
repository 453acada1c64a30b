/**
 * Large JSON without holding the event loop: a scanner that takes bytes as they come and tells what stands in the upper
 * levels, and a parser that goes over a document in slices and lets others have their turn in between. The scanner
 * counts brackets and skips strings; what is wrong inside a value is found by whoever parses that value.
 */
import type { Breathe } from "../../cluster/ports/event-loop.ts";

export interface Seen {
  /** A container begins; the document itself is 0 deep. `at` counts bytes from the start of the document. */
  readonly opened?: (depth: number, key: string | null, at: number) => void;
  /** Just behind its last byte. */
  readonly closed?: (depth: number, at: number) => void;
  /** A comma between two members of a container that is `depth` deep. */
  readonly parted?: (depth: number, at: number) => void;
  /** A string, number or word, as it is written. Longer ones than MAX_TOKEN_BYTES are cut. */
  readonly said?: (depth: number, key: string | null, token: string) => void;
}

export interface JsonScanner {
  readonly push: (chunk: Uint8Array) => void;
  /** Whether exactly one container was seen, and all of it. */
  readonly isWhole: () => boolean;
}

const MAX_TOKEN_BYTES = 65_536;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * Tells of what stands at most `watched` deep; below that it only finds its way out again. Keys are read only where
 * somebody listens to `said`.
 */
export function jsonScanner(watched: number, seen: Seen): JsonScanner {
  /** Containers that are open. */
  let depth = 0;
  let offset = 0;
  let in_string = false;
  let escaped = false;
  let roots = 0;
  let is_broken = false;
  /** The watched containers that are open: what closes them, and the key of the member being read. */
  const closers: number[] = [];
  const keys: (string | null)[] = [];
  /** The token being read in a watched container. */
  let token: Buffer[] = [];
  let token_bytes = 0;
  let is_key = false;

  const take = (chunk: Uint8Array, from: number, to: number): void => {
    if (!seen.said) return;
    if (to <= from || token_bytes >= MAX_TOKEN_BYTES) return;
    const part = chunk.subarray(from, Math.min(to, from + MAX_TOKEN_BYTES - token_bytes));
    token.push(Buffer.from(part));
    token_bytes += part.length;
  };

  const finish = (): string => {
    const text = Buffer.concat(token).toString();
    token = [];
    token_bytes = 0;
    return text;
  };

  /** A token of a watched container has ended, unless there was none. */
  const say = (): void => {
    if (token_bytes === 0) return;
    const text = finish();
    if (depth <= watched) seen.said?.(depth, keys[depth - 1] ?? null, text);
  };

  function push(chunk: Uint8Array): void {
    const { length } = chunk;
    let i = 0;
    while (i < length) {
      if (in_string) {
        const from = i;
        if (escaped) {
          escaped = false;
          i++;
        }
        let byte = 0;
        for (; i < length; i++) {
          byte = chunk[i]!;
          if (byte === QUOTE) break;
          if (byte === BACKSLASH) i++;
        }
        // The escaped character is in the next chunk.
        if (i > length) escaped = true;
        const ended = i < length;
        if (depth <= watched) take(chunk, from, ended ? i + 1 : length);
        if (!ended) break;
        i++;
        in_string = false;
        if (depth <= watched && is_key) {
          keys[depth - 1] = seen.said ? textOf(finish()) : "";
          is_key = false;
        }
        continue;
      }
      if (depth > watched) {
        // Most of a large document is down here.
        let byte = 0;
        for (; i < length; i++) {
          byte = chunk[i]!;
          if (byte === QUOTE) {
            in_string = true;
            i++;
            break;
          }
          if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
          else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
            // Bytes of this level are told apart again, its own end among them.
            if (depth === watched + 1) break;
            depth--;
          }
        }
        if (in_string || i >= length) continue;
      }
      const byte = chunk[i]!;
      switch (byte) {
        case QUOTE:
          in_string = true;
          is_key =
            depth > 0 && depth <= watched && keys[depth - 1] === null && closers[depth - 1] === CLOSE_OBJECT;
          if (depth <= watched) take(chunk, i, i + 1);
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          if (depth === 0 && roots++ > 0) is_broken = true;
          seen.opened?.(depth, keys[depth - 1] ?? null, offset + i);
          closers[depth] = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
          keys[depth] = null;
          depth++;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          say();
          if (depth === 0 || closers[depth - 1] !== byte) is_broken = true;
          if (depth === 0) break;
          depth--;
          seen.closed?.(depth, offset + i + 1);
          break;
        case COMMA:
          say();
          if (depth === 0) break;
          keys[depth - 1] = null;
          seen.parted?.(depth - 1, offset + i);
          break;
        case COLON:
          break;
        default:
          if (byte > SPACE) {
            if (depth <= watched) take(chunk, i, i + 1);
            if (depth === 0) is_broken = true;
          }
      }
      i++;
    }
    offset += length;
  }

  return { push, isWhole: () => !is_broken && roots === 1 && depth === 0 && !in_string };
}

/** A key as it is meant; one that is no JSON stays as it is written. */
export function textOf(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

/** Parsed at once in half a millisecond. */
const SLICE_BYTES = 64 * 1024;
/** A document of so many slices is parsed at once: three milliseconds, and slicing would cost thrice the work. */
const WHOLE_SLICES = 8;
/** Deep enough for the columns of a filer's filings, and the rows of the ticker list. */
const SPLIT_DEPTH = 3;

/** A container of more than a slice. */
interface Piece {
  readonly start: number;
  end: number;
  /** Commas, about a slice apart, and members that are more than a slice themselves; in their order. */
  readonly cuts: (number | Piece)[];
  cut_at: number;
}

/** JSON.parse, in slices where the document is large. Throws SyntaxError. */
export async function parseJson(
  bytes: Buffer,
  breathe: Breathe,
  slice_bytes = SLICE_BYTES,
): Promise<unknown> {
  if (bytes.length <= WHOLE_SLICES * slice_bytes) return JSON.parse(bytes.toString());
  const root = await piecesOf(bytes, breathe, slice_bytes);
  if (root === null)
    throw new SyntaxError(`Cannot parse a document of ${bytes.length} bytes: it is no whole JSON`);

  const build = async (piece: Piece): Promise<unknown> => {
    const is_array = bytes[piece.start] === OPEN_ARRAY;
    const list: unknown[] = [];
    const record: Record<string, unknown> = {};
    /** Members as they stand between two commas; the last of them may be a large one, built already. */
    const add = (from: number, to: number, large?: unknown): void => {
      const members =
        bytes.toString("utf8", from, to).replace(/^\s*,/, "") + (large === undefined ? "" : HOLE);
      if (members.trim() === "") return;
      if (is_array) {
        for (const member of JSON.parse(`[${members}]`) as unknown[]) list.push(member);
        if (large !== undefined) list[list.length - 1] = large;
        return;
      }
      const some = JSON.parse(`{${members}}`) as Record<string, unknown>;
      const hole =
        large === undefined ? undefined : Object.keys(some).find((name) => some[name] === "\u0000");
      Object.assign(record, some, hole !== undefined && { [hole]: large });
    };
    let at = piece.start + 1;
    for (const cut of piece.cuts) {
      if (typeof cut === "number") add(at, cut);
      else add(at, cut.start, await build(cut));
      at = typeof cut === "number" ? cut : cut.end;
      await breathe();
    }
    add(at, piece.end - 1);
    return is_array ? list : record;
  };
  return build(root);
}

/** Where a large member belongs; no document of ours has such a value of its own. */
const HOLE = '"\\u0000"';

async function piecesOf(bytes: Buffer, breathe: Breathe, slice_bytes: number): Promise<Piece | null> {
  const open: Piece[] = [];
  let root: Piece | null = null;
  // Commas are seen one level below the containers that are split.
  const scanner = jsonScanner(SPLIT_DEPTH + 1, {
    opened(depth, _key, start) {
      if (depth > SPLIT_DEPTH) return;
      open[depth] = { start, end: start, cuts: [], cut_at: start };
      if (depth === 0) root ??= open[0]!;
    },
    parted(depth, at) {
      if (depth > SPLIT_DEPTH) return;
      const piece = open[depth]!;
      if (at - piece.cut_at < slice_bytes) return;
      piece.cuts.push(at);
      piece.cut_at = at;
    },
    closed(depth, end) {
      if (depth > SPLIT_DEPTH) return;
      const piece = open[depth]!;
      piece.end = end;
      if (depth === 0 || end - piece.start <= slice_bytes) return;
      const around = open[depth - 1]!;
      around.cuts.push(piece);
      around.cut_at = end;
    },
  });
  for (let at = 0; at < bytes.length; at += slice_bytes) {
    scanner.push(bytes.subarray(at, at + slice_bytes));
    await breathe();
  }
  return scanner.isWhole() ? root : null;
}
