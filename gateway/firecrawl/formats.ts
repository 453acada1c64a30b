/** Their `formats`: texts or objects, mixed in one list. */
import { Type } from "typebox";
import { PROMPT_CHARS } from "../../schemas/extract.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { badRequest, notServed } from "./errors.ts";
import { type Given, type Option, option, type Options, type Ours, refused, taken } from "./option.ts";
import { valueSchema } from "./value-schema.ts";

/** The forms of a page that their Document may have. */
export const SERVED_FORMATS = [
  "markdown",
  "html",
  "rawHtml",
  "links",
  "images",
  "screenshot",
  "attributes",
  "json",
] as const;
export type ServedFormat = (typeof SERVED_FORMATS)[number];

const NEEDS_MODEL = "a language model is asked only for values that the page bears out: the format json";
/** Formats that are refused, and why. */
export const REFUSED_FORMATS: Readonly<Record<string, string>> = {
  summary: NEEDS_MODEL,
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

/** Also of an extract, whose values are taken in the same way. */
export const JSON_OPTIONS: Options = {
  schema: option(Type.Record(Type.String(), Type.Unknown()), "`extract.schema`", (schema) => ({
    schema: valueSchema(schema),
  })),
  prompt: option(Type.String({ minLength: 1, maxLength: PROMPT_CHARS }), "`extract.prompt`", (prompt) => ({
    prompt,
  })),
};
const JSON_FORMAT: Options = { type: option(Type.Literal("json"), "the format"), ...JSON_OPTIONS };

/** Without a schema a model would choose the names of the values. Throws Refused. */
export function extractOf(wishes: Ours): Ours {
  if (wishes["schema"] === undefined)
    throw notServed("Values are taken out of a page by the names of a schema: a prompt alone is not served");
  return { extract: wishes };
}

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

/** Fields of a fetch whose page has these forms. */
export function formatWishes(given: readonly unknown[]): Ours {
  const wanted = given.map(formatOf);
  const names = new Set<string>(wanted.map(({ name }) => name));
  const shot = wanted.find(({ name }) => name === "screenshot");
  const attributes = wanted.find(({ name }) => name === "attributes");
  const json = wanted.find(({ name }) => name === "json");
  if (json && attributes) throw notServed("The formats json and attributes are not served for one page");
  const screenshot_options = shot && taken(SCREENSHOT, shot.options);
  return {
    formats: [...names].filter((name) => !["html", "rawHtml", "attributes", "json"].includes(name)),
    include_html: names.has("html") || names.has("rawHtml"),
    ...(attributes && taken(ATTRIBUTES, attributes.options)),
    ...(json && extractOf(taken(JSON_FORMAT, json.options))),
    ...(screenshot_options && Object.keys(screenshot_options).length > 0 && { screenshot_options }),
  };
}

export const formatsOption: Option = option(
  Type.Array(Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]), { maxItems: 20 }),
  "`formats` and `include_html`; see the table of formats",
  (given) => formatWishes(given),
);
