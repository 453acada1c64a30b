/** Bugs of sitemaps, addresses and maps. */
import type { Mutant } from "./mutant.ts";

const address = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  file: `actors/crawl/sites/address/${file}`,
  find,
  replace,
  tests: ["test/actors/crawl/sites/address.test.ts"],
});

const sitemap = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  file: `actors/crawl/sites/sitemap/${file}`,
  find,
  replace,
  tests: ["test/actors/crawl/sites/sitemap.test.ts"],
});

export const SITES: readonly Mutant[] = [
  address(
    "joins addresses that differ in the order of values",
    "key.ts",
    "[nameOf(piece), piece] as const",
    "[piece, piece] as const",
  ),
  address(
    "reads a session id beside dots as another folder",
    "key.ts",
    "plain(DOTS.test(plain(bare)) ? before : bare)",
    "plain(bare)",
  ),
  {
    name: "takes a folder for one with the same beginning",
    file: "actors/lib/web/site-scope.ts",
    find: '.lastIndexOf("/") + 1)',
    replace: '.lastIndexOf("/"))',
    tests: ["test/actors/crawl/sites/address.test.ts"],
  },
  address("counts no calendar pages", "traps.ts", "book.calendar_pages++;", ""),
  address("counts new values among combinations", "traps.ts", "isOne && news.length === 0 &&", "isOne &&"),
  address("knows no page without its session", "traps.ts", "isKnownWithout(isSession)", "false"),
  sitemap(
    "takes an address that the file's end has cut",
    "xml-sitemap.ts",
    "document.end();\n      parser.end();",
    "parser.end();\n      document.end();",
  ),
  sitemap("does not count the bytes behind a compression", "read-sitemap.ts", "bytes += part.length;", ""),
  {
    name: "leaves what a further request reserved",
    file: "gateway/serve.ts",
    find: "await work.settleCharge(work.end);",
    replace: "work.end();",
    tests: ["test/gateway/map.test.ts"],
  },
];
