/** Tokens that search gives to other features. */
import type { ActorClient } from "../../../../cluster/actor.ts";
import { token } from "../../../../node/token.ts";
import type { SearchAnswer, SearchRequest } from "../../../../schemas/search.ts";
import type { StoredPage } from "../../../crawl/fetch/run.ts";
import type { RetrievedPage } from "../../../crawl/fetch/service.ts";
import type { LocalIndex } from "../adapters/engine.local.sqlite.ts";

/** Searches on behalf of another feature's work. Throws Fault. */
export type SearchPages = (request: SearchRequest, client: ActorClient) => Promise<SearchAnswer>;

/** Hears of pages that were stored, given to a project, or are gone. */
export interface PageIndex {
  /** Null where pages are not indexed on this node. */
  readonly local: LocalIndex | null;
  readonly onPageStored: (page: StoredPage) => void;
  /** A project was given a page, from the cache or by a fetch of its own. */
  readonly onRetrieved: (page: RetrievedPage) => void;
  /** A page of an imported archive; `is_shared`: for every project. False: it is not for the index, or there is none. */
  readonly onImported: (page: StoredPage, is_shared: boolean) => boolean;
  readonly onImportRemoved: (page: {
    readonly url: string;
    readonly project: string;
    readonly is_shared: boolean;
    /** The digest of the page's body: a page that was fetched at the address since then stays. */
    readonly sha256: string;
  }) => void;
  readonly onGone: (page: { readonly url: string; readonly project: string }) => void;
}

/** Null: this deployment has no search engine. */
export const PageSearch = token<SearchPages | null>("page search");
export const IndexOfPages = token<PageIndex>("page index");
