/**
 * The meaning of the filing system's answers. A 403 can be a throttle page, a refused identity or a document that does not
 * exist, and a throttle page can come with status 200, so answers are classified by their bodies. A filing that quotes a
 * throttle page is not one: title, heading and size must all match.
 */
import type { SourceKind } from "../../../../schemas/filing-source.ts";
import { jsonScanner } from "../json-scan.ts";

/** The bytes of a body that are inspected; throttle pages are smaller than half of this. */
export const MAX_INSPECTED_BYTES = 65_536;
const MAX_PAGE_BYTES = 32_768;

/** `threshold`: too many requests. `identity_refused`: the declared identity was refused, and waiting does not help. */
export type ThrottlePage = "threshold" | "identity_refused";

export function throttlePage(body: Buffer): ThrottlePage | null {
  if (body.length >= MAX_PAGE_BYTES) return null;
  const text = body.toString("utf8");
  if (!/<title>\s*SEC\.gov \| Request Rate Threshold Exceeded\s*<\/title>/i.test(text)) return null;
  const headings = [...text.matchAll(/<h1\b[^<>]*>([^<]*)<\/h1>/gi)].map(([, heading]) => heading!);
  if (headings.some((heading) => heading.includes("Undeclared Automated Tool"))) return "identity_refused";
  return headings.some((heading) => heading.includes("Traffic Limit")) ? "threshold" : null;
}

export type Classification =
  | { readonly kind: "content" }
  | { readonly kind: "not_modified" }
  | { readonly kind: "redirect" }
  /** 404 or 410, or a 403 with the error of an object store. */
  | { readonly kind: "missing" }
  | { readonly kind: "throttled"; readonly reason: string }
  /** Another attempt may help. */
  | { readonly kind: "broken"; readonly detail: string }
  /** Another client error: no other attempt helps. */
  | { readonly kind: "refused" };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const NO_SUCH = /<Code>\s*(?:AccessDenied|NoSuchKey)\s*<\/Code>/;

/** `body`: the first MAX_INSPECTED_BYTES of an answer. */
export function classify(status: number, body: Buffer): Classification {
  const page = throttlePage(body);
  if (page) return { kind: "throttled", reason: page };
  if (status === 200) return { kind: "content" };
  if (status === 304) return { kind: "not_modified" };
  if (REDIRECTS.has(status)) return { kind: "redirect" };
  if (status === 429 || status === 503) return { kind: "throttled", reason: `http_${status}` };
  if (status === 404 || status === 410) return { kind: "missing" };
  if (status === 403)
    return NO_SUCH.test(body.toString("latin1"))
      ? { kind: "missing" }
      : { kind: "throttled", reason: "http_403" };
  if (status >= 400 && status < 500) return { kind: "refused" };
  return { kind: "broken", detail: `It answered with status ${status}` };
}

export type BodyAssessment =
  /** `cacheable` false: a partial answer, which is answered but not stored. */
  | { readonly kind: "whole"; readonly cacheable: boolean }
  | { readonly kind: "throttled"; readonly reason: ThrottlePage }
  /** Not the requested document, or not all of it. */
  | { readonly kind: "incomplete"; readonly detail: string }
  /** An error of the filing system with status 200. */
  | { readonly kind: "broken"; readonly detail: string };

export interface BodyAssessor {
  /** Not null: the body is wrong whatever follows. */
  readonly push: (piece: Buffer) => BodyAssessment | null;
  readonly end: () => BodyAssessment;
}

/** Smaller documents are parsed as a check, which takes about 4 ms. */
const MAX_PARSED_BYTES = 256 * 1024;
/** Search answers are parsed; a longer one is no search answer. */
const MAX_SEARCH_BYTES = 4 * 2 ** 20;

function isJson(kind: SourceKind, path: string): boolean {
  switch (kind) {
    case "index":
    case "document":
      return path.endsWith(".json");
    case "page":
    case "robots":
      return false;
    case "tickers":
    case "submissions":
    case "facts":
    case "search":
      return true;
  }
}

/** Assesses a body while it arrives, so that a wrong one is never stored. */
export function bodyAssessor(kind: SourceKind, path: string): BodyAssessor {
  const json = isJson(kind, path);
  const scanner = json ? jsonScanner(0, {}) : null;
  const most = kind === "search" ? MAX_SEARCH_BYTES : json ? MAX_PARSED_BYTES : MAX_PAGE_BYTES;
  let pieces: Buffer[] = [];
  let bytes = 0;
  let hasBegun = false;

  return {
    push(piece) {
      bytes += piece.length;
      if (bytes <= most) pieces.push(piece);
      else pieces = [];
      if (!scanner) return null;
      // HTML instead of JSON may be a throttle page, which is recognised at its end only.
      if (!hasBegun) {
        const first = /\S/.exec(piece.toString("latin1", 0, 256))?.[0];
        if (first !== undefined && first !== "{" && first !== "[" && first !== "<")
          return { kind: "incomplete", detail: "It is no JSON" };
        hasBegun = first !== undefined;
      }
      scanner.push(piece);
      return null;
    },
    end() {
      if (bytes === 0)
        return kind === "robots"
          ? { kind: "whole", cacheable: true }
          : { kind: "incomplete", detail: "It is empty" };
      const body = bytes <= most ? Buffer.concat(pieces) : null;
      const page = body && throttlePage(body);
      if (page) return { kind: "throttled", reason: page };
      if (!scanner) return { kind: "whole", cacheable: kind !== "page" };
      if (!scanner.isWhole()) return { kind: "incomplete", detail: "It is no JSON, or not all of it" };
      if (!body) return { kind: "whole", cacheable: true };
      let value: unknown;
      try {
        value = JSON.parse(body.toString());
      } catch {
        return { kind: "incomplete", detail: "It is no JSON" };
      }
      return kind === "search" ? assessSearch(value as SearchLike) : { kind: "whole", cacheable: true };
    },
  };
}

interface SearchLike {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly timed_out?: unknown;
  readonly _shards?: { readonly failed?: unknown };
  readonly hits?: { readonly hits?: unknown };
}

function assessSearch(value: SearchLike | null): BodyAssessment {
  const hits = value?.hits?.hits;
  if (!value || !Array.isArray(hits) || (value.error !== undefined && hits.length === 0))
    return { kind: "broken", detail: "The search answered with an error" };
  const failed = value._shards?.failed;
  return {
    kind: "whole",
    cacheable: value.timed_out !== true && !(typeof failed === "number" && failed > 0),
  };
}
