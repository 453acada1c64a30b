/**
 * Assertions of the published conformance tests of google/robotstxt (robots_test.cc, 21fc90b), told as a table in our
 * own words: a file, an agent, and the paths it may and may not read. Where RFC 9309 says otherwise the RFC wins;
 * those rows are in the last table, each with the sentence of the RFC.
 */
import { describe, expect, test } from "vitest";
import { judgeRobots, parseRobots } from "../../../../actors/lib/web/robots.ts";
import { parseUrl } from "../../../../actors/lib/web/url.ts";

const bytes = (text: string): string => Buffer.from(text).toString("latin1");

function may(file: readonly string[], agent: string, address: string): boolean {
  const url = parseUrl(/^https?:/.test(address) ? address : `http://foo.bar${address}`, undefined)!;
  return judgeRobots(parseRobots(bytes(file.join("\n")), agent), url).allowed;
}

interface Case {
  readonly what: string;
  readonly file: readonly string[];
  readonly agent?: string;
  readonly yes?: readonly string[];
  readonly no?: readonly string[];
}

const CLOSED = ["user-agent: FooBot", "disallow: /"];
const GROUPS = [
  "allow: /foo/bar/",
  "",
  "user-agent: FooBot",
  "disallow: /",
  "allow: /x/",
  "user-agent: BarBot",
  "disallow: /",
  "allow: /y/",
  "",
  "",
  "allow: /w/",
  "user-agent: BazBot",
  "",
  "user-agent: FooBot",
  "allow: /z/",
  "disallow: /",
];
const GLOBAL = ["user-agent: *", "allow: /", "user-agent: FooBot", "disallow: /"];
const SPECIFIC = [
  "user-agent: FooBot",
  "allow: /",
  "user-agent: BarBot",
  "disallow: /",
  "user-agent: BazBot",
  "disallow: /",
];
const SPACED = ["User-Agent: *", "Disallow: /", "User-Agent: Foo Bar", "Allow: /x/", "Disallow: /"];
const only = (allow: string): string[] => ["user-agent: FooBot", "disallow: /", `allow: ${allow}`];
const FISH = ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html"];

const CASES: readonly Case[] = [
  { what: "an empty file allows everything", file: [], yes: ["/"] },
  { what: "an agent without a name is in no group", file: CLOSED, agent: "", yes: ["/"] },
  { what: "the root is disallowed with everything else", file: CLOSED, no: ["/"] },
  { what: "2.1 a line is key, colon, value", file: CLOSED, no: ["/x/y"] },
  { what: "2.1 unknown keys mean nothing", file: ["foo: FooBot", "bar: /"], yes: ["/x/y"] },
  { what: "2.1 a missing colon is forgiven", file: ["user-agent FooBot", "disallow /"], no: ["/x/y"] },
  { what: "2.1 groups of one name are one", file: GROUPS, yes: ["/x/b", "/z/d"], no: ["/y/c", "/foo/bar/"] },
  {
    what: "2.1 empty lines do not end a group",
    file: GROUPS,
    agent: "BarBot",
    yes: ["/y/c", "/w/a"],
    no: ["/z/d", "/foo/bar/"],
  },
  {
    what: "2.1 names in a row share their rules",
    file: GROUPS,
    agent: "BazBot",
    yes: ["/z/d"],
    no: ["/foo/bar/"],
  },
  ...["USER-AGENT ALLOW DISALLOW", "user-agent allow disallow", "uSeR-aGeNt AlLoW dIsAlLoW"].map((keys) => {
    const [agent, allow, disallow] = keys.split(" ");
    const file = [`${agent}: FooBot`, `${allow}: /x/`, `${disallow}: /`];
    return { what: `2.1 case of keys: ${keys}`, file, yes: ["/x/y"], no: ["/a/b"] };
  }),
  ...["FOO BAR", "foo bar", "FoO bAr"].flatMap((value) =>
    ["Foo", "foo"].map((agent) => ({
      what: `2.2.1 case of names: ${value} for ${agent}`,
      file: [`User-Agent: ${value}`, "Allow: /x/", "Disallow: /"],
      agent,
      yes: ["/x/y"],
      no: ["/a/b"],
    })),
  ),
  { what: "2.2.1 a name ends at its first space", file: SPACED, agent: "Foo", yes: ["/x/y"] },
  { what: "2.2.1 a name with a space is nobody's", file: SPACED, agent: "Foo Bar", no: ["/x/y"] },
  { what: "2.2.1 one's own group beats *", file: GLOBAL, no: ["/x/y"] },
  { what: "2.2.1 * is for those without a group", file: GLOBAL, agent: "BarBot", yes: ["/x/y"] },
  { what: "2.2.1 no group, no rules", file: SPECIFIC, agent: "QuxBot", yes: ["/x/y"] },
  { what: "2.2.2 paths keep their case", file: ["user-agent: FooBot", "disallow: /x/"], no: ["/x/y"] },
  {
    what: "2.2.2 paths keep their case, upper",
    file: ["user-agent: FooBot", "disallow: /X/"],
    yes: ["/x/y"],
  },
  {
    what: "2.2.2 longest match disallows",
    file: ["user-agent: FooBot", "disallow: /x/page.html", "allow: /x/"],
    no: ["/x/page.html"],
  },
  {
    what: "2.2.2 longest match allows",
    file: ["user-agent: FooBot", "allow: /x/page.html", "disallow: /x/"],
    yes: ["/x/page.html"],
    no: ["/x/"],
  },
  {
    what: "2.2.2 empty values are no rules",
    file: ["user-agent: FooBot", "disallow: ", "allow: "],
    yes: ["/x/page.html"],
  },
  {
    what: "2.2.2 a tie allows",
    file: ["user-agent: FooBot", "disallow: /", "allow: /"],
    yes: ["/x/page.html"],
  },
  {
    what: "2.2.2 a slash more is longer",
    file: ["user-agent: FooBot", "disallow: /x", "allow: /x/"],
    yes: ["/x/"],
    no: ["/x"],
  },
  {
    what: "2.2.2 a tie of whole paths allows",
    file: ["user-agent: FooBot", "disallow: /x/page.html", "allow: /x/page.html"],
    yes: ["/x/page.html"],
  },
  {
    what: "2.2.2 a longer wildcard wins",
    file: ["user-agent: FooBot", "allow: /page", "disallow: /*.html"],
    yes: ["/page"],
    no: ["/page.html"],
  },
  {
    what: "2.2.2 a longer plain path wins",
    file: ["user-agent: FooBot", "allow: /x/page.", "disallow: /*.html"],
    yes: ["/x/page.html"],
    no: ["/x/y.html"],
  },
  {
    what: "2.2.2 * does not speak to those with a group",
    file: ["User-agent: *", "Disallow: /x/", "User-agent: FooBot", "Disallow: /y/"],
    yes: ["/x/page"],
    no: ["/y/page"],
  },
  {
    what: "2.2.2 an address in a query",
    file: only("/foo/bar?qux=taz&baz=http://foo.bar?tar&par"),
    yes: ["/foo/bar?qux=taz&baz=http://foo.bar?tar&par"],
  },
  { what: "2.2.2 a plain letter of three bytes", file: only("/foo/bar/ツ"), yes: ["/foo/bar/%E3%83%84"] },
  { what: "2.2.2 an escaped one", file: only("/foo/bar/%E3%83%84"), yes: ["/foo/bar/%E3%83%84"] },
  { what: "2.2.2 escaped ASCII", file: only("/foo/bar/%62%61%7A"), yes: ["/foo/bar/%62%61%7A"] },
  {
    what: "2.2.3 an asterisk",
    file: ["User-agent: FooBot", "Disallow: /foo/bar/quz", "Allow: /foo/*/qux"],
    yes: ["/foo/quz", "/foo//quz", "/foo/bax/quz"],
    no: ["/foo/bar/quz"],
  },
  {
    what: "2.2.3 a dollar ends",
    file: ["User-agent: FooBot", "Disallow: /foo/bar$", "Allow: /foo/bar/qux"],
    yes: ["/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"],
    no: ["/foo/bar"],
  },
  {
    what: "2.2.3 a hash comments",
    file: ["User-agent: FooBot", "# Disallow: /", "Disallow: /foo/quz#qux", "Allow: /"],
    yes: ["/foo/bar"],
    no: ["/foo/quz"],
  },
  {
    what: "index.html is its folder",
    file: ["User-Agent: *", "Allow: /allowed-slash/index.html", "Disallow: /"],
    yes: ["/allowed-slash/", "/allowed-slash/index.html"],
    no: ["/allowed-slash/index.htm", "/anyother-url"],
  },
  {
    what: "/fish",
    file: only("/fish"),
    yes: [...FISH, "/fish.html?id=anything"],
    no: ["/bar", "/Fish.asp", "/catfish", "/?id=fish"],
  },
  {
    what: "/fish*",
    file: only("/fish*"),
    yes: [...FISH, "/fish.html?id=anything"],
    no: ["/bar", "/Fish.bar", "/catfish", "/?id=fish"],
  },
  {
    what: "/fish/",
    file: only("/fish/"),
    yes: ["/fish/", "/fish/salmon", "/fish/?salmon", "/fish/salmon.html", "/fish/?id=anything"],
    no: ["/bar", "/fish", "/fish.html", "/Fish/Salmon.html"],
  },
  {
    what: "/*.php",
    file: only("/*.php"),
    yes: [
      "/filename.php",
      "/folder/filename.php",
      "/folder/filename.php?parameters",
      "//folder/any.php.file.html",
      "/filename.php/",
      "/index?f=filename.php/",
    ],
    no: ["/bar", "/php/", "/index?php", "/windows.PHP"],
  },
  {
    what: "/*.php$",
    file: only("/*.php$"),
    yes: ["/filename.php", "/folder/filename.php"],
    no: [
      "/bar",
      "/filename.php?parameters",
      "/filename.php/",
      "/filename.php5",
      "/php/",
      "/filename?php",
      "/aaaphpaaa",
      "//windows.PHP",
    ],
  },
  {
    what: "/fish*.php",
    file: only("/fish*.php"),
    yes: ["/fish.php", "/fishheads/catfish.php?parameters"],
    no: ["/bar", "/Fish.PHP"],
  },
  { what: "precedence: /p", file: ["user-agent: FooBot", "allow: /p", "disallow: /"], yes: ["/page"] },
  {
    what: "precedence: a tie",
    file: ["user-agent: FooBot", "allow: /folder", "disallow: /folder"],
    yes: ["/folder/page"],
  },
  {
    what: "precedence: /*.htm",
    file: ["user-agent: FooBot", "allow: /page", "disallow: /*.htm"],
    no: ["/page.htm"],
  },
  {
    what: "precedence: /$",
    file: ["user-agent: FooBot", "allow: /$", "disallow: /"],
    yes: ["/"],
    no: ["/page.html"],
  },
];

const ROWS = CASES.flatMap(({ what, file, agent = "FooBot", yes = [], no = [] }) => [
  ...yes.map((path) => ({ what, file, agent, path, allowed: true })),
  ...no.map((path) => ({ what, file, agent, path, allowed: false })),
]);

/** A path that with its key and the line's "/" fills a line to its last byte. */
const long = (letter: string, key: string) => "/x/".padEnd(16_664 - 3 - key.length + 1, letter);

const judge = (lines: string[], path: string) =>
  judgeRobots(parseRobots(lines.join("\n"), "FooBot"), new URL(`http://foo.bar${path}`)).allowed;

describe("robots.txt as google/robotstxt tests it", () => {
  test.each(ROWS)("$what: $agent and $path, $allowed", ({ file, agent, path, allowed }) => {
    expect(may(file, agent, path)).toBe(allowed);
  });

  test("a line is cut after 16,663 bytes, and what is left of it counts", () => {
    const shut = long("a", "disallow: ");
    const file = ["user-agent: FooBot", `disallow: ${shut}/qux`];
    expect(judge(file, "/fux")).toBe(true);
    expect(judge(file, `${shut}/fux`)).toBe(false);
    const [a, b] = [long("a", "allow: "), long("b", "allow: ")];
    const open = ["user-agent: FooBot", "disallow: /", `allow: ${a}/qux`, `allow: ${b}/qux`];
    expect(judge(open, "/")).toBe(false);
    expect(judge(open, `${a}/qux`)).toBe(true);
    expect(judge(open, `${b}/fux`)).toBe(true);
  });

  test.each([
    ["LF", "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n"],
    ["CRLF", "User-Agent: foo\r\nAllow: /some/path\r\nUser-Agent: bar\r\n\r\n\r\nDisallow: /\r\n"],
    ["CR", "User-Agent: foo\rAllow: /some/path\rUser-Agent: bar\r\r\rDisallow: /\r"],
    ["no last line end", "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /"],
    ["mixed", "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /"],
  ])("2.2 lines are counted alike with %s", (_, file) => {
    expect(parseRobots(file, "foo").rules).toEqual([{ allow: true, pattern: "/some/path", line: 2 }]);
    expect(parseRobots(file, "bar").rules).toEqual([{ allow: false, pattern: "/", line: 6 }]);
  });

  test.each([
    ["whole", "\xef\xbb\xbfUser-Agent: foo\nAllow: /AnyValue\n", 1],
    ["two bytes of it", "\xef\xbbUser-Agent: foo\nAllow: /AnyValue\n", 1],
    ["one byte of it", "\xefUser-Agent: foo\nAllow: /AnyValue\n", 1],
    ["a broken one spoils its line", "\xef\x11\xbfUser-Agent: foo\nAllow: /AnyValue\n", 0],
    ["in the middle it spoils its line", "User-Agent: foo\n\xef\xbb\xbfAllow: /AnyValue\n", 0],
  ])("a byte order mark: %s", (_, file, rules) => {
    expect(parseRobots(file, "foo").rules).toHaveLength(rules);
  });

  test.each([
    ["at the end", "User-Agent: foo\nAllow: /a\nUser-Agent: bar\n\n\nSitemap: http://foo.bar/sitemap.xml\n"],
    [
      "at the start",
      "Sitemap: http://foo.bar/sitemap.xml\nUser-Agent: foo\nAllow: /a\nUser-Agent: bar\n\n\n",
    ],
  ])("2.2.4 a sitemap %s disturbs nothing", (_, file) => {
    expect(parseRobots(file, "foo").rules).toEqual([
      { allow: true, pattern: "/a", line: file[0] === "S" ? 3 : 2 },
    ]);
    expect(parseRobots(file, "bar")).toEqual({ group: "bar", rules: [], crawl_delay_ms: null });
  });

  test.each([
    ["/á", "/%C3%A1"],
    ["/%aa", "/%AA"],
    ["/a/b/c", "/a/b/c"],
    ["http://www.example.com", "http://www.example.com"],
  ])("2.2.2 the pattern %s is compared as %s", (pattern, compared) => {
    expect(parseRobots(bytes(`user-agent: a\nallow: ${pattern}`), "a").rules[0]?.pattern).toBe(compared);
  });
});

describe("where RFC 9309 differs from those tests", () => {
  test.each([
    // 2.2.2: "If a percent-encoded ASCII octet is encountered in the URI, it MUST be unencoded prior to comparison".
    { file: only("/foo/bar/%62%61%7A"), path: "/foo/bar/baz", google: false },
    // Addresses are serialised by the URL standard before anyone compares them: there are no unencoded letters.
    { file: only("/foo/bar/ツ"), path: "/foo/bar/ツ", google: false },
    { file: only("/foo/bar/%E3%83%84"), path: "/foo/bar/ツ", google: false },
  ])("$path is allowed by $file.2", ({ file, path, google }) => {
    expect(may(file, "FooBot", path)).toBe(!google);
  });
});
