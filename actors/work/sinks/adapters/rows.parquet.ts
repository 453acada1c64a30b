/** Rows of the result table as Parquet, compressed with Snappy. */
import {
  type ColumnSource,
  fileWriter,
  parquetWriteBuffer,
  ParquetWriter,
  schemaFromColumnData,
} from "hyparquet-writer";
import { type Cell, RESULT_COLUMNS } from "../result-table.ts";

type Rows = readonly (readonly Cell[])[];

const columnsOf = (rows: Rows): ColumnSource[] =>
  RESULT_COLUMNS.map(({ name, type }, at) => ({ name, type, data: rows.map((row) => row[at] ?? null) }));

/** A whole file of one row group. */
export const parquetOf = (rows: Rows): Buffer =>
  Buffer.from(parquetWriteBuffer({ columnData: columnsOf(rows), rowGroupSize: Math.max(rows.length, 1) }));

/** A file that grows by a row group with each write, and can be read once it is closed. */
export function parquetFile(path: string): {
  readonly write: (rows: Rows) => void;
  readonly close: () => void;
} {
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema: schemaFromColumnData({ columnData: columnsOf([]) }),
  });
  return {
    write: (rows) => void writer.write({ columnData: columnsOf(rows), rowGroupSize: rows.length }),
    close: () => void writer.finish(),
  };
}
