/** When a rendered page is worth reading (min_text_chars). */
import { expect, test } from "vitest";
import {
  type DocumentState,
  type Expected,
  type Readiness,
  readinessOf,
} from "../../../../actors/crawl/tiers/adapters/page-readiness.ts";

const STATE: DocumentState = {
  is_parsed: true,
  text_chars: 900,
  extra_chars: 0,
  is_static: false,
  start: "<html><body><script></script></body></html>",
  chars: 1_000,
  matches: true,
};
const EXPECTED: Expected = { status: 200, headers: new Map(), min_text_chars: 500 };
const CHALLENGE = { status: 403, headers: new Map([["cf-mitigated", "challenge"]]) };

test.each<[string, Partial<DocumentState>, Partial<Expected>, Readiness]>([
  ["a document that is not parsed is parsing", { is_parsed: false }, {}, "parsing"],
  ["enough text is ready", {}, {}, "ready"],
  ["less text than asked for is thin", { text_chars: 499 }, {}, "thin"],
  ["a short text in Chinese is ready", { text_chars: 200, extra_chars: 400 }, {}, "ready"],
  ["no text asked for is ready", { text_chars: 0 }, { min_text_chars: 0 }, "ready"],
  [
    "a long text is ready, however much is asked for",
    { text_chars: 2_000 },
    { min_text_chars: 9_000 },
    "ready",
  ],
  ["a document that cannot change is ready", { text_chars: 0, is_static: true }, {}, "ready"],
  ["an error page is ready", { text_chars: 0 }, { status: 404 }, "ready"],
  ["a challenge may pass", { text_chars: 30 }, CHALLENGE, "challenge"],
  ["a challenge without a script cannot pass", { text_chars: 30, is_static: true }, CHALLENGE, "ready"],
  [
    "a refusal does not pass",
    { text_chars: 30 },
    { status: 403, headers: new Map([["x-sucuri-block", "x"]]) },
    "ready",
  ],
])("%s", (_, state, expected, readiness) => {
  expect(readinessOf({ ...STATE, ...state }, { ...EXPECTED, ...expected })).toBe(readiness);
});
