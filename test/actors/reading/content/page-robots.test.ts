/** Directives of pages to robots: X-Robots-Tag and the robots meta element. */
import { expect, test } from "vitest";
import { asksRobots, refusesIndexing } from "../../../../actors/reading/content/page-robots.ts";

test.each([
  ["", "", false],
  ["noindex", "", true],
  ["none", "", true],
  ["NoIndex, nofollow", "", true],
  ["nofollow", "", false],
  ["max-snippet: 20, noindex", "", true],
  ["trawl: noindex", "", true],
  ["otherbot: noindex", "", false],
  ["otherbot: noindex, trawl: nofollow", "", false],
  ["unavailable_after: 25 Jun 2010 15:00:00 PST", "", false],
  ["", '<meta name="robots" content="noindex">', true],
  ["", "<META CONTENT='index, none' NAME='ROBOTS'>", true],
  ["", "<meta name=robots content=noindex,follow>", true],
  ["", '<meta name="trawl" content="noindex">', true],
  ["", '<meta name="otherbot" content="noindex">', false],
  ["", '<meta name="robots" content="index, follow">', false],
  ["", '<meta name="description" content="how to use noindex">', false],
  ["", "<p>Write noindex into your head.</p>", false],
])("%j, %j: %s", (tag, head, refuses) => {
  const headers = new Map(tag === "" ? [] : [["x-robots-tag", tag]]);
  const body = Buffer.from(`<html><head>${head}<title>x</title></head><body>x</body></html>`);
  expect(refusesIndexing(headers, body, "trawl")).toBe(refuses);
});

test("a page of nothing but beginnings does not hold it up", () => {
  const body = Buffer.from("<meta ".repeat(200_000));
  const began = process.cpuUsage();
  expect(refusesIndexing(new Map(), body, "trawl")).toBe(false);
  expect(process.cpuUsage(began).user).toBeLessThan(500_000);
});

test.each([
  ["nofollow", true],
  ["noindex, NOFOLLOW", true],
  ["none", true],
  ["noindex", false],
  ["follow", false],
  ["trawl: nofollow", true],
  ["trawl: max-snippet:20, nofollow", true],
  ["otherbot: nofollow", false],
  ["otherbot: noindex, trawl: nofollow", true],
  ["unavailable_after: Wed, 25 Jun 2036 15:00:00 PST, nofollow", true],
])("%j asks that links are not followed: %s", (field, asks) => {
  expect(asksRobots("nofollow", ["", field], "trawl")).toBe(asks);
});
