/**
 * Finds the items of a batch in its body's bytes without parsing the whole body: the start and end of each item, and the
 * fields around them. An item is parsed when it is needed, so a body of 64 MB costs its bytes and not ten times as much, and
 * the event loop serves other requests in between. batch.ts validates the items.
 */
import { isUtf8 } from "node:buffer";
import { duplicateKey, type KeyPath } from "./duplicate-keys.ts";
import { givenTwice, type Mistake, type ReadResult, readJson } from "./validate.ts";

export interface Scanned {
  /** Everything but the items; in their place an empty list, or what stood there when it was no list. */
  readonly head: unknown;
  readonly count: number;
  /** Throws SyntaxError for what is no JSON, DuplicateKey for an object that has a name twice. */
  readonly read: (index: number) => unknown;
  /** Where an item begins in the body. */
  readonly offset: (index: number) => number;
}

/** Bytes scanned before yielding to the event loop. */
const YIELD_BYTES = 2 ** 20;
/** A broken body up to this size is parsed again to say where it breaks. */
const EXPLAINED_BYTES = 2 ** 20;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Items beyond `most` are counted and not remembered. `yieldToEventLoop` resolves on the next turn of the event loop. */
export async function scanItems(
  bytes: Buffer,
  most: number,
  yieldToEventLoop: () => Promise<void>,
): Promise<ReadResult<Scanned>> {
  if (bytes.length === 0 || !isUtf8(bytes)) return readJson(bytes) as ReadResult<Scanned>;
  const bounds: number[] = [];
  let count = 0;
  let list: readonly [from: number, to: number] | null = null;
  let at = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const begins = at;

  const skipSpace = (): void => {
    while (isSpace(bytes[at])) at++;
  };
  /** Behind the quote that ends the string which begins here. */
  const skipString = (): void => {
    for (at++; ; at++) {
      at = bytes.indexOf(QUOTE, at);
      if (at === -1) throw new MalformedJson();
      let escapes = 0;
      while (bytes[at - 1 - escapes] === BACKSLASH) escapes++;
      if (escapes % 2 === 0) break;
    }
    at++;
  };
  /** To the comma or bracket behind the value that begins here. */
  const skipValue = (): void => {
    for (let depth = 0; at < bytes.length;) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        skipString();
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (depth === 0) return;
        depth--;
      } else if (byte === COMMA && depth === 0) return;
      at++;
    }
    throw new MalformedJson();
  };

  try {
    skipSpace();
    if (bytes[at] === OPEN_OBJECT) {
      for (at++; ;) {
        skipSpace();
        if (bytes[at] === CLOSE_OBJECT) break;
        if (bytes[at] !== QUOTE) throw new MalformedJson();
        const name_at = at;
        skipString();
        const name = nameOf(bytes.toString("latin1", name_at, at));
        skipSpace();
        if (bytes[at] !== COLON) throw new MalformedJson();
        at++;
        skipSpace();
        if (name === "items" && bytes[at] === OPEN_LIST) {
          const from = at++;
          [count, bounds.length] = [0, 0];
          for (let looked = at; ;) {
            skipSpace();
            if (bytes[at] === CLOSE_LIST && count === 0) break;
            const item_at = at;
            skipValue();
            if (count++ < most) bounds.push(item_at, at);
            if (bytes[at] === CLOSE_LIST) break;
            if (bytes[at] !== COMMA) throw new MalformedJson();
            at++;
            if (at - looked < YIELD_BYTES) continue;
            await yieldToEventLoop();
            looked = at;
          }
          list = [from, ++at];
        } else {
          if (name === "items") list = null;
          skipValue();
        }
        skipSpace();
        if (bytes[at] === CLOSE_OBJECT) break;
        if (bytes[at] !== COMMA) throw new MalformedJson();
        at++;
      }
    }
    const around = list
      ? `${bytes.toString("utf8", begins, list[0])}[]${bytes.toString("utf8", list[1])}`
      : bytes.toString("utf8", begins);
    const head: unknown = JSON.parse(around);
    const duplicate = duplicateKey(around, head);
    if (duplicate) return { kind: "wrong", detail: [givenTwice(["body", ...duplicate])] };
    const ends = Uint32Array.from(bounds);
    return {
      kind: "read",
      value: {
        head,
        count: list ? count : 0,
        read: (index) => readItem(bytes.toString("utf8", ends[2 * index]!, ends[2 * index + 1]!)),
        offset: (index) => ends[2 * index]!,
      },
    };
  } catch (problem) {
    if (!(problem instanceof MalformedJson) && !(problem instanceof SyntaxError)) throw problem;
    const explained = bytes.length <= EXPLAINED_BYTES ? readJson(bytes) : null;
    if (explained?.kind === "wrong") return explained;
    return { kind: "wrong", detail: [malformedAt(Math.max(0, at))] };
  }
}

class MalformedJson extends Error {}

/** An object of an item has a name twice. */
export class DuplicateKey extends Error {
  readonly path: KeyPath;

  constructor(path: KeyPath) {
    super("An object has a name twice");
    this.path = path;
  }
}

function readItem(text: string): unknown {
  const item: unknown = JSON.parse(text);
  const duplicate = duplicateKey(text, item);
  if (duplicate) throw new DuplicateKey(duplicate);
  return item;
}

/** A name of the body's object from its bytes as latin1: exact where it is ASCII, with or without escapes. Throws SyntaxError. */
const nameOf = (quoted: string): string =>
  quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);

export const malformedAt = (offset: number): Mistake => ({
  loc: ["body", offset],
  msg: "JSON decode error",
  type: "json_invalid",
});
