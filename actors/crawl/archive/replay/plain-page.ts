/**
 * An archived page without its scripts, whose links and files lead to archived captures. What it leaves in is kept from loading
 * anything else by the policy that the page is sent with (feature/replay-routes.ts). Pure, in one pass.
 */
import { decodeHTMLAttribute } from "entities";
import { QuoteType, Tokenizer } from "htmlparser2";
import { escapeHtml } from "../../../lib/web/escape-html.ts";
import { parseUrl } from "../../../lib/web/url.ts";

/** Where an archived address is shown. */
export type PlaceOf = (url: URL) => string;

/** Left out with all that they contain. */
const DROPPED = new Set(["script", "iframe", "object", "applet", "noframes", "portal", "fencedframe"]);
/** Left out by themselves: they have no content. */
const DROPPED_ALONE = new Set(["base", "embed", "frame"]);
const DROPPED_ATTRIBUTES = new Set([
  "action",
  "crossorigin",
  "formaction",
  "integrity",
  "manifest",
  "nonce",
  "ping",
  "srcdoc",
  "target",
]);
const ADDRESSES = new Set(["background", "cite", "href", "poster", "src", "xlink:href"]);
const LISTS_OF_ADDRESSES = new Set(["imagesrcset", "srcset"]);
/** Kinds of `link` that stay: the others make a browser look up hosts or load what is not shown. */
const SHOWN_LINKS = /(?:^|\s)(?:stylesheet|icon)(?:\s|$)/i;

interface Attribute {
  readonly name: string;
  /** Null: it stands without one. */
  value: string | null;
}

/** `page`: its own address. */
export function plainHtml(html: string, page: URL, placeOf: PlaceOf): string {
  const writer = new PlainPage(html, page, placeOf);
  const tokenizer = new Tokenizer({ decodeEntities: false }, writer);
  tokenizer.write(html);
  tokenizer.end();
  return writer.written.join("");
}

class PlainPage {
  readonly written: string[] = [];
  readonly #html: string;
  readonly #placeOf: PlaceOf;
  #base: URL;
  #hasBase = false;
  #name = "";
  #attributes: Attribute[] = [];
  #value: string | null = null;
  /** The element that is being left out. */
  #dropped: string | null = null;
  #inStyle = false;

  constructor(html: string, page: URL, placeOf: PlaceOf) {
    this.#html = html;
    this.#base = page;
    this.#placeOf = placeOf;
  }

  #write(text: string): void {
    if (this.#dropped === null) this.written.push(text);
  }

  ontext(start: number, end: number): void {
    const text = this.#html.slice(start, end);
    this.#write(this.#inStyle ? plainCss(text, this.#base, this.#placeOf) : text);
  }

  onopentagname(start: number, end: number): void {
    this.#name = this.#html.slice(start, end).toLowerCase();
    this.#attributes = [];
  }

  onattribname(start: number, end: number): void {
    this.#attributes.push({ name: this.#html.slice(start, end).toLowerCase(), value: null });
    this.#value = null;
  }

  onattribdata(start: number, end: number): void {
    this.#value = (this.#value ?? "") + this.#html.slice(start, end);
  }

  onattribend(quote: QuoteType): void {
    if (quote !== QuoteType.NoValue) this.#attributes.at(-1)!.value = decodeHTMLAttribute(this.#value ?? "");
  }

  onopentagend(): void {
    if (this.#name === "base") this.#takeBase();
    if (this.#isDropped()) return;
    if (DROPPED.has(this.#name)) this.#dropped ??= this.#name;
    else this.#write(this.#tag());
    this.#inStyle = this.#name === "style";
  }

  onselfclosingtag(): void {
    this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase();
    this.#inStyle = false;
    if (this.#dropped === name) this.#dropped = null;
    else if (!DROPPED.has(name)) this.#write(`</${name}>`);
  }

  ondeclaration(start: number, end: number): void {
    if (/^doctype/i.test(this.#html.slice(start, start + 7)))
      this.#write(`<!${this.#html.slice(start, end)}>`);
  }

  oncomment(): void {}
  oncdata(): void {}
  onprocessinginstruction(): void {}
  onattribentity(): void {}
  ontextentity(): void {}
  onend(): void {}

  #attribute(name: string): string | null {
    return this.#attributes.find((attribute) => attribute.name === name)?.value ?? null;
  }

  /** The first one counts. */
  #takeBase(): void {
    const href = this.#attribute("href");
    if (href === null || this.#hasBase) return;
    this.#hasBase = true;
    this.#base = parseUrl(href, this.#base) ?? this.#base;
  }

  #isDropped(): boolean {
    if (DROPPED_ALONE.has(this.#name)) return true;
    if (this.#name === "meta") return this.#attribute("http-equiv") !== null;
    return this.#name === "link" && !SHOWN_LINKS.test(this.#attribute("rel") ?? "");
  }

  #tag(): string {
    const attributes = this.#attributes.flatMap(({ name, value }) => {
      if (name.startsWith("on") || DROPPED_ATTRIBUTES.has(name)) return [];
      if (value === null) return [` ${name}`];
      const shown = this.#shown(name, value);
      return shown === null ? [] : [` ${name}="${escapeHtml(shown)}"`];
    });
    return `<${this.#name}${attributes.join("")}>`;
  }

  #shown(name: string, value: string): string | null {
    if (ADDRESSES.has(name)) return placeIn(value, this.#base, this.#placeOf);
    if (LISTS_OF_ADDRESSES.has(name)) return placesIn(value, this.#base, this.#placeOf);
    return name === "style" ? plainCss(value, this.#base, this.#placeOf) : value;
  }
}

/** Null: it is no address of the web. */
function placeIn(text: string, base: URL, placeOf: PlaceOf): string | null {
  const trimmed = text.trim();
  if (trimmed.startsWith("#") || /^data:/i.test(trimmed)) return trimmed;
  const url = parseUrl(trimmed, base);
  if (url === null) return null;
  const hash = trimmed.indexOf("#");
  return placeOf(url) + (hash < 0 ? "" : trimmed.slice(hash));
}

/** Addresses, each with its width or density: `a.png 1x, b.png 2x`. Those with a comma in them are left out. */
const placesIn = (text: string, base: URL, placeOf: PlaceOf): string =>
  text
    .split(/,\s/)
    .flatMap((candidate) => {
      const [address = "", ...size] = candidate.trim().split(/\s+/);
      const place = address === "" ? null : placeIn(address, base, placeOf);
      return place === null ? [] : [[place.replaceAll(",", "%2C"), ...size].join(" ")];
    })
    .join(", ");

const MAX_STYLE_URL_CHARS = 2_000;
const STYLE_URL = new RegExp(
  `(\\burl\\([\\t\\n ]{0,9}["']?|@import[\\t\\n ]{1,9}["'])([^"'()\\\\\\s]{1,${MAX_STYLE_URL_CHARS}})`,
  "gi",
);

/** A style sheet whose files are archived ones. */
export const plainCss = (css: string, base: URL, placeOf: PlaceOf): string =>
  css.replaceAll(STYLE_URL, (whole, begin: string, address: string) => {
    const place = placeIn(address, base, placeOf);
    return place === null ? whole : begin + place.replaceAll(/["'()\\]/g, encodeURIComponent);
  });
