/** A page as one caller wants it read: some of its elements, with or without what is not its main content. */
import type { ContentChoice } from "../../../schemas/content.ts";
import type { readHtml } from "../article/article.ts";
import { charsetOf } from "../content/charset.ts";
import { decodeText } from "../content/decode-text.ts";
import { cutText, MAX_TEXT_CHARS, soundText } from "../content/text-document.ts";
import { type Extracted, type ExtractTask, NOTHING } from "../extraction-result.ts";
import { elementsOf } from "./document.ts";
import { narrowed } from "./narrow.ts";

export function readWanted(task: ExtractTask, reading: ContentChoice, read: typeof readHtml): Extracted {
  const { include, exclude, only_main_content } = reading;
  const charset = charsetOf(task) ?? "UTF-8";
  const html = decodeText(task.bytes, charset);
  const isNarrowed = include.length > 0 || exclude.length > 0;
  const $ = isNarrowed ? elementsOf(html) : null;
  const page = read($ ? narrowed($, reading) : html, task.url, task.now_ms, {
    formats: task.with_formats === true,
    content:
      include.length > 0 || only_main_content === false ? "shown" : only_main_content ? "main" : "default",
  });
  const { text, truncated } = cutText(soundText(page.text), MAX_TEXT_CHARS);
  return {
    ...NOTHING,
    charset,
    text,
    text_truncated: truncated || page.truncated,
    meta: page.meta,
    ...(page.formats && { formats: page.formats }),
    note: page.note,
  };
}
