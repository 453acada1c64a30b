/** The gold pages in other languages than English, and the scores their sets define. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { charsetOf } from "../actors/reading/content/charset.ts";
import { decodeText } from "../actors/reading/content/decode-text.ts";
import { counted, overlap } from "./extraction.score.ts";

export interface LanguagePage {
  readonly id: string;
  readonly set: "daniel" | "traf" | "htmldate";
  readonly url: string;
  readonly language: string;
  readonly html: string;
  /** daniel: the article's paragraphs, the first of them its title. */
  readonly paragraphs: readonly string[];
  /** traf: segments that belong to the main text, and that do not. */
  readonly with: readonly string[];
  readonly without: readonly string[];
  /** htmldate: the day of publication. */
  readonly date: string | null;
}

/** The articles' own addresses are lost; what an address says of the kind of page must not decide. */
const PATHS = ["a/18254", "article/18254.html", "news/2011/18254", "18254", "index.php?id=18254"] as const;

function addressOf(site: string, id: string): string {
  const path = PATHS[Number.parseInt(id.slice(-2), 16) % PATHS.length]!;
  return URL.parse(path, site)?.href ?? site;
}

export function* languagePages(root: string): Generator<LanguagePage> {
  const folder = join(root, "lang");
  if (!existsSync(folder)) return;
  const lines = gunzipSync(readFileSync(join(folder, "gold.jsonl.gz")))
    .toString("utf8")
    .split("\n");
  for (const line of lines) {
    if (line === "") continue;
    const gold = JSON.parse(line);
    const bytes = gunzipSync(readFileSync(join(folder, "html", `${gold.id}.html.gz`)));
    const charset = charsetOf({ bytes, content_type: null, kind: "html" }) ?? "UTF-8";
    yield {
      id: gold.id,
      set: gold.set,
      url: gold.set === "daniel" ? addressOf(gold.url, gold.id) : gold.url,
      language: gold.language ?? "",
      html: decodeText(bytes, charset),
      paragraphs: gold.paragraphs ?? [],
      with: gold.with ?? [],
      without: gold.without ?? [],
      date: gold.date ?? null,
    };
  }
}

const UNSPACED = /[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]/;

/** Words, or pairs of characters in scripts without spaces. */
function parts(text: string): string[] {
  const plain = text.normalize("NFKC").toLowerCase();
  if (!UNSPACED.test(plain)) return plain.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const chars = plain.match(/[\p{L}\p{N}]/gu) ?? [];
  return chars.slice(1).map((char, i) => chars[i]! + char);
}

function f1(gold: string, got: string): number {
  const [wanted, found] = [parts(gold), parts(got)];
  const both = overlap(counted(wanted), counted(found));
  return both === 0 ? 0 : (2 * both) / (wanted.length + found.length);
}

/** With or without the title line, whichever is better. */
export const articleF1 = ({ paragraphs }: LanguagePage, text: string): number =>
  Math.max(f1(paragraphs.join("\n"), text), f1(paragraphs.slice(1).join("\n"), text));

export interface Segments {
  hits: number;
  wrong: number;
  missed: number;
}

const plain = (text: string): string => text.replace(/\s+/g, " ").trim();

export function countSegments(sums: Segments, page: LanguagePage, text: string): void {
  const got = plain(text);
  for (const segment of page.with) {
    if (got.includes(plain(segment))) sums.hits += 1;
    else sums.missed += 1;
  }
  for (const segment of page.without) if (got.includes(plain(segment))) sums.wrong += 1;
}

export const segmentF1 = ({ hits, wrong, missed }: Segments): number =>
  (2 * hits) / (2 * hits + wrong + missed);

/** For each line: 1 or 0 where a segment says so, else null. */
export function segmentLabels(lines: readonly string[], page: LanguagePage): (number | null)[] {
  const [yes, no] = [page.with.map(plain), page.without.map(plain)];
  const says = (segments: readonly string[], line: string): boolean =>
    segments.some((segment) => line.includes(segment) || (line.length >= 20 && segment.includes(line)));
  return lines.map((raw) => {
    const line = plain(raw);
    const [is, isNot] = [says(yes, line), says(no, line)];
    return is === isNot ? null : Number(is);
  });
}
