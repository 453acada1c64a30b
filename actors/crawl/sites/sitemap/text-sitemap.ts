/** Reads a text sitemap, one address in a line, piece by piece. What has no address in its first lines is no sitemap. */
import { parseUrl } from "../../../lib/web/url.ts";
import type { SitemapError } from "../../../../schemas/sites.ts";
import { MAX_WARNINGS, type SitemapEntry } from "./sitemap.ts";

/** Lines without an address before the first address. */
const MAX_OTHER_LINES = 20;
const MAX_LINE_CHARS = 8_192;

export interface TextSitemap {
  /** False: it wants no more. */
  readonly write: (text: string) => boolean;
  readonly end: () => void;
  readonly error: () => SitemapError | null;
  readonly warnings: () => readonly string[];
}

/** `onEntry` answers whether more entries are wanted. */
export function textSitemap(onEntry: (entry: SitemapEntry) => boolean): TextSitemap {
  const warnings = new Set<string>();
  let rest = "";
  let entries = 0;
  let others = 0;
  let isOver = false;

  function read(line: string): void {
    const text = line.trim();
    if (text === "" || isOver) return;
    const url = text.length > MAX_LINE_CHARS ? null : parseUrl(text);
    if (url === null) {
      others++;
      if (warnings.size < MAX_WARNINGS) warnings.add(`"${text.slice(0, 100)}" is no http or https address`);
      isOver = entries === 0 && others >= MAX_OTHER_LINES;
      return;
    }
    entries++;
    isOver = !onEntry({ url: url.href, kind: "page", lastmod: null, title: null, is_translation: false });
  }

  return {
    write(text) {
      const lines = (rest + text).split(/\r\n|\r|\n/);
      // A line that is too long for an address is none, however it ends.
      rest = lines.pop()!.slice(0, MAX_LINE_CHARS + 1);
      for (const line of lines) read(line);
      return !isOver;
    },
    end: () => read(rest),
    error: () => (entries === 0 ? "not_a_sitemap" : null),
    warnings: () => [...warnings],
  };
}
