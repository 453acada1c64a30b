/** A page without the elements that a caller leaves out, or with nothing but those that the caller wants. */
import type { ContentChoice } from "../../../schemas/content.ts";
import { type AnyNode, type Elements, htmlOf, isElement, quoted } from "./document.ts";

/** Takes the excluded elements out of `$`. */
export function leaveOut($: Elements, { exclude }: ContentChoice): void {
  if (exclude.length > 0) $(exclude.join()).not("html, head, body").remove();
}

/** The outermost elements that are included; the whole page where none are named. */
export function included($: Elements, { include }: ContentChoice): readonly AnyNode[] {
  if (include.length === 0) return $.root().get();
  const wanted = new Set<AnyNode>($(include.join()).get());
  return [...wanted].filter((node) => !isInside(node, wanted));
}

/** The page as HTML: with its head, and with what is included as its body. */
export function narrowed($: Elements, choice: ContentChoice): string {
  const nodes = included($, choice);
  if (choice.include.length === 0) return htmlOf(nodes);
  // The head stays: the page's address, its language and what it says of itself.
  const language = $("html").attr("lang") ?? "";
  return `<html lang="${quoted(language)}">${htmlOf($("head").get())}<body>${htmlOf(nodes)}</body></html>`;
}

function isInside(node: AnyNode, wanted: ReadonlySet<AnyNode>): boolean {
  for (let up = node.parent; up !== null && isElement(up); up = up.parent) if (wanted.has(up)) return true;
  return false;
}
