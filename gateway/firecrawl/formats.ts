/** Their `formats`: texts or objects, mixed in one list. */
import { Type } from "typebox";
import { ATTRIBUTES } from "./attributes.ts";
import { badRequest, notServed } from "./errors.ts";
import { type Given, type Option, option, type Options, type Ours, refused, taken } from "./option.ts";

/** The forms of a page that their Document may have. */
export const SERVED_FORMATS = [
  "markdown",
  "html",
  "rawHtml",
  "links",
  "images",
  "screenshot",
  "attributes",
] as const;
export type ServedFormat = (typeof SERVED_FORMATS)[number];

const NEEDS_MODEL = "a language model would be needed";
/** Formats that are refused, and why. */
export const REFUSED_FORMATS: Readonly<Record<string, string>> = {
  summary: NEEDS_MODEL,
  json: "structured extraction is not served by this address",
  changeTracking: "earlier versions of a page are not compared",
  branding: NEEDS_MODEL,
  product: NEEDS_MODEL,
  menu: NEEDS_MODEL,
  audio: "sound is not fetched",
  video: "films are not fetched",
  question: NEEDS_MODEL,
  highlights: NEEDS_MODEL,
  query: NEEDS_MODEL,
};

const SCREENSHOT: Options = {
  type: option(Type.Literal("screenshot"), "the format"),
  fullPage: option(Type.Boolean(), "the page from top to bottom", (full_page) => ({ full_page })),
  quality: refused("screenshots are PNG, which has no quality", (quality) => quality === 100),
  viewport: refused("the window is 1280 × 720 pixels"),
};

/** Their names. Throws Refused. */
export const formatNames = (given: readonly unknown[]): ReadonlySet<string> =>
  new Set(given.map((each) => formatOf(each).name));

const isServed = (name: string): name is ServedFormat => (SERVED_FORMATS as readonly string[]).includes(name);

function formatOf(given: unknown): { readonly name: ServedFormat; readonly options: Given } {
  const options = typeof given === "string" ? { type: given } : (given as Given);
  const name = String((options ?? {})["type"]);
  if (isServed(name)) return { name, options };
  const reason = REFUSED_FORMATS[name];
  if (reason !== undefined) throw notServed(`The format ${name} is not served here: ${reason}`);
  throw badRequest(`Bad Request: formats: unknown format ${JSON.stringify(name)}`);
}

/** What a fetch is asked for so that the page has these forms. */
export function formatWishes(given: readonly unknown[]): Ours {
  const wanted = given.map(formatOf);
  const names = new Set<string>(wanted.map(({ name }) => name));
  const shot = wanted.find(({ name }) => name === "screenshot");
  const attributes = wanted.find(({ name }) => name === "attributes");
  const screenshot_options = shot && taken(SCREENSHOT, shot.options);
  return {
    formats: [...names].filter((name) => !["html", "rawHtml", "attributes"].includes(name)),
    include_html: names.has("html") || names.has("rawHtml"),
    ...(attributes && taken(ATTRIBUTES, attributes.options)),
    ...(screenshot_options && Object.keys(screenshot_options).length > 0 && { screenshot_options }),
  };
}

export const formatsOption: Option = option(
  Type.Array(Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]), { maxItems: 20 }),
  "`formats` and `include_html`; see the table of formats",
  (given) => formatWishes(given),
);
