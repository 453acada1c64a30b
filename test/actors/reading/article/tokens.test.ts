import fc from "fast-check";
import { Tokenizer } from "htmlparser2";
import { expect, test } from "vitest";
import { readTokens } from "../../../../actors/reading/article/tokens.ts";

/** Tokens as text: "a b", "<div", "class=x", ">", "/>", "</div". Text in pieces is one text. */
class Tokens {
  readonly list: string[] = [];
  #isText = false;
  add(token: string): void {
    this.list.push(token);
    this.#isText = false;
  }
  addText(text: string): void {
    if (this.#isText) this.list.push(this.list.pop()! + text);
    else this.list.push(text);
    this.#isText = true;
  }
}

function tokensOf(html: string, isForeign = false): string[] {
  const tokens = new Tokens();
  readTokens(html, {
    onText: (start, stop) => tokens.addText(html.slice(start, stop)),
    onTagName: (start, stop) => {
      tokens.add(`<${html.slice(start, stop)}`);
      return html.slice(start, stop).toLowerCase();
    },
    onAttribute: (start, stop, value_start, value_stop) =>
      tokens.add(`${html.slice(start, stop)}=${html.slice(value_start, value_stop)}`),
    onTagEnd: (is_self_closing) => tokens.add(is_self_closing ? "/>" : ">"),
    onEndTag: (start, stop) => tokens.add(`</${html.slice(start, stop)}`),
    isForeign: () => isForeign,
  });
  return tokens.list;
}

function tokensOfHtmlparser2(html: string, isForeign: boolean): string[] {
  const tokens = new Tokens();
  let [attribute, value] = ["", ""];
  const ignore = (): void => {};
  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      isInForeignContext: () => isForeign,
      ontext: (start, stop) => tokens.addText(html.slice(start, stop)),
      onopentagname: (start, stop) => tokens.add(`<${html.slice(start, stop)}`),
      onattribname: (start, stop) => {
        attribute = html.slice(start, stop);
        value = "";
      },
      onattribdata: (start, stop) => void (value += html.slice(start, stop)),
      onattribend: () => tokens.add(`${attribute}=${value}`),
      onopentagend: () => tokens.add(">"),
      onselfclosingtag: () => tokens.add("/>"),
      onclosetag: (start, stop) => tokens.add(`</${html.slice(start, stop)}`),
      ontextentity: ignore,
      onattribentity: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return tokens.list;
}

const PIECES = (
  "<|>|</|/|=|'|\"| |\n|\f|a|B|7|é|-|!|?|--|[|]]>|&amp;|<div|<p>|</p>|<P |</P\t|<br/>|<svg>| x=1| b='| c=\"| d| / |=>|" +
  "<script>|<SCRIPT|</script>|</SCRIPT |</scrip|<style|</style/|<title>|</title|<textarea>|</textarea>|<iframe>|</iframe>|" +
  "<noembed>|</noembed>|<noframes>|<xmp>|</xmp>|<plaintext>|<!--|-->|--!>|<!-|<!doctype html>|<!d|<!>|<?xml |<![cdata["
).split("|").concat(
  // Within a value they make it a long one.
  "y".repeat(30), `"${"z".repeat(40)}`, `'${"=>".repeat(20)}`,
); // prettier-ignore
/** Ends whatever is open: of a tag that the document's end cuts off, htmlparser2 tells the last character as text. */
const END =
  "'\">--></script></style></title></textarea></iframe></noembed></noframes></xmp><i a=b>the end</i>";

test("any soup of markup has the tokens that htmlparser2 finds in it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }),
      fc.boolean(),
      (pieces, isForeign) => {
        const html = pieces.join("") + END;
        expect(tokensOf(html, isForeign)).toEqual(tokensOfHtmlparser2(html, isForeign));
      },
    ),
    { numRuns: 3_000 },
  );
});

test.each([
  ["a tag", "left <a href='x' title"],
  ["the name of a tag", "left <scr"],
  ["an attribute's value", 'left <a href="x>y'],
  ["a tag that closes itself", "left <br /"],
  ["an end tag", "left </div x"],
  ["a comment", "left <!-- x"],
  ["a declaration", "left <!doctype"],
])("%s that the end of the document cuts off is no text", (_, html) => {
  expect(tokensOf(html).filter((token) => !/^<\/?\w+$|=/.test(token))).toEqual(["left "]);
});

test.each([
  ["<", ["<"]],
  ["a < b <", ["a < b <"]],
  ["</", ["</"]],
  ["<script>x</scrip", ["<script", ">", "x</scrip"]],
  ["<title>a<b></title>", ["<title", ">", "a<b>", "</title"]],
  // Only in XML it is text; htmlparser2 takes it for a comment up to "]]>".
  ["<![CDATA[a>b]]>", ["b]]>"]],
  ["<plaintext></plaintext>", ["<plaintext", ">", "</plaintext>"]],
])("%s", (html, tokens) => {
  expect(tokensOf(html)).toEqual(tokens);
});

test("within SVG a title has elements", () => {
  expect(tokensOf("<title><b></title>", true)).toEqual(["<title", ">", "<b", ">", "</title"]);
});
