/**
 * How much of a text fits into a number of tokens of a language model, and where the text is cut. Models count differently, so
 * this is an estimate that errs on the side of too many tokens: four characters of ASCII are one, so are two of another alphabet,
 * and a character of Chinese, Japanese or Korean is one and a half.
 */
const ASCII_END = 0x80;
const CJK_BEGIN = 0x2e80;

const tokensOf = (code: number): number => (code < ASCII_END ? 0.25 : code < CJK_BEGIN ? 0.5 : 1.5);

export const estimateTokens = (text: string): number => {
  let tokens = 0;
  for (const character of text) tokens += tokensOf(character.codePointAt(0)!);
  return Math.ceil(tokens);
};

/** A part of a text, and where the next part begins; null: this is the last one. Offsets count UTF-16 units. */
export interface Cut {
  readonly part: string;
  readonly next: number | null;
}

/** A part from `offset` on. It ends with a paragraph, else with a line or a word, if one ends in its second half. */
export function cut(text: string, offset: number, max_tokens: number): Cut {
  let tokens = 0;
  let end = offset;
  while (end < text.length) {
    const code = text.codePointAt(end)!;
    tokens += tokensOf(code);
    if (tokens > max_tokens) break;
    end += code > 0xffff ? 2 : 1;
  }
  if (end >= text.length) return { part: text.slice(offset), next: null };
  const window = text.slice(offset, end);
  for (const separator of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(separator);
    if (at >= window.length / 2) return { part: window.slice(0, at), next: offset + at + separator.length };
  }
  // At least one character, so that reading on comes to an end.
  if (window === "") {
    const first = String.fromCodePoint(text.codePointAt(offset)!);
    return { part: first, next: offset + first.length };
  }
  return { part: window, next: end };
}
