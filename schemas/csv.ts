/** Rows of an uploaded CSV file, as a slice's reader gives them to the gateway. */

/** `row` is the line where the row begins, as an editor shows it; the header is 1. */
export type CsvRow<Item extends object = object> =
  | { readonly kind: "item"; readonly row: number; readonly item: Item }
  /** A column of the header that is not read. */
  | { readonly kind: "unknown_column"; readonly name: string }
  /** The row is not read; the rows after it are. */
  | { readonly kind: "bad_row"; readonly row: number; readonly message: string }
  /** The file cannot be read further; the last row of all. Rows immediately before it may be missing. */
  | {
      readonly kind: "refused";
      readonly status: 413 | 422;
      readonly row: number | null;
      readonly message: string;
    };
