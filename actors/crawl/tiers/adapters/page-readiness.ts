/**
 * When a rendered page is worth reading: its document is parsed, its network has been quiet for a while, its text is as
 * long as the caller asked for, and it is no challenge that may still pass. The limits of these waits, and the reading,
 * are page-rendering.ts.
 */
import type { CDPSession, Frame, Page, Request } from "playwright";
import { challengeOf } from "../../../reading/content/challenge.ts";
import { inIsolation } from "./isolation.ts";

/** State of the document at a look. */
export interface DocumentState {
  readonly is_parsed: boolean;
  /** Characters of text outside of navigation and controls; counted up to MAX_COUNTED_CHARS. */
  readonly text_chars: number;
  /** How much longer the same text would be in an alphabet (comparable-chars.ts). */
  readonly extra_chars: number;
  /** Whether nothing in the document can change it. */
  readonly is_static: boolean;
  /** The beginning of a document with little text; "" of any other. */
  readonly start: string;
  /** Characters of the whole document, where it has little text; 0 of any other. */
  readonly chars: number;
  /** Whether an element matches the caller's selector; null: the browser does not know such a selector. */
  readonly matches: boolean | null;
}

/** The origin's answer for the document, and what the caller asked for. */
export interface Expected {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly min_text_chars: number;
}

export type Readiness = "ready" | "parsing" | "thin" | "challenge";

/** The longest text of a challenge (actors/reading/content/challenge-rows.ts). */
const MAX_COUNTED_CHARS = 2_000;
const MAX_START_CHARS = 65_536;

export function readinessOf(state: DocumentState, { status, headers, min_text_chars }: Expected): Readiness {
  if (!state.is_parsed) return "parsing";
  const challenge = challengeOf({
    status,
    headers,
    body_start: state.start,
    bytes: Math.max(state.chars, state.text_chars),
    text_chars: state.text_chars,
  });
  if (challenge !== null) return challenge.kind === "challenge" && !state.is_static ? "challenge" : "ready";
  // The text of an error page decides nothing.
  if (state.is_static || status >= 400) return "ready";
  const comparable_chars = state.text_chars + state.extra_chars;
  return comparable_chars < Math.min(min_text_chars, MAX_COUNTED_CHARS) ? "thin" : "ready";
}

/** Null: the document was just replaced, or is about to be. */
export async function lookAtDocument(
  cdp: CDPSession,
  frame: string,
  selector: string | null = null,
): Promise<DocumentState | null> {
  const given = [MAX_COUNTED_CHARS, MAX_START_CHARS, selector];
  return (await inIsolation({ cdp, frame }, describeDocument, ...given).catch(() => null)) ?? null;
}

/** Runs in the page, so it cannot use anything from this file. */
function describeDocument(
  max_counted_chars: number,
  max_start_chars: number,
  selector: string | null,
): DocumentState {
  const ASIDE = "script, style, noscript, template, nav, header, footer, aside, button, select, textarea";
  const { body, documentElement } = document;
  let text_chars = 0;
  let extra_chars = 0;
  const count = (tree: DomTree): void => {
    const texts = document.createTreeWalker(tree, 4); // NodeFilter.SHOW_TEXT
    for (let text = texts.nextNode(); text && text_chars < max_counted_chars; text = texts.nextNode()) {
      if (text.parentElement?.closest(ASIDE)) continue;
      const content = (text.textContent ?? "").trim();
      text_chars += content.length;
      extra_chars += 2 * (content.match(/[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/g)?.length ?? 0);
      extra_chars += content.match(/[\u3040-\u30ff\uac00-\ud7af]/g)?.length ?? 0;
    }
  };
  let matches: boolean | null;
  try {
    matches = selector === null || document.querySelector(selector) !== null;
  } catch {
    matches = null;
  }
  if (body) count(body);
  // Text and elements in open shadow roots and frames of the same origin belong to the page.
  const isWanting = matches === false || text_chars < max_counted_chars;
  const trees: DomTree[] = isWanting ? [document] : [];
  for (const tree of trees) {
    for (const { contentDocument } of tree.querySelectorAll("iframe, frame"))
      if (contentDocument?.body) count(contentDocument.body);
    const elements = tree.querySelectorAll("*");
    for (let at = 0; at < elements.length; at++) {
      const { shadowRoot } = elements[at]!;
      if (!shadowRoot) continue;
      trees.push(shadowRoot);
      count(shadowRoot);
      if (matches === false) matches = shadowRoot.querySelector(selector!) !== null;
    }
  }
  const changing = 'script, iframe, frame, object, embed, [onload], [onerror], meta[http-equiv="refresh" i]';
  const html = text_chars < max_counted_chars ? (documentElement?.outerHTML ?? "") : "";
  return {
    is_parsed: document.readyState !== "loading",
    text_chars,
    extra_chars,
    is_static: document.querySelector(changing) === null,
    start: html.slice(0, max_start_chars),
    chars: html.length,
    matches,
  };
}

interface DomText {
  readonly textContent: string | null;
  readonly parentElement: { readonly closest: (selector: string) => unknown } | null;
}

interface DomElement {
  readonly shadowRoot: DomTree | null;
  readonly contentDocument?: { readonly body: DomTree | null } | null;
}

interface DomTree {
  readonly querySelector: (selector: string) => unknown;
  readonly querySelectorAll: (selector: string) => ArrayLike<DomElement> & Iterable<DomElement>;
}

declare const document: DomTree & {
  readonly readyState: "loading" | "interactive" | "complete";
  readonly body: DomTree | null;
  readonly documentElement: { readonly outerHTML: string } | null;
  readonly createTreeWalker: (root: DomTree, show: number) => { readonly nextNode: () => DomText | null };
};

export interface NetworkActivity {
  /** For how long no request has been in flight; 0 while there is one. */
  readonly quiet_ms: () => number;
}

/** Follows the requests of a page, those of its frames included. */
export function watchNetwork(page: Page, now: () => number): NetworkActivity {
  const in_flight = new Set<Request>();
  let quiet_since_ms = now();
  const onEnd = (request: Request) => {
    if (in_flight.delete(request) && in_flight.size === 0) quiet_since_ms = now();
  };
  page.on("request", (request) => void in_flight.add(request));
  page.on("requestfinished", onEnd);
  page.on("requestfailed", onEnd);
  // The requests of a document that was replaced have no end.
  page.on("framenavigated", (frame: Frame) => {
    if (frame.parentFrame() !== null) return;
    for (const request of in_flight) if (!request.isNavigationRequest()) onEnd(request);
  });
  return { quiet_ms: () => (in_flight.size > 0 ? 0 : now() - quiet_since_ms) };
}
