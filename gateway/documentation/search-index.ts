/** The index of the documentation's search: made here once, searched in the browser, so that nothing that is typed leaves the page. */
import MiniSearch from "minisearch";
import type { Documentation } from "./pages.ts";

/** The page's script (documentation.js) reads the index with the same. */
const OPTIONS = { fields: ["title", "heading", "body"], storeFields: ["title", "heading"] };
const MAX_BODY_CHARS = 1_500;

/** Page by page, so that other requests are answered meanwhile. */
export async function searchIndex({ all }: Documentation, pause: () => Promise<void>): Promise<object> {
  const index = new MiniSearch({ ...OPTIONS, idField: "href" });
  for (const { path, title, isSearched, rendered } of all) {
    if (!isSearched) continue;
    await pause();
    for (const [n, { id, text, body }] of rendered().sections.entries())
      index.add({
        href: `/docs/${path}${n === 0 ? "" : `#${id}`}`,
        title,
        heading: n === 0 ? "" : text,
        body: body.slice(0, MAX_BODY_CHARS),
      });
  }
  return index.toJSON();
}
