/**
 * robots.txt by RFC 9309: parses a file to the lines that apply to one crawler, and judges an address by those lines.
 * No I/O, no regular expression from the content of a file, and no work that grows faster than file times address.
 *
 * It accepts more than the RFC where files do: a missing colon, usual misspellings, a byte order mark,
 * `Allow: …/index.html` for its folder, `Crawl-delay` (capped). What a missing or unreadable file means is
 * robots-state.ts in actors/crawl/domain.
 */
import type { RobotsRule, RobotsRules } from "../../../schemas/domain.ts";
import { normaliseEscapes } from "./url.ts";

/** RFC 9309, section 2.5: a crawler must parse at least so much. The rest of a longer file is ignored. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Eight times the longest address of old browsers; the rest of a longer line is ignored. */
const MAX_LINE_BYTES = 16_663;
/** Longer delays are meant for crawlers that read a whole site; this one reads single pages. */
const MAX_CRAWL_DELAY_MS = 30_000;
/**
 * Characters compared for one verdict. A usual file costs some thousands, the largest ones a million; a file that would
 * cost more than this disallows everything. The slowest case below it (long pieces that nearly match) takes 0.5 s.
 */
const MAX_COMPARED_CHARS = 5_000_000;

const USER_AGENT_KEYS: ReadonlySet<string> = new Set(["user-agent", "useragent", "user agent"]);
const DISALLOW_KEYS: ReadonlySet<string> = new Set([
  "disallow",
  "dissallow",
  "dissalow",
  "disalow",
  "diasllow",
  "disallaw",
]);

interface Group {
  is_present: boolean;
  readonly rules: RobotsRule[];
  crawl_delay_ms: number | null;
}

/**
 * The lines that apply to a crawler: those of all groups that name it, else of all groups for "*" (section 2.2.1).
 * `bytes` is the file with one character for each byte ("latin1"), so that no encoding can lose what a rule says.
 */
export function parseRobots(bytes: string, crawler_name: string): RobotsRules {
  const own: Group = { is_present: false, rules: [], crawl_delay_ms: null };
  const everyone: Group = { is_present: false, rules: [], crawl_delay_ms: null };
  const name = crawler_name.toLowerCase();
  let groups: readonly Group[] = [];
  let isNaming = false;

  let number = 0;
  for (const line of lines(bytes)) {
    number++;
    const field = fieldOf(line);
    if (field === null) continue;
    const { key, value } = field;
    if (USER_AGENT_KEYS.has(key)) {
      const group = isEveryone(value) ? everyone : productOf(value) === name ? own : null;
      if (!isNaming) groups = [];
      isNaming = true;
      if (group === null) continue;
      group.is_present = true;
      if (!groups.includes(group)) groups = [...groups, group];
    } else if (key === "allow" || DISALLOW_KEYS.has(key)) {
      isNaming = false;
      for (const group of groups) addRule(group, key === "allow", value, number);
    } else if (key === "crawl-delay") {
      // Not a rule of the RFC, so, as any other record, it neither ends nor begins a group (section 2.2.4).
      const delay_ms = crawlDelay(value);
      if (delay_ms === null) continue;
      for (const group of groups) group.crawl_delay_ms = Math.max(group.crawl_delay_ms ?? 0, delay_ms);
    }
  }

  const group = own.is_present ? own : everyone;
  const { crawl_delay_ms } = group;
  // Section 2.2.2: the longest pattern wins, and of two equally long ones the allowing.
  const rules = group.rules.toSorted(
    (a, b) => b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow) || a.line - b.line,
  );
  return { group: own.is_present ? crawler_name : everyone.is_present ? "*" : null, rules, crawl_delay_ms };
}

export interface RobotsVerdict {
  readonly allowed: boolean;
  /** The line that decided; null when none did: then everything is allowed, or the file is too costly to follow. */
  readonly rule: RobotsRule | null;
}

/** Whether an address of this file's origin may be read. */
export function judgeRobots({ rules }: RobotsRules, url: URL): RobotsVerdict {
  // Section 2.2.2: implicitly allowed.
  if (url.pathname === "/robots.txt") return { allowed: true, rule: null };
  const path = comparable(url.pathname + url.search)
    .replaceAll("*", "%2A")
    .replaceAll("$", "%24");
  let left_chars = MAX_COMPARED_CHARS;
  for (const rule of rules) {
    const { pattern } = rule;
    left_chars -= pattern.length + (pattern.includes("*") ? path.length : 0);
    if (left_chars < 0) return { allowed: false, rule: null };
    if (matches(path, pattern)) return { allowed: rule.allow, rule };
  }
  return { allowed: true, rule: null };
}

/**
 * Whether a path begins with what a pattern describes (section 2.2.3). Taking each piece between two asterisks at its
 * first possible place is exact, because an asterisk can always stretch to a later one.
 */
function matches(path: string, pattern: string): boolean {
  const anchored = pattern.endsWith("$");
  const pieces = (anchored ? pattern.slice(0, -1) : pattern).split("*");
  const [first, ...later] = pieces as [string, ...string[]];
  if (!path.startsWith(first)) return false;
  const last = anchored ? later.pop() : undefined;
  let at = first.length;
  for (const piece of later) {
    const index = path.indexOf(piece, at);
    if (index === -1) return false;
    at = index + piece.length;
  }
  if (!anchored) return true;
  if (last === undefined) return path.length === at;
  return path.length - last.length >= at && path.endsWith(last);
}

/** The form in which patterns and paths are compared: one spelling, ASCII only (section 2.2.2). */
function comparable(text: string): string {
  const ascii = text.replaceAll(
    /[^\x21-\x7e]|["'<>\\^`{|}]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return normaliseEscapes(ascii);
}

function addRule(group: Group, allow: boolean, value: string, line: number): void {
  // An empty value is no rule: that is how a file says "nothing is disallowed".
  if (value === "") return;
  const plain = comparable(value);
  const open = plain.slice(0, -1).replaceAll("$", "%24");
  // A copy: a substring would keep the whole file in memory.
  const pattern = Buffer.from(open + plain.slice(-1), "latin1").toString("latin1");
  group.rules.push({ allow, pattern, line });
  if (allow && /\/index\.html?$/.test(pattern.slice(-11))) {
    group.rules.push({ allow, pattern: `${pattern.slice(0, pattern.lastIndexOf("/") + 1)}$`, line });
  }
}

/** In whole milliseconds, at most 30 s; null for what is no number of seconds. */
function crawlDelay(value: string): number | null {
  const seconds = Number.parseFloat(value);
  return seconds >= 0 ? Math.ceil(Math.min(seconds * 1000, MAX_CRAWL_DELAY_MS)) : null;
}

const isEveryone = (value: string): boolean => value[0] === "*" && (value.length === 1 || isBlank(value, 1));

/** The leading letters, "-" and "_" of a user-agent line, in lower case: "Trawl/2.0 (x)" names "trawl" (section 2.2.1). */
function productOf(value: string): string {
  let end = 0;
  while (end < value.length && /[A-Za-z_-]/.test(value[end]!)) end++;
  return value.slice(0, end).toLowerCase();
}

/** Key and value around the first colon; without one, of exactly two words. */
function fieldOf(line: string): { readonly key: string; readonly value: string } | null {
  const comment = line.indexOf("#");
  const text = trimmed(comment === -1 ? line : line.slice(0, comment));
  let end = text.indexOf(":");
  if (end === -1) {
    end = 0;
    while (end < text.length && !isBlank(text, end)) end++;
    const value = trimmed(text.slice(end));
    if (value === "" || value.includes(" ") || value.includes("\t")) return null;
    return { key: text.slice(0, end).toLowerCase(), value };
  }
  return { key: trimmed(text.slice(0, end)).toLowerCase(), value: trimmed(text.slice(end + 1)) };
}

/** Lines ended by LF, CR or CRLF, within the limits of file and line, the byte order mark or the start of one dropped. */
function* lines(bytes: string): Generator<string> {
  let text = bytes.slice(/^(?:\xef(?:\xbb\xbf?)?)?/.exec(bytes)![0].length);
  if (bytes.length > MAX_ROBOTS_BYTES) {
    // A rule that is cut means something else ("Allow: /" for "Allow: /public"), so its whole line is dropped.
    text = text.slice(0, MAX_ROBOTS_BYTES);
    text = text.slice(0, Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
  }
  for (let from = 0; from < text.length;) {
    let end = from;
    while (end < text.length && text[end] !== "\n" && text[end] !== "\r") end++;
    yield text.slice(from, Math.min(end, from + MAX_LINE_BYTES));
    from = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
  }
}

/** Space, tab, vertical tab or form feed; not the byte 0xA0, which ends many UTF-8 characters. */
function isBlank(text: string, at: number): boolean {
  const c = text[at];
  return c === " " || c === "\t" || c === "\v" || c === "\f";
}

function trimmed(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text, from)) from++;
  while (to > from && isBlank(text, to - 1)) to--;
  return text.slice(from, to);
}
