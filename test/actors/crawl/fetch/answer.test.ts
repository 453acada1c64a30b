/** The answer takes from the record of a page every field that both declare. */
import { expect, test } from "vitest";
import { responseOf, EMPTY_TEXTS } from "../../../../actors/crawl/fetch/answer.ts";
import { EMPTY_ANSWER, FetchResponse, PageRecord } from "../../../../schemas/fetch.ts";

const page: Readonly<Record<string, unknown>> = PageRecord.properties;
const response: Readonly<Record<string, unknown>> = FetchResponse.properties;
const shared = Object.keys(response).filter((name) => response[name] === page[name]);
const reader = { request_id: "req_1", external: false };

test("a field of the record that the response declares is answered as it is", () => {
  const record = { ...EMPTY_ANSWER.record, ...Object.fromEntries(shared.map((name) => [name, name])) };
  const answer = responseOf({ url: "https://a.example/" }, { ...EMPTY_ANSWER, record }, EMPTY_TEXTS, reader);
  expect(shared.length).toBeGreaterThan(20);
  expect(Object.fromEntries(Object.entries(answer).filter(([name]) => shared.includes(name)))).toEqual(
    Object.fromEntries(shared.map((name) => [name, name])),
  );
});

test("the fields stand in the declared order, the request id last, and no other is there", () => {
  const record = { ...EMPTY_ANSWER.record, charset: "UTF-8" };
  const names = Object.keys(
    responseOf({ url: "https://a.example/" }, { ...EMPTY_ANSWER, record, trace: [] }, EMPTY_TEXTS, reader),
  );
  const declared = Object.keys(response);
  expect(names).toEqual(declared.filter((name) => names.includes(name)));
  expect(names.at(-1)).toBe("request_id");
  expect(names).not.toContain("charset");
  expect(names).not.toContain("trace");
});
