/** Texts of tools for refusals of the API. */
import { expect, test } from "vitest";
import { refused } from "../../gateway/mcp/tool-errors.ts";

test.each([
  [
    422,
    [
      { loc: ["body", "url"], msg: "Field required" },
      { loc: ["body", "fetch", "timeout_s"], msg: "Input should be less than or equal to 150" },
    ],
    "Wrong arguments: url: Field required; fetch.timeout_s: Input should be less than or equal to 150. Change this argument and call again.",
  ],
  [404, "no such job", "No such job. Check the identifier."],
])("a refusal %i names fields as they are given: %j", (status, detail, message) => {
  expect(refused({ status, retry_after_s: null, content: { detail } }).message).toBe(message);
});
