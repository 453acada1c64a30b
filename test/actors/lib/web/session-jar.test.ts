/** The cookies of a session: where each goes, what a request has changed, what the browser gets and gives back. */
import { expect, test } from "vitest";
import { EMPTY_JAR, jarWith, sessionJar, withChanges } from "../../../../actors/lib/web/session-jar.ts";
import { MAX_JAR_BYTES } from "../../../../schemas/sessions.ts";

const NOW = Date.now();
const jarOf = (...set: readonly (readonly [url: string, line: string])[]): string => {
  const jar = sessionJar(EMPTY_JAR, NOW);
  for (const [url, line] of set) jar.keep(url, [line]);
  return withChanges(EMPTY_JAR, jar.changes()!).text;
};
const SHOP = "http://www.shop.test/account/orders";

// RFC 6265, sections 5.1.3, 5.1.4 and 5.3.
test.each<[string, string, string]>([
  ["a host's own", "a=1", `${SHOP}: a=1 | http://shop.test/: | http://x.www.shop.test/:`],
  [
    "a domain's",
    "a=1; Domain=shop.test; Path=/",
    "http://shop.test/: a=1 | http://x.shop.test/: a=1 | http://myshop.test/:",
  ],
  ["a path's", "a=1; Path=/account", `${SHOP}: a=1 | http://www.shop.test/accounts:`],
  [
    "a secure one from an address that is not",
    "a=1; Secure; Path=/",
    "https://www.shop.test/: | http://www.shop.test/:",
  ],
  ["a foreign domain's", "a=1; Domain=other.test", "http://other.test/: | http://www.shop.test/:"],
  ["one that is gone", "a=1; Max-Age=0", `${SHOP}:`],
  ["one that is too long", `a=${"x".repeat(4_096)}`, `${SHOP}:`],
])("%s goes where it belongs", (_, line, expected) => {
  const jar = sessionJar(EMPTY_JAR, NOW);
  jar.keep(SHOP, [line]);
  for (const each of expected.split(" | ")) {
    const [, url, field] = /^(.*?\/[^ ]*):(?: (.*))?$/.exec(each)!;
    expect([url, jar.for(url!)]).toEqual([url, field ?? ""]);
  }
});

test("a secure one goes to https only", () => {
  const jar = sessionJar(EMPTY_JAR, NOW);
  jar.keep("https://www.shop.test/", ["a=1; Secure; Path=/"]);
  expect([jar.for("https://www.shop.test/x"), jar.for(SHOP)]).toEqual(["a=1", ""]);
});

test("none is set for a public suffix", () => {
  const jar = sessionJar(EMPTY_JAR, NOW);
  jar.keep("http://www.shop.co.uk/", ["a=1; Domain=co.uk"]);
  expect([jar.for("http://www.shop.co.uk/"), jar.changes()]).toEqual(["", null]);
});

test("changes of two requests are both kept, whichever ends first", () => {
  const stored = jarOf([SHOP, "basket=1; Path=/"], [SHOP, "old=1; Path=/"]);
  const login = sessionJar(stored, NOW);
  login.keep(SHOP, ["sid=s; Path=/", "old=; Max-Age=0; Path=/"]);
  const slow = sessionJar(stored, NOW);
  slow.keep(SHOP, ["basket=2; Path=/"]);
  for (const order of [
    [login, slow],
    [slow, login],
  ]) {
    const { text, count } = order.reduce((jar, each) => withChanges(jar.text, each.changes()!), {
      text: stored,
      count: 0,
    });
    expect(count).toBe(2);
    expect(sessionJar(text, NOW).for(SHOP).split("; ").toSorted()).toEqual(["basket=2", "sid=s"]);
  }
  expect(sessionJar(stored, NOW).changes()).toBeNull();
});

test("a browser gets all of them, and gives back what it has", () => {
  const stored = jarOf(
    [SHOP, "own=1; Path=/"],
    [SHOP, "wide=1; Domain=shop.test; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"],
    [SHOP, "old=1; Path=/"],
  );
  const jar = sessionJar(stored, NOW);
  const given = jar.forBrowser();
  expect(given).toMatchObject([
    { name: "own", domain: "www.shop.test", expires: -1, httpOnly: false },
    { name: "wide", domain: ".shop.test", httpOnly: true, sameSite: "Strict" },
    { name: "old" },
  ]);
  const [own, wide] = given;
  jar.keepBrowser([own!, wide!, { ...own!, name: "new", value: "2" }]);
  expect(sessionJar(withChanges(stored, jar.changes()!).text, NOW).for(SHOP).split("; ").toSorted()).toEqual([
    "new=2",
    "own=1",
    "wide=1",
  ]);
  const unchanged = sessionJar(stored, NOW);
  unchanged.keepBrowser(unchanged.forBrowser());
  expect(unchanged.changes()).toBeNull();
});

test("the oldest go when there are too many bytes", () => {
  const jar = sessionJar(EMPTY_JAR, NOW);
  for (let n = 0; n < 40; n++) jar.keep(SHOP, [`c${n}=${"x".repeat(3_000)}; Path=/`]);
  const { text, count } = withChanges(EMPTY_JAR, jar.changes()!);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_JAR_BYTES);
  expect(count).toBeGreaterThan(15);
  expect([text.includes('"c39"'), text.includes('"c0"')]).toEqual([true, false]);
});

test("a jar that begins with a browser's cookies sends each where it belongs", () => {
  const given = jarWith(
    [
      { name: "own", value: "1", domain: "www.shop.test" },
      { name: "all", value: "2", domain: ".shop.test", path: "/account", expires: NOW / 1_000 + 60 },
      { name: "safe", value: "3", domain: "www.shop.test", secure: true, http_only: true },
    ],
    NOW,
  );
  if ("refused" in given) throw new Error(String(given.refused));
  const jar = sessionJar(given.text, NOW);
  const sent = [SHOP, "http://x.shop.test/account", "https://www.shop.test/"].map((url) => jar.for(url));
  expect([given.count, ...sent]).toEqual([3, "all=2; own=1", "all=2", "own=1; safe=3"]);
  expect(jar.forBrowser().find(({ name }) => name === "safe")).toMatchObject({
    secure: true,
    httpOnly: true,
  });
});

test.each([
  ["a public suffix", { domain: ".co.uk" }],
  ["no domain", { domain: "a b" }],
  ["a time that is over", { expires: NOW / 1_000 - 1 }],
  ["too many bytes", { value: "x".repeat(4_096) }],
])("a cookie with %s is named by its place", (_, over) => {
  const good = { name: "a", value: "1", domain: "www.shop.test" };
  expect(jarWith([good, { ...good, name: "b", ...over }], NOW)).toEqual({ refused: 1 });
});

test("what pages keep in storage is kept by origin, as changes, and is no cookie", () => {
  const item = (origin: string, name: string, value: string) => ({ origin, name, value });
  const [here, there] = ["http://www.shop.test", "http://other.test"];
  const first = sessionJar(EMPTY_JAR, NOW);
  first.keepStorage(here, [item(here, "a", "1"), item(here, "b", "2")]);
  first.keepStorage(there, [item(there, "a", "9")]);
  const { text, count } = withChanges(EMPTY_JAR, first.changes()!);
  expect(count).toBe(0);
  const [slow, fast] = [sessionJar(text, NOW), sessionJar(text, NOW)];
  expect([slow.for(`${here}/`), slow.forBrowser(), slow.changes()]).toEqual(["", [], null]);
  fast.keepStorage(here, [item(here, "a", "3")]);
  slow.keepStorage(here, [item(here, "a", "1"), item(here, "b", "2"), item(here, "c", "4")]);
  const merged = withChanges(withChanges(text, fast.changes()!).text, slow.changes()!).text;
  expect(sessionJar(merged, NOW).storage()).toEqual([
    item(there, "a", "9"),
    item(here, "a", "3"),
    item(here, "c", "4"),
  ]);
});
