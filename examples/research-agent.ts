/**
 * Answers a question with passages of pages and their sources: searches, reads what was found, and takes of each page the
 * passage that has the most words of the question. Without a language model; one would be given these passages.
 *
 *   node research-agent.ts "when was the lighthouse lit"
 */
import { Trawl } from "@trawl/client";

const { TRAWL_URL: url = "http://127.0.0.1:8080", TRAWL_KEY: key = "" } = process.env;
const question = process.argv.slice(2).join(" ");
if (question === "") throw new Error("Usage: node research-agent.ts QUESTION");
const trawl = new Trawl({ url, key });
const MAX_PAGES = 5;
const MAX_PASSAGE_CHARS = 600;

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu));
const asked = wordsOf(question);
const hitsOf = (text: string): number => wordsOf(text).intersection(asked).size;

/** The paragraph with the most words of the question; null: none has one. */
function passageOf(markdown: string): string | null {
  const paragraphs = markdown.split(/\n{2,}/).filter((text) => !text.startsWith("#"));
  const best = paragraphs.toSorted((a, b) => hitsOf(b) - hitsOf(a))[0] ?? "";
  return hitsOf(best) === 0 ? null : best.replaceAll(/\s+/g, " ").slice(0, MAX_PASSAGE_CHARS);
}

const found = await trawl.search(question, {
  max_results: MAX_PAGES,
  contents: { results: MAX_PAGES, fetch: { formats: ["markdown"] } },
});
if (found.error !== null) throw new Error(`Cannot search for "${question}": ${found.error}`);

const sources: string[] = [];
console.log(`# ${question}\n`);
for (const { url: address, title, published_at, content } of found.results) {
  if (!content || content.error !== null) {
    console.error(`Not read: ${address} (${content?.error ?? "no page"})`);
    continue;
  }
  const passage = passageOf(content.markdown ?? "");
  if (passage === null) continue;
  const date = published_at ? `, ${published_at.slice(0, 10)}` : "";
  sources.push(
    `${content.title ?? title ?? address}${date}. ${content.final_url ?? address}, read ${content.retrieved_at}`,
  );
  console.log(`> ${passage} [${sources.length}]\n`);
}
console.log("## Sources\n");
for (const [at, source] of sources.entries()) console.log(`${at + 1}. ${source}`);
