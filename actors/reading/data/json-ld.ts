/**
 * JSON-LD as it stands in a page: each object of each block, nothing expanded, no character reference decoded. Blocks that JSON.parse
 * refuses are mended where pages are often wrong: line breaks in strings, comments, commas too many.
 */
import type { Element } from "../dom/document.ts";
import { soundText } from "../content/text-document.ts";

/** Characters of all blocks together. */
const CHARS_MAX = 1_000_000;
const DEPTH_MAX = 100;

export function jsonLdOf(scripts: readonly Element[], warn: (warning: string) => void): unknown[] {
  const found: unknown[] = [];
  let room = CHARS_MAX;
  for (const [at, script] of scripts.filter(isJsonLd).entries()) {
    const text = script.children.map((child) => ("data" in child ? child.data : "")).join("");
    room -= text.length;
    if (room < 0) {
      warn(`structured: JSON-LD beyond ${CHARS_MAX} characters is left out`);
      break;
    }
    const block = parsed(text);
    if (block === undefined) warn(`structured: JSON-LD block ${at + 1} is no JSON`);
    else if (isDeep(block, DEPTH_MAX))
      warn(`structured: JSON-LD block ${at + 1} has more than ${DEPTH_MAX} levels and is left out`);
    else found.push(...[block].flat().filter(isSomething).map(sound));
  }
  return found;
}

const isJsonLd = ({ attribs: { type = "" } }: Element): boolean =>
  type.split(";", 1)[0]!.trim().toLowerCase() === "application/ld+json";

const isSomething = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);

/** Undefined: it cannot be mended. */
function parsed(text: string): unknown {
  for (const read of [text, mended(text)])
    try {
      return JSON.parse(read) as unknown;
    } catch {}
  return undefined;
}

function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}

function sound(value: unknown): unknown {
  if (typeof value === "string") return soundText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sound);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [soundText(key), sound(inner)]));
}

/** Text around or between the values of a block, and where it ends; a marker alone is dropped. */
const ASIDES: readonly (readonly [begin: string, end: string])[] = [
  ["//", "\n"],
  ["/*", "*/"],
  ["<![CDATA[", ""],
  ["]]>", ""],
  ["-->", ""],
  [";", ""],
  ["\uFEFF", ""],
];

/** Mends the text in one pass; what is in a string stays, but for control characters, which are escaped. */
function mended(text: string): string {
  const parts: string[] = [];
  let isAfterComma = false;
  let comment_end = -1;
  let line_end = -1;
  for (let at = 0; at < text.length;) {
    const aside = ASIDES.find(([begin]) => text.startsWith(begin, at));
    if (aside) {
      const [begin, end] = aside;
      const stop = end === "" ? at + begin.length : text.indexOf(end, at + begin.length);
      at = stop < 0 ? text.length : stop + end.length;
    } else if (text.startsWith("<!--", at)) {
      // A comment of one line is one; else the comment is around the whole block, and only its marks are dropped.
      if (comment_end < at) comment_end = indexOr(text, "-->", at);
      if (line_end < at) line_end = indexOr(text, "\n", at);
      at = comment_end < line_end ? comment_end : at + 4;
    } else if (/\s/.test(text[at]!)) at += 1;
    else if (text[at] === ",") {
      isAfterComma = true;
      at += 1;
    } else {
      if (isAfterComma && text[at] !== "}" && text[at] !== "]") parts.push(",");
      isAfterComma = false;
      const stop = text[at] === '"' ? stringEnd(text, at) : at + 1;
      parts.push(escaped(text.slice(at, stop)));
      at = stop;
    }
  }
  return parts.join("");
}

const indexOr = (text: string, part: string, from: number): number => {
  const at = text.indexOf(part, from);
  return at < 0 ? Infinity : at;
};

function stringEnd(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

const escaped = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- they are what breaks these blocks
  text.replace(/[\u0000-\u001f]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
