/** What reading a document's bytes comes to: the answer of the tasks that run outside the process. */
import type { ArticleMeta, ContentKind, PdfPage } from "../../../schemas/fetch.ts";
import type { FeedItem, FeedWish } from "./feed.ts";
import type { Leads } from "./alternate-links.ts";

export interface ExtractTask {
  readonly bytes: Uint8Array;
  readonly url: string;
  /** As the origin sent it, or null. */
  readonly content_type: string | null;
  readonly kind: ContentKind;
  /** Unix milliseconds: dates in the far future are refused. */
  readonly now_ms: number;
  /** HTML: where else its text may stand is wanted also when nothing says that it is sold. */
  readonly leads?: boolean;
  /** It was filed with the filing system: all of its text is wanted, without the wrapper (actors/lib/content/filing-text.ts). */
  readonly filed?: boolean;
  /** The document is a feed, of which only these items are wanted. */
  readonly items?: FeedWish;
}

export interface Extracted {
  /** WHATWG name of the encoding; null for PDF and binary. */
  readonly charset: string | null;
  readonly title: string | null;
  readonly text: string;
  readonly text_truncated: boolean;
  /** HTML only. */
  readonly meta: ArticleMeta | null;
  /** PDF only. */
  readonly pdf_pages: readonly PdfPage[] | null;
  readonly pdf_page_count: number | null;
  /** HTML only; see actors/lib/content/paywall.ts. */
  readonly paywall: "none" | "metered" | "hard" | "unknown" | null;
  readonly paywall_evidence: readonly string[];
  /** Of HTML that is only a teaser, or where it was asked for. */
  readonly leads?: Leads;
  /** Where items were asked for. */
  readonly items?: readonly FeedItem[];
  /** Something an operator may want to know: caps reached, password needed. */
  readonly note: string | null;
}
