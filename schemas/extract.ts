/** Values that a caller takes out of a page: by CSS selectors, a table of rules without code, or by a language model and a JSON Schema. */
import { type Static, type TObject, Type } from "typebox";
import { Component, Field, Nullable } from "./common.ts";
import { PageSelector } from "./css-selector.ts";
import { type ValueSchema, valueSchemaMistake } from "./extract-schema.ts";

export const VALUE_TYPES = ["text", "number", "date", "url", "html", "markdown", "boolean"] as const;

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
  readonly type?: (typeof VALUE_TYPES)[number];
  readonly many?: boolean;
  readonly required?: boolean;
  readonly fields?: ExtractFields | null;
}
export type ExtractFields = Readonly<Record<string, ExtractRule>>;

export const PROMPT_CHARS = 10_000;

export const ExtractOptions = Type.Unsafe<ExtractOptions>(
  Component("ExtractOptions", {
    fields: Type.Optional(
      Field(
        Nullable(Type.Record(Type.String(), ruleOf(1))),
        `A rule for each name; ${RULES_MAX} rules at most, with those in rules. Either this or schema`,
        {
          title: { selector: "h1" },
          offers: {
            selector: ".offer",
            many: true,
            fields: { price: { selector: ".price", type: "number" } },
          },
        },
      ),
    ),
    schema: Type.Optional(
      Field(
        Nullable(Type.Record(Type.String(), Type.Unknown())),
        "A JSON Schema of an object: a language model of the operator's takes its values out of the page's text. Each value has a quote of the page in `evidence`; what the page does not say is null",
        { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
      ),
    ),
    prompt: Type.Optional(
      Field(
        Nullable(Type.String({ minLength: 1, maxLength: PROMPT_CHARS })),
        "With schema: what is wanted, in words",
        "The lamp that the page offers",
      ),
    ),
    model: Type.Optional(
      Field(
        Nullable(Type.String({ minLength: 1, maxLength: 200 })),
        "With schema: the model that is to answer; a service that has another one refuses. Default: the service's",
        "gpt-4.1-mini",
      ),
    ),
  }),
);
export interface ExtractOptions {
  readonly fields?: ExtractFields | null;
  readonly schema?: Readonly<Record<string, unknown>> | null;
  readonly prompt?: string | null;
  readonly model?: string | null;
}

const RULE_REASONS = ["missing", "not_a_number", "not_a_date", "not_a_url", "no_elements"] as const;
export const MODEL_FAILURES = [
  "page_empty",
  "paid_not_allowed",
  "budget_exhausted",
  "model_timeout",
  "model_unavailable",
  "model_refused",
  "model_answer_cut",
  "model_answer_invalid",
  "prompt_truncated",
] as const;
export const EXTRACT_REASONS = [...RULE_REASONS, "no_evidence", ...MODEL_FAILURES] as const;
const ExtractionError = Component("ExtractionError", {
  path: Field(Type.String(), "The value in `data`, as a JSON Pointer (RFC 6901)", "/offers/0/price"),
  reason: Field(
    Type.Enum([...EXTRACT_REASONS]),
    "`missing`: a required value is not there; `not_a_…`: what is there is none; `no_elements`: the document is no HTML; `no_evidence`: the model gave a value that the page does not bear out. " +
      "Of the whole extraction by a model: `page_empty`, `paid_not_allowed`, `budget_exhausted` (it was not asked); `model_timeout`, `model_unavailable`, `model_refused`, `model_answer_cut` (too long), `model_answer_invalid` (twice no answer by the schema), `prompt_truncated` (its server cut the page)",
  ),
});
const ExtractionEvidence = Component("ExtractionEvidence", {
  path: Field(Type.String(), "The value in `data`, as a JSON Pointer (RFC 6901)", "/title"),
  quote: Field(Type.String(), "The words of the page that it came from; of an address: empty", "Storm lamp"),
});
const ExtractionUsage = Component("ExtractionUsage", {
  requests: Field(Type.Integer(), "How often it was asked: a second time when its answer did not fit", 1),
  prompt_tokens: Field(Type.Integer(), "Tokens that it read", 1_450),
  completion_tokens: Field(Type.Integer(), "Tokens that it wrote", 120),
  ms: Field(Type.Number(), "How long it took, in milliseconds", 1_800),
  estimated: Field(Type.Boolean(), "Its server did not say all tokens: they are estimated from above", false),
});
export const Extraction = Component("Extraction", {
  data: Field(
    Nullable(Type.Record(Type.String(), Type.Unknown())),
    "The values under the names of the rules or of the schema; null for what is no HTML, and where the model gave no answer",
    { title: "Lamps", offers: [{ price: 24.5 }] },
  ),
  errors: Field(
    Type.Array(ExtractionError),
    "Values that are null although they should not be, the first 100",
  ),
  evidence: Type.Optional(Field(Type.Array(ExtractionEvidence), "With schema: where each value comes from")),
  model: Type.Optional(
    Field(
      Nullable(Type.String()),
      "With schema: the language model of this service, by its name in the operator's API",
      "gpt-4.1-mini",
    ),
  ),
  usage: Type.Optional(
    Field(Nullable(ExtractionUsage), "With schema: what the model took; null: it was not asked"),
  ),
});
export interface Extraction {
  readonly data: Record<string, unknown> | null;
  readonly errors: Static<typeof ExtractionError>[];
  readonly evidence?: Static<typeof ExtractionEvidence>[];
  readonly model?: string | null;
  readonly usage?: Static<typeof ExtractionUsage> | null;
}

/** A schema that `extractMistake` has let through. */
export const valueSchemaOf = ({ schema }: ExtractOptions): ValueSchema | null =>
  (schema ?? null) as ValueSchema | null;

/** The mistake in rules, or in a schema, beyond their form; null: there is none. */
export function extractMistake(
  extract: ExtractOptions | null | undefined,
  /** The language model of this service, by its name; null: it has none. */
  service_model: string | null,
): string | null {
  if (extract == null) return null;
  const { fields, schema, prompt, model } = extract;
  if ((fields == null) === (schema == null)) return "one of fields and schema is needed, and not both";
  if (fields != null) {
    const other = prompt == null ? (model == null ? null : "model") : "prompt";
    return other === null
      ? fieldsMistake(fields, "", 1, { count: 0 })
      : `${other} belongs to schema, not to fields`;
  }
  if (service_model === null)
    return "schema needs a language model, and this service has none: its operator sets TRAWL_LLM_URL";
  return model == null || model === service_model
    ? valueSchemaMistake(schema)
    : `this service has the model ${JSON.stringify(service_model)}, and no ${JSON.stringify(model)}`;
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
