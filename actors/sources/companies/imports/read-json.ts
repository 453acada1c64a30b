/** The objects of a JSON file: one array of them, or one a line. A text that is no JSON is bad, and the next object is read. */
import type { Json } from "../claim.ts";
import type { FilePlace, FileRecord } from "./file-record.ts";

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
const MAX_RECORD_BYTES = 8 * 2 ** 20;
const MAX_TEXT = 2_048;

export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  after: FilePlace | null,
): AsyncIterable<readonly FileRecord<Json>[]> {
  let { line, offset: begin } = after ?? { line: 0, offset: 0 };
  let pending: Buffer = Buffer.alloc(0);
  let at = 0;
  let scan = 0;
  let depth = 0;
  let inString = false;
  let open_at = -1;
  for await (const chunk of bytes) {
    const from = Math.max(0, begin + pending.length - at);
    at += chunk.length;
    if (from >= chunk.length) continue;
    pending = Buffer.concat([pending, chunk.subarray(from)]);
    const records: FileRecord<Json>[] = [];
    const end = (to: number): void => {
      const text = pending.subarray(open_at, to);
      records.push(recordOf(text, ++line, begin + open_at, begin + to));
      [depth, inString, open_at] = [0, false, -1];
    };
    for (; scan < pending.length; scan++) {
      const byte = pending[scan]!;
      if (inString) {
        if (byte === BACKSLASH) scan++;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = depth > 0;
      else if (byte === OPEN && depth++ === 0) open_at = scan;
      else if (byte === CLOSE && depth > 0 && --depth === 0) end(scan + 1);
      if (open_at >= 0 && scan - open_at > MAX_RECORD_BYTES) end(scan + 1);
    }
    const consumed = open_at >= 0 ? open_at : Math.min(scan, pending.length);
    pending = pending.subarray(consumed);
    begin += consumed;
    scan -= consumed;
    if (open_at >= 0) open_at = 0;
    if (records.length > 0) yield records;
  }
  if (open_at >= 0) {
    const text = pending.subarray(0, MAX_TEXT).toString();
    yield [
      { record: null, reason: "json", text, line: line + 1, offset: begin, end: begin + pending.length },
    ];
  }
}

function recordOf(bytes: Buffer, line: number, offset: number, end: number): FileRecord<Json> {
  try {
    return { record: JSON.parse(bytes.toString()) as Json, reason: null, text: "", line, offset, end };
  } catch {
    const text = bytes.subarray(0, MAX_TEXT).toString();
    return { record: null, reason: "json", text, line, offset, end };
  }
}
