/** Where links of the documents lead once they are pages: `fetch.md#routes` in docs/api/ is `/docs/api/fetch#routes`. */
import { posix } from "node:path";

/** Files beside docs/ that have a page of their own. */
const PAGES: Readonly<Record<string, string>> = { "CHANGELOG.md": "/changelog" };

/** `path`: of the page, below docs/, without its ending. `has`: whether there is a page of this path. Null: shown as text. */
export const linksOf =
  (path: string, has: (path: string) => boolean) =>
  (href: string): string | null => {
    if (/^(https?:|mailto:|#|\/)/.test(href)) return href;
    const [file = "", anchor] = href.split("#");
    const target = posix.join("docs", posix.dirname(path), file);
    const hash = anchor === undefined ? "" : `#${anchor}`;
    const page = PAGES[target];
    if (page !== undefined) return `${page}${hash}`;
    if (target.startsWith("docs/pictures/")) return `/${target}`;
    const below = /^docs\/(.+)\.md$/.exec(target)?.[1];
    return below !== undefined && has(below) ? `/docs/${below}${hash}` : null;
  };
