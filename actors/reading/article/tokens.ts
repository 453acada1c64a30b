/**
 * Cuts HTML into tags, attributes and text, by their places in it: no strings are made here. It reads a whole document at once
 * and from tag to tag, and finds what htmlparser2's tokenizer finds, which looks at a page one character and one state at a time.
 * Character references are left to the reader of the tokens.
 *
 * A tag that the end of the document cuts off is dropped, as the standard says. Comments and declarations are skipped.
 */

/** Is told the tokens in their order. Places are offsets in the given text. */
export interface TokenReader {
  readonly onText: (start: number, stop: number) => void;
  /** A start tag begins; the answer is its name in lower case. */
  readonly onTagName: (start: number, stop: number) => string;
  /** Without a value both places of the value are the same. */
  readonly onAttribute: (start: number, stop: number, value_start: number, value_stop: number) => void;
  readonly onTagEnd: (is_self_closing: boolean) => void;
  readonly onEndTag: (start: number, stop: number) => void;
  /** Within SVG or MathML no element's content is raw text. */
  readonly isForeign: () => boolean;
}

const [TAB, LINE_FEED, FORM_FEED, RETURN, SPACE] = [9, 10, 12, 13, 32] as const;
const [MARK, DOUBLE, SINGLE, SLASH, LESS, EQUAL, MORE, QUESTION] = [33, 34, 39, 47, 60, 61, 62, 63] as const;

const isBlank = (code: number): boolean =>
  code === SPACE || code === LINE_FEED || code === TAB || code === FORM_FEED || code === RETURN;
const endsName = (code: number): boolean =>
  code <= MORE && (code === MORE || code === SLASH || isBlank(code));
const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

/** The content of these elements is text up to their end tag, whatever stands in it; that of plaintext has no end. */
const RAW_TEXT = new Set("iframe noembed noframes plaintext script style textarea title xmp".split(" "));

export function readTokens(html: string, reader: TokenReader): void {
  let at = 0;
  /** Where the text begins that the reader was not told of yet. */
  let start = 0;
  for (;;) {
    while (at < html.length && html.charCodeAt(at) !== LESS) at += 1;
    if (at > start) reader.onText(start, at);
    if (at === html.length) return;
    start = at;
    at += 1;
    const code = html.charCodeAt(at);
    if (isLetter(code)) at = readElement(html, at, reader);
    else if (code === SLASH) {
      if (at + 1 === html.length) continue;
      at = readEndTag(html, at + 1, reader);
    } else if (code === MARK) at = behindDeclaration(html, at + 1);
    else if (code === QUESTION) at = behind(html, ">", at + 1);
    // "a < b"
    else continue;
    start = at;
  }
}

/** The first place behind the next such text, or the end of the document. */
function behind(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from);
  return found < 0 ? html.length : found + text.length;
}

function endOfName(html: string, from: number): number {
  let at = from;
  while (at < html.length && !endsName(html.charCodeAt(at))) at += 1;
  return at;
}

function behindBlanks(html: string, from: number): number {
  let at = from;
  while (isBlank(html.charCodeAt(at))) at += 1;
  return at;
}

/** A start tag, and the content of the element if that is raw text. Returns the place behind it. */
function readElement(html: string, start: number, reader: TokenReader): number {
  const stop = endOfName(html, start);
  if (stop === html.length) return stop;
  const name = reader.onTagName(start, stop);
  const isRaw = RAW_TEXT.has(name) && !reader.isForeign();
  const at = readAttributes(html, stop, reader);
  return isRaw ? readRawText(html, at, name, reader) : at;
}

function readRawText(html: string, start: number, name: string, reader: TokenReader): number {
  let end = name === "plaintext" ? -1 : html.indexOf("</", start);
  while (end >= 0 && !isEndTagOf(html, end + 2, name)) end = html.indexOf("</", end + 2);
  const stop = end < 0 ? html.length : end;
  if (stop > start) reader.onText(start, stop);
  return end < 0 ? html.length : readEndTag(html, end + 2, reader);
}

function isEndTagOf(html: string, start: number, name: string): boolean {
  const stop = start + name.length;
  if (stop >= html.length || !endsName(html.charCodeAt(stop))) return false;
  for (let i = 0; i < name.length; i += 1)
    if ((html.charCodeAt(start + i) | 0x20) !== name.charCodeAt(i)) return false;
  return true;
}

/** From the name of an end tag on. What begins with no letter is a comment. */
function readEndTag(html: string, start: number, reader: TokenReader): number {
  if (!isLetter(html.charCodeAt(start))) return behind(html, ">", start);
  const stop = endOfName(html, start);
  if (stop < html.length) reader.onEndTag(start, stop);
  return behind(html, ">", stop);
}

/** From behind "<!" on: a comment, a doctype, or what browsers take for a comment. */
function behindDeclaration(html: string, start: number): number {
  if (!html.startsWith("--", start)) return behind(html, ">", start);
  const text = start + 2;
  if (html.startsWith(">", text)) return text + 1;
  if (html.startsWith("->", text)) return text + 2;
  for (let at = html.indexOf("--", text); at >= 0; at = html.indexOf("--", at + 1)) {
    const next = html.charCodeAt(at + 2);
    if (next === MORE) return at + 3;
    if (next === MARK && html.charCodeAt(at + 3) === MORE) return at + 4;
  }
  return html.length;
}

/** A longer value is searched by `indexOf`, which takes a tenth of the time for each character and that of twenty to begin. */
const SHORT_VALUE_CHARS = 32;

/** Where the quote stands that ends a value, or the end of the document. */
function endOfQuoted(html: string, quote: number, from: number): number {
  const near = Math.min(html.length, from + SHORT_VALUE_CHARS);
  let at = from;
  while (at < near && html.charCodeAt(at) !== quote) at += 1;
  if (at < near) return at;
  const found = html.indexOf(quote === DOUBLE ? '"' : "'", at);
  return found < 0 ? html.length : found;
}

/** From behind the name of a start tag to behind its end. */
function readAttributes(html: string, from: number, reader: TokenReader): number {
  let at = from;
  for (;;) {
    at = behindBlanks(html, at);
    if (at >= html.length) return at;
    let code = html.charCodeAt(at);
    if (code === SLASH) {
      at = behindBlanks(html, at + 1);
      if (html.charCodeAt(at) !== MORE) continue;
      reader.onTagEnd(true);
      return at + 1;
    }
    if (code === MORE) {
      reader.onTagEnd(false);
      return at + 1;
    }
    const start = at;
    do {
      at += 1;
      code = html.charCodeAt(at);
    } while (at < html.length && code !== EQUAL && !endsName(code));
    const stop = at;
    at = behindBlanks(html, at);
    if (at >= html.length) return at;
    if (html.charCodeAt(at) !== EQUAL) {
      reader.onAttribute(start, stop, stop, stop);
      continue;
    }
    at = behindBlanks(html, at + 1);
    const quote = html.charCodeAt(at);
    const isQuoted = quote === DOUBLE || quote === SINGLE;
    const value = isQuoted ? at + 1 : at;
    at = value;
    if (isQuoted) at = endOfQuoted(html, quote, at);
    else while (at < html.length && !isBlank((code = html.charCodeAt(at))) && code !== MORE) at += 1;
    if (at >= html.length) return at;
    reader.onAttribute(start, stop, value, at);
    if (isQuoted) at += 1;
  }
}
