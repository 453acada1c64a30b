/** A page without the elements that a caller leaves out, or with nothing but those that the caller wants. */
import type { ContentChoice } from "../../../schemas/content.ts";
import { type AnyNode, type Elements, htmlOf, isElement, quoted } from "./document.ts";

/** Takes the excluded elements out of `$`, and answers the page as HTML: with its head, and with what is included as its body. */
export function narrowed($: Elements, { include, exclude }: ContentChoice): string {
  if (exclude.length > 0) $(exclude.join()).not("html, head, body").remove();
  if (include.length === 0) return htmlOf($.root().get());
  const wanted = new Set<AnyNode>($(include.join()).get());
  const outermost = [...wanted].filter((node) => !isInside(node, wanted));
  // The head stays: the page's address, its language and what it says of itself.
  const language = $("html").attr("lang") ?? "";
  return `<html lang="${quoted(language)}">${htmlOf($("head").get())}<body>${htmlOf(outermost)}</body></html>`;
}

function isInside(node: AnyNode, wanted: ReadonlySet<AnyNode>): boolean {
  for (let up = node.parent; up !== null && isElement(up); up = up.parent) if (wanted.has(up)) return true;
  return false;
}
