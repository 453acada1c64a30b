/**
 * Conditions that the caller of a page waits for: an element that matches a selector, and a time since the document was parsed. Waiting begins
 * anew with each document. The limits for other reasons of waiting are page-rendering.ts.
 */
import type { AwaitedState } from "../../../../schemas/fetch.ts";
import type { Shortfall } from "../../../lib/web/transport.ts";
import type { DocumentState } from "./page-readiness.ts";

export interface Awaited {
  /** Another document begins. */
  readonly reset: () => void;
  readonly onParsed: (status: number) => void;
  readonly onLook: (state: Pick<DocumentState, "matches" | "is_static">) => void;
  /** Nothing is waited for any more: it is there, or cannot come. */
  readonly isOver: () => boolean;
  /** On the clock of `now`: until when a parsed document is waited for at least; `quiet_ms` longer once the element is there. */
  readonly limit_ms: (quiet_ms: number) => number;
  /** Why the page is not what was waited for; null: it is. */
  readonly shortfall: () => Shortfall | null;
}

/** `max_ms`: for an element, since the document was parsed. */
export function awaitedState(wanted: AwaitedState | null, max_ms: number, now: () => number): Awaited {
  let parsed_ms: number | null = null;
  let matched_ms: number | null = null;
  /** No wait brings the element. */
  let why_never: string | null = null;
  let is_error_page = false;

  const selector = wanted?.selector ?? null;
  const until_ms = (): number => (parsed_ms ?? now()) + (wanted?.ms ?? 0);
  const hasElement = (): boolean => selector === null || matched_ms !== null;
  const isOver = (): boolean =>
    wanted === null ||
    is_error_page ||
    (parsed_ms !== null && (hasElement() || why_never !== null) && now() >= until_ms());

  return {
    isOver,
    reset() {
      parsed_ms = matched_ms = why_never = null;
      is_error_page = false;
    },
    onParsed(status) {
      parsed_ms = now();
      is_error_page = status >= 400;
    },
    onLook({ matches, is_static }) {
      if (matches === true) matched_ms ??= now();
      if (matches === null) why_never = "the browser does not know this selector";
      else if (is_static && parsed_ms !== null && !hasElement()) why_never = "the page has no scripts";
    },
    limit_ms(quiet_ms) {
      if (wanted === null || is_error_page || parsed_ms === null) return -Infinity;
      if (why_never !== null) return until_ms();
      if (!hasElement()) return parsed_ms + max_ms;
      return Math.max(until_ms(), (matched_ms ?? -Infinity) + quiet_ms);
    },
    shortfall() {
      if (wanted === null || is_error_page || (hasElement() && isOver())) return null;
      const waited_ms = parsed_ms === null ? 0 : now() - parsed_ms;
      const isLate = why_never === null && waited_ms < (hasElement() ? wanted.ms : max_ms);
      if (isLate) {
        const what = hasElement() ? `wait_for.ms (${wanted.ms})` : `an element for "${selector}"`;
        return { error: "timeout", detail: `The time of the request was over before ${what}` };
      }
      const reason = why_never ?? `${max_ms / 1_000} s after it was parsed`;
      return {
        error: "selector_not_found",
        detail: `No element of the page matches "${selector}": ${reason}`,
      };
    },
  };
}
