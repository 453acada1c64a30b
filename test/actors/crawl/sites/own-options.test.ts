/** To which pages of a crawl header fields and cookies of the caller go. */
import { expect, test } from "vitest";
import { ownOptionsOf } from "../../../../actors/crawl/sites/feature/own-options.ts";

const HEADERS = { "X-Api-Key": "3f9a" };
const OF_ORIGIN = { name: "basket", value: "1" };
const OF_DOMAIN = { name: "login", value: "2", domain: "example.org" };

test.each([
  ["the origin of the seeds", "https://www.example.org/a", HEADERS, [OF_ORIGIN, OF_DOMAIN]],
  ["another host of a cookie's domain", "https://shop.example.org/a", undefined, [OF_DOMAIN]],
  ["another port", "https://www.example.org:8443/a", undefined, [OF_DOMAIN]],
  ["the same host without encryption", "http://www.example.org/a", undefined, undefined],
  ["another site", "https://other.example/a", undefined, undefined],
  ["a site whose name ends alike", "https://notexample.org/a", undefined, undefined],
])("%s", (_, page, headers, cookies) => {
  const given = { headers: HEADERS, cookies: [OF_ORIGIN, OF_DOMAIN] };
  expect(ownOptionsOf(given, page, "https://www.example.org")).toEqual({
    ...(headers && { headers }),
    ...(cookies && { cookies }),
  });
});
