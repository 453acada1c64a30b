/**
 * Values that a caller's rules take out of a page. What a rule does not find is null, or an empty array; a required value that is not
 * there, and a text that is no number, date or address, is told with its place. The page decides how much it costs, so everything has a limit.
 */
import type { ExtractFields, Extraction, ExtractRule } from "../../../schemas/extract.ts";
import { memberAt } from "../../lib/json-pointer.ts";
import { soundText } from "../content/text-document.ts";
import { type AnyNode, type Element, type Elements, htmlOf, isElement } from "../dom/document.ts";
import { parseDate } from "../article/dates.ts";
import { numberIn } from "./number-in.ts";
import { renderedText } from "./rendered-text.ts";

const MATCHES_MAX = 1_000;
const VALUES_MAX = 20_000;
const CHARS_MAX = 1_000_000;
const NODES_MAX = 2_000_000;
const ERRORS_MAX = 100;
/** `dates.ts` refuses dates after the present, which pages of events have. */
const AHEAD_MS = 50 * 365 * 86_400_000;

export interface ExtractPage {
  readonly $: Elements;
  readonly now_ms: number;
  readonly addressOf: (text: string) => string;
  /** Markdown of HTML. */
  readonly markdownOf: (html: string) => string;
}

interface ExtractState extends ExtractPage {
  readonly language: string | null;
  readonly errors: Extraction["errors"];
  readonly room: { values: number; chars: number; nodes: number };
  readonly warn: (warning: string) => void;
}

export function extractFields(
  fields: ExtractFields,
  page: ExtractPage,
  warn: (warning: string) => void,
): Extraction {
  const language = page.$("html").attr("lang")?.trim().slice(0, 35).toLowerCase() || null;
  const room = { values: VALUES_MAX, chars: CHARS_MAX, nodes: NODES_MAX };
  const reading: ExtractState = { ...page, language, errors: [], room, warn };
  const data = objectOf(page.$.root()[0]!, fields, "", reading);
  if (isUsedUp(reading))
    warn(`extract: more than ${VALUES_MAX} values or ${CHARS_MAX} characters: the rest is null`);
  return { data, errors: reading.errors };
}

const isUsedUp = ({ room: { values, chars, nodes } }: ExtractState): boolean =>
  values < 0 || chars < 0 || nodes < 0;

function objectOf(
  scope: AnyNode,
  fields: ExtractFields,
  at: string,
  reading: ExtractState,
): Record<string, unknown> {
  const values = Object.entries(fields).map(([name, rule]) => [
    name,
    valueOf(scope, rule, memberAt(at, name), reading),
  ]);
  return Object.fromEntries(values) as Record<string, unknown>;
}

function valueOf(scope: AnyNode, rule: ExtractRule, at: string, reading: ExtractState): unknown {
  const { selector, many = false, required = false, type } = rule;
  const found = isUsedUp(reading) ? [] : matchesOf(scope, selector, reading);
  if (found.length === 0 && required) fail(at, "missing", reading);
  if (!many) {
    const [first] = found;
    return first ? oneOf(first, rule, at, reading) : type === "boolean" ? false : null;
  }
  if (found.length > MATCHES_MAX) reading.warn(`extract: ${at} has more than ${MATCHES_MAX} matches`);
  return found.slice(0, MATCHES_MAX).map((element, index) => oneOf(element, rule, `${at}/${index}`, reading));
}

function matchesOf(scope: AnyNode, selector: string | null | undefined, { $ }: ExtractState): Element[] {
  if (selector != null) return $(scope).find(selector).get();
  const itself = isElement(scope) ? scope : $("html").get(0);
  return itself ? [itself] : [];
}

function fail(path: string, reason: Extraction["errors"][number]["reason"], { errors }: ExtractState): null {
  if (errors.length < ERRORS_MAX) errors.push({ path, reason });
  return null;
}

function oneOf(element: Element, rule: ExtractRule, at: string, reading: ExtractState): unknown {
  if (rule.fields) return objectOf(element, rule.fields, at, reading);
  const { room } = reading;
  if (isUsedUp(reading) || (room.values -= 1) < 0) return null;
  const value = READERS[rule.type ?? "text"](element, rule, at, reading);
  if (typeof value !== "string") return value;
  return (room.chars -= value.length) < 0 ? null : soundText(value);
}

type Reader = (element: Element, rule: ExtractRule, at: string, reading: ExtractState) => unknown;

const READERS: Readonly<Record<NonNullable<ExtractRule["type"]>, Reader>> = {
  text: said,
  number: (element, rule, at, reading) => {
    const text = said(element, rule, at, reading);
    return text === null ? null : (numberIn(text, reading.language) ?? fail(at, "not_a_number", reading));
  },
  date: (element, rule, at, reading) => {
    const text = saidBy(element, DATE_ATTRIBUTES, rule, at, reading);
    if (text === null) return null;
    return (
      isoDate(text) ??
      parseDate(text, reading.language, reading.now_ms + AHEAD_MS) ??
      fail(at, "not_a_date", reading)
    );
  },
  url: (element, rule, at, reading) => {
    const text = saidBy(element, URL_ATTRIBUTES, rule, at, reading);
    if (text === null) return null;
    const address = text === "" ? "" : reading.addressOf(text);
    return /^https?:/.test(address) ? address : fail(at, "not_a_url", reading);
  },
  html: (element, _rule, _at, { room }) => {
    const html = htmlOf([element]);
    return html.length > room.chars ? overdrawn(room) : html;
  },
  markdown: (element, _rule, _at, { room, markdownOf }) => {
    const html = htmlOf([element]);
    return html.length > room.chars ? overdrawn(room) : markdownOf(html);
  },
  boolean: (element, rule, at, reading) => {
    const text = said(element, rule, at, reading, false);
    return text !== null && !/^(?:no|false|off|0)$/i.test(text);
  },
};

function overdrawn(room: ExtractState["room"]): null {
  room.chars = -1;
  return null;
}

/** The value of the attribute, or the text; null: there is none, which a required value tells. */
function said(
  element: Element,
  rule: ExtractRule,
  at: string,
  reading: ExtractState,
  isTold = true,
): string | null {
  const { attribute, required = false } = rule;
  if (attribute == null) return renderedText(element, reading.room);
  const value = element.attribs[attribute.toLowerCase()];
  if (value === undefined && required && isTold) fail(at, "missing", reading);
  return value === undefined ? null : value.trim();
}

const DATE_ATTRIBUTES = ["datetime", "content"];
const URL_ATTRIBUTES = ["href", "src", "data", "content"];

/** The value of the rule's attribute, or else of the first of these that the element has, or else the text. */
function saidBy(
  element: Element,
  names: readonly string[],
  rule: ExtractRule,
  at: string,
  reading: ExtractState,
): string | null {
  const attribute = rule.attribute ?? names.find((name) => element.attribs[name] !== undefined) ?? null;
  return said(element, { ...rule, attribute }, at, reading);
}

/** ISO 8601 as it stands: of any year, which other forms are not read for. */
function isoDate(text: string): string | null {
  const isIso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text);
  return isIso && !Number.isNaN(Date.parse(text)) ? text.replace(" ", "T") : null;
}
