/** Addresses of a site: which are one page, which belong to a crawl, which have no end. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusalOf, type AddressRules } from "../../../../actors/crawl/sites/address/admit.ts";
import { addressKey } from "../../../../actors/crawl/sites/address/key.ts";
import { compilePatterns } from "../../../../actors/crawl/sites/address/patterns.ts";
import { inScope, scopeOf } from "../../../../actors/lib/web/site-scope.ts";
import type { Scope } from "../../../../schemas/site-scope.ts";
import { newTrapBook, trapOf } from "../../../../actors/crawl/sites/address/traps.ts";

const SITE = "https://example.org";
const url = (text: string): URL => new URL(text, SITE);
const key = (text: string): string => addressKey(url(text));

describe("the key of an address", () => {
  test.each([
    ["/a#part", "/a"],
    ["/%7euser/%e4%bd%a0", "/~user/%E4%BD%A0"],
    ["/a?b=2&a=1", "/a?a=1&b=2"],
    ["/a?", "/a"],
    ["/a?utm_source=x&id=7&fbclid=y&_hsenc=z", "/a?id=7"],
    ["/a?%75tm_source=x", "/a"],
    ["/a;jsessionid=0123456789ABCDEF?x=1", "/a?x=1"],
    ["/a?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "/a?x=1"],
    ["/(S(0123456789abcdefghijklmn))/a", "/(S)/a"],
    ["/a?cfid=1&cftoken=2", "/a"],
    // The address without its session would be another folder.
    ["/a/..;jsessionid=1/b", "/a/..;jsessionid=1/b"],
  ])("%s is the page %s", (text, page) => {
    expect(key(text)).toBe(SITE + page);
  });

  test.each([
    ["the order of values of one name", "/a?x=2&x=1", "/a?x=1&x=2"],
    ["a slash at the end", "/a", "/a/"],
    ["two slashes", "/a/b", "/a//b"],
    ["http and https", "http://example.org/a", "https://example.org/a"],
    ["www", "https://www.example.org/a", "https://example.org/a"],
    ["ref and source, which may name a page", "/a?ref=1", "/a?ref=2"],
    ["a short sid", "/a?sid=12", "/a?sid=13"],
    ["bytes that are no UTF-8", "/%E9", "/%E8"],
    ["an escaped slash", "/a%2Fb", "/a/b"],
  ])("keeps apart: %s", (_name, a, b) => {
    expect(key(a)).not.toBe(key(b));
  });

  const part = fc.string({
    unit: fc.constantFrom(..."a B 7 % 2 e E 9 ~ . ; = & ? / + ü ( ) S - ;jsessionid= utm_a=".split(" ")),
    maxLength: 14,
  });

  test("is its own key, and keeps scheme, host, port and the number of segments", () => {
    fc.assert(
      fc.property(part, part, fc.boolean(), (path, search, ignore_query) => {
        const address = URL.parse(`https://example.org:8443/${path}?${search}`);
        if (address === null) return;
        const once = addressKey(address, { ignore_query });
        const again = new URL(once);
        expect(addressKey(again, { ignore_query })).toBe(once);
        expect(again.origin).toBe(address.origin);
        expect(again.pathname.split("/").length).toBe(address.pathname.split("/").length);
        expect(ignore_query && again.search !== "").toBe(false);
      }),
    );
  });

  test("does not depend on the order of parameters with different names", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom("a", "b", "c", "utm_x", "id"), { minLength: 2 }),
        (names) => {
          const forward = names.map((name) => `${name}=1`).join("&");
          const back = names
            .toReversed()
            .map((name) => `${name}=1`)
            .join("&");
          expect(key(`/p?${forward}`)).toBe(key(`/p?${back}`));
        },
      ),
    );
  });
});

describe("scope", () => {
  const seed = "https://www.docs.example.org/guide/start";
  test.each<[Scope, string, boolean]>([
    ["path", "https://www.docs.example.org/guide/next", true],
    ["path", "http://docs.example.org/guide/", true],
    ["path", "https://www.docs.example.org/blog/", false],
    ["path", "https://www.docs.example.org/guided/", false],
    ["host", "http://docs.example.org/blog/", true],
    ["host", "https://example.org/", false],
    ["host", "https://docs.example.org:8443/", false],
    ["subdomains", "https://v2.docs.example.org/", true],
    ["subdomains", "https://notdocs.example.org/", false],
    ["domain", "https://shop.example.org/", true],
    ["domain", "https://example.com/", false],
  ])("%s: %s is in it: %s", (scope, address, isIn) => {
    expect(inScope(scopeOf([new URL(seed)], scope))(new URL(address))).toBe(isIn);
  });

  test("several seeds share their scopes", () => {
    const isInScope = inScope(scopeOf([new URL("https://a.test/x/"), new URL("https://b.test/")], "path"));
    expect(
      ["https://a.test/x/1", "https://b.test/1", "https://a.test/y"].map((text) => isInScope(new URL(text))),
    ).toEqual([true, true, false]);
  });
});

describe("patterns", () => {
  const matches = (pattern: string, address: string): boolean => {
    const compiled = compilePatterns([pattern]);
    if (compiled.kind === "refused") throw new Error(compiled.problem);
    return compiled.matches(url(address));
  };
  test.each([
    ["/blog/*", "/blog/a", true],
    ["/blog/*", "/blog/a?x=1", true],
    ["/blog/*", "/blog/a/b", false],
    ["/blog/**", "/blog/a/b", true],
    ["/blog/**", "/blogs/a", false],
    ["/a?c", "/abc", true],
    ["/a?c", "/a/c", false],
    ["*.pdf", "/files/deep/a.pdf", true],
    ["*.pdf", "/a.pdf.html", false],
    ["**/archive/**", "/x/archive/2020", true],
    ["/a.b", "/axb", false],
    ["/^\\/p\\/\\d+$/", "/p/12", true],
    ["/^\\/p\\/\\d+$/", "/p/12?x", false],
    ["/(?i)PRINT=1/", "/a?print=1", true],
  ])("%s on %s: %s", (pattern, address, isMatch) => {
    expect(matches(pattern, address)).toBe(isMatch);
  });

  test.each([
    ["/(?=a)/", /perl|look|invalid|missing|\(\?=/i],
    ["/(a)\\1/", /escape|\\1/i],
    ["/(/", /missing closing/],
    ["", /empty/],
    ["x".repeat(513), /512/],
    ["/(x{0,1000}){3}/", /repeat|too/i],
    ["/x{1001}/", /repeat|size/i],
  ])("refuses %s and says why", (pattern, problem) => {
    const compiled = compilePatterns(["/fine/**", pattern]);
    expect(compiled).toMatchObject({ kind: "refused", index: 1, problem: expect.stringMatching(problem) });
  });

  test("what takes exponential time elsewhere does not here", () => {
    // A backtracking engine takes longer for these than the universe is old.
    expect(matches("/^\\/(a+)+$/", `/${"a".repeat(8_000)}!`)).toBe(false);
    expect(matches("/(x+x+)+y/", `/${"x".repeat(8_000)}`)).toBe(false);
    expect(matches("/.*a.{20}$/", `/${"a".repeat(8_000)}`)).toBe(true);
  });

  test("at most 100", () => {
    expect(compilePatterns(Array.from({ length: 101 }, () => "/a")).kind).toBe("refused");
  });
});

test("the first rule that is against an address names the reason", () => {
  const lists = { include: compilePatterns(["/docs/**"]), exclude: compilePatterns(["/docs/old/**"]) };
  if (lists.include.kind !== "compiled" || lists.exclude.kind !== "compiled") throw new Error("refused");
  const rules: AddressRules = {
    isInScope: inScope(scopeOf([url("/")], "host")),
    isIncluded: lists.include.matches,
    isExcluded: lists.exclude.matches,
    max_depth: 2,
  };
  const reason = (text: string, depth = 1, isSeed = false) => refusalOf(url(text), { depth, isSeed }, rules);
  expect(reason("https://other.test/docs/old/", 9)).toBe("out_of_scope");
  expect(reason("/docs/old/a", 9)).toBe("excluded_by_pattern");
  expect(reason("/blog", 9)).toBe("not_included");
  expect(reason("/blog", 0, true)).toBe(null);
  expect(reason("/docs/a", 3)).toBe("too_deep");
  expect(reason("/docs/a", 2)).toBe(null);
});

describe("traps", () => {
  const NOW_MS = Date.UTC(2026, 10, 25);
  const context = { now_ms: NOW_MS, isKnown: (known: string) => known === `${SITE}/list` };
  const trap = (text: string) => trapOf(url(text), newTrapBook(), context);

  test.each([
    ["/a/a/a/b", "path"],
    ["/a/b/a/b/a/b", "path"],
    ["/a/x/a/y/a", "path"],
    [`/${"d/".repeat(3)}`, "path"],
    [`/${Array.from({ length: 21 }, (_, n) => n + 100).join("/")}`, "path"],
    ["/calendar/2031/02", "calendar"],
    ["/events?month=2031-02", "calendar"],
    ["/2099-01-01", "calendar"],
    ["/list?sort=price", "sort"],
    ["/list?orderby=price&dir=asc", "sort"],
  ])("%s: %s", (text, name) => {
    expect(trap(text)).toBe(name);
  });

  test.each([
    "/",
    "/a/b/c/d",
    "/en/docs/en",
    "/2025/03/04/a-title",
    "/2031",
    "/calendar/2027/02",
    "/archive/2009/11",
    "/unknown?sort=price",
    "/list?page=2",
    "/a?x=1&y=2",
  ])("%s is none", (text) => {
    expect(trap(text)).toBe(null);
  });

  test("filters: all single ones, then two combinations a value, counted for each path", () => {
    const book = newTrapBook();
    const isAdmitted = (text: string): boolean => trapOf(url(text), book, context) === null;
    const values = (name: string) => Array.from({ length: 8 }, (_, n) => `${name}=${n}`);
    const combinations = values("color").flatMap((color) => values("size").map((size) => `${color}&${size}`));
    for (const path of ["/shoes", "/shirts"]) {
      const singles = [...values("color"), ...values("size")].map((each) => `${path}?${each}`);
      expect(singles.filter(isAdmitted)).toHaveLength(16);
      expect(combinations.map((each) => `${path}?${each}`).filter(isAdmitted)).toHaveLength(32);
    }
    expect(trapOf(url("/shoes?color=1&size=1&brand=new"), book, context)).toBe(null);
    expect(trapOf(url("/shirts?size=7&color=7"), book, context)).toBe("facet");
  });

  test("pages that a parameter names are no combinations, and neither is the next page of a list", () => {
    const book = newTrapBook();
    const isAdmitted = (text: string): boolean => trapOf(url(text), book, context) === null;
    const views = Array.from({ length: 200 }, (_, n) => `/index.php?option=content&view=article&id=${n}`);
    expect(views.filter(isAdmitted)).toHaveLength(200);
    const shown = (list: number) => `${SITE}/list?category=${list}`;
    const lists = { ...context, isKnown: (known: string) => /^[^&]*[?]category=\d+$/.test(known) };
    const pages = Array.from({ length: 400 }, (_, n) => `${shown(n % 20)}&page=${Math.floor(n / 20)}`);
    expect(pages.filter((each) => trapOf(new URL(each), book, lists) !== null)).toEqual([]);
  });

  test("orders of the same segments, where one repeats", () => {
    const book = newTrapBook();
    const orders = ["a/b/c/a", "a/c/b/a", "b/a/c/a", "b/c/a/b", "c/a/b/c", "c/b/a/c", "c/a/b/a", "a/b/a/c"];
    const seen = orders.map((each) => trapOf(url(`/${each}/`), book, context));
    expect(seen).toEqual([null, null, null, null, null, null, "path", "path"]);
    expect(trapOf(url("/a/b/c/a/a-page"), book, context)).toBe(null);
    expect(trapOf(url("/c/b/a"), book, context)).toBe(null);
  });

  test("a visit of a page that is known without it", () => {
    expect([trap("/list?session=ab12cd34ef1"), trap("/other?session=ab12cd34ef1")]).toEqual([
      "session",
      null,
    ]);
  });

  test("visits: five values for a path, the rest are the same page again", () => {
    const book = newTrapBook();
    const seen = Array.from({ length: 9 }, (_, n) =>
      trapOf(url(`/cart?session=ab12cd34ef${n}`), book, context),
    );
    expect(seen.map((each) => each ?? "-").join("")).toBe("-----sessionsessionsessionsession");
    expect(trapOf(url("/cart?session=list"), book, context)).toBe(null);
  });

  test("a calendar without end has an end, in both directions", () => {
    const book = newTrapBook();
    let admitted = 0;
    for (let month = -3_000; month < 3_000; month++) {
      const date = new Date(Date.UTC(2026, month, 1)).toISOString();
      if (trapOf(url(`/calendar/${date.slice(0, 4)}/${date.slice(5, 7)}`), book, context) === null)
        admitted++;
    }
    expect(admitted).toBe(240);
  });
});
