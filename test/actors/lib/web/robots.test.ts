import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeRobots, parseRobots, MAX_ROBOTS_BYTES } from "../../../../actors/lib/web/robots.ts";

const bytes = (text: string): string => Buffer.from(text).toString("latin1");
const rules = (file: string, name = "trawl") => parseRobots(bytes(file), name);
const judge = (file: string, path: string, name = "trawl") =>
  judgeRobots(rules(file, name), new URL(`https://example.org${path}`));
const may = (file: string, path: string): boolean => judge(file, path).allowed;
const shut = (pattern: string): string => `User-agent: *\nDisallow: ${pattern}`;

describe("RFC 9309, section 2.2.1: the group that applies", () => {
  test.each([
    ["trawl", true],
    ["Trawl", true],
    ["trawl/2.0", true],
    ["trawl/2.0 (+https://example.org)", true],
    ["trawl *", true],
    ["trawler", false],
    ["trawl-images", false],
    ["super trawl", false],
    ["", false],
  ])("the line %j names us: %s", (value, ours) => {
    expect(rules(`User-agent: ${value}\nDisallow: /`).group).toBe(ours ? "trawl" : null);
  });

  test.each([
    ["*", "*"],
    ["* # all", "*"],
    ["* all of you", "*"],
    ["*bot", null],
  ])("the line %j names everyone: %s", (value, group) => {
    expect(rules(`User-agent: ${value}\nDisallow: /`).group).toBe(group);
  });

  test("our own group counts even when it is empty, beside a strict one for everyone", () => {
    const file = "User-agent: *\nDisallow: /\n\nUser-agent: trawl\nDisallow:\n";
    expect(judge(file, "/a")).toEqual({ allowed: true, rule: null });
    expect(may(file.replace("trawl", "other"), "/a")).toBe(false);
  });

  test("groups of one name are merged, in any order", () => {
    const file =
      "User-agent: trawl\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: trawl\nDisallow: /b";
    expect(rules(file).rules.map(({ pattern }) => pattern)).toEqual(["/a", "/b"]);
  });

  test("the groups for everyone are merged, too", () => {
    const file = "User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /b";
    expect(rules(file).rules.map(({ pattern }) => pattern)).toEqual(["/a", "/b"]);
  });

  test("other records between names do not end a group (2.2.4)", () => {
    const file =
      "User-agent: x\nSitemap: https://example.org/s.xml\nCrawl-delay: 1\nUser-agent: trawl\nDisallow: /a";
    expect(rules(file, "x").rules).toHaveLength(1);
    expect(rules(file).rules).toHaveLength(1);
  });

  test("rules before any group are ignored", () => {
    expect(may("Disallow: /\nUser-agent: *\nAllow: /a", "/b")).toBe(true);
  });

  test.each(["Disallow", "dissallow", "DISSALOW", "disalow", "diasllow", "disallaw"])("%s closes", (key) => {
    expect(may(`useragent: *\n${key}: /a`, "/a")).toBe(false);
    expect(may(`user agent: *\n${key} /a`, "/a")).toBe(false);
  });
});

describe("RFC 9309, section 2.2.2: comparing", () => {
  // The table of the section: the path of the rule, the path of the address, whether they meet.
  test.each([
    ["/foo/bar?baz=quz", "/foo/bar?baz=quz", true],
    ["/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http%3A%2F%2Ffoo.bar", false],
    ["/foo/bar/ツ", "/foo/bar/%E3%83%84", true],
    ["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", true],
    ["/foo/bar/%62%61%7A", "/foo/bar/baz", true],
    ["/foo/bar/baz", "/foo/bar/%62%61%7A", true],
    ["/a%2fb", "/a/b", false],
    ["/a/b", "/a%2Fb", false],
    ["/a%2fb", "/a%2Fb", true],
    ["/%7euser", "/~user", true],
    ["/my folder/", "/my%20folder/x", true],
    ["/a|b", "/a|b", true],
    ["/?q='x'", "/?q='x'", true],
    ["/100%", "/100%", true],
  ])("the rule %s meets %s: %s", (pattern, path, met) => {
    expect(may(shut(pattern), path)).toBe(!met);
  });

  test("bytes that are no UTF-8 keep their meaning", () => {
    const file = "User-agent: *\nDisallow: /caf\xe9";
    const verdict = judgeRobots(parseRobots(file, "trawl"), new URL("https://example.org/caf%E9"));
    expect(verdict.allowed).toBe(false);
  });

  test("a letter whose last byte is 0xA0 is not trimmed away", () => {
    expect(may(shut("/voil\u00e0"), "/voil%C3%A0")).toBe(false);
    expect(rules(shut("/voil\u00e0")).rules[0]?.pattern).toBe("/voil%C3%A0");
  });

  test("reports the line that decided", () => {
    const file = "User-agent: *\n\nDisallow: /a\nAllow: /a/b\n";
    expect(judge(file, "/a/c").rule).toEqual({ allow: false, pattern: "/a", line: 3 });
    expect(judge(file, "/a/b").rule).toEqual({ allow: true, pattern: "/a/b", line: 4 });
    expect(judge(file, "/c").rule).toBeNull();
  });

  test("/robots.txt itself is always allowed", () => {
    expect(may(shut("/"), "/robots.txt")).toBe(true);
    expect(may(shut("/"), "/a/robots.txt")).toBe(false);
  });
});

describe("RFC 9309, section 2.2.3: special characters", () => {
  test.each([
    ["/*?", "/a?b", true],
    ["/*?", "/a", false],
    ["/*.pdf$", "/a.pdf", true],
    ["/*.pdf$", "/a.pdf?x", false],
    ["/*.pdf$", "/a.pdf/b.pdf", true],
    ["*/b", "/a/b", true],
    ["/a**b", "/axxb", true],
    ["/a*", "/a", true],
    ["/a*$", "/abc", true],
    ["$", "/", false],
    ["*$", "/anything", true],
    ["/*a*a$", "/a", false],
    ["/*a*a$", "/aa", true],
    ["/a$b", "/a$b", true],
    ["/a$b", "/a", false],
    ["/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true],
    ["/path/file-with-a-%2A.html", "/path/file-with-a-x.html", false],
    ["/path/foo-%24", "/path/foo-$", true],
    ["/path/foo-%24", "/path/foo-", false],
    ["a", "/a", false],
  ])("the rule %s meets %s: %s", (pattern, path, met) => {
    expect(may(shut(pattern), path)).toBe(!met);
  });
});

describe("Crawl-delay, honoured up to 30 s", () => {
  test.each([
    ["0.5", 500],
    ["10", 10_000],
    ["10s", 10_000],
    ["0", 0],
    ["30", 30_000],
    ["31", 30_000],
    ["1e9", 30_000],
    ["Infinity", 30_000],
    ["-1", null],
    ["slowly", null],
    ["", null],
  ])("%j is %s ms", (value, delay_ms) => {
    expect(rules(`User-agent: *\nCrawl-delay: ${value}\nDisallow: /a`).crawl_delay_ms).toBe(delay_ms);
  });

  test("is that of the group that applies, the longest when there are several", () => {
    const file =
      "User-agent: *\nCrawl-delay: 9\n\nUser-agent: trawl\nAllow: /\nCrawl-delay: 2\nCrawl-delay: 3\n";
    expect(rules(file).crawl_delay_ms).toBe(3_000);
    expect(rules(file, "other").crawl_delay_ms).toBe(9_000);
  });
});

describe("limits (RFC 9309, section 2.5)", () => {
  const filler = "# nothing\n".repeat(70_000);

  test("a rule 600 KB into the file does not exist", () => {
    expect(may(`User-agent: *\n${filler.slice(0, 600_000)}\nDisallow: /`, "/a")).toBe(true);
    expect(may(`User-agent: *\n${filler.slice(0, 500_000)}\nDisallow: /`, "/a")).toBe(false);
  });

  test("a rule cut by the limit does not exist either", () => {
    const head = "User-agent: *\nDisallow: /\n";
    const room = MAX_ROBOTS_BYTES - head.length - "\nAllow: /".length;
    const file = `${head}${"#".repeat(room)}\nAllow: /public`;
    expect(file.slice(0, MAX_ROBOTS_BYTES).endsWith("\nAllow: /")).toBe(true);
    expect(may(file, "/secret")).toBe(false);
  });

  test.each([
    ["asterisks without end", `Disallow: /${"*".repeat(16_000)}x\n`.repeat(32), `/${"a".repeat(8_000)}`],
    [
      "pieces that nearly fit",
      `Disallow: /${"*aaaaaaaab".repeat(1_600)}\n`.repeat(32),
      `/${"a".repeat(8_000)}`,
    ],
    [
      "one long piece that nearly fits",
      `Disallow: /*b${"a".repeat(4_000)}\n`.repeat(128),
      `/${"a".repeat(8_000)}`,
    ],
    [
      "pieces that fit all but once",
      `Disallow: /*${"a".repeat(300)}b${"a".repeat(300)}\n`.repeat(800),
      `/${"a".repeat(8_000)}`,
    ],
    ["very many short rules", "Disallow: /*b\n".repeat(36_000), `/${"a".repeat(8_000)}`],
    [
      "very many groups",
      "User-agent: *\nDisallow: /*b\nUser-agent: y\n".repeat(12_000),
      `/${"a".repeat(8_000)}`,
    ],
    ["spaces without end", `Disallow: /${" ".repeat(16_000)}x\n`.repeat(32), "/a"],
    ["escapes without end", `Disallow: /${"%2f".repeat(5_000)}\n`.repeat(32), `/${"%2f".repeat(2_700)}`],
    ["bytes without meaning", "\0\xff\r".repeat(170_000), "/a"],
  ])("stays quick with %s", (_, lines, path) => {
    // CPU time: a busy machine must not fail it.
    const began = process.cpuUsage();
    const parsed = parseRobots(`User-agent: *\n${lines}`.slice(0, MAX_ROBOTS_BYTES), "trawl");
    judgeRobots(parsed, new URL(`https://example.org${path}`));
    // Measured 5 to 500 ms; a matcher that backtracks needs minutes for the first two.
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
  });

  test("a file that costs too much to follow disallows", () => {
    const file = `User-agent: *\n${"Disallow: /*b\n".repeat(36_000)}`;
    expect(judge(file, `/${"a".repeat(8_000)}`)).toEqual({ allowed: false, rule: null });
    expect(may(file, "/a")).toBe(true);
  });
});

/** The definition of a match, as slow and plain as can be. */
function meets(pattern: string, path: string): boolean {
  if (pattern === "") return true;
  if (pattern === "$") return path === "";
  if (pattern[0] === "*") {
    return meets(pattern.slice(1), path) || (path !== "" && meets(pattern, path.slice(1)));
  }
  return path !== "" && path[0] === pattern[0] && meets(pattern.slice(1), path.slice(1));
}

const fileOf = (lines: string[]) => ["User-agent: *", ...lines].join("\n");

describe("laws", () => {
  const word = fc.stringMatching(/^[ab*$%/?]{0,8}$/);

  test("agrees with the definition of a match", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^\/[ab*$]{0,8}$/),
        fc.stringMatching(/^\/[ab]{0,10}$/),
        (pattern, path) => {
          expect(may(shut(pattern), path)).toBe(!meets(pattern, path));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("the order of rules does not matter", () => {
    const line = fc
      .tuple(fc.boolean(), word)
      .map(([allow, path]) => `${allow ? "Allow" : "Disallow"}: /${path}`);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), word, (lines, path) => {
        const address = `/${path.replaceAll("?", "")}`;
        expect(may(fileOf(lines), address)).toBe(may(fileOf(lines.toReversed()), address));
      }),
      { numRuns: 1_000 },
    );
  });

  test("no bytes break it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.webPath(), (noise, path) => {
        const file = Buffer.from(noise).toString("latin1");
        const { allowed } = judgeRobots(
          parseRobots(`User-agent: *\n${file}`, "trawl"),
          new URL(`http://a${path}`),
        );
        expect(allowed).toBeTypeOf("boolean");
      }),
      { numRuns: 1_000 },
    );
  });
});
