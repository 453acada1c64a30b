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
  /** The request of the page that begins at this item; the first page is 1. */
  readonly request: (start: number, page: number) => SourceRequest;
  readonly read: (response: SourceResponse) => Reading<Page<Item>>;
}

interface Page<Item> {
  readonly total: number;
  readonly items: readonly Item[];
  /** The edition that the page was published with: pages of two editions are not one list. Absent: the source does not say. */
  readonly edition?: string | null;
}

export type PagesAnswer<Item> =
  | ({ readonly kind: "pages" } & PagedList<Item>)
  /** The first page is a 404: the source has no such list. */
  | { readonly kind: "missing"; readonly documents: readonly RawDocument[] }
  | (SourceFailure & { readonly documents: readonly RawDocument[] });

/** A list that is published anew while it is read is read again from its start, this often. */
const MAX_WALKS = 3;

export async function readPages<Item>(http: SourceHttp, rules: PageRules<Item>): Promise<PagesAnswer<Item>> {
  const documents: RawDocument[] = [];
  for (let walk = 0; walk < MAX_WALKS; walk++) {
    const answer = await walkPages(http, rules, documents);
    if (answer !== "published_anew") return answer;
  }
  const [first] = documents;
  return { ...failure("inconsistent", `${first!.url} was published anew while it was read`), documents };
}

async function walkPages<Item>(
  http: SourceHttp,
  rules: PageRules<Item>,
  documents: RawDocument[],
): Promise<PagesAnswer<Item> | "published_anew"> {
  const items: { document: RawDocument; item: Item }[] = [];
  let first_edition: string | null | undefined;
  for (let page = 1; page <= rules.max_pages; page++) {
    const response = await http(rules.request(items.length, page));
    if (response.kind === "failed") return { ...response, documents };
    const { document, status } = response;
    documents.push(document);
    if (status === 404 && page === 1) return { kind: "missing", documents };
    if (status !== 200) return { ...statusFailure(response), documents };
    const reading = rules.read(response);
    if (reading.kind === "failed") return { ...reading, documents };
    const { total, items: read, edition } = reading.value;
    if (page === 1) first_edition = edition;
    else if (edition !== first_edition) return "published_anew";
    items.push(...read.map((item) => ({ document, item })));
    if (items.length >= total) return { kind: "pages", documents, items, is_complete: true };
    if (read.length === 0)
      return { ...failure("incomplete", `${document.url} lists ${items.length} of ${total}`), documents };
  }
  return { kind: "pages", documents, items, is_complete: false };
}
