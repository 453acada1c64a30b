/** A page of the documentation as Markdown, and what such texts are made of. */

/** A page of the documentation before it is drawn. */
export interface SourcePage {
  /** Below /docs/. */
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
  /** Whether the search finds it. */
  readonly isSearched: boolean;
}

const cell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");

/** Blocks, without those that are empty. */
export const joined = (parts: readonly string[]): string =>
  `${parts.filter((part) => part !== "").join("\n\n")}\n`;
