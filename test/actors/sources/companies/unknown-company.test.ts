/** The answer about a company that is not in the register and that no source gave. */
import { expect, test } from "vitest";
import { unknownCompany } from "../../../../actors/sources/companies/feature/record-routes.ts";

const failed = (source: string, error: string, retry_after_s: number | null = null) =>
  ({ source, group: "core", result: "failed", error, message: null, retry_after_s }) as never;

test.each([
  ["every source said so", [failed("gleif", "not_found")], 404, undefined, "company not found"],
  [
    "a source could not be reached",
    [failed("gleif", "unreachable")],
    404,
    undefined,
    "company not found; no answer from gleif (unreachable)",
  ],
  [
    "a source had no slot",
    [failed("gleif", "rate_limited", 2.4), failed("zefix", "timeout")],
    503,
    "3",
    "company not known yet; no answer from gleif (rate_limited), zefix (timeout)",
  ],
])("%s", (_, refresh, status, retry_after, detail) => {
  const answer = unknownCompany({ company: null, refresh });
  expect(JSON.parse((answer.body as Buffer).toString())).toEqual({ detail });
  expect([answer.status, answer.headers?.["Retry-After"]]).toEqual([status, retry_after]);
});
