/** A page as one caller wants it read: some of its elements, with or without what is not its main content, and data of it. */
import { choosesContent, type ContentChoice } from "../../../schemas/content.ts";
import type { readHtml } from "../article/article.ts";
import { charsetOf } from "../content/charset.ts";
import { decodeText } from "../content/decode-text.ts";
import { cutText, MAX_TEXT_CHARS, soundText } from "../content/text-document.ts";
import { type Extracted, type ExtractTask, NOTHING } from "../extraction-result.ts";
import { pageData } from "../data/page-data.ts";
import { elementsIn, elementsOf } from "./document.ts";
import { included, leaveOut, narrowed } from "./narrow.ts";

export function readWanted(task: ExtractTask, reading: ContentChoice, read: typeof readHtml): Extracted {
  const { include, exclude, only_main_content, include_comments = false } = reading;
  const with_comments = reading.data?.comments === true;
  const charset = charsetOf(task) ?? "UTF-8";
  const html = decodeText(task.bytes, charset);
  const isNarrowed = include.length > 0 || exclude.length > 0;
  const $ = isNarrowed || reading.data ? elementsOf(html) : null;
  if ($) leaveOut($, reading);
  const data =
    $ && reading.data
      ? pageData(elementsIn($.root()[0]!), included($, reading), task.url, reading.data, {
          $,
          now_ms: task.now_ms,
          markdownOf: (part) =>
            read(part, task.url, task.now_ms, { formats: true, content: "shown", titled: false }).formats
              ?.markdown ?? "",
        })
      : undefined;
  if (!choosesContent(reading) && task.with_formats !== true && !with_comments)
    return { ...NOTHING, charset, formats: { markdown: null, links: [], images: [], ...data } };
  const page = read($ && isNarrowed ? narrowed($, reading) : html, task.url, task.now_ms, {
    formats: task.with_formats === true,
    include_comments,
    comments: with_comments,
    titled: include.length === 0,
    content:
      include.length > 0 || only_main_content === false ? "shown" : only_main_content ? "main" : "default",
  });
  const formats = page.formats ?? (data && { markdown: null, links: [], images: [] });
  const comments = with_comments && { comments: page.comments ?? [] };
  const { text, truncated } = cutText(soundText(page.text), MAX_TEXT_CHARS);
  return {
    ...NOTHING,
    charset,
    text,
    text_truncated: truncated || page.truncated,
    meta: page.meta,
    ...(formats && { formats: { ...formats, ...data, ...comments } }),
    note: page.note,
  };
}
