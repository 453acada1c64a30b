/** Fields that a caller takes out of a page by CSS selectors: a table of rules, without code. */
import { type Static, type TObject, Type } from "typebox";
import { Component, Field, Nullable } from "./common.ts";
import { PageSelector } from "./css-selector.ts";

export const VALUE_TYPES = ["text", "number", "date", "url", "html", "markdown", "boolean"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

/** Rules of one request, those in rules included, and how deep they stand in one another. */
const RULES_MAX = 100;
const LEVELS_MAX = 4;
const NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,100}$/u;

const ruleFields = {
  selector: Type.Optional(
    Field(
      Nullable(PageSelector),
      "A CSS selector: which element below that of the rule around it; default: that element itself",
      ".price",
    ),
  ),
  attribute: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 100 })),
      "The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has",
      "data-sku",
    ),
  ),
  type: Type.Optional(
    Field(
      Type.Enum([...VALUE_TYPES], { default: "text" }),
      "What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0",
    ),
  ),
  many: Type.Optional(
    Field(Type.Boolean({ default: false }), "All elements that match, as an array; default: the first"),
  ),
  required: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether its absence is an error, `missing`; the value is null all the same",
    ),
  ),
};

/** A rule, and the rules in it down to the last level. */
function ruleOf(level: number): TObject {
  const title = level === 1 ? "ExtractRule" : `ExtractRuleLevel${level}`;
  if (level === LEVELS_MAX) return Component(title, ruleFields);
  const inner = Field(
    Nullable(Type.Record(Type.String(), ruleOf(level + 1))),
    `Makes the value an object of these; rules stand in one another ${LEVELS_MAX} levels deep at most`,
    { price: { selector: ".price", type: "number" } },
  );
  return Component(title, { ...ruleFields, fields: Type.Optional(inner) });
}

export interface ExtractRule {
  readonly selector?: string | null;
  readonly attribute?: string | null;
  readonly type?: ValueType;
  readonly many?: boolean;
  readonly required?: boolean;
  readonly fields?: ExtractFields | null;
}
export type ExtractFields = Readonly<Record<string, ExtractRule>>;

export const ExtractOptions = Type.Unsafe<ExtractOptions>(
  Component("ExtractOptions", {
    fields: Field(
      Type.Record(Type.String(), ruleOf(1)),
      `A rule for each name; ${RULES_MAX} rules at most, with those in rules`,
      {
        title: { selector: "h1" },
        offers: { selector: ".offer", many: true, fields: { price: { selector: ".price", type: "number" } } },
      },
    ),
  }),
);
export interface ExtractOptions {
  readonly fields: ExtractFields;
}

export const EXTRACT_REASONS = ["missing", "not_a_number", "not_a_date", "not_a_url", "no_elements"] as const;
const ExtractionError = Component("ExtractionError", {
  path: Field(Type.String(), "The value in `data`, as a JSON Pointer (RFC 6901)", "/offers/0/price"),
  reason: Field(
    Type.Enum([...EXTRACT_REASONS]),
    "`missing`: a required value is not there; `not_a_…`: what is there is none; `no_elements`: the document is no HTML",
  ),
});
export const Extraction = Component("Extraction", {
  data: Field(
    Nullable(Type.Record(Type.String(), Type.Unknown())),
    "The values under the names of the rules; null for what is no HTML",
    { title: "Lamps", offers: [{ price: 24.5 }] },
  ),
  errors: Field(
    Type.Array(ExtractionError),
    "Values that are null although they should not be, the first 100",
  ),
});
export interface Extraction {
  readonly data: Record<string, unknown> | null;
  readonly errors: Static<typeof ExtractionError>[];
}

/** What is wrong with rules beyond their schema; null: nothing. */
export function extractMistake(extract: ExtractOptions | null | undefined): string | null {
  if (extract == null) return null;
  const found: { count: number } = { count: 0 };
  return fieldsMistake(extract.fields, "", 1, found);
}

const RULE_NAMES = [...Object.keys(ruleFields), "fields"];

function fieldsMistake(
  fields: ExtractFields,
  at: string,
  level: number,
  found: { count: number },
): string | null {
  for (const [name, rule] of Object.entries(fields)) {
    if (!NAME.test(name))
      return `a name in ${at || "fields"} is empty, too long, or has characters that are not shown`;
    const place = at === "" ? name : `${at}.${name}`;
    if ((found.count += 1) > RULES_MAX) return `there are more than ${RULES_MAX} rules`;
    if (level > LEVELS_MAX) return `${place} is more than ${LEVELS_MAX} levels deep`;
    const unknown = Object.keys(rule).find((key) => !RULE_NAMES.includes(key));
    if (unknown !== undefined)
      return `${place} has the unknown name ${JSON.stringify(unknown.slice(0, 60))}: a rule has ${RULE_NAMES.join(", ")}`;
    const { fields: inner, type, attribute } = rule;
    if (inner == null) continue;
    if (type != null || attribute != null) return `${place} has fields, so it has no type and no attribute`;
    const mistake = fieldsMistake(inner, place, level + 1, found);
    if (mistake !== null) return mistake;
  }
  return null;
}
