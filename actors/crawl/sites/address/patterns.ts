/**
 * The `include` and `exclude` of a crawl: globs, and regular expressions between slashes, matched against path and query. One
 * engine (RE2) for both, whose time is linear in the address whatever the pattern; what a pattern costs to compile is limited.
 */
import { RE2JS, RE2Set } from "re2js";

export const MAX_PATTERNS = 100;
export const MAX_PATTERN_CHARS = 512;
/** Instructions of one compiled pattern, and of all: three times `x{0,1000}` has 6,002, `^/blog/` has 9. */
const MAX_PROGRAM = 2_000;
const MAX_PROGRAMS = 10_000;
/** Memory of the automaton that is built while addresses are matched; when it is full it begins anew. */
const MAX_AUTOMATON_BYTES = 4 * 2 ** 20;

export type Matches = (url: URL) => boolean;

export type Compiled =
  | { readonly kind: "compiled"; readonly matches: Matches }
  /** `index`: of the pattern that is wrong. */
  | { readonly kind: "refused"; readonly index: number; readonly problem: string };

export function compilePatterns(patterns: readonly string[]): Compiled {
  if (patterns.length > MAX_PATTERNS)
    return { kind: "refused", index: MAX_PATTERNS, problem: `There are more than ${MAX_PATTERNS} patterns` };
  const set = new RE2Set(RE2Set.UNANCHORED, 0, MAX_AUTOMATON_BYTES);
  let instructions = 0;
  for (const [index, pattern] of patterns.entries()) {
    const refused = (problem: string): Compiled => ({ kind: "refused", index, problem });
    if (pattern === "") return refused("A pattern should not be empty");
    if (pattern.length > MAX_PATTERN_CHARS)
      return refused(`A pattern should have at most ${MAX_PATTERN_CHARS} characters`);
    const expression = expressionOf(pattern);
    try {
      const size = RE2JS.compile(expression).programSize();
      instructions += size;
      if (size > MAX_PROGRAM || instructions > MAX_PROGRAMS)
        return refused("The pattern repeats too much, or the patterns do together");
      set.add(expression);
    } catch (problem) {
      return refused((problem as Error).message);
    }
  }
  if (patterns.length === 0) return { kind: "compiled", matches: () => false };
  set.compile();
  return { kind: "compiled", matches: ({ pathname, search }) => set.match(pathname + search).length > 0 };
}

const GLOB_PART = /\*\*\/|\*\*|\*|\?|[^*?]+/g;
const GLOB: Readonly<Record<string, string>> = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };

/**
 * `/…/` is a regular expression that matches anywhere, so a folder is named by `/blog/**`. A glob matches from the beginning to the end: `*` within a segment,
 * `**` across segments, `?` one character; without a slash before it, it begins behind any slash.
 */
export function expressionOf(pattern: string): string {
  if (pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/")) return pattern.slice(1, -1);
  const parts = pattern.match(GLOB_PART)!.map((part) => GLOB[part] ?? RE2JS.quote(part));
  return `^${pattern.startsWith("/") ? "" : "/(?:.*/)?"}${parts.join("")}$`;
}
