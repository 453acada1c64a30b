/** How extracted text is scored against gold: word F1 as WCXB does, shingles of four as article-extraction-benchmark does. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { siteOf } from "../actors/lib/web/url.ts";

export interface GoldPage {
  readonly set: "wcxb" | "articles";
  readonly id: string;
  readonly url: string;
  readonly kind: string;
  readonly html: string;
  readonly text: string;
  readonly title: string | null;
  readonly author: string | null;
  readonly date: string | null;
}

/** Odd ids are kept out of sight while rules are made: FNV-1a of the id, so that no order of the pages shows through. */
export function isHeldOut(id: string): boolean {
  let hash = 0x811c9dc5;
  for (const char of id) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return ((hash >>> 8) & 1) === 1;
}

/**
 * Sites that the weights in the tree have not learned from, a tenth of them, so that a test can tell what the weights are worth on
 * pages they have not seen. By a site's name, or a page's id where no address is known.
 */
export const isOutOfTraining = (site: string): boolean =>
  Number.parseInt(createHash("sha256").update(`out of training ${site}`).digest("hex").slice(0, 8), 16) %
    10 ===
  0;

/** The site of a page; its id where no address is known. */
export function siteOfPage(url: string, id: string): string {
  const host = URL.parse(url)?.hostname;
  return host ? siteOf(host) : id;
}

const page = (folder: string, id: string): string =>
  gunzipSync(readFileSync(join(folder, "html", `${id}.html.gz`))).toString("utf8");

export function* wcxbPages(root: string): Generator<GoldPage> {
  const folder = join(root, "wcxb");
  for (const file of readdirSync(join(folder, "ground-truth")).toSorted()) {
    const gold = JSON.parse(readFileSync(join(folder, "ground-truth", file), "utf8"));
    const id = file.replace(".json", "");
    yield {
      set: "wcxb",
      id,
      url: gold.url ?? "",
      kind: gold._internal.page_type.primary,
      html: page(folder, id),
      text: gold.ground_truth.main_content ?? "",
      title: gold.ground_truth.title ?? null,
      author: gold.ground_truth.author ?? null,
      date: gold.ground_truth.publish_date ?? null,
    };
  }
}

export function* articlePages(root: string): Generator<GoldPage> {
  const folder = join(root, "articles");
  const gold = JSON.parse(readFileSync(join(folder, "ground-truth.json"), "utf8")) as Record<
    string,
    { articleBody: string; url: string }
  >;
  for (const [id, { articleBody, url }] of Object.entries(gold))
    yield {
      set: "articles",
      id,
      url,
      kind: "article",
      html: page(folder, id),
      text: articleBody,
      title: null,
      author: null,
      date: null,
    };
}

const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

export function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

export function overlap(gold: Map<string, number>, got: Map<string, number>): number {
  let both = 0;
  for (const [item, count] of gold) both += Math.min(count, got.get(item) ?? 0);
  return both;
}

export interface Score {
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}

/** Precision, recall and F1 of the multisets of lower-cased words. */
export function wordScore(gold: string, got: string): Score {
  const [wanted, found] = [words(gold.toLowerCase()), words(got.toLowerCase())];
  if (wanted.length === 0 || found.length === 0) {
    const f1 = wanted.length === found.length ? 1 : 0;
    return { f1, precision: f1, recall: f1 };
  }
  const both = overlap(counted(wanted), counted(found));
  const [precision, recall] = [both / found.length, both / wanted.length];
  return { precision, recall, f1: both === 0 ? 0 : (2 * precision * recall) / (precision + recall) };
}

function shingles(text: string): string[] {
  const tokens = words(text);
  if (tokens.length === 0) return [];
  const count = Math.max(1, tokens.length - 3);
  return Array.from({ length: count }, (_, i) => tokens.slice(i, i + 4).join(" "));
}

/** Precision and recall of an article over shingles; null where a side has nothing to divide by. */
export function shingleScore(gold: string, got: string): { precision: number | null; recall: number | null } {
  const [wanted, found] = [shingles(gold), shingles(got)];
  const both = overlap(counted(wanted), counted(found));
  return {
    precision: found.length === 0 ? null : both / found.length,
    recall: wanted.length === 0 ? null : both / wanted.length,
  };
}

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;

/** F1 of the mean precision and the mean recall, as the articles' benchmark defines it. */
export function shingleF1(scores: readonly ReturnType<typeof shingleScore>[]): Score {
  const precision = mean(scores.flatMap((score) => score.precision ?? []));
  const recall = mean(scores.flatMap((score) => score.recall ?? []));
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall) };
}

const plain = (value: string): string =>
  value
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[’‘]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/\s+/g, " ")
    .trim();

/** Case, quotes and white space apart, the same title. */
export const sameTitle = (gold: string, got: string | null): boolean =>
  got !== null && plain(gold) === plain(got);

/** Whether the names are the same, in any order. */
export function sameAuthors(gold: string, got: string | null): boolean {
  if (got === null) return false;
  const names = (value: string): string =>
    plain(value)
      .split(/\s*(?:;|,|&|\band\b)\s*/)
      .filter((name) => name !== "")
      .toSorted()
      .join("|");
  return names(gold) === names(got);
}

export const sameDay = (gold: string, got: string | null): boolean =>
  got !== null && gold.slice(0, 10) === got.slice(0, 10);
