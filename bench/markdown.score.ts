/** How the structure of Markdown is scored against gold: headings, list items, table rows, links and lines of code, by their words. */
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const STRUCTURES = ["headings", "items", "rows", "links", "code"] as const;
export type Structures = Record<(typeof STRUCTURES)[number], string[]>;

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly url?: string;
  readonly children?: readonly Node[];
  readonly position?: {
    readonly start: { readonly offset?: number };
    readonly end: { readonly offset?: number };
  };
}

const words = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");

/** The text of a node, without the lists and tables in it. */
function textOf(node: Node): string {
  if (node.value !== undefined && node.type !== "html") return node.value;
  const parts = (node.children ?? []).filter(({ type }) => type !== "list" && type !== "table");
  return parts.map(textOf).join(node.type === "tableRow" ? " " : "");
}

/** Addresses as a browser compares them; of those without a host only the path is there to compare. */
function addressOf(address: string, base: string): string {
  const url = URL.parse(address, base || "https://example.com/");
  if (url === null) return "";
  return `${url.host.replace(/^www\./, "")}${url.pathname.replace(/\/$/, "")}${url.search}`;
}

export function structuresOf(markdown: string, base: string): Structures {
  const found: Structures = { headings: [], items: [], rows: [], links: [], code: [] };
  const add = (kind: keyof Structures, text: string): void => void (text !== "" && found[kind].push(text));
  const sourceOf = ({ position }: Node): string =>
    markdown.slice(position?.start.offset ?? 0, position?.end.offset ?? 0);
  const walk = (node: Node): void => {
    // All 620 headings of the gold Markdown that are underlined are code with a word a line, of which one is "=" or "-".
    if (node.type === "heading" && sourceOf(node).startsWith("#")) add("headings", words(textOf(node)));
    if (node.type === "listItem") add("items", words(textOf(node)));
    // A paragraph directly below a table is a row of it by the standard, and none by what the gold Markdown means.
    if (node.type === "tableRow" && sourceOf(node).includes("|")) add("rows", words(textOf(node)));
    if (node.type === "link") add("links", addressOf(node.url ?? "", base));
    // Code of the gold Markdown stands in fences. Its indented blocks are parts of code that lost its fences: lines behind an empty one.
    if (node.type === "code" && /^(?:`|~)/.test(sourceOf(node)))
      for (const line of (node.value ?? "").split("\n")) add("code", line.trim().replaceAll(/\s+/g, " "));
    for (const child of node.children ?? []) walk(child);
  };
  walk(fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }) as Node);
  return found;
}

/** How many of the one are in the other, each counted once. */
export function shared(gold: readonly string[], got: readonly string[]): number {
  const left = new Map<string, number>();
  for (const each of got) left.set(each, (left.get(each) ?? 0) + 1);
  let count = 0;
  for (const each of gold) {
    const rest = left.get(each) ?? 0;
    if (rest === 0) continue;
    left.set(each, rest - 1);
    count += 1;
  }
  return count;
}

/** Null: the page has no gold Markdown. */
export function goldMarkdownOf(root: string, id: string): string | null {
  const file = join(root, "wcxb", "ground-truth", `${id}.json`);
  return JSON.parse(readFileSync(file, "utf8")).ground_truth.main_content_markdown ?? null;
}
