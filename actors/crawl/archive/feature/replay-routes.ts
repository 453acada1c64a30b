/**
 * Archived pages for people. GET /v1/archive/view answers a key with a path that is signed for one archived fetch and an hour;
 * GET /replay/{token}/{address} shows the page without a key, in a sandbox, and what it loads of the same fetch.
 */
import { LRUCache } from "lru-cache";
import { Type } from "typebox";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import { htmlPage, PAGE_HEADERS } from "../../../../gateway/html-page.ts";
import { HEAD_TOO_LARGE, json } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { openRoute, type OpenCall, type Route, route } from "../../../../gateway/route.ts";
import { safeHeaders } from "../../../../gateway/routes/bodies.ts";
import type { ArchivedFetch, KeptExchange } from "../../../../schemas/archives.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { decodeText } from "../../../reading/content/decode-text.ts";
import { storedCaptures } from "../captures.ts";
import type { PlaceOf } from "../replay/plain-page.ts";
import { fieldOf, mimeOf } from "../warc/record.ts";
import { addressOf, nearest, NOT_ARCHIVED, Timestamp } from "./captures-routes.ts";

export interface ReplayDeps {
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, "sign" | "isSigned">;
}

const PURPOSE = "archive view";
const LINK_S = 3_600;
/** More is not rewritten: it would keep the node busy. */
const MAX_REWRITTEN_BYTES = 4 * 1_048_576;
/** A page asks for its files one by one, each of which stands in the list of the same fetch. */
const REMEMBERED_FETCHES = 16;

/** Without scripts, forms, frames and windows; files of this server only. */
const POLICY = [
  "sandbox",
  "default-src 'none'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self' data:",
  "media-src 'self' data:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join("; ");
const SHOWN_HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "X-DNS-Prefetch-Control": "off",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": `private, max-age=600`,
};

const message = (status: number, title: string, text: string): Reply => ({
  status,
  headers: { ...PAGE_HEADERS, "Content-Security-Policy": POLICY },
  body: Buffer.from(htmlPage(title, `<p>${text}</p>`)),
});
const TOO_OLD = message(
  410,
  "This address is not open any more",
  "It is more than an hour old. Open the page again from the list of captures.",
);
const NOT_SHOWN = message(404, "Not archived", "The project has no capture of this address.");
const TOO_LARGE = message(
  413,
  "Too large to be shown",
  `The page has more than ${MAX_REWRITTEN_BYTES / 1_048_576} MiB. Its bytes are there in the archive.`,
);

/** The archived fetch that a path shows. */
interface View {
  readonly project: string;
  readonly archive_sha256: string;
  /** Unix seconds. */
  readonly expires: number;
}

export function replayRoutes(deps: ReplayDeps): readonly Route[] {
  const { documents, clock } = deps;
  const show = shower(deps);
  return [
    route({
      method: "GET",
      path: "/v1/archive/view",
      operationId: "viewCapture",
      summary: "An address that shows an archived page",
      description:
        "Of the capture nearest to the time, or the newest one: a path that shows the page in a browser for an hour and needs no key. " +
        "The page is shown without scripts, in a sandbox, with the files that were archived with it; nothing is asked of its site. " +
        "/replay lists captures and shows them.",
      tags: ["fetch"],
      query: Type.Object({
        url: Field(Type.String({ minLength: 1, maxLength: 8_192 }), "The address", "https://example.org/"),
        timestamp: Type.Optional(
          Field(Nullable(Timestamp), "The time: 1 to 14 digits. Default: the newest capture", "20261125"),
        ),
      }),
      replies: {
        200: {
          description: "Where the page is shown",
          schema: Type.Object({
            url: Field(Type.String(), "The address that was archived", "https://example.org/"),
            captured_at: Field(
              Type.String({ format: "date-time" }),
              "When it was captured",
              "2026-11-25T10:30:00.000Z",
            ),
            view_url: Field(Type.String(), "The path that shows it", "/replay/…/https://example.org/"),
            expires_at: Field(Type.String({ format: "date-time" }), "Until when", "2026-11-25T11:30:00.000Z"),
          }),
        },
        431: HEAD_TOO_LARGE,
        404: {
          description: "The project has no capture of the address",
          schema: Type.Object({ detail: Type.String() }),
        },
      },
      async handle({ query, caller }) {
        const project = caller.grant.project.name;
        const url = parseUrl(addressOf(query.url));
        const timestamp = query.timestamp ?? "99991231235959";
        const capture = url && (await nearest(documents, project, url.href, timestamp));
        if (capture === null) return NOT_ARCHIVED;
        const expires = Math.floor(clock.now() / 1_000) + LINK_S;
        return json(200, {
          url: capture.url,
          captured_at: capture.date,
          view_url: pathOf(deps, { project, archive_sha256: capture.archive_sha256, expires }, capture.url),
          expires_at: new Date(expires * 1_000).toISOString(),
        });
      },
    }),
    openRoute({
      method: "GET",
      path: "/replay/{token}/{address}",
      operationId: "replay",
      audience: "people",
      summary: "An archived page, without scripts",
      description: "A path that GET /v1/archive/view made, and what the page links to and loads.",
      tags: ["about"],
      params: Type.Object({
        token: Field(
          Type.String({ maxLength: 1_000 }),
          "What was signed, and the signature",
          "eyJhdCI6MjB9.5Yf0",
        ),
        address: Field(Type.String(), "The address, with its query", "https://example.org/"),
      }),
      rest: true,
      // Its query is that of the address.
      readAddress: ({ token = "", address = "" }, query) => ({
        body: { kind: "read", value: { token, url: query === "" ? address : `${address}?${query}` } },
        unknown: [],
      }),
      replies: {
        200: {
          description: "The page or a file of it",
          content_type: "text/html",
          also: ["*/*"],
          schema: Type.String(),
        },
        302: {
          description: "The capture of a redirect, or one of another fetch",
          headers: { Location: "A path of this kind" },
        },
        404: {
          description: "The project has no capture of it, or the path was changed",
          content_type: "text/html",
          schema: Type.String(),
        },
        410: {
          description: "The path is more than an hour old",
          content_type: "text/html",
          schema: Type.String(),
        },
        413: { description: "Too large to be shown", content_type: "text/html", schema: Type.String() },
      },
      verbatim: true,
      async handle({ body }: OpenCall) {
        // `readAddress` made it.
        const { token, url } = body as unknown as { readonly token: string; readonly url: string };
        const view = viewOf(deps, token);
        return "status" in view ? view : show(view, url);
      },
    }),
  ];
}

function pathOf({ secrets }: ReplayDeps, { project, archive_sha256, expires }: View, url: string): string {
  const signed = Buffer.from(JSON.stringify([project, archive_sha256, expires])).toString("base64url");
  return `/replay/${signed}.${secrets.sign(PURPOSE, signed)}/${url}`;
}

/** Or why nothing is shown. */
function viewOf({ secrets, clock }: ReplayDeps, token: string): View | Reply {
  const [signed = "", signature = ""] = token.split(".");
  if (!secrets.isSigned(PURPOSE, signed, signature)) return NOT_SHOWN;
  const [project, archive_sha256, expires] = JSON.parse(Buffer.from(signed, "base64url").toString()) as [
    string,
    string,
    number,
  ];
  return clock.now() < expires * 1_000 ? { project, archive_sha256, expires } : TOO_OLD;
}

function shower(deps: ReplayDeps): (view: View, asked: string) => Promise<Reply> {
  const { blobs, documents } = deps;
  const fetches = new LRUCache<string, Promise<ArchivedFetch>>({ max: REMEMBERED_FETCHES });

  function fetchOf(sha256: string): Promise<ArchivedFetch> {
    const known = fetches.get(sha256);
    if (known) return known;
    const read = readBody(blobs, sha256).then((bytes) => JSON.parse(bytes.toString()) as ArchivedFetch);
    fetches.set(sha256, read);
    read.catch(() => fetches.delete(sha256));
    return read;
  }

  /** Digest of what scripts had made of the page; null: it was not rendered. */
  async function renderedOf({ project, archive_sha256 }: View, url: string): Promise<string | null> {
    for await (const capture of storedCaptures(documents, project, url, "exact"))
      if (capture.archive_sha256 === archive_sha256) return capture.rendered_sha256 ?? null;
    return null;
  }

  return async (view, asked) => {
    const url = parseUrl(addressOf(asked));
    if (url === null) return NOT_SHOWN;
    const { exchanges } = await fetchOf(view.archive_sha256);
    const found = exchanges.findLast((exchange) => exchange.url === url.href);
    const placeOf: PlaceOf = ({ href }) => pathOf(deps, view, href);
    if (found === undefined) return elsewhere(deps, view, url, exchanges);
    const location = fieldOf(found.response.fields, "location");
    const target = location === undefined || found.response.status < 300 ? null : parseUrl(location, url);
    if (target !== null) return { status: 302, headers: { ...SHOWN_HEADERS, Location: placeOf(target) } };
    const rendered = isHtml(mimeOf(found.response.fields)) ? await renderedOf(view, url.href) : null;
    return shown(blobs, found, rendered, placeOf);
  };
}

/** The capture of an address that was not part of the same fetch, nearest to its time. */
async function elsewhere(
  deps: ReplayDeps,
  view: View,
  url: URL,
  exchanges: readonly KeptExchange[],
): Promise<Reply> {
  const timestamp = (exchanges.at(-1)?.started_at ?? "").replaceAll(/\D/g, "").slice(0, 14);
  const capture = await nearest(deps.documents, view.project, url.href, timestamp);
  if (capture === null || capture.archive_sha256 === view.archive_sha256) return NOT_SHOWN;
  const Location = pathOf(deps, { ...view, archive_sha256: capture.archive_sha256 }, capture.url);
  return { status: 302, headers: { ...SHOWN_HEADERS, Location } };
}

const isHtml = (mime: string): boolean => mime === "text/html" || mime === "application/xhtml+xml";

async function shown(
  blobs: Blobs,
  { url, response }: KeptExchange,
  rendered_sha256: string | null,
  placeOf: PlaceOf,
): Promise<Reply> {
  const { body, fields } = response;
  if (body === null) return NOT_SHOWN;
  const mime = mimeOf(fields);
  const type = fieldOf(fields, "content-type") ?? null;
  if (!isHtml(mime) && mime !== "text/css") {
    // Fonts are loaded with CORS, and the sandbox has no origin of its own.
    const headers = {
      ...safeHeaders(type, "sha256" in body ? body.sha256 : "archived"),
      ...SHOWN_HEADERS,
      "Access-Control-Allow-Origin": "*",
    };
    if ("base64" in body) return { status: 200, headers, body: Buffer.from(body.base64, "base64") };
    const chunks = await blobs.get(body.sha256);
    return chunks === null ? NOT_SHOWN : { status: 200, headers, body: { length: body.bytes, chunks } };
  }
  const sha256 = rendered_sha256 ?? ("sha256" in body ? body.sha256 : null);
  const size = sha256 === null ? 0 : ((await blobs.head(sha256))?.bytes ?? 0);
  if (size > MAX_REWRITTEN_BYTES) return TOO_LARGE;
  const bytes =
    sha256 === null
      ? Buffer.from("base64" in body ? body.base64 : "", "base64")
      : await readBody(blobs, sha256);
  const page = new URL(url);
  // Loaded when a page is shown: most gateways show none.
  const text = decodeText(bytes, await charset(bytes, rendered_sha256 === null ? type : "charset=utf-8"));
  const { plainCss, plainHtml } = await import("../replay/plain-page.ts");
  const plain = isHtml(mime) ? plainHtml(text, page, placeOf) : plainCss(text, page, placeOf);
  return {
    status: 200,
    headers: { ...SHOWN_HEADERS, "Content-Type": `${isHtml(mime) ? "text/html" : mime}; charset=utf-8` },
    body: Buffer.from(plain),
  };
}

async function charset(bytes: Buffer, content_type: string | null): Promise<string> {
  const { charsetOf } = await import("../../../reading/content/charset.ts");
  return charsetOf({ bytes, content_type, kind: "html" }) ?? "UTF-8";
}
