/** Tokens that fetches take of other features, and give to them. */
import { gathered, token } from "../../../../node/token.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import type { FetchAnswer, FetchBody, PageFormats } from "../../../../schemas/fetch.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { LinksOf } from "../page-links.ts";
import type { PageReader } from "../reserved-hosts.ts";

/** The readers of pages of hosts that a feature owns; `owner` is the name of that feature's system. */
export const PageReaders = gathered<{ readonly owner: string; readonly reader: PageReader }>("page readers");

/** Project, key and id of a fetch, and the signal that ends it. */
export interface PageCaller {
  readonly fetch_id: string;
  readonly project: string;
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface FetchedPage {
  readonly answer: FetchAnswer;
  readonly bill: Bill;
  /** Null: none were asked for, or the document has none. */
  readonly formats: PageFormats | null;
}

/** Fetches a page as POST /v1/fetch does. Throws Fault. */
export type FetchPage = (body: FetchBody, caller: PageCaller) => Promise<FetchedPage>;
export const Pages = token<FetchPage>("pages");

/** Pages as items of jobs, for kinds of jobs that are made of pages. */
export interface PageItemParts {
  readonly item: ItemKindParts;
  /** Links of a page that an item has fetched. An attempt `with_followed` has them at hand. */
  readonly linksOf: LinksOf;
}
export const PageItems = token<PageItemParts>("page items");
