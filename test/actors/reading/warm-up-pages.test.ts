/** The pages that a new reader reads first (actors/reading/warm-up-pages.ts). */
import { expect, test } from "vitest";
import { tasks, warm_ups } from "../../../actors/reading/extract.ts";
import { CONTENT_PAGES, WARM_UP_PAGES } from "../../../actors/reading/warm-up-pages.ts";

test("twelve have content of all kinds, and each is read as content, with and without Markdown", async () => {
  expect(CONTENT_PAGES).toHaveLength(12);
  const read = await tasks.page();
  const warm_up = await warm_ups.page();
  const pages = warm_up.filter(({ bytes }) => CONTENT_PAGES.includes(bytes.toString()));
  for (const task of pages.slice(0, 2 * CONTENT_PAGES.length)) {
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
  const others = warm_up.slice(CONTENT_PAGES.length, WARM_UP_PAGES.length);
  const texts = await Promise.all(others.map(async (task) => (await read(task, () => 0)).text));
  const odd = texts.filter((text) => text.includes("Straße über Äcker"));
  expect(odd).toHaveLength(3);
  for (const text of odd) expect(text).not.toContain("Not seen");
  expect(texts.filter((text) => text.length < 100)).toHaveLength(others.length - odd.length);
});
