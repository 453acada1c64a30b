/** The lean form of a fetch's answer: the page as Markdown and nothing else, for clients that prefer text/markdown. */
import { preferredType } from "../../../../gateway/accept.ts";
import type { Head, Reply } from "../../../../gateway/http.ts";
import type { FetchBody, FetchResponse } from "../../../../schemas/fetch.ts";
import { maskUserInfo } from "../../../lib/web/url.ts";

const JSON_ = "application/json";
export const MARKDOWN = "text/markdown";
/** The forms of an answer; the first one is that of a client that prefers none. */
export const JSON_FIRST = [JSON_, MARKDOWN] as const;
export const MARKDOWN_FIRST = [MARKDOWN, JSON_] as const;
export type Forms = typeof JSON_FIRST | typeof MARKDOWN_FIRST;

export const wantsMarkdown = ({ headers }: Head, forms: Forms): boolean =>
  preferredType<Forms[number]>(headers.get("accept"), forms) === MARKDOWN;

/** Only what its Markdown needs is read. */
export const withMarkdown = (body: FetchBody): FetchBody => ({
  ...body,
  fields: null,
  formats: [...new Set([...(body.formats ?? []), "markdown" as const])],
  include_html: false,
});

/** Null: there is no page, or none with text. The address says where it came from in the end. */
export function markdownReply({ error, markdown, text, final_url }: FetchResponse): Reply | null {
  const content = markdown ?? text;
  if (error !== null || content === "") return null;
  return {
    status: 200,
    headers: {
      "Content-Type": `${MARKDOWN}; charset=utf-8`,
      ...(final_url !== null && { "Content-Location": maskUserInfo(final_url) }),
    },
    body: Buffer.from(content),
  };
}
