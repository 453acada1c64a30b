/** The pages that a new reader reads first (actors/reading/warm-up-pages.ts). */
import { expect, test } from "vitest";
import { tasks, warm_ups } from "../../../actors/reading/extract.ts";
import { CONTENT_PAGES, WARM_UP_PAGES } from "../../../actors/reading/warm-up-pages.ts";

test("twelve have content of all kinds, and each is read as content, with and without Markdown", async () => {
  expect(CONTENT_PAGES).toHaveLength(12);
  const read = await tasks.page();
  const warm_up = await warm_ups.page();
  const pages = [0, 1].flatMap((round) =>
    warm_up.slice(0, (round + 1) * WARM_UP_PAGES.length).slice(-CONTENT_PAGES.length),
  );
  expect(pages.slice(0, CONTENT_PAGES.length).map(({ bytes }) => bytes.toString())).toEqual(CONTENT_PAGES);
  for (const task of pages) {
    const { text, note, formats } = await read(task, () => 0);
    expect(note).toBeNull();
    expect(text.length).toBeGreaterThan(100);
    expect(formats !== undefined).toBe(task.with_formats);
  }
});

test("the others are of odd markup, whose visible text is read, and nearly empty, and all are of a few KB", async () => {
  const read = await tasks.page();
  const warm_up = await warm_ups.page();
  expect(Math.max(...warm_up.map(({ bytes }) => bytes.length))).toBeLessThan(20_000);
  const others = warm_up.slice(0, WARM_UP_PAGES.length - CONTENT_PAGES.length);
  const texts = await Promise.all(others.map(async (task) => (await read(task, () => 0)).text));
  // Which of its lines are text is the weights' to say.
  const odd = texts.filter((text) => text.length >= 100);
  expect(odd).toHaveLength(3);
  for (const text of odd) expect(text).not.toContain("Not seen");
});

test("a page has other markup in each round and the same text, and an English one has characters of one byte in some", async () => {
  const warm_up = await warm_ups.page();
  const htmls = warm_up.map(({ bytes }) => bytes.toString());
  const rounds = htmls.length / WARM_UP_PAGES.length;
  const article = WARM_UP_PAGES.indexOf(CONTENT_PAGES[0]!);
  const versions = Array.from(
    { length: rounds },
    (_, round) => htmls[round * WARM_UP_PAGES.length + article]!,
  );
  expect(new Set(versions).size).toBe(rounds);
  for (const html of versions) expect(html).toContain("The cost of 1.4 million is paid by the port");
  const isNarrow = (html: string): boolean => /^[\0-\xff]*$/.test(html);
  expect(new Set(versions.map(isNarrow))).toEqual(new Set([true, false]));
});
