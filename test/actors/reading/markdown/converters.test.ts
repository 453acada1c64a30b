/**
 * The cases of two converters (turndown and html-to-markdown for Go), read as the parser of the standard reads both results: what is
 * not alike is in CONVERTER_DIFFERENCES with the reason.
 */
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { CONVERTER_DIFFERENCES } from "./converter-differences.ts";

const ROOT = "../shared/fixtures/html2md";
if (!existsSync(ROOT)) console.log(`SKIPPED cases of two converters: ${ROOT} is not there`);

interface Case {
  readonly name: string;
  readonly html: string;
  readonly markdown: string;
}

function casesIn(root: string): Case[] {
  const turndown: Case[] = JSON.parse(readFileSync(join(root, "turndown_cases.json"), "utf8"));
  const folder = join(root, "html-to-markdown-go");
  const files = readdirSync(folder).filter((file) => file.endsWith(".in.html"));
  return [
    ...turndown.map(({ name, html, markdown }, i) => ({ name: `turndown ${i} ${name}`, html, markdown })),
    ...files.map((file) => ({
      name: `go ${file.replace(".in.html", "")}`,
      html: readFileSync(join(folder, file), "utf8"),
      markdown: readFileSync(join(folder, file.replace(".in.html", ".out.md")), "utf8"),
    })),
  ];
}

interface Node {
  readonly type: string;
  readonly value?: string | undefined;
  readonly url?: string | undefined;
  readonly alt?: string | null | undefined;
  readonly depth?: number | undefined;
  readonly ordered?: boolean | null | undefined;
  readonly start?: number | null | undefined;
  readonly lang?: string | null | undefined;
  readonly children?: readonly Node[];
}

/** Comments, and rules between blocks, are none of a page's words: they are left out of every comparison. */
const UNCOMPARED = new Set(["html", "thematicBreak"]);
const HERE = "http://example.com/";

/** Kinds of blocks, words and addresses, as a reader of Markdown sees them; not how they were marked up. */
function seen({ type, value, url, alt, depth, ordered, start, lang, children }: Node): string {
  const inside = (children ?? []).map(seen).join("").replaceAll(/\s+/g, " ");
  if (type === "text") return (value ?? "").replaceAll(/\s+/g, " ");
  if (type === "break") return "⏎";
  if (type === "root") return inside;
  if (UNCOMPARED.has(type)) return "";
  const address =
    url === undefined
      ? ""
      : (URL.parse(url, HERE)?.href.replaceAll("%28", "(").replaceAll("%29", ")") ?? url);
  const traits = [depth, ordered ? `from ${start ?? 1}` : "", lang, address, alt, value?.trim()];
  return `<${[type, ...traits.filter((trait) => trait)].join(" ")}>${inside.trim()}</>`;
}

const read = (markdown: string): string =>
  seen(fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));

test.skipIf(!existsSync(ROOT))("every case is read alike, or the difference is decided", () => {
  const cases = casesIn(ROOT);
  const different = cases.filter(({ html, markdown }) => {
    const page = readHtml(html, HERE, 0, { formats: true, content: "shown", titled: false });
    const ours = read(page.formats?.markdown ?? "");
    const theirs = read(markdown);
    return ours !== theirs;
  });
  expect({ length: cases.length, different: different.map(({ name }) => name) }).toEqual({
    length: 161,
    different: Object.keys(CONVERTER_DIFFERENCES),
  });
});
