/**
 * A CSS selector in a request. What is no selector is refused with the request; a name that only a browser can judge
 * (a pseudo-class that it does not know) is found out there.
 */
import { parse } from "css-what";
import { Type } from "typebox";
import { Set as setFormat } from "typebox/format";

const MAX_SELECTOR_CHARS = 1_000;

setFormat("css-selector", isSelector);

function isSelector(text: string): boolean {
  try {
    return parse(text).length > 0;
  } catch {
    return false;
  }
}

export const CssSelector = Type.String({
  minLength: 1,
  maxLength: MAX_SELECTOR_CHARS,
  format: "css-selector",
});
