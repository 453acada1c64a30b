/**
 * The records of an XML file of GLEIF, one element each, whatever its prefix. The file is cut at the elements, so that one record at a
 * time is in memory; what is no XML within a record makes it bad, and the next one is read. Entities of a document type are not resolved.
 */
import type { Parser } from "htmlparser2";
import type { FilePlace, FileRecord } from "./file-record.ts";

export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  /** As they are written: `xml:lang`. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Without blanks at its ends; of an element with elements it is empty. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

export interface XmlFile {
  readonly records: AsyncIterable<readonly FileRecord<XmlElement>[]>;
  /** How many records the file's header says it has; known with the first record. */
  readonly expected: () => number | undefined;
}

const MAX_RECORD_BYTES = 8 * 2 ** 20;
const MAX_TEXT = 2_048;
/** `</` and a prefix with its colon. */
const MAX_BEFORE_NAME = 64;
/** Bytes of a header without a record that are looked through for its count. */
const MAX_HEADER_BYTES = 2 ** 20;

/** `element`: the name of a record's element without its prefix. */
export function readXml(bytes: AsyncIterable<Buffer>, after: FilePlace | null, element: string): XmlFile {
  let expected: number | undefined;
  return {
    expected: () => expected,
    records: cut(bytes, after, element, (header) => {
      const [, count] = /<(?:[\w.-]+:)?RecordCount>\s*(\d+)\s*</.exec(header) ?? [];
      if (count !== undefined) expected = Number(count);
    }),
  };
}

async function* cut(
  bytes: AsyncIterable<Buffer>,
  after: FilePlace | null,
  element: string,
  onHeader: (text: string) => void,
): AsyncIterable<readonly FileRecord<XmlElement>[]> {
  // Loaded with the first file: nodes that import none do without it.
  const parsing = await import("htmlparser2");
  let { line, offset: begin } = after ?? { line: 0, offset: 0 };
  let pending: Buffer = Buffer.alloc(0);
  let at = 0;
  let hasHeader = line > 0;
  for await (const chunk of bytes) {
    const from = Math.max(0, begin + pending.length - at);
    at += chunk.length;
    if (from >= chunk.length) continue;
    pending = Buffer.concat([pending, chunk.subarray(from)]);
    const records: FileRecord<XmlElement>[] = [];
    let done = 0;
    for (;;) {
      const open = tagAt(pending, element, "<", done);
      if (open === null) {
        // The name of a tag may go on in the next chunk.
        if (hasHeader || pending.length > MAX_HEADER_BYTES)
          done = Math.max(done, pending.length - element.length - MAX_BEFORE_NAME);
        break;
      }
      if (!hasHeader) onHeader(pending.subarray(0, open.start).toString());
      hasHeader = true;
      const close = tagAt(pending, element, "</", open.end);
      const isTooLong = close === null && pending.length - open.start > MAX_RECORD_BYTES;
      if (close === null && !isTooLong) {
        done = open.start;
        break;
      }
      const end = close?.end ?? pending.length;
      const element_bytes = pending.subarray(open.start, end);
      records.push(recordOf(parsing, element_bytes, ++line, begin + open.start, begin + end));
      done = end;
    }
    pending = pending.subarray(done);
    begin += done;
    if (records.length > 0) yield records;
  }
  const rest = tagAt(pending, element, "<", 0);
  if (rest === null) return;
  const end = begin + pending.length;
  yield [badOf(pending.subarray(rest.start), line + 1, begin + rest.start, end)];
}

const [LESS, SLASH, COLON, GREATER] = [0x3c, 0x2f, 0x3a, 0x3e];
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** The next start tag (`<`) or end tag (`</`) of the element, with or without a prefix; null: there is none, or it goes on. */
function tagAt(bytes: Buffer, element: string, opening: "<" | "</", from: number) {
  for (let name = bytes.indexOf(element, from); name >= 0; name = bytes.indexOf(element, name + 1)) {
    const next = bytes[name + element.length];
    if (next === undefined) return null;
    if (next !== GREATER && !BLANKS.has(next)) continue;
    const start = tagStart(bytes, name, opening, from);
    if (start === null) continue;
    const end = bytes.indexOf(GREATER, name + element.length);
    return end < 0 ? null : { start, end: end + 1 };
  }
  return null;
}

function tagStart(bytes: Buffer, name: number, opening: "<" | "</", from: number): number | null {
  let at = name - 1;
  if (bytes[at] === COLON) {
    const last = Math.max(from, name - MAX_BEFORE_NAME);
    while (at > last && bytes[at] !== LESS && bytes[at] !== SLASH) at--;
  }
  if (opening === "</") return at > from && bytes[at] === SLASH && bytes[at - 1] === LESS ? at - 1 : null;
  return at >= from && bytes[at] === LESS ? at : null;
}

const badOf = (bytes: Buffer, line: number, offset: number, end: number): FileRecord<XmlElement> => ({
  record: null,
  reason: "xml",
  text: bytes.subarray(0, MAX_TEXT).toString(),
  line,
  offset,
  end,
});

type Parsing = { readonly Parser: typeof Parser };

function recordOf(
  parsing: Parsing,
  bytes: Buffer,
  line: number,
  offset: number,
  end: number,
): FileRecord<XmlElement> {
  const record = elementOf(parsing, bytes.toString());
  return record === null
    ? badOf(bytes, line, offset, end)
    : { record, reason: null, text: "", line, offset, end };
}

interface OpenElement {
  name: string;
  attributes: Record<string, string>;
  text: string;
  children: XmlElement[];
}

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

/** Null: it is not one whole element. */
function elementOf({ Parser: XmlParser }: Parsing, xml: string): XmlElement | null {
  const open: OpenElement[] = [];
  const whole: XmlElement[] = [];
  let isBroken = false;
  const parser = new XmlParser(
    {
      onopentag: (name, attributes) =>
        void open.push({ name: localName(name), attributes, text: "", children: [] }),
      ontext(text) {
        const inner = open.at(-1);
        if (inner) inner.text += text;
      },
      onclosetag(_, isImplied) {
        // `<a/>` is closed without an end tag, too.
        isBroken ||= isImplied && xml[parser.endIndex - 1] !== "/";
        const { text, children, ...rest } = open.pop()!;
        const element = { ...rest, children, text: children.length > 0 ? "" : text.trim() };
        (open.at(-1)?.children ?? whole).push(element);
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.write(xml);
  // An element that is still open is closed by the end, which is no closing of its own.
  isBroken ||= open.length > 0;
  parser.end();
  return isBroken || whole.length !== 1 ? null : whole[0]!;
}
