/** The result of extracting a document: the answer of the tasks in worker processes. */
import type {
  ArticleMeta,
  ContentKind,
  PageFormats,
  PageLink,
  PageVerdict,
  PdfPage,
} from "../../schemas/fetch.ts";
import type { ContentChoice } from "../../schemas/content.ts";
import type { FeedItem, FeedWish } from "./content/feed.ts";
import type { Leads } from "./content/alternate-links.ts";

export interface ExtractTask {
  readonly bytes: Uint8Array;
  readonly url: string;
  /** As the origin sent it, or null. */
  readonly content_type: string | null;
  readonly kind: ContentKind;
  /** Unix milliseconds: dates in the far future are refused. */
  readonly now_ms: number;
  /** HTML: alternate links are wanted also when the page is not known to be paid. */
  readonly leads?: boolean;
  /** A document of the filing system: all of its text is wanted, without the wrapper (actors/reading/content/filing-text.ts). */
  readonly filed?: boolean;
  /** The document is a feed, of which only these items are wanted. */
  readonly items?: FeedWish;
  /** Markdown, links and images are wanted. */
  readonly with_formats?: boolean;
  /** Links for a crawl are wanted: beside everything else, or nothing else. */
  readonly followed?: "too" | "only";
  /** HTML: what of it is wanted, and how. */
  readonly reading?: ContentChoice;
  /** PDF: the text of pages that are pictures, by their numbers. */
  readonly recognised?: ReadonlyMap<number, string>;
}

/** The links of a page that a crawl follows, and what the page says of that. */
export interface PageLinks {
  readonly links: readonly Pick<PageLink, "url" | "rel">[];
  readonly alternates: NonNullable<PageFormats["relations"]>["alternates"];
  /** Directives of its robots elements. */
  readonly robots: readonly string[];
}

export const NO_LINKS: PageLinks = { links: [], alternates: [], robots: [] };

/** A page of a PDF that shall be drawn, for a program that recognises text. */
export interface DrawTask {
  readonly bytes: Uint8Array;
  /** From 1. */
  readonly page: number;
  readonly dpi: number;
}

/** On whose behalf a document is extracted. */
export interface ExtractCaller {
  readonly signal: AbortSignal;
  /** The readers of a node are shared fairly between projects. */
  readonly project: string;
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
  /** HTML only; see actors/reading/content/paywall.ts. */
  readonly paywall: "none" | "metered" | "hard" | "unknown" | null;
  readonly paywall_evidence: readonly string[];
  /** HTML only; see actors/reading/content/page-verdict.ts. */
  readonly page_verdict?: PageVerdict;
  /** For HTML that is only a teaser, or if requested. */
  readonly leads?: Leads;
  /** If requested, and the document has any. */
  readonly formats?: PageFormats;
  /** If requested, and the document can have any. */
  readonly followed?: PageLinks;
  /** If items of a feed were requested. */
  readonly items?: readonly FeedItem[];
  /** A document that cannot be read though it was opened: `note` says why. */
  readonly unreadable?: true;
  /** A note for operators: limits reached, password needed. */
  readonly note: string | null;
}

export const NOTHING: Extracted = {
  charset: null,
  title: null,
  text: "",
  text_truncated: false,
  meta: null,
  pdf_pages: null,
  pdf_page_count: null,
  paywall: null,
  paywall_evidence: [],
  note: null,
};
