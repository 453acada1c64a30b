/**
 * Names that an object of a JSON text has twice. JSON.parse takes the last one, other parsers the first: what a proxy in front judged
 * would not be what the service reads.
 */

/** Where the second of two equal names stands: names and indexes from the top. */
export type KeyPath = readonly (string | number)[];

/** Names are a client's input: longer ones are cut. */
const MAX_NAME_CHARS = 60;
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** `value` is what JSON.parse made of the text. Null: no object in it has a name twice. */
export function duplicateKey(text: string, value: unknown): KeyPath | null {
  // Most texts have none: a name that was given twice is one member less than there are colons.
  return colonsIn(text) === membersOf(value) ? null : firstDuplicate(text);
}

/** The index behind the string that begins here. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; ; end++) {
    const code = text.charCodeAt(end);
    if (code === BACKSLASH) end++;
    else if (code === QUOTE) return end + 1;
  }
}

function colonsIn(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === COLON) colons++;
  }
  return colons;
}

/** Names of all objects in it. Without recursion: a text may nest deeper than the stack. */
function membersOf(value: unknown): number {
  const waiting = [value];
  let members = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (!Array.isArray(next)) members += parts.length;
    for (const part of parts) if (typeof part === "object") waiting.push(part);
  }
  return members;
}

interface Level {
  /** Null: a list. */
  readonly names: Set<string> | null;
  /** The name or index of the current part. */
  place: string | number;
  isName: boolean;
}

function firstDuplicate(text: string): KeyPath | null {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (level?.names && level.isName) {
          const name = JSON.parse(text.slice(at, end)) as string;
          level.place = name.slice(0, MAX_NAME_CHARS);
          if (level.names.has(name)) return levels.map(({ place }) => place);
          level.names.add(name);
          level.isName = false;
        }
        at = end - 1;
        break;
      }
      case OPEN_OBJECT:
        levels.push({ names: new Set(), place: "", isName: true });
        break;
      case OPEN_LIST:
        levels.push({ names: null, place: 0, isName: false });
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        levels.pop();
        break;
      case COMMA:
        if (level?.names) level.isName = true;
        else if (level) level.place = Number(level.place) + 1;
        break;
    }
  }
  return null;
}
