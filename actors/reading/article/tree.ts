/**
 * A page as flat arrays, built in one pass over the tokens: nodes in document order, a parent before its children,
 * a subtree one contiguous range. It does not recurse, and does not decide which nodes are text.
 *
 * It repairs what real pages need (paragraphs that end by themselves, list items, cells), and nothing else of the standard:
 * no foster parenting, no adoption agency.
 */
import { decodeHTML, decodeHTMLAttribute, decodeHTMLStrict } from "entities";
import { codeAt } from "../content/code-at.ts";
import { extraChars, FIRST_DENSE } from "../content/comparable-chars.ts";
import { type HtmlSource, htmlText, UNITS_A_CHAR_MAX } from "./html-source.ts";
import { KnownNames } from "./known-names.ts";
import { readTokens } from "./tokens.ts";

/** Deeper elements open no node: their text goes to the node at the cap. */
const DEPTH_MAX = 512;
const NODES_MAX = 300_000;
const ATTRIBUTES_MAX = 64;
const ATTRIBUTE_CHARS_MAX = 2_048;
/** Before its character references are decoded. */
const ATTRIBUTE_SOURCE_CHARS_MAX = 8 * ATTRIBUTE_CHARS_MAX;
const TEXT_CHARS_MAX = 5_000_000;
const FORMATTING_MAX = 50_000;
/** A `<textarea>` of the text: a sample of code, of several lines. */
const AREA_CHARS_MAX = 20_000;
const AREA_BREAKS_MIN = 2;
/** Markup to be copied into another page, and templates of scripts. */
const NO_SAMPLE = /^\s*(?:<|&lt;|\{[{%])/i;
const ICONS_MAX = 10_000;
const ICON_LABEL_CHARS_MAX = 200;
const FORMULAS_MAX = 10_000;
const FORMULA_CHARS_MAX = 2_048;
const SCRIPTS_MAX = 64;
const SCRIPT_CHARS_MAX = 1_048_576;
/** Names of scripts and frames, for the detection of vendors. */
const HOSTS_MAX = 256;

/** By their names in lower case. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** A formatting element, which opens no node: where it stands between and within the text nodes. */
export interface FormattingMark {
  readonly tag: string;
  readonly opens: boolean;
  /** The text node in which it stands, or the next node. */
  readonly node: number;
  /** How many characters of that node's text stand before it. */
  readonly offset: number;
  /** The element that contains it: behind its end the mark has no effect. */
  readonly parent: number;
}

/** A picture in a cell of a table whose element opens no node: an `<i>` of an icon font, or an `<svg>`. */
export interface Icon {
  /** The next node; the number of nodes of the cell so far, where the cell ends with the icon. */
  readonly node: number;
  readonly classes: string;
  /** Its `aria-label`, its `title`, or the `<title>` in it. */
  label: string;
}

export interface Tree {
  /** Lower-cased element names; "#text" for text. */
  readonly tag: readonly string[];
  /** Text as it stands in the page; "" for elements. */
  readonly text: readonly string[];
  /** Length of that text with its white space collapsed, comparable across scripts (comparable-chars.ts). */
  readonly chars: readonly number[];
  /** -1 for the root. */
  readonly parent: readonly number[];
  /** First index after the subtree. */
  readonly end: readonly number[];
  readonly depth: readonly number[];
  /** Text inside a link. */
  readonly linked: readonly boolean[];
  readonly attributes: readonly (Attributes | null)[];
  /** The content of `<title>`. */
  readonly title: string;
  /** name, property, itemprop or http-equiv (lower case) and content, in document order. */
  readonly metas: readonly (readonly [string, string])[];
  /** Names of microdata that meta elements give, with the node that the element stands in. */
  readonly itemNames: readonly { readonly node: number; readonly name: string }[];
  readonly links: readonly Attributes[];
  /** The contents of JSON-LD scripts. */
  readonly jsonLd: readonly string[];
  /** Addresses of scripts and frames, and the beginnings of inline scripts. */
  readonly scripts: readonly string[];
  readonly base: string | null;
  /** The nodes of formulas whose TeX the page has: each has one child, the TeX between dollar signs. */
  readonly formulas: readonly number[];
  /** In document order; empty unless they were asked for. */
  readonly formatting: readonly FormattingMark[];
  /** In document order; empty unless formatting was asked for. */
  readonly icons: readonly Icon[];
  /** Which limits were met. */
  readonly capped: readonly string[];
}

const VOID = new Set(
  "area base basefont br col embed frame hr img input keygen link meta param source track wbr".split(" "),
);
/** Elements without text of the page; their content is skipped. */
const SKIPPED = new Set(
  "style template svg math iframe object canvas audio video select datalist textarea noembed noframes applet".split(
    " ",
  ),
);
/** Formatting elements open no node, so that an unclosed one does no harm. */
const FORMATTING = new Set(
  "b i u s em strong small big tt font strike ins abbr acronym cite dfn mark q bdi bdo data nobr var kbd samp".split(
    " ",
  ),
);
const CLOSES_PARAGRAPH = new Set(
  (
    "p h1 h2 h3 h4 h5 h6 address article aside blockquote details div dl fieldset figcaption figure footer form " +
    "header hr main nav ol pre section table ul li dd dt center dir menu summary"
  ).split(" "),
);
/** Elements that an end tag does not close across, unless it closes a part of a table itself. */
const CELL = new Set(["td", "th", "caption"]);
const TABLE_PARTS = new Set(["table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption"]);
const INLINE_ENDS = new Set(["span", "label", "code", "sup", "sub", "time"]);
const BLOCK = new Set(
  (
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
    "h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre section summary table tbody td tfoot th " +
    "thead tr ul caption option optgroup"
  ).split(" "),
);
export const isBlock = (tag: string): boolean => BLOCK.has(tag);
const ELEMENT_NAMES = new KnownNames([
  ...VOID,
  ...SKIPPED,
  ...FORMATTING,
  ...CLOSES_PARAGRAPH,
  ...TABLE_PARTS,
  ...INLINE_ENDS,
  ...BLOCK,
  ..."a button head input noscript picture rb rp rt ruby script title".split(" "),
]);
const ELEMENT_NAME_CHARS_MAX = 64;

/** The name in lower case; null for one that is too long. */
function elementName({ units, slice }: HtmlSource, start: number, stop: number): string | null {
  if (stop - start > UNITS_A_CHAR_MAX * ELEMENT_NAME_CHARS_MAX) return null;
  const known = ELEMENT_NAMES.find(units, start, stop);
  if (known !== undefined) return known;
  const name = slice(start, stop);
  return name.length > ELEMENT_NAME_CHARS_MAX ? null : name.toLowerCase();
}

/** An opening element ends an open element of the second list, searched up to an element of the third. */
const ENDS_SIBLING: Readonly<Record<string, { ends: ReadonlySet<string>; within: ReadonlySet<string> }>> = {
  li: { ends: new Set(["li"]), within: new Set(["ul", "ol", "menu", "table", "td", "body"]) },
  dd: { ends: new Set(["dd", "dt"]), within: new Set(["dl", "table", "td", "body"]) },
  dt: { ends: new Set(["dd", "dt"]), within: new Set(["dl", "table", "td", "body"]) },
  tr: { ends: new Set(["tr"]), within: new Set(["table", "body"]) },
  td: { ends: new Set(["td", "th"]), within: new Set(["tr", "table", "body"]) },
  th: { ends: new Set(["td", "th"]), within: new Set(["tr", "table", "body"]) },
  tbody: { ends: new Set(["thead", "tbody", "tfoot"]), within: new Set(["table", "body"]) },
  thead: { ends: new Set(["thead", "tbody", "tfoot"]), within: new Set(["table", "body"]) },
  tfoot: { ends: new Set(["thead", "tbody", "tfoot"]), within: new Set(["table", "body"]) },
  option: { ends: new Set(["option"]), within: new Set(["select", "body"]) },
  rb: { ends: new Set(["rb", "rt", "rp"]), within: new Set(["ruby", "body"]) },
  rt: { ends: new Set(["rb", "rt", "rp"]), within: new Set(["ruby", "body"]) },
  rp: { ends: new Set(["rb", "rt", "rp"]), within: new Set(["ruby", "body"]) },
};
const SIBLING_REACH = 24;

/**
 * The values of attributes, in objects of two shapes. V8 finds a field of a few shapes at once; attributes set as they come make
 * hundreds of shapes, and each reading of one is a search. Five in six elements have no other values than these.
 */
const fewAttributes = (): Attributes => ({
  class: undefined, id: undefined, href: undefined, role: undefined, style: undefined,
}); // prettier-ignore
const allAttributes = ({ class: classes, id, href, role, style }: Attributes): Attributes => ({
  class: classes, id, href, role, style,
  hreflang: undefined, rel: undefined, hidden: undefined, content: undefined, property: undefined, name: undefined,
  itemprop: undefined, datetime: undefined, title: undefined, "aria-hidden": undefined, "data-component": undefined,
  "data-testid": undefined, lang: undefined, type: undefined, src: undefined, "http-equiv": undefined, pubdate: undefined,
  alt: undefined, colspan: undefined, rowspan: undefined, start: undefined, width: undefined, height: undefined,
  "data-src": undefined, alttext: undefined, encoding: undefined, "data-lang": undefined, "data-language": undefined, "aria-label": undefined,
}); // prettier-ignore
const VALUES_WITH_FORMATS = new Set(Object.keys(allAttributes(fewAttributes())));
/** Some are read for Markdown and the list of images only. */
const VALUES = VALUES_WITH_FORMATS.difference(
  new Set("alt colspan rowspan start width height data-src data-lang data-language aria-label".split(" ")),
);
/** Nothing reads their values, but an element that has one of them has attributes. */
const ATTRIBUTES_SEEN =
  "itemtype itemscope itemid aria-expanded data-test-id charset data-type data-block-name".split(" ");
const ATTRIBUTE_NAMES = new KnownNames([...VALUES_WITH_FORMATS, ...ATTRIBUTES_SEEN]);

/** Single plain spaces are left out: most texts have no other white space and are returned as they are. */
const COLLAPSIBLE = /[\t\n\f\r\u00a0\u200b][\t\n\f\r \u00a0\u200b]*| [\t\n\f\r \u00a0\u200b]+/g;
/**
 * Soft hyphens and zero-width characters. The joiners U+200C and U+200D are spelling after a letter of Persian, of the scripts
 * of India and in emoji; after others (Latin, Greek and Cyrillic letters, punctuation, spaces) they are noise.
 */
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]|(?<![\u0590-\u1fff\u2190-\u2bff\u3030-\ufefe])[\u200c\u200d]/g;

/** Whether a text has a character of INVISIBLE or COLLAPSIBLE. Most have none, and no pattern tells it as fast. */
function isSqueezable(text: string): boolean {
  const { length } = text;
  let isAfterSpace = false;
  for (let i = 0; i < length; i += 1) {
    const code = codeAt(text, i);
    if (code === 32) {
      if (isAfterSpace) return true;
      isAfterSpace = true;
      continue;
    }
    isAfterSpace = false;
    if (code < 32 || code === 0xa0 || code === 0xad) return true;
    if (code >= 0x200b && (code <= 0x200d || code === 0x2060 || code === 0xfeff)) return true;
  }
  return false;
}

/** White space to single spaces, characters that show nothing out. */
export const squeezed = (text: string): string =>
  isSqueezable(text) ? text.replace(INVISIBLE, "").replace(COLLAPSIBLE, " ") : text;

/** Squeezed text, without white space at the ends. */
export const collapse = (text: string): string => squeezed(text.trim()).trim();

/** Removes tags and doubly escaped entities from a value that should be text. On request, blocks remain lines. */
export function unmarked(value: string, lines = false): string {
  const bare = (lines ? value.replace(/<(?:br|\/(?:p|li|div|h[1-6]|tr))\b[^<>]{0,300}>/gi, "\n") : value)
    .replace(/<\/?[a-z!][^<>]{0,2000}>/gi, " ")
    .replace(/&(?:#x[0-9a-f]{1,6}|#\d{1,7}|[a-z][a-z\d]{1,30});/gi, (reference) =>
      decodeHTMLStrict(reference),
    );
  if (!lines) return collapse(bare);
  return bare
    .split("\n")
    .map(collapse)
    .filter((line) => line !== "")
    .join("\n");
}

const decoded = (raw: string, decode: (raw: string) => string): string =>
  raw.includes("&") ? decode(raw) : raw;

function collapsedLength(text: string): number {
  const stop = text.length;
  let length = 0;
  let space = true;
  for (let i = 0; i < stop; i += 1) {
    const code = codeAt(text, i);
    if (code > 32 && code < 0xa0) {
      length += 1;
      space = false;
      continue;
    }
    const blank = code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0x200b;
    if (!blank || !space) length += 1;
    if (code >= FIRST_DENSE) length += extraChars(code);
    space = blank;
  }
  return space && length > 0 ? length - 1 : length;
}

const isTexType = (encoding: string | undefined): boolean =>
  /^(?:application|text)\/(?:x-)?(?:la)?tex$/i.test(encoding ?? "");

/** TeX on one line between dollar signs; "" if it is too long, or would end at a sign of its own. */
function texOf(source: string): string {
  const tex = collapse(source)
    .replace(/^\{\\(?:displaystyle|textstyle) ?(.*)\}$/, "$1")
    .trim();
  return tex === "" || tex.length > FORMULA_CHARS_MAX || /(?<!\\)\$/.test(tex) ? "" : `$${tex}$`;
}

const isSample = (source: string): boolean =>
  !NO_SAMPLE.test(source) && (source.trim().match(/\n/g) ?? []).length >= AREA_BREAKS_MIN;

/** With `with_formatting`, formatting elements are listed beside the nodes; the nodes are the same either way. */
export function buildTree(html: string | HtmlSource, with_formatting = false): Tree {
  const whole = typeof html === "string" ? htmlText(html) : html;
  const { slice } = whole;
  const tag: string[] = ["#root"];
  const text: string[] = [""];
  const chars: number[] = [0];
  const parent: number[] = [-1];
  const end: number[] = [0];
  const depth: number[] = [0];
  const linked: boolean[] = [false];
  const attributes: (Attributes | null)[] = [null];
  const metas: [string, string][] = [];
  const itemNames: { node: number; name: string }[] = [];
  const links: Attributes[] = [];
  const jsonLd: string[] = [];
  const scripts: string[] = [];
  const formatting: FormattingMark[] = [];
  const icons: Icon[] = [];
  const formulas: number[] = [];
  const capped = new Set<string>();
  let base: string | null = null;
  let title: string | null = null;

  const stack: number[] = [0];
  const open = new Map<string, number>();
  /** Elements opened below the depth cap and not closed yet. */
  let beyond = 0;
  let links_open = 0;
  let text_chars = 0;
  let pending = "";

  // The element whose start tag is being read.
  let name = "";
  let current: Record<string, string | undefined> | null = null;
  let attributes_read = 0;
  const values = with_formatting ? VALUES_WITH_FORMATS : VALUES;

  /** The name of the skipped element that is open, and how often it was opened again within itself. */
  let skipping = "";
  let skip_depth = 0;
  /** The formula that is open; its TeX comes from its attribute, or else from an annotation that `isTex` while it is read. */
  let formula: { tex: string; annotation: string; isTex: boolean } | null = null;
  /** The picture that is open, and whether its title is being read. */
  let icon: Icon | null = null;
  let in_icon_title = false;
  /** Where the content of the `<textarea>` stands that is open, if it may be text. */
  let area: { start: number; stop: number } | null = null;
  let script: { parts: string[]; length: number; limit: number; json: boolean } | null = null;
  let in_title = false;
  let title_parts = "";

  const flush = (): void => {
    if (pending === "") return;
    const run = pending;
    pending = "";
    if (tag.length >= NODES_MAX) {
      capped.add("nodes");
      return;
    }
    const length = collapsedLength(run);
    if (length === 0 && !/[ \n\t\u00a0]/.test(run)) return;
    const top = stack[stack.length - 1]!;
    tag.push("#text");
    text.push(run);
    chars.push(length);
    parent.push(top);
    end.push(tag.length);
    depth.push(depth[top]! + 1);
    linked.push(links_open > 0);
    attributes.push(null);
  };

  const pop = (): void => {
    const node = stack.pop()!;
    const closing = tag[node]!;
    end[node] = tag.length;
    open.set(closing, open.get(closing)! - 1);
    if (closing === "a" && linked[node]) links_open -= 1;
  };

  const popTo = (index: number): void => {
    flush();
    while (stack.length > index) pop();
  };

  const append = (start: number, stop: number): void => {
    if (in_title) {
      if (title_parts.length < 2_000) title_parts += decoded(slice(start, stop), decodeHTML);
      return;
    }
    if (script) {
      if (script.length < script.limit) {
        const part = slice(start, stop, script.limit + 1);
        script.parts.push(part);
        script.length += part.length;
      } else script.length += stop - start;
      return;
    }
    if (skipping !== "") {
      if (formula?.isTex === true && formula.annotation.length <= FORMULA_CHARS_MAX)
        formula.annotation += decoded(slice(start, stop), decodeHTML);
      if (area && stop - start <= UNITS_A_CHAR_MAX * AREA_CHARS_MAX) area = { start, stop };
      if (icon && in_icon_title && icon.label.length < ICON_LABEL_CHARS_MAX)
        icon.label += decoded(slice(start, stop), decodeHTML);
      return;
    }
    if (text_chars >= TEXT_CHARS_MAX) {
      capped.add("text");
      return;
    }
    const run = decoded(slice(start, stop), decodeHTML);
    const added = run.slice(0, TEXT_CHARS_MAX - text_chars);
    if (added.length < run.length) capped.add("text");
    text_chars += added.length;
    pending += added;
  };

  const mark = (marked: string, opens: boolean): void => {
    if (!with_formatting || tag.length >= NODES_MAX || formatting.length >= FORMATTING_MAX) return;
    const above = stack[stack.length - 1]!;
    formatting.push({ tag: marked, opens, node: tag.length, offset: pending.length, parent: above });
  };

  /** Content that a visitor may change or send, or does not see, is no text. */
  const isShownArea = (attributesHere: Attributes | null): boolean =>
    (open.get("form") ?? 0) === 0 &&
    attributesHere?.["hidden"] === undefined &&
    attributesHere?.["aria-hidden"] !== "true" &&
    !/display\s*:\s*none/i.test(attributesHere?.["style"] ?? "");

  const writeArea = ({ start, stop }: { readonly start: number; readonly stop: number }): void => {
    const content = slice(start, stop);
    if (content.length > AREA_CHARS_MAX || !isSample(content)) return;
    name = "pre";
    opened(false);
    append(start, stop);
    closed("pre");
  };

  const iconOf = (attributesHere: Attributes | null): Icon | null => {
    if (!with_formatting || icons.length >= ICONS_MAX) return null;
    if ((open.get("td") ?? 0) + (open.get("th") ?? 0) === 0) return null;
    const label = attributesHere?.["aria-label"] ?? attributesHere?.["title"] ?? "";
    const found = {
      node: tag.length,
      classes: attributesHere?.["class"] ?? "",
      label: label.slice(0, ICON_LABEL_CHARS_MAX),
    };
    icons.push(found);
    return found;
  };

  const writeFormula = ({ tex, annotation }: { tex: string; annotation: string }): void => {
    const source = texOf(tex) || texOf(annotation);
    if (source === "" || formulas.length >= FORMULAS_MAX || stack.length >= DEPTH_MAX) return;
    flush();
    if (tag.length + 2 > NODES_MAX || text_chars + source.length > TEXT_CHARS_MAX) return;
    text_chars += source.length;
    const node = tag.length;
    const top = stack[stack.length - 1]!;
    tag.push("math");
    text.push("");
    chars.push(0);
    parent.push(top);
    end.push(node + 2);
    depth.push(depth[top]! + 1);
    linked.push(links_open > 0);
    attributes.push(null);
    formulas.push(node);
    stack.push(node);
    pending = source;
    flush();
    stack.pop();
  };

  const opened = (self_closing: boolean): void => {
    const opening = name;
    const attributesHere = current;
    name = "";
    current = null;
    if (skipping !== "") {
      if (opening === skipping && !self_closing) skip_depth += 1;
      if (formula) formula.isTex = opening === "annotation" && isTexType(attributesHere?.["encoding"]);
      if (icon) in_icon_title = opening === "title" && icon.label === "";
      return;
    }
    if (opening === "" || in_title || script) return;
    if (opening === "script") {
      const json = /ld\+json/i.test(attributesHere?.["type"] ?? "");
      if (attributesHere?.["src"] && scripts.length < HOSTS_MAX) scripts.push(attributesHere["src"]);
      const room = json ? jsonLd.length < SCRIPTS_MAX : scripts.length < HOSTS_MAX;
      script = { parts: [], length: 0, limit: room ? (json ? SCRIPT_CHARS_MAX : 4_000) : 0, json };
      return;
    }
    if (opening === "title" && title === null) {
      in_title = true;
      title_parts = "";
      return;
    }
    if (opening === "meta") {
      const content = attributesHere?.["content"];
      if (content !== undefined && metas.length < 1_000) {
        for (const key of ["property", "name", "itemprop", "http-equiv"] as const)
          if (attributesHere?.[key]) metas.push([attributesHere[key].toLowerCase(), content]);
        if (attributesHere?.["itemprop"] === "name")
          itemNames.push({ node: stack[stack.length - 1]!, name: content });
      }
      return;
    }
    if (opening === "link") {
      if (attributesHere?.["rel"] && links.length < 1_000) links.push(attributesHere);
      return;
    }
    if (opening === "base") {
      base ??= attributesHere?.["href"] ?? null;
      return;
    }
    if (opening === "iframe" && attributesHere?.["src"] && scripts.length < HOSTS_MAX)
      scripts.push(attributesHere["src"]);
    if (SKIPPED.has(opening)) {
      if (opening === "textarea" && isShownArea(attributesHere)) area = { start: 0, stop: 0 };
      if (opening === "svg") icon = iconOf(attributesHere);
      // A void-like svg (`<svg/>`) ends where it begins.
      if (self_closing && (opening === "svg" || opening === "math")) return;
      skipping = opening;
      skip_depth = 1;
      if (opening === "math")
        formula = { tex: attributesHere?.["alttext"] ?? "", annotation: "", isTex: false };
      return;
    }
    if (opening === "html" || opening === "head" || opening === "body") {
      if (opening === "body") popTo(1);
      // Each of these elements has one node, with the attributes of the first.
      if ((open.get(opening) ?? 0) > 0 || opening === "head") return;
    }
    if (FORMATTING.has(opening)) {
      mark(opening, true);
      if (opening === "i") iconOf(attributesHere);
      return;
    }
    flush();
    if (tag.length >= NODES_MAX) {
      capped.add("nodes");
      return;
    }
    const rule = ENDS_SIBLING[opening];
    if (rule) {
      for (let i = stack.length - 1, reach = 0; i > 0 && reach < SIBLING_REACH; i -= 1, reach += 1) {
        const above = tag[stack[i]!]!;
        if (rule.within.has(above)) break;
        if (rule.ends.has(above)) {
          popTo(i);
          break;
        }
      }
    }
    if (CLOSES_PARAGRAPH.has(opening) && (open.get("p") ?? 0) > 0) {
      for (let i = stack.length - 1, reach = 0; i > 0 && reach < SIBLING_REACH; i -= 1, reach += 1) {
        const above = tag[stack[i]!]!;
        if (above === "p") {
          popTo(i);
          break;
        }
        if (BLOCK.has(above)) break;
      }
    }
    if (opening === "a" && (open.get("a") ?? 0) > 0) {
      // A link inside a link ends the outer one.
      for (let i = stack.length - 1; i > 0; i -= 1) {
        if (tag[stack[i]!] === "a") {
          if (linked[stack[i]!]) {
            links_open -= 1;
            linked[stack[i]!] = false;
          }
          if (i === stack.length - 1) popTo(i);
          break;
        }
      }
    }
    const leaf = VOID.has(opening);
    if (!leaf && stack.length >= DEPTH_MAX) {
      capped.add("depth");
      beyond += 1;
      return;
    }
    const top = stack[stack.length - 1]!;
    const node = tag.length;
    tag.push(opening);
    text.push("");
    chars.push(0);
    parent.push(top);
    end.push(node + 1);
    depth.push(depth[top]! + 1);
    const link = opening === "a" && attributesHere?.["href"] !== undefined;
    linked.push(link);
    attributes.push(attributesHere);
    if (leaf) return;
    stack.push(node);
    open.set(opening, (open.get(opening) ?? 0) + 1);
    if (link) links_open += 1;
  };

  const closed = (closing: string): void => {
    if (skipping !== "") {
      if (closing === skipping) skip_depth -= 1;
      // The end of the page's frame also ends what was never closed.
      if (skip_depth === 0 || closing === "main" || closing === "body") skipping = "";
      if (formula && closing === "annotation") formula.isTex = false;
      if (closing === "title") in_icon_title = false;
      if (formula && skipping === "") writeFormula(formula);
      if (skipping === "") formula = icon = null;
      if (area && skipping === "") {
        const content = area;
        area = null;
        writeArea(content);
      }
      return;
    }
    if (closing === "title") {
      if (in_title) title = title_parts;
      in_title = false;
      return;
    }
    if (closing === "script") {
      if (script?.json && script.length <= SCRIPT_CHARS_MAX) jsonLd.push(script.parts.join(""));
      else if (script && !script.json && script.limit > 0)
        scripts.push(script.parts.join("").slice(0, 4_000));
      script = null;
      return;
    }
    if (closing === "br") {
      name = "br";
      opened(false);
      return;
    }
    if (FORMATTING.has(closing)) {
      mark(closing, false);
      return;
    }
    if (VOID.has(closing)) return;
    if (closing === "html" || closing === "body" || closing === "head") return;
    if (beyond > 0) {
      beyond -= 1;
      return;
    }
    if ((open.get(closing) ?? 0) === 0) return;
    const table = TABLE_PARTS.has(closing);
    const inline = INLINE_ENDS.has(closing);
    for (let i = stack.length - 1; i > 0; i -= 1) {
      const above = tag[stack[i]!]!;
      if (above === closing) {
        popTo(i);
        return;
      }
      if (closing === "a" && BLOCK.has(above)) {
        // Blocks inside stay open, the link ends here.
        for (let j = i - 1; j > 0; j -= 1) {
          if (tag[stack[j]!] === "a") {
            if (linked[stack[j]!]) {
              flush();
              links_open -= 1;
              linked[stack[j]!] = false;
            }
            return;
          }
        }
        return;
      }
      if ((inline && BLOCK.has(above)) || (!table && CELL.has(above))) return;
    }
  };

  readTokens(whole.units, {
    onText: append,
    onTagName: (start, stop) => {
      name = elementName(whole, start, stop) ?? "x-long";
      current = null;
      attributes_read = 0;
      return name;
    },
    onAttribute: (start, stop, value_start, value_stop) => {
      attributes_read += 1;
      if (attributes_read > ATTRIBUTES_MAX) {
        capped.add("attributes");
        return;
      }
      if (stop - start > 24 || (skipping !== "" && skipping !== "iframe" && skipping !== "math")) return;
      const attribute = ATTRIBUTE_NAMES.find(whole.units, start, stop);
      if (attribute === undefined) return;
      current ??= fewAttributes();
      if (!values.has(attribute) || current[attribute] !== undefined) return;
      if (!(attribute in current)) current = allAttributes(current);
      const value = slice(value_start, value_stop, ATTRIBUTE_SOURCE_CHARS_MAX);
      current[attribute] = decoded(value, decodeHTMLAttribute).slice(0, ATTRIBUTE_CHARS_MAX);
    },
    onTagEnd: opened,
    onEndTag: (start, stop) => {
      const closing = elementName(whole, start, stop);
      if (closing !== null) closed(closing);
    },
    isForeign: () => skipping === "svg" || skipping === "math",
  });
  flush();
  while (stack.length > 1) pop();
  end[0] = tag.length;

  return {
    tag,
    text,
    chars,
    parent,
    end,
    depth,
    linked,
    attributes,
    title: collapse(title ?? title_parts),
    metas,
    itemNames,
    links,
    jsonLd,
    scripts,
    base,
    formulas,
    formatting,
    icons,
    capped: [...capped],
  };
}

/** The first class of an element: of its classes the one that says most often what it is. */
export function firstClass({ attributes }: Tree, node: number): string {
  const names = attributes[node]?.["class"] ?? "";
  const { length } = names;
  for (let i = 0; i < length; i += 1) {
    const code = codeAt(names, i);
    if (code === 32 && i > 0) return names.slice(0, i);
    // Other white space may stand here, or before the first class.
    if (code <= 32 || code >= 0x80) return names.trim().split(/\s/, 1)[0]!;
  }
  return names;
}

/** 1 for each node that is asked for, and for all within it. */
export function nodesWithin({ tag, parent }: Tree, isAskedFor: (node: number) => boolean): Uint8Array {
  const inside = new Uint8Array(tag.length);
  for (let i = 1; i < inside.length; i += 1) inside[i] = inside[parent[i]!] || isAskedFor(i) ? 1 : 0;
  return inside;
}

/** A title, a name or a date stands in no more nodes than this. */
const NODES_READ_MAX = 300;

/** Text of a subtree without what is hidden in it and without elements of one tag, at most so many characters. */
export function nodeText(
  tree: Tree,
  node: number,
  chars_max: number,
  unseen: Uint8Array,
  without: string | null = null,
): string {
  let text = "";
  const stop = Math.min(tree.end[node]!, node + NODES_READ_MAX);
  for (let i = node; i < stop && text.length < chars_max * 2; i += 1) {
    if (i > node && (unseen[i] || tree.tag[i] === without)) i = tree.end[i]! - 1;
    else if (tree.tag[i] === "#text") text += tree.text[i]!;
    else if (i > node && !(tree.tag[i] === "span" && /\p{L}$/u.test(text))) text += " ";
  }
  return collapse(text).slice(0, chars_max);
}
