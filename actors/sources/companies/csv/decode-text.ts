/**
 * The text of a CSV file, piece by piece. UTF-8, with or without a byte-order mark; UTF-16 with one; a file whose first bytes beyond ASCII are
 * no UTF-8 is read as windows-1252, which spreadsheets still write in Western Europe. A file that is UTF-8 at first
 * and then is not is damaged, and is refused. Pure.
 */
import { TextDecoder } from "@exodus/bytes/encoding.js";

/** The bytes are not what the first of them said. */
export class UnreadableText extends Error {
  override readonly name = "UnreadableText";
}

const UTF16 = new Map([
  ["fffe", "utf-16le"],
  ["feff", "utf-16be"],
]);
const MARK_BYTES = 2;

/** Passes the bytes on; the first chunk has a whole mark, where the file is so long. */
async function* withWholeMark(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | null = new Uint8Array();
  for await (const chunk of chunks) {
    if (start !== null && start.length + chunk.length < MARK_BYTES) start = Buffer.concat([start, chunk]);
    else {
      yield start === null || start.length === 0 ? chunk : Buffer.concat([start, chunk]);
      start = null;
    }
  }
  if (start !== null && start.length > 0) yield start;
}

const firstNonAscii = (bytes: Uint8Array): number => bytes.findIndex((byte) => byte > 0x7f);
/** The longest character of UTF-8. */
const MAX_CHARACTER_BYTES = 4;

/** Whether the bytes begin with a whole character of UTF-8; null: there are too few to tell. */
function beginsWithUtf8(bytes: Uint8Array): boolean | null {
  for (let length = 1; length <= Math.min(MAX_CHARACTER_BYTES, bytes.length); length++)
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
      return true;
    } catch {
      // A longer piece may be a whole character.
    }
  return bytes.length < MAX_CHARACTER_BYTES ? null : false;
}

export async function* decodeText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
  /** Set by the first bytes beyond ASCII. */
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  let encoding = "utf-8";
  let isFirst = true;
  /** Bytes that begin with the first one beyond ASCII, until there are enough to tell. */
  let undecided: Uint8Array = new Uint8Array();
  const decode = (bytes: Uint8Array, stream: boolean): string => {
    try {
      return decoder!.decode(bytes, { stream });
    } catch {
      throw new UnreadableText(`The file is ${encoding.slice(0, 6).toUpperCase()} at first, and then is not`);
    }
  };
  const decide = (isUtf8: boolean): void => {
    decoder = new TextDecoder(isUtf8 ? "utf-8" : "windows-1252", { fatal: isUtf8 });
  };
  for await (const chunk of withWholeMark(chunks)) {
    const marked = isFirst
      ? UTF16.get(Buffer.from(chunk.subarray(0, MARK_BYTES)).toString("hex"))
      : undefined;
    isFirst = false;
    if (marked !== undefined) {
      encoding = marked;
      decoder = new TextDecoder(marked, { fatal: true });
    }
    if (decoder !== null) {
      yield decode(chunk, true);
      continue;
    }
    const bytes = undecided.length === 0 ? chunk : Buffer.concat([undecided, chunk]);
    const at = firstNonAscii(bytes);
    if (at < 0) {
      yield Buffer.from(bytes).toString("latin1");
      continue;
    }
    const isUtf8 = beginsWithUtf8(bytes.subarray(at));
    if (isUtf8 === null) {
      yield Buffer.from(bytes.subarray(0, at)).toString("latin1");
      undecided = bytes.subarray(at);
      continue;
    }
    undecided = new Uint8Array();
    decide(isUtf8);
    yield decode(bytes, true);
  }
  if (undecided.length > 0) decide(beginsWithUtf8(undecided) === true);
  if (decoder !== null) yield decode(undecided, false);
}
