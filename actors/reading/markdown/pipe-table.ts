/** The lines of a GFM table: the first row is its header. Cells are Markdown already. At least one row; all have the same number of cells. */
export function pipeTable(rows: readonly (readonly string[])[]): string[] {
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |`);
  lines.splice(1, 0, `| ${rows[0]!.map(() => "---").join(" | ")} |`);
  return lines;
}
