/**
 * The items of a batch from an uploaded CSV file: the body itself, or the field `file` of a form. A file that cannot be read to its
 * end, or has rows that cannot be read, is refused as a whole.
 */
import type { CsvRow } from "../schemas/csv.ts";
import type { Reply } from "./http.ts";
import { invalid, tooLarge } from "./http-errors.ts";
import type { Call } from "./route.ts";
import type { UnknownName } from "./unknown-names.ts";
import { type Mistake, MAX_MISTAKES } from "./validate.ts";
import { refusedNames } from "./warnings.ts";

export type ReadCsv = (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<CsvRow>;

export interface CsvItem {
  readonly row: number;
  readonly item: object;
}

/** Bytes parsed before the event loop serves other requests. */
const PIECE_BYTES = 256 * 1_024;
const FORM_TYPE = /^multipart\/form-data\b/i;
const FORM_FIELD = "file";

export async function csvItems(
  call: Call,
  readCsv: ReadCsv,
  yieldToEventLoop: () => Promise<void>,
): Promise<readonly CsvItem[] | Reply> {
  const { bytes, head } = call;
  const type = head.headers.get("content-type") ?? "";
  const file = FORM_TYPE.test(type) ? await fileOf(bytes, type) : bytes;
  if (file === null) return invalid([NO_FILE]);
  async function* pieces(from: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < from.length; at += PIECE_BYTES) {
      yield from.subarray(at, at + PIECE_BYTES);
      await yieldToEventLoop();
    }
  }
  const items: CsvItem[] = [];
  const mistakes: Mistake[] = [];
  for await (const each of readCsv(pieces(file))) {
    if (each.kind === "item") items.push(each);
    else if (each.kind === "unknown_column") mistakes.push(...refusedNames([unknownColumn(each.name)], call));
    else if (each.kind === "refused" && each.status === 413)
      return tooLarge(
        each.row === null ? each.message : `${each.message}: row ${each.row} is the first too many`,
      );
    else
      mistakes.push({
        loc: ["body", ...(each.row === null ? [] : ["row", each.row])],
        msg: each.message,
        type: "csv_invalid",
      });
    if (mistakes.length === MAX_MISTAKES) break;
  }
  return mistakes.length > 0 ? invalid(mistakes) : items;
}

const unknownColumn = (name: string): UnknownName => ({
  what: "column",
  name,
  meant: null,
  loc: ["body", "row", 1],
  changesResult: false,
});

/** Null: it is no form, or has no such file. */
async function fileOf(bytes: Buffer, type: string): Promise<Uint8Array | null> {
  try {
    const form = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
    const file = form.get(FORM_FIELD);
    if (file === null) return null;
    return typeof file === "string" ? Buffer.from(file) : new Uint8Array(await file.arrayBuffer());
  } catch {
    return null;
  }
}

const NO_FILE: Mistake = {
  loc: ["body", FORM_FIELD],
  msg: "Field required: the CSV file, as the body or as the field `file` of a form",
  type: "missing",
};
