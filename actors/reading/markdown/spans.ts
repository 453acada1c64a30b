/** The spans of a page's text nodes: each with the formatting, link and code that it stands in. */
import type { Page } from "../article/marks.ts";
import type { FormattingMark, Tree } from "../article/tree.ts";
import { PLAIN, type Span, type Style } from "./inline.ts";

const FORMATS: Readonly<Record<string, keyof Style>> = {
  b: "strong",
  strong: "strong",
  i: "emphasis",
  em: "emphasis",
  cite: "emphasis",
  dfn: "emphasis",
  var: "emphasis",
  s: "deleted",
  strike: "deleted",
  tt: "code",
  kbd: "code",
  samp: "code",
};
const ELEMENTS: Readonly<Record<string, keyof Style>> = { del: "deleted", code: "code", sup: "superscript" };

/** Formatting elements open at one place; more are not counted. */
const OPEN_MAX = 16;
/** Ancestors searched for a link or code. */
const ANCESTORS_MAX = 64;
const HREF_CHARS_MAX = 2_048;

/** The absolute address, if its scheme is one of the given ones. */
export function absolute(
  href: string | undefined,
  base: string,
  schemes = /^(?:https?|mailto):/,
): string | null {
  if (href === undefined || href.length > HREF_CHARS_MAX) return null;
  const url = URL.parse(href.trim(), base);
  if (!url || !schemes.test(url.protocol)) return null;
  // Buttons that share a page by mail name no recipient: "mailto:", "mailto:?subject=…".
  if (url.protocol === "mailto:" && url.pathname === "") return null;
  url.username = "";
  url.password = "";
  return url.href;
}

/** The address that relative addresses of a page are resolved against. */
export const baseOf = (tree: Tree, url: string): string => URL.parse(tree.base ?? "", url)?.href ?? url;

/** A link within the page leads nowhere in its Markdown. */
function linkTarget(href: string | undefined, base: string): string | null {
  if (href?.trim().startsWith("#")) return null;
  return absolute(href, base);
}

export interface SpanReader {
  /** Spans of a text node. Nodes must be asked for in document order. */
  readonly spansOf: (node: number) => Span[];
}

export function spanReader({ tree }: Page, base: string): SpanReader {
  const above = new Map<number, Style>();
  const open: { tag: string; end: number }[] = [];
  let next = 0;

  /** Style by the elements that contain the node. */
  function styleAbove(parent: number): Style {
    const known = above.get(parent);
    if (known) return known;
    let style = PLAIN;
    for (
      let node = parent, step = 0;
      node > 0 && step < ANCESTORS_MAX;
      node = tree.parent[node]!, step += 1
    ) {
      const tag = tree.tag[node]!;
      const format = ELEMENTS[tag];
      if (format) style = { ...style, [format]: true };
      if (tag === "a" && style.href === null)
        style = { ...style, href: linkTarget(tree.attributes[node]?.["href"], base) };
    }
    above.set(parent, style);
    return style;
  }

  function apply({ tag, opens, parent }: FormattingMark): void {
    if (opens) {
      if (open.length < OPEN_MAX) open.push({ tag, end: tree.end[parent]! });
      return;
    }
    const at = open.findLastIndex((mark) => mark.tag === tag);
    if (at >= 0) open.splice(at, 1);
  }

  function current(node: number): Style {
    const style = styleAbove(tree.parent[node]!);
    const formats = open.flatMap(({ tag }) => FORMATS[tag] ?? []);
    const linked = tree.linked[node] ? style : { ...style, href: null };
    return formats.length === 0
      ? linked
      : { ...linked, ...Object.fromEntries(formats.map((name) => [name, true])) };
  }

  return {
    spansOf(node) {
      const marks = tree.formatting;
      while (next < marks.length && marks[next]!.node < node) apply(marks[next++]!);
      for (let i = open.length - 1; i >= 0; i -= 1) if (open[i]!.end <= node) open.splice(i, 1);
      const text = tree.text[node]!;
      if (tree.tag[tree.parent[node]!] === "math") return [{ text, style: current(node), formula: true }];
      const spans: Span[] = [];
      let from = 0;
      while (next < marks.length && marks[next]!.node === node) {
        const mark = marks[next++]!;
        if (mark.offset > from) spans.push({ text: text.slice(from, mark.offset), style: current(node) });
        from = Math.max(from, mark.offset);
        apply(mark);
      }
      spans.push({ text: text.slice(from), style: current(node) });
      return spans;
    },
  };
}
