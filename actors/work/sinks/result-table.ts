/**
 * Items of a job as rows of one table, whatever their kind: the columns of Parquet parts, and of the files that the command line
 * writes. What only pages have is null for other kinds; `input` and `result` have all of an item as JSON text.
 */
import type { JobItem } from "../../../schemas/jobs.ts";

export type Cell = string | number | null;

/** In the words of Parquet. */
type ColumnType = "INT32" | "STRING";

interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly cell: (item: JobItem) => Cell;
}

const ofResult =
  (name: string, type: "string" | "number") =>
  ({ result }: JobItem): Cell => {
    const value = (result as Readonly<Record<string, unknown>> | null)?.[name];
    return typeof value === type ? (value as Cell) : null;
  };
const texts = (...names: string[]): readonly Column[] =>
  names.map((name) => ({ name, type: "STRING", cell: ofResult(name, "string") }));

/** Names and types stay as they are; a new column comes last. */
export const RESULT_COLUMNS: readonly Column[] = [
  { name: "index", type: "INT32", cell: ({ index }) => index },
  { name: "kind", type: "STRING", cell: ({ kind }) => kind },
  { name: "status", type: "STRING", cell: ({ status }) => status },
  { name: "error", type: "STRING", cell: ({ error }) => error },
  {
    name: "url",
    type: "STRING",
    cell: ({ input }) => (typeof input["url"] === "string" ? input["url"] : null),
  },
  ...texts("final_url"),
  { name: "http_status", type: "INT32", cell: ofResult("status", "number") },
  ...texts("title", "content_type", "retrieved_at", "sha256", "text", "markdown"),
  { name: "input", type: "STRING", cell: ({ input }) => JSON.stringify(input) },
  { name: "result", type: "STRING", cell: ({ result }) => (result === null ? null : JSON.stringify(result)) },
];

export const rowOf = (item: JobItem): readonly Cell[] => RESULT_COLUMNS.map(({ cell }) => cell(item));
