/** The pages that a new reader reads first (actors/reading/warm-up-pages.ts). */
import { expect, test } from "vitest";
import { tasks, warm_ups } from "../../../actors/reading/extract.ts";
import { WARM_UP_PAGES } from "../../../actors/reading/warm-up-pages.ts";

test("are a dozen of a few KB, and each is read as content, with and without Markdown", async () => {
  expect(WARM_UP_PAGES).toHaveLength(12);
  const read = await tasks.page();
  const warm_up = await warm_ups.page();
  const sizes = warm_up.map(({ bytes }) => bytes.length);
  expect(Math.max(...sizes)).toBeLessThan(20_000);
  for (const task of warm_up.slice(0, 2 * WARM_UP_PAGES.length)) {
    const { text, note, formats } = await read(task, () => 0);
    expect(note).toBeNull();
    expect(text.length).toBeGreaterThan(100);
    expect(formats !== undefined).toBe(task.with_formats);
  }
});
