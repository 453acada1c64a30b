/** Content negotiation: an Accept field and the type that is sent (RFC 9110 section 12.5.1). */
import { expect, test } from "vitest";
import { preferredType } from "../../gateway/accept.ts";

const [LINES, CSV] = ["application/x-ndjson", "text/csv"] as const;

test.each([
  [undefined, LINES],
  ["", LINES],
  ["*/*", LINES],
  ["text/csv", CSV],
  ["TEXT/CSV; charset=utf-8", CSV],
  ["text/*", CSV],
  ["text/csv, */*", CSV],
  ["text/csv, */*;q=0.1", CSV],
  ["application/x-ndjson, text/csv;q=0.5", LINES],
  ["application/x-ndjson;q=0.2, text/csv;q=0.5", CSV],
  ["text/csv;q=0", LINES],
  ["text/csv;q=0.000, */*", LINES],
  ["text/csv;q=0, text/*", LINES],
  ["application/x-ndjson, text/csv", LINES],
  ["text/csv-schema", LINES],
  ["application/json", LINES],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", LINES],
  ["nonsense, ;;, text/csv", CSV],
  ["text/csv;q=2", CSV],
])("%s is %s", (accept, type) => {
  expect(preferredType(accept, [LINES, CSV])).toBe(type);
});
