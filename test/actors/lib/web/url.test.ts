import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  basicAuthorization,
  maskUserInfo,
  normaliseEscapes,
  normaliseUrl,
  originOf,
  parseUrl,
  siteOf,
} from "../../../../actors/lib/web/url.ts";

const normal = (text: string): string | null => {
  const url = parseUrl(text);
  return url && normaliseUrl(url);
};

describe("one spelling of an address", () => {
  test.each([
    ["HTTP://EXAMPLE.org", "http://example.org/"],
    ["http://example.org:80/a", "http://example.org/a"],
    ["https://example.org:443/a", "https://example.org/a"],
    ["https://example.org:80/a", "https://example.org:80/a"],
    ["http://example.org/a#part", "http://example.org/a"],
    ["http://example.org/a?", "http://example.org/a"],
    ["http://example.org/a?#part", "http://example.org/a"],
    ["http://example.org/a?b=", "http://example.org/a?b="],
    ["http://user:secret@example.org/a", "http://example.org/a"],
    ["http://example.org./a", "http://example.org/a"],
    ["http://example.org.:8080/a", "http://example.org:8080/a"],
    ["http://example.org/%7euser/%41", "http://example.org/~user/A"],
    ["http://example.org/a%2fb?c=%3d", "http://example.org/a%2Fb?c=%3D"],
    ["http://example.org/a/../b/./c", "http://example.org/b/c"],
    ["http://example.org/a/%2e%2E/b", "http://example.org/b"],
    ["http://example.org/100%", "http://example.org/100%"],
    ["http://example.org/%2%35", "http://example.org/%2%35"],
    ["http://example.org/%25", "http://example.org/%25"],
    ["http://example.org/ü?q=ü", "http://example.org/%C3%BC?q=%C3%BC"],
    ["http://münchen.example/", "http://xn--mnchen-3ya.example/"],
    ["http://①②⑦.0.0.1/", "http://127.0.0.1/"],
    ["http://0x7f.1/", "http://127.0.0.1/"],
    ["http://[::FFFF:1]:80/", "http://[::ffff:1]/"],
    ["  http://example.org/a\n", "http://example.org/a"],
  ])("%s is %s", (text, spelling) => {
    expect(normal(text)).toBe(spelling);
  });

  test("keeps addresses apart that a server may distinguish", () => {
    const spellings = ["/a", "/A", "/a/", "/a?b", "/a?b=", "/a%2Fb", "/a/b", "/%2%35", "/%25", "//a"];
    expect(new Set(spellings.map((path) => normal(`http://example.org${path}`))).size).toBe(spellings.length);
  });

  test.each([
    "ftp://example.org/",
    "file:///etc/passwd",
    "data:text/html,x",
    "blob:http://example.org/1",
    "view-source:http://example.org/",
    "javascript:alert(1)",
    "example.org/a",
    "/a",
    "",
    "http://",
    "http://a b/",
    "http://./",
    "http://a..b/",
    "http://.example.org/",
    "http://example.org:99999/",
    `http://example.org/${"a".repeat(8_192)}`,
  ])("invalid_url: %s", (text) => {
    expect(parseUrl(text)).toBeNull();
  });

  test("resolves a redirect against the address it came from", () => {
    const base = parseUrl("https://example.org/a/b")!;
    expect(parseUrl("../../../c#d", base)?.href).toBe("https://example.org/c");
    expect(parseUrl("//other.example/x", base)?.href).toBe("https://other.example/x");
    expect(parseUrl("mailto:a@example.org", base)).toBeNull();
  });
});

describe("laws of the spelling", () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.constantFrom(
      "%",
      "%2",
      "%41",
      "%2f",
      "%2F",
      "%7e",
      "%c3%bc",
      "../../..",
      ".",
      "/",
      "?",
      "#",
      "&",
      "=",
      "~",
    ),
  );
  const address = fc
    .tuple(
      fc.constantFrom("http://example.org", "HTTPS://Example.ORG:443", "http://a.example.org.:8080"),
      fc.array(piece, { maxLength: 12 }),
    )
    .map(([origin, pieces]) => `${origin}/${pieces.join("")}`);

  test("is its own spelling, and one that parses to itself", () => {
    fc.assert(
      fc.property(address, (text) => {
        const once = normal(text)!;
        expect(normal(once)).toBe(once);
        expect(new URL(once).href).toBe(once);
      }),
      { numRuns: 2_000 },
    );
  });

  test("does not depend on how an unreserved character is written", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9\-._~]{1,20}$/), (word) => {
        const escaped = word.replaceAll(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`);
        expect(normaliseEscapes(escaped)).toBe(word);
      }),
    );
  });
});

describe("the origin", () => {
  test.each([
    ["https://www.example.org/a?b", "https://www.example.org"],
    ["http://example.org:8080/", "http://example.org:8080"],
    ["http://example.org.:8080/", "http://example.org:8080"],
    ["http://[::1]:81/", "http://[::1]:81"],
  ])("of %s is %s", (url, origin) => {
    expect(originOf(url)).toBe(origin);
    expect(originOf(new URL(url))).toBe(origin);
  });
});

describe("the site whose politeness a host shares", () => {
  test.each([
    ["example.org", "example.org"],
    ["www.example.org", "example.org"],
    ["WWW.Example.ORG", "example.org"],
    ["a.b.example.co.uk.", "example.co.uk"],
    ["a.github.io", "a.github.io"],
    ["x.b.github.io", "b.github.io"],
    ["github.io", "github.io"],
    ["co.uk", "co.uk"],
    ["localhost", "localhost"],
    ["intranet", "intranet"],
    ["a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"],
    ["city.kawasaki.jp", "city.kawasaki.jp"],
    ["a.b.c.kawasaki.jp", "b.c.kawasaki.jp"],
    ["a_b.example.org", "example.org"],
    ["192.0.2.1", "192.0.2.1"],
    ["[2001:db8::1]", "2001:db8::1"],
  ])("of %s is %s", (host, site) => {
    expect(siteOf(host)).toBe(site);
  });

  test("is shared by the hosts an operator joined, and by what is below them", () => {
    const joined = new Map([
      ["profiles.example", "profiles.example"],
      ["profiles.test", "profiles.example"],
    ]);
    expect(siteOf("www.profiles.test", joined)).toBe("profiles.example");
    expect(siteOf("profiles.example", joined)).toBe("profiles.example");
    expect(siteOf("notprofiles.test", joined)).toBe("notprofiles.test");
    expect(siteOf("192.0.2.1", new Map([["192.0.2.1", "lab"]]))).toBe("lab");
  });

  test("is a fixed point: the site of a site is that site", () => {
    fc.assert(
      fc.property(fc.domain(), (host) => {
        expect(siteOf(siteOf(host))).toBe(siteOf(host));
      }),
    );
  });
});

describe("credentials in an address", () => {
  const ada = `Basic ${Buffer.from("ada:lovelace").toString("base64")}`;
  test.each([
    ["http://ada:lovelace@example.org/a?b=@c", ada, "http://***@example.org/a?b=@c"],
    ["  https:ada:lovelace@example.org\n", ada, "https://***@example.org/"],
    ["http:\\\\ada:lovelace@example.org/", ada, "http://***@example.org/"],
    [
      "http://a%40b:p%3aw%c3%bc@example.org/",
      `Basic ${Buffer.from("a@b:p:wü").toString("base64")}`,
      "http://***@example.org/",
    ],
    [
      "http://100%ff:x@example.org/",
      `Basic ${Buffer.from("100%ff:x").toString("base64")}`,
      "http://***@example.org/",
    ],
    [
      "http://token@example.org/",
      `Basic ${Buffer.from("token:").toString("base64")}`,
      "http://***@example.org/",
    ],
    ["http://:pw@example.org/", `Basic ${Buffer.from(":pw").toString("base64")}`, "http://***@example.org/"],
    ["http://@example.org/", null, "http://@example.org/"],
    ["http://example.org/@a:b@c", null, "http://example.org/@a:b@c"],
    ["mailto:ada@example.org", null, "mailto:ada@example.org"],
    ["ada@example.org", null, "ada@example.org"],
  ])("%j", (text, field, shown) => {
    expect([basicAuthorization(text), maskUserInfo(text)]).toEqual([field, shown]);
  });
});
