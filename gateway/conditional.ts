/**
 * Conditional and partial reads of something whose entity tag is known: RFC 9110 sections 13 and 14, as pure
 * functions. One range or none; several at once are answered with the whole, as the RFC allows.
 */

/** `tag` as it is sent: with its quotes, never weak. */
export type ConditionalRead =
  | { readonly status: 200 }
  | { readonly status: 304 }
  | { readonly status: 206; readonly first: number; readonly last: number; readonly content_range: string }
  | { readonly status: 416; readonly content_range: string };

const WHOLE: ConditionalRead = { status: 200 };
const ENTITY_TAG = /[\s,]*(?:W\/)?("[\x21\x23-\x7e\x80-\u{10ffff}]*")\s*(?:,|$)/uy;

/** Compared weakly, as section 13.1.2 asks; empty members are skipped (5.6.1). What is not a list of tags matches nothing from where it goes wrong. */
export function matches(if_none_match: string | undefined, tag: string): boolean {
  if (if_none_match === undefined) return false;
  if (if_none_match.trim() === "*") return true;
  ENTITY_TAG.lastIndex = 0;
  for (let match; (match = ENTITY_TAG.exec(if_none_match));) if (match[1] === tag) return true;
  return false;
}

/** Fifteen digits are exact as a number; a longer one is beyond any body and counts as infinite. */
const ONE_RANGE = /^bytes=\s*(\d*)-(\d*)\s*$/i;
const number = (digits: string): number => (digits.length > 15 ? Infinity : Number(digits));

/** The answer to a GET or HEAD with its conditional fields. */
export function readOf(
  headers: ReadonlyMap<string, string>,
  { tag, length }: { readonly tag: string; readonly length: number },
): ConditionalRead {
  if (matches(headers.get("if-none-match"), tag)) return { status: 304 };
  const range = headers.get("range");
  if (range === undefined || !still(headers.get("if-range"), tag)) return WHOLE;
  const match = ONE_RANGE.exec(range.trim());
  // Another unit, several ranges, or no range at all: a server may ignore the field, and does.
  if (!match || (match[1] === "" && match[2] === "")) return WHOLE;
  const [from, to] = [match[1]!, match[2]!];
  if (from !== "" && to !== "" && number(to) < number(from)) return WHOLE;
  const first = from === "" ? Math.max(0, length - number(to)) : number(from);
  const last = from === "" || to === "" ? length - 1 : Math.min(number(to), length - 1);
  if (first >= length || (from === "" && number(to) === 0))
    return { status: 416, content_range: `bytes */${length}` };
  return { status: 206, first, last, content_range: `bytes ${first}-${last}/${length}` };
}

/** If-Range is compared strongly: a weak tag, or a date, for which there is nothing to compare, asks for the whole. */
const still = (if_range: string | undefined, tag: string): boolean =>
  if_range === undefined || if_range.trim() === tag;
