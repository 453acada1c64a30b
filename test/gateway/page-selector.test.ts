/** CSS selectors for stored pages: what is accepted can be answered, and what cannot is refused with its place. */
import { load } from "cheerio";
import { expect, test } from "vitest";
import { shape } from "../../gateway/validate.ts";
import { FetchBody } from "../../schemas/fetch.ts";

const body = shape(FetchBody);
const $ = load("<p>text</p>");
const answers = (selector: string): boolean => {
  try {
    $(selector);
    return true;
  } catch {
    return false;
  }
};

const GOOD = [
  "p",
  "main > .price",
  "#a b, c",
  "[data-x='1' i]",
  "a ~ b + c",
  ":is(a, b:not(.c))",
  "p:has(> b)",
  ":root",
  ":scope > p",
  ":empty",
  "p:first-child",
  "p:last-of-type",
  "p:only-child",
  ":where(.a)",
  ":matches(a)",
  "p:nth-child(2n + 1)",
  "p:nth-last-child(odd)",
  "p:nth-of-type(-n+3)",
  "p:nth-last-of-type(4)",
  "p:contains('x')",
  "p:icontains(x)",
  ":any-link",
  ":link",
  ":disabled",
  ":enabled",
  ":checked",
  ":required",
  ":optional",
  ":selected",
  ":checkbox",
  ":file",
  ":password",
  ":radio",
  ":reset",
  ":image",
  ":submit",
  ":parent",
  ":header",
  ":button",
  ":input",
  ":text",
  ":first-of-type",
  ":only-of-type",
  ":last-child",
];
const BAD = [
  "p[",
  "p >",
  "",
  "p::before",
  "p:foo",
  "p:nth-child(x)",
  "p:nth-child(2 of .a)",
  "p:not(",
  "a || b",
  "*|p",
  "p:focus-within",
  "p:lang(de)",
  ":is(a, p::after)",
  "p:nth-child",
  "p:not",
  "p:contains",
];

test.each(GOOD)("accepts %s, which can be answered", (selector) => {
  expect(body.fits({ url: "x", include_selectors: [selector] })).toBe(true);
  expect(answers(selector)).toBe(true);
});

test.each(BAD)("refuses %s with its field and index", (selector) => {
  for (const field of ["include_selectors", "exclude_selectors"]) {
    const read = body.read("body", { url: "x", [field]: ["p", selector] });
    expect(read).toMatchObject({ kind: "wrong", detail: [{ loc: ["body", field, 1] }] });
  }
});

test("refuses more selectors than the limit", () => {
  const read = body.read("body", { url: "x", exclude_selectors: Array(51).fill("p") });
  expect(read).toMatchObject({ detail: [{ loc: ["body", "exclude_selectors"], type: "too_long" }] });
});
