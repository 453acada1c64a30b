/**
 * The shape of a company record (company/v1) as it is served: JSON Schema 2020-12 with the identifier schemes for
 * GET /v1/schemas/company, and the same definitions as named schemas of the OpenAPI document.
 */
import type { TSchema } from "typebox";
import companyV1 from "./company-v1.schema.json" with { type: "json" };
import { IDENTIFIER_SCHEMES } from "./identifier-schemes.ts";

/** The answer of GET /v1/schemas/company. */
export const COMPANY_JSON_SCHEMA = { ...companyV1, "x-identifier-schemes": IDENTIFIER_SCHEMES };

export const COMPANY_STATUSES: readonly string[] = companyV1.properties.status.enum;
export const LEGAL_FORM_CATEGORIES: readonly string[] = companyV1.$defs.LegalForm.properties.category.enum;

const nameOf = (definition: string): string =>
  definition.startsWith("Company") ? definition : `Company${definition}`;

/** References to definitions become references to components of the OpenAPI document. */
function withComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponents);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) =>
      name === "$ref" && typeof part === "string"
        ? [name, `#/components/schemas/${nameOf(part.replace("#/$defs/", ""))}`]
        : [name, withComponents(part)],
    ),
  );
}

// Generators name classes after a title rather than after the component.
const { $defs, $schema: _, $id: __, title: ___, ...root } = companyV1;

/** The record and its parts by their names in the OpenAPI document: `CompanyRecord`, `CompanyClaim`, `CompanySummary` … */
export const COMPANY_SCHEMAS = Object.fromEntries(
  [["Record", root] as const, ...Object.entries($defs)].map(([name, schema]) => [
    nameOf(name),
    withComponents(schema) as TSchema,
  ]),
);

/** A named part. Throws TypeError when there is none: a mistake of the program. */
export function companySchema(name: string): TSchema {
  const schema = COMPANY_SCHEMAS[name];
  if (!schema) throw new TypeError(`Cannot use the schema "${name}": company/v1 has no such definition`);
  return schema;
}
