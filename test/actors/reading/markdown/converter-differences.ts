/** Where our Markdown is not read as that of two converters, and why it stays so; the names are those of converters.test.ts. */
const ONLY_PICTURES =
  "Without words a page has no Markdown, and pictures without an alternative text are written nowhere: `images` lists both.";
const REFERENCES = "Links are written where they stand, so that a part of the Markdown can be read alone.";
const LINE_BREAKS = "Consecutive line breaks within a paragraph are one, not a new paragraph.";

export const CONVERTER_DIFFERENCES: Readonly<Record<string, string>> = {
  "turndown 27 img with no alt": ONLY_PICTURES,
  "turndown 28 img with relative src": ONLY_PICTURES,
  "turndown 29 img with alt": ONLY_PICTURES,
  "turndown 30 img with escaped content in alt": ONLY_PICTURES,
  "turndown 32 img with parenthesis in src": ONLY_PICTURES,
  "turndown 33 img with a new line in alt": ONLY_PICTURES,
  "turndown 34 img with more than one new line in alt": ONLY_PICTURES,
  "turndown 35 img with new lines in title": ONLY_PICTURES,
  "turndown 36 img with quotes in title": ONLY_PICTURES,
  "turndown 37 img with space in URL": ONLY_PICTURES,
  "turndown 47 a reference": REFERENCES,
  "turndown 48 a reference with space in URL": REFERENCES,
  "turndown 49 a reference with collapsed style": REFERENCES,
  "turndown 50 a reference with shortcut style": REFERENCES,
  "turndown 51 a reference with title": REFERENCES,
  "turndown 57 escaping ~~~":
    "The case is of text beside the block; `<pre>` is a block of code here, whether it contains `<code>` or not.",
  "turndown 84 whitespace in nested inline elements":
    "The link contains the emphasis: one order of nesting for all pages; the words are the same.",
  "turndown 86 blank block elements": "An empty block ends a line, not a paragraph.",
  "turndown 124 elements with a single void element": ONLY_PICTURES,
  "turndown 125 elements with a nested void element": ONLY_PICTURES,
  "turndown 133 list-like text with non-breaking spaces":
    "Ours keeps the line break; the other writes it as a comment of HTML.",
  "go commonmark__blockquote": LINE_BREAKS,
  "go commonmark__bold":
    "Emphasis that CommonMark would not read as emphasis is left out, where the other leaves asterisks in the text; neighbours of one style are one.",
  "go commonmark__code":
    "`<var>` is slanted as browsers show it; empty code is nothing; marks that CommonMark would not read are left out.",
  "go commonmark__heading": "A heading is strong by itself; headings within a link stay headings.",
  "go commonmark__image": ONLY_PICTURES,
  "go commonmark__link":
    "Links within the page, without words or with impossible addresses are their words; a link stands in each of its paragraphs; the link contains the emphasis.",
  "go commonmark__list":
    "Text outside of an item ends the list, so that no paragraph becomes an item that the page does not show as one.",
  "go commonmark__metadata":
    "What the page shows as `&ouml;` stays so, where the other makes a letter of it; consecutive line breaks are one.",
  "go table__basics":
    "Empty tables and rows are nothing, a caption stands above its table, one row is a line; the first row is the header where the other writes an empty one.",
  "go table__col_row_span":
    "A cell that spans several is repeated in each, so that every row can be read alone; the first row is the header, one row is a line.",
  "go table__contents": "A table of one column is paragraphs; the first row is the header.",
  "go table__email": ONLY_PICTURES,
  "go table__parents": "A table of one row is a line; blocks within a link are blocks.",
};
