/**
 * The part of a page that counts as content, and what is read from it on request. None of it changes the request to the site: a page is read
 * anew from its stored body with other wishes.
 */
import { type Static, Type } from "typebox";
import { Field, Nullable } from "./common.ts";
import { PageSelector } from "./css-selector.ts";
import { ExtractOptions } from "./extract.ts";

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
  include_comments: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one",
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
  extract: Type.Optional(
    Field(
      Nullable(ExtractOptions),
      "Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there",
    ),
  ),
};

const ContentBody = Type.Object(CONTENT_FIELDS);

/** Data that is read of a page's elements beside its content. */
export const DATA_FORMATS = ["structured", "tables", "comments"] as const;
export const isDataFormat = (format: string): boolean => (DATA_FORMATS as readonly string[]).includes(format);
const DataChoice = Type.Object({
  structured: Type.Optional(Type.Literal(true)),
  tables: Type.Optional(Type.Literal(true)),
  comments: Type.Optional(Type.Literal(true)),
  /** Checked with the request that it came with. */
  extract: Type.Optional(Type.Unsafe<ExtractOptions>(Type.Record(Type.String(), Type.Unknown()))),
});
export type DataChoice = Static<typeof DataChoice>;

/** A caller's choice of a page: its parts, and data of it. Without a choice the page is read as for everybody. */
export const ContentChoice = Type.Object({
  only_main_content: Nullable(Type.Boolean()),
  /** Default: false. */
  include_comments: Type.Optional(Type.Literal(true)),
  include: Type.Array(Type.String()),
  exclude: Type.Array(Type.String()),
  data: Type.Optional(DataChoice),
});
export type ContentChoice = Static<typeof ContentChoice>;

/** Whether the caller chooses another content than the stored one. */
export const choosesContent = ({
  only_main_content,
  include_comments,
  include,
  exclude,
}: ContentChoice): boolean =>
  only_main_content !== null || include_comments === true || include.length > 0 || exclude.length > 0;

/** Empty for a body without a choice. */
export function contentChoiceOf({
  only_main_content = null,
  include_comments,
  include_selectors,
  exclude_selectors,
  formats,
  extract,
}: Static<typeof ContentBody> & { readonly formats?: readonly string[] | null }): {
  readonly reading?: ContentChoice;
} {
  const named = DATA_FORMATS.filter((name) => formats?.includes(name));
  const whole = Object.fromEntries(named.map((name) => [name, true as const]));
  const reading = {
    only_main_content,
    ...(include_comments && { include_comments: true as const }),
    include: include_selectors ?? [],
    exclude: exclude_selectors ?? [],
    ...((named.length > 0 || extract) && { data: { ...whole, ...(extract && { extract }) } }),
  };
  return choosesContent(reading) || reading.data ? { reading } : {};
}
