/**
 * Large JSON without blocking the event loop: a scanner that reads bytes as they arrive and reports the upper levels of
 * the document, and a parser that parses a document in slices and yields between them. The scanner counts brackets and
 * skips strings; an error inside a value is found by the parser of that value.
 */
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";

export interface JsonEvents {
  /** A container begins; the root has depth 0. `at` counts bytes from the start of the document. */
  readonly onOpen?: (depth: number, key: string | null, at: number) => void;
  /** A container has ended; `at` is the position after its last byte. */
  readonly onClose?: (depth: number, at: number) => void;
  /** A comma between two members of a container at this depth. */
  readonly onComma?: (depth: number, at: number) => void;
  /** A string, number or literal as it is written, cut after MAX_TOKEN_BYTES. */
  readonly onScalar?: (depth: number, key: string | null, token: string) => void;
}

export interface JsonScanner {
  readonly push: (chunk: Uint8Array) => void;
  /** Whether the document is exactly one container, complete. */
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
 * Reports containers down to `maxDepth`; below that it only counts brackets. Keys are read only when `onScalar` is set.
 */
export function jsonScanner(maxDepth: number, events: JsonEvents): JsonScanner {
  /** Open containers. */
  let depth = 0;
  let offset = 0;
  let inString = false;
  let escaped = false;
  let roots = 0;
  let isBroken = false;
  /** Of the reported containers that are open: the closing byte, and the key of the current member. */
  const closers: number[] = [];
  const keys: (string | null)[] = [];
  /** The token being read in a reported container. */
  let token: Buffer[] = [];
  let tokenBytes = 0;
  let isKey = false;

  const collectToken = (chunk: Uint8Array, from: number, to: number): void => {
    if (!events.onScalar) return;
    if (to <= from || tokenBytes >= MAX_TOKEN_BYTES) return;
    const part = chunk.subarray(from, Math.min(to, from + MAX_TOKEN_BYTES - tokenBytes));
    token.push(Buffer.from(part));
    tokenBytes += part.length;
  };

  const finishToken = (): string => {
    const text = Buffer.concat(token).toString();
    token = [];
    tokenBytes = 0;
    return text;
  };

  /** The current token of a reported container has ended, if there is one. */
  const emitScalar = (): void => {
    if (tokenBytes === 0) return;
    const text = finishToken();
    if (depth <= maxDepth) events.onScalar?.(depth, keys[depth - 1] ?? null, text);
  };

  function push(chunk: Uint8Array): void {
    const { length } = chunk;
    let i = 0;
    while (i < length) {
      if (inString) {
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
        if (depth <= maxDepth) collectToken(chunk, from, ended ? i + 1 : length);
        if (!ended) break;
        i++;
        inString = false;
        if (depth <= maxDepth && isKey) {
          keys[depth - 1] = events.onScalar ? textOf(finishToken()) : "";
          isKey = false;
        }
        continue;
      }
      if (depth > maxDepth) {
        // Most of a large document is below the reported depth.
        let byte = 0;
        for (; i < length; i++) {
          byte = chunk[i]!;
          if (byte === QUOTE) {
            inString = true;
            i++;
            break;
          }
          if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
          else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
            // The end of this level is handled by the switch below.
            if (depth === maxDepth + 1) break;
            depth--;
          }
        }
        if (inString || i >= length) continue;
      }
      const byte = chunk[i]!;
      switch (byte) {
        case QUOTE:
          inString = true;
          isKey =
            depth > 0 && depth <= maxDepth && keys[depth - 1] === null && closers[depth - 1] === CLOSE_OBJECT;
          if (depth <= maxDepth) collectToken(chunk, i, i + 1);
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          if (depth === 0 && roots++ > 0) isBroken = true;
          events.onOpen?.(depth, keys[depth - 1] ?? null, offset + i);
          closers[depth] = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
          keys[depth] = null;
          depth++;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          emitScalar();
          if (depth === 0 || closers[depth - 1] !== byte) isBroken = true;
          if (depth === 0) break;
          depth--;
          events.onClose?.(depth, offset + i + 1);
          break;
        case COMMA:
          emitScalar();
          if (depth === 0) break;
          keys[depth - 1] = null;
          events.onComma?.(depth - 1, offset + i);
          break;
        case COLON:
          break;
        default:
          if (byte > SPACE) {
            if (depth <= maxDepth) collectToken(chunk, i, i + 1);
            if (depth === 0) isBroken = true;
          }
      }
      i++;
    }
    offset += length;
  }

  return { push, isWhole: () => !isBroken && roots === 1 && depth === 0 && !inString };
}

/** A key decoded; a key that is no JSON stays as it is written. */
export function textOf(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

/** Parsing this much takes half a millisecond. */
const SLICE_BYTES = 64 * 1024;
/** A document of up to this many slices is parsed whole, in 3 ms; slicing would cost three times the work. */
const WHOLE_SLICES = 8;
/** Deep enough for the columns of a filer's filings and the rows of the ticker list. */
const SPLIT_DEPTH = 3;

/** A container longer than a slice. */
interface Piece {
  readonly start: number;
  end: number;
  /** In order: commas about a slice apart, and members longer than a slice. */
  readonly cuts: (number | Piece)[];
  cut_at: number;
}

/** JSON.parse, in slices where the document is large. Throws SyntaxError. */
export async function parseJson(
  bytes: Buffer,
  yieldToEventLoop: YieldToEventLoop,
  slice_bytes = SLICE_BYTES,
): Promise<unknown> {
  if (bytes.length <= WHOLE_SLICES * slice_bytes) return JSON.parse(bytes.toString());
  const root = await piecesOf(bytes, yieldToEventLoop, slice_bytes);
  if (root === null)
    throw new SyntaxError(`Cannot parse a document of ${bytes.length} bytes: it is no whole JSON`);

  const build = async (piece: Piece): Promise<unknown> => {
    const isArray = bytes[piece.start] === OPEN_ARRAY;
    const list: unknown[] = [];
    const record: Record<string, unknown> = {};
    /** Adds the members between two commas; `large` is the value of the last one when it was built already. */
    const add = (from: number, to: number, large?: unknown): void => {
      const members =
        bytes.toString("utf8", from, to).replace(/^\s*,/, "") + (large === undefined ? "" : HOLE);
      if (members.trim() === "") return;
      if (isArray) {
        for (const member of JSON.parse(`[${members}]`) as unknown[]) list.push(member);
        if (large !== undefined) list[list.length - 1] = large;
        return;
      }
      const parsedMembers = JSON.parse(`{${members}}`) as Record<string, unknown>;
      const hole =
        large === undefined
          ? undefined
          : Object.keys(parsedMembers).find((name) => parsedMembers[name] === "\u0000");
      Object.assign(record, parsedMembers, hole !== undefined && { [hole]: large });
    };
    let at = piece.start + 1;
    for (const cut of piece.cuts) {
      if (typeof cut === "number") add(at, cut);
      else add(at, cut.start, await build(cut));
      at = typeof cut === "number" ? cut : cut.end;
      await yieldToEventLoop();
    }
    add(at, piece.end - 1);
    return isArray ? list : record;
  };
  return build(root);
}

/** Stands for a large member; no document of the filing system has this value. */
const HOLE = '"\\u0000"';

async function piecesOf(
  bytes: Buffer,
  yieldToEventLoop: YieldToEventLoop,
  slice_bytes: number,
): Promise<Piece | null> {
  const open: Piece[] = [];
  let root: Piece | null = null;
  // Commas are reported one level below the containers that are split.
  const scanner = jsonScanner(SPLIT_DEPTH + 1, {
    onOpen(depth, _key, start) {
      if (depth > SPLIT_DEPTH) return;
      open[depth] = { start, end: start, cuts: [], cut_at: start };
      if (depth === 0) root ??= open[0]!;
    },
    onComma(depth, at) {
      if (depth > SPLIT_DEPTH) return;
      const piece = open[depth]!;
      if (at - piece.cut_at < slice_bytes) return;
      piece.cuts.push(at);
      piece.cut_at = at;
    },
    onClose(depth, end) {
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
    await yieldToEventLoop();
  }
  return scanner.isWhole() ? root : null;
}
