/**
 * What of a page counts as content, and what is read from it on request. None of it changes the request to the site: a page is read
 * anew from its stored body with other wishes.
 */
import { type Static, Type } from "typebox";
import { Field, Nullable } from "./common.ts";
import { PageSelector } from "./css-selector.ts";

export const MAX_SELECTORS = 50;

const selectors = (sentence: string, example: string) =>
  Type.Optional(Field(Nullable(Type.Array(PageSelector, { maxItems: MAX_SELECTORS })), sentence, [example]));

/** Fields of a fetch's body. */
export const CONTENT_FIELDS = {
  only_main_content: Type.Optional(
    Field(
      Nullable(Type.Boolean()),
      "false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main " +
        "content only. Default: text and Markdown of the main content, links and images of the whole page",
      false,
    ),
  ),
  include_selectors: selectors(
    "CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether " +
      "main content or not",
    "article .body",
  ),
  exclude_selectors: selectors(
    "CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included",
    ".related",
  ),
};

const ContentBody = Type.Object(CONTENT_FIELDS);
type ContentWishes = Static<typeof ContentBody>;

/** The content of a page that one caller chooses. Without a choice the page is read as for everybody. */
export const ContentChoice = Type.Object({
  only_main_content: Nullable(Type.Boolean()),
  include: Type.Array(Type.String()),
  exclude: Type.Array(Type.String()),
});
export type ContentChoice = Static<typeof ContentChoice>;

/** Empty for a body without a choice. */
export function contentChoiceOf({
  only_main_content = null,
  include_selectors,
  exclude_selectors,
}: ContentWishes): { readonly reading?: ContentChoice } {
  const [include, exclude] = [include_selectors ?? [], exclude_selectors ?? []];
  if (only_main_content === null && include.length === 0 && exclude.length === 0) return {};
  return { reading: { only_main_content, include, exclude } };
}
