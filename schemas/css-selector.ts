/**
 * CSS selectors in a request. What is no selector is refused with the request. A selector for a browser may use names that only the
 * browser can judge (a pseudo-class that it does not know), which is found out there; one for a stored page is checked whole.
 */
import { isTraversal, parse, type Selector, SelectorType } from "css-what";
import { Type } from "typebox";
import { Set as setFormat } from "typebox/format";

const MAX_SELECTOR_CHARS = 1_000;

setFormat("css-selector", (text) => parsed(text) !== null);
setFormat("page-selector", isPageSelector);

function parsed(text: string): Selector[][] | null {
  try {
    const selectors = parse(text);
    return selectors.length > 0 ? selectors : null;
  } catch {
    return null;
  }
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
/** The pseudo-classes that a stored page can answer, as cheerio's selectors have them. */
const NESTED = words("is where matches not has");
const COUNTED = words("nth-child nth-last-child nth-of-type nth-last-of-type");
const NAMED = words(
  "root scope empty first-child last-child only-child first-of-type last-of-type only-of-type any-link link disabled enabled " +
    "checked required optional selected checkbox file password radio reset image submit parent header button input text",
);
const WITH_TEXT = words("contains icontains");
const FORMULA = /^\s*(?:even|odd|[+-]?\d+|[+-]?\d*n(?:\s*[+-]\s*\d+)?)\s*$/i;

/** Whether each part of it can be answered from the elements of a page, without a browser. */
function isPageSelector(text: string): boolean {
  return parsed(text)?.every(isWhole) ?? false;
}

const isWhole = (parts: readonly Selector[]): boolean =>
  parts.length > 0 && !isTraversal(parts.at(-1)!) && parts.every(isAnswerable);

function isAnswerable(part: Selector): boolean {
  if (part.type === SelectorType.PseudoElement || part.type === SelectorType.ColumnCombinator) return false;
  if (part.type !== SelectorType.Pseudo) return !("namespace" in part && part.namespace !== null);
  const { name, data } = part;
  if (Array.isArray(data)) return NESTED.has(name) && data.every(isWhole);
  if (data === null) return NAMED.has(name);
  return COUNTED.has(name) ? FORMULA.test(data) : WITH_TEXT.has(name);
}

const selector = (format: string) => Type.String({ minLength: 1, maxLength: MAX_SELECTOR_CHARS, format });

export const CssSelector = selector("css-selector");
/** For the elements of a page as it is stored. */
export const PageSelector = selector("page-selector");
