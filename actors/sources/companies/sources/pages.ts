/** Reads a list that a source answers in pages, to its end or to a limit. A list that ends early is a failure. */
import type { RawDocument, SourceFailure, SourceHttp, SourceRequest, SourceResponse } from "../source.ts";
import { failure, type Reading, statusFailure } from "./reading.ts";

export interface PagedList<Item> {
  readonly documents: readonly RawDocument[];
  readonly items: readonly { readonly document: RawDocument; readonly item: Item }[];
  /** False: the limit of pages was reached before the end. */
  readonly is_complete: boolean;
}

export interface PageRules<Item> {
  readonly max_pages: number;
  /** The request of the page that begins at this item. */
  readonly request: (start: number) => SourceRequest;
  readonly read: (
    response: SourceResponse,
  ) => Reading<{ readonly total: number; readonly items: readonly Item[] }>;
}

export type PagesAnswer<Item> =
  | ({ readonly kind: "pages" } & PagedList<Item>)
  /** The first page is a 404: the source has no such list. */
  | { readonly kind: "missing"; readonly documents: readonly RawDocument[] }
  | (SourceFailure & { readonly documents: readonly RawDocument[] });

export async function readPages<Item>(http: SourceHttp, rules: PageRules<Item>): Promise<PagesAnswer<Item>> {
  const documents: RawDocument[] = [];
  const items: { document: RawDocument; item: Item }[] = [];
  for (let page = 0; page < rules.max_pages; page++) {
    const response = await http(rules.request(items.length));
    if (response.kind === "failed") return { ...response, documents };
    const { document, status } = response;
    documents.push(document);
    if (status === 404 && page === 0) return { kind: "missing", documents };
    if (status !== 200) return { ...statusFailure(response), documents };
    const reading = rules.read(response);
    if (reading.kind === "failed") return { ...reading, documents };
    const { total, items: read } = reading.value;
    items.push(...read.map((item) => ({ document, item })));
    if (items.length >= total) return { kind: "pages", documents, items, is_complete: true };
    if (read.length === 0)
      return { ...failure("incomplete", `${document.url} lists ${items.length} of ${total}`), documents };
  }
  return { kind: "pages", documents, items, is_complete: false };
}
