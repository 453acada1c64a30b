/**
 * The answer to a client: the record of a page, its long texts from the body store, and what belongs to one call. A field of the
 * record or of the fetch's answer that FetchResponse declares under the same name is answered as it is.
 */
import { readBody } from "../../../cluster/read-body.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import { type Bill, toMicros, withCost } from "../../../schemas/accounts.ts";
import { type AttemptReasonClass, attemptReasonClass } from "../../../schemas/attempt-reasons.ts";
import {
  type FetchAnswer,
  type FetchBody,
  FetchResponse,
  isAnswered,
  type PageFormats,
  type PageRecord,
  type PdfPage,
  withFieldsRead,
} from "../../../schemas/fetch.ts";
import type { Extraction } from "../../../schemas/extract.ts";
import type { ActionOutcome, StoredOutcome } from "../../../schemas/actions.ts";
import { isPremium } from "../../../schemas/tier-table.ts";
import { maskUserInfo } from "../../lib/web/url.ts";

/** The long parts of a page, read from the body store. */
export interface Texts {
  readonly html: string | null;
  readonly text: string;
  readonly pdf_pages: PdfPage[] | null;
  /** Null when none are wanted, or the document has none. */
  readonly formats: PageFormats | null;
  /** Null: there were no steps. */
  readonly actions: readonly StoredOutcome[] | null;
}

/** A text stands in memory as bytes, as a string, in the JSON and in the bytes of that. */
const COPIES = 4;

/** Text, Markdown and the addresses in it, beside links and images. */
const FORMATS_FACTOR = 2;

const bodyUrl = (sha256: string): string => `/v1/bodies/${sha256}`;

/** Where the long parts of pages are. */
export interface TextSource {
  readonly blobs: Blobs;
  /** Decodes bytes by the WHATWG name of their encoding, as the extraction does. */
  readonly decode: (bytes: Buffer, charset: string) => string;
}

/** Parts of a page that are read from the body store for its response. */
export interface PageParts {
  readonly with_html: boolean;
  readonly with_formats: boolean;
}

/** The bytes in memory while the response of a page is written. */
export const weightOf = (
  { content_kind, bytes, text_chars, formats_bytes }: PageRecord,
  { with_html, with_formats }: PageParts,
): number =>
  COPIES *
  ((with_html && content_kind === "html" ? (bytes ?? 0) : 0) +
    (text_chars ?? 0) +
    (with_formats ? (formats_bytes ?? (text_chars ?? 0) * FORMATS_FACTOR) : 0));

const NO_ELEMENTS: Extraction = {
  data: null,
  errors: [{ path: "", reason: "no_elements" }],
};
const NO_RELATIONS = { next_url: null, alternates: [], robots: [] };
export const EMPTY_TEXTS: Texts = { html: null, text: "", pdf_pages: null, formats: null, actions: null };

export async function textsOf(
  { blobs, decode }: TextSource,
  record: PageRecord,
  { with_html, with_formats }: PageParts,
): Promise<Texts> {
  const { content_kind, sha256, charset, text_sha256, pdf_pages_sha256, formats_sha256, actions } = record;
  const wanted = with_html && content_kind === "html" && sha256 !== null;
  const [page, text, pages, formats, outcomes] = await Promise.all([
    wanted ? readBody(blobs, sha256) : null,
    text_sha256 === null ? null : readBody(blobs, text_sha256),
    pdf_pages_sha256 === null ? null : readBody(blobs, pdf_pages_sha256),
    with_formats && formats_sha256 ? readBody(blobs, formats_sha256) : null,
    actions ? readBody(blobs, actions.outcomes_sha256) : null,
  ]);
  return {
    html: page && decode(page, charset ?? "UTF-8"),
    text: record.text ?? text?.toString() ?? "",
    pdf_pages: pages && (JSON.parse(pages.toString()) as PdfPage[]),
    formats: formats && (JSON.parse(formats.toString()) as PageFormats),
    actions: outcomes && (JSON.parse(outcomes.toString()) as StoredOutcome[]),
  };
}

export function billOf({
  record,
  cached,
  cost_usd,
  llm_cost_usd = "0",
  error,
  attempts,
}: Pick<FetchAnswer, "record" | "cached" | "cost_usd" | "llm_cost_usd" | "error" | "attempts">): Bill {
  // A page that is stored costs nothing, its values by a model do.
  const premium = Number(llm_cost_usd) > 0 || (!cached && isPremium(record.tier ?? ""));
  const bill = {
    category: premium ? "fetch_paid" : cached ? "fetch_cached" : "fetch_own",
    ok: error === null,
    bytes: record.bytes,
    paid: premium,
    detail: {
      status: record.status,
      error,
      reason: cached ? null : reasonOf(attempts),
      // Attempts of the page's own fetch are no news in an answer from the cache.
      attempts: cached ? [] : attempts.map(({ tier, status, reason, ms }) => ({ tier, status, reason, ms })),
    },
  } as const;
  // A premium route that failed has cost money, too, whichever route the page came by in the end.
  return withCost(bill, toMicros(cost_usd) ?? 0);
}

/** The site's last reason: why a route after it was not taken, or failed by itself, explains no failure of the page. */
const reasonOf = (attempts: FetchAnswer["attempts"]): string | null =>
  (attempts.findLast(({ reason }) => !NOT_OF_THE_SITE.has(attemptReasonClass(reason))) ?? attempts.at(-1))
    ?.reason ?? null;

const NOT_OF_THE_SITE: ReadonlySet<AttemptReasonClass> = new Set([
  "not_configured",
  "premium",
  "archive",
  "not_found",
  "busy",
  "unavailable",
  "lost",
  "no_room",
  "provider",
  "proxy",
]);

interface Reader {
  readonly request_id: string;
  readonly external: boolean;
  readonly debug_url?: string;
}

/** The names of an answer, in their order. `request_id` is the last: a response is sent again with another one in its place. */
const NAMES = Object.keys(FetchResponse.properties) as (keyof FetchResponse)[];

const shownOutcome = ({ screenshot, pdf, ...outcome }: StoredOutcome): ActionOutcome => ({
  ...outcome,
  ...(screenshot && { screenshot: { body_url: bodyUrl(screenshot.sha256), ...screenshot } }),
  ...(pdf && { pdf: { body_url: bodyUrl(pdf.sha256), ...pdf } }),
});

export function responseOf(
  wishes: FetchBody,
  { record, cost_usd, llm_cost_usd = "0", error_detail, premium_routes_tried, ...told }: FetchAnswer,
  { html, text, pdf_pages, formats, actions }: Texts,
  { external, ...reader }: Reader,
): FetchResponse {
  const { screenshot, archive, actions: _, ...page } = record;
  const { url, include_html, formats: wanted, extract, archive: isArchived } = withFieldsRead(wishes);
  const asked = wanted ?? [];
  const warnings = [...(formats?.warnings ?? []), ...(archive ? blockedFrom(wishes, page) : [])];
  const answer: FetchResponse = {
    ...page,
    ...told,
    ...reader,
    url: maskUserInfo(url),
    ...(include_html !== false && { html }),
    text,
    pdf_text_pages: pdf_pages,
    ...(asked.includes("markdown") && { markdown: formats?.markdown ?? null }),
    ...(asked.includes("links") && { links: formats?.links ?? [] }),
    ...(asked.includes("images") && { images: formats?.images ?? [] }),
    ...(asked.includes("entries") && { entries: formats?.entries ?? [] }),
    ...(asked.includes("structured") && { structured: formats?.structured ?? null }),
    ...(asked.includes("tables") && { tables: formats?.tables ?? [] }),
    ...(asked.includes("comments") && { comments: formats?.comments ?? [] }),
    ...(extract && { extract: formats?.extract ?? NO_ELEMENTS }),
    ...(warnings.length > 0 && { warnings }),
    ...(asked.includes("screenshot") && {
      screenshot: screenshot ? { body_url: bodyUrl(screenshot.sha256), ...screenshot } : null,
    }),
    ...(actions && { actions: actions.map(shownOutcome) }),
    ...(isArchived && { archive_url: archive ? `/v1/requests/${reader.request_id}.warc.gz` : null }),
    meta:
      page.meta && asked.includes("links")
        ? { ...page.meta, ...(formats?.relations ?? NO_RELATIONS) }
        : page.meta,
    cost_usd: external ? null : Number(cost_usd),
    ...(extract?.schema && { llm_cost_usd: external ? null : Number(llm_cost_usd) }),
    billing_category: billOf({ record, cost_usd, llm_cost_usd, ...told }).category,
    body_url: page.sha256 === null ? null : bodyUrl(page.sha256),
    ...(error_detail !== null && { error_detail }),
    ...(told.error !== null && { premium_routes_tried }),
  };
  const fields: Record<string, unknown> = {};
  for (const name of NAMES)
    if (answer[name] !== undefined && isAnswered(wishes, told.error, name)) fields[name] = answer[name];
  return fields as FetchResponse;
}

/** Resources that an archive lacks by its caller's wish. */
const blockedFrom = (
  { block_resources }: FetchBody,
  { tier }: Pick<FetchAnswer["record"], "tier">,
): readonly string[] =>
  tier === "browser" && block_resources?.length
    ? [`the archive has nothing of what block_resources names: ${block_resources.join(", ")}`]
    : [];
