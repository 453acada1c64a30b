/** Pieces of Markdown that the tools share. */

/** Lines without the empty values among them. */
export const lines = (...parts: readonly (string | null | undefined | false)[]): string =>
  parts.filter((part) => typeof part === "string").join("\n");

/** Text that stands in a line of its own: without line breaks, and without a meaning for Markdown. */
export const inline = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/[[\]\\`*_<>|]/g, "\\$&");

export const link = (text: string | null, url: string): string =>
  `[${inline(text ?? url)}](<${url.replaceAll(/[<>\s]/g, encodeURIComponent)}>)`;

/** Facts in one line: `name: value`, without those that are null. */
export const factLine = (facts: Readonly<Record<string, unknown>>): string =>
  Object.entries(facts)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(" · ");

const MAX_DEPTH = 6;

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === "" ||
  (typeof value === "object" && Object.values(value).every((part) => isEmpty(part)));

/** A record as a nested list: what is empty is left out. */
export function outline(value: object, depth = 0): string {
  const indent = "  ".repeat(depth);
  return Object.entries(value)
    .filter(([, part]) => !isEmpty(part))
    .flatMap(([name, part]) => {
      const label = Array.isArray(value) ? "-" : `- **${name.replaceAll("_", " ")}**:`;
      if (typeof part !== "object") return [`${indent}${label} ${inline(String(part))}`];
      if (Array.isArray(part) && part.every((item) => typeof item !== "object"))
        return [`${indent}${label} ${inline(part.join(", "))}`];
      return depth === MAX_DEPTH ? [] : [`${indent}${label}\n${outline(part as object, depth + 1)}`];
    })
    .join("\n");
}

type Cell = string | number | boolean | null | undefined;

/** A link stays as it is. */
function inCell(cell: Cell): string {
  const text = String(cell ?? "");
  return text.includes("](<") ? text : inline(text);
}

/** A table; a cell is null where there is nothing. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]): string => `| ${cells.map(inCell).join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}
