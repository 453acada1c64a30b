/**
 * The length of a document decides nothing: of documents with 10 to 20,000 paragraphs the second half is read as well as the
 * first, and a document that a limit cuts says so. Pages here are made of drawn words; bench/extraction-length.bench.ts makes
 * long documents of real pages.
 */
import { describe, expect, inject, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";

const random = seededRandom(inject("seed"));
const NOW_MS = Date.UTC(2026, 0, 1);
const VOCABULARY =
  "harbour crane gearbox spring office town council rail tide cargo winter ferry bridge signal engineer tunnel market school river night storm budget report the a of and to in for with on that from was had will".split(
    " ",
  );

/** Draws sentences, each paragraph with a mark of its own by which the text is searched. */
function writer(draw: () => number) {
  const marks: string[] = [];
  const words = (count: number): string =>
    Array.from({ length: count }, () => VOCABULARY[Math.floor(draw() * VOCABULARY.length)]).join(" ");
  const sentence = (): string => {
    const drawn = words(8 + Math.floor(draw() * 6));
    return `${drawn[0]!.toUpperCase()}${drawn.slice(1)}.`;
  };
  const marked = (): string => {
    const mark = `mark${marks.length}x`;
    marks.push(mark);
    return mark;
  };
  return {
    marks,
    words,
    paragraph: (): string =>
      `The ${marked()} ${Array.from({ length: 2 + Math.floor(draw() * 2) }, sentence).join(" ")}`,
  };
}
type Writer = ReturnType<typeof writer>;

const framed = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><title>${title} | Port Times</title></head><body><header><nav><ul>${"<li><a href=/x>Section</a></li>".repeat(12)}</ul></nav></header>
${body}<footer><ul>${"<li><a href=/y>About us</a></li>".repeat(10)}</ul><p>© 2026 Port Times. All rights reserved.</p></footer></body></html>`;
const times = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join("\n");

const DOCUMENTS: Readonly<Record<string, (count: number, write: Writer) => string>> = {
  prose: (count, { paragraph }) =>
    framed(
      "The harbour",
      `<main><article><h1>The harbour</h1>${times(count, () => `<p>${paragraph()}</p>`)}</article></main>`,
    ),
  documentation: (count, { paragraph, words }) =>
    framed(
      "Crane library",
      `<main><h1>Crane library</h1>${times(count, (n) =>
        n % 8 === 0
          ? `<section><h2>${words(3)}</h2><p>${paragraph()}</p><pre><code>crane.lift(${n});\ncrane.turn(90);</code></pre>`
          : n % 8 === 7
            ? `<ul><li>${paragraph()}</li></ul></section>`
            : `<p>${paragraph()}</p>`,
      )}</main>`,
    ),
  wiki: (count, { paragraph, words }) =>
    framed(
      "Harbour crane",
      `<div id="content"><h1>Harbour crane</h1><div class="mw-parser-output">${times(
        count,
        (n) =>
          `${n % 10 === 0 ? `<h2>${words(2)}</h2>` : ""}<p>${paragraph()} <a href="/wiki/${n}">${words(2)}</a>.</p>`,
      )}</div></div>`,
    ),
  forum: (count, { paragraph }) =>
    framed(
      "Crane does not turn",
      `<main><h1>Crane does not turn</h1>${times(
        count,
        (n) =>
          `<div class="post" id="p${n}"><div class="author"><a href="/u/${n % 50}">user${n % 50}</a></div><div class="message"><p>${paragraph()}</p></div><div class="actions"><a href="#r">Reply</a></div></div>`,
      )}</main>`,
    ),
};
const LENGTHS: Readonly<Record<string, readonly number[]>> = {
  prose: [10, 100, 300, 2_000, 20_000],
  documentation: [10, 100, 300, 2_000, 20_000],
  wiki: [10, 100, 300, 2_000, 20_000],
  forum: [10, 100, 500, 2_000],
};

describe.each(Object.keys(DOCUMENTS))("%s of any length", (kind) => {
  test.each(LENGTHS[kind]!)("of %i paragraphs is read to its end", (count) => {
    const write = writer(() => random.next());
    const html = DOCUMENTS[kind]!(count, write);
    const page = readHtml(html, "https://port.example/harbour", NOW_MS);
    const read = new Set(page.text.match(/mark\d+x/g));
    const unread = (marks: readonly string[]): number => marks.filter((mark) => !read.has(mark)).length;
    const half = Math.floor(count / 2);
    // A hundredth of each half, and one paragraph of a short document.
    const allowed = Math.max(1, half * 0.01);
    expect(unread(write.marks.slice(0, half))).toBeLessThanOrEqual(allowed);
    expect(unread(write.marks.slice(half))).toBeLessThanOrEqual(allowed);
    expect(page.truncated).toBe(false);
  });
});

test("a document that a limit cuts says so", () => {
  const { paragraph } = writer(() => random.next());
  const page = (count: number) =>
    readHtml(
      framed("The harbour", `<main><article>${times(count, () => `<p>${paragraph()}</p>`)}</article></main>`),
      "https://port.example/harbour",
      NOW_MS,
    );
  expect(page(100).truncated).toBe(false);
  expect(page(40_000).truncated).toBe(true);
});
