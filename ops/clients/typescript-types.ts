/** The types of @trawl/client: an interface for each object, a union for each choice, and the codes of refusals as a list. */
import { type ApiDocument, type Named, namedSchemas, referredName, type Schema } from "./api-model.ts";

const HEAD =
  "/** Made of the API document by `npm run clients`, which writes it anew: changes are lost. */\n";

export function typescriptTypes(document: ApiDocument): string {
  return [HEAD, ...namedSchemas(document).map(declaration)].join("\n");
}

function declaration({ name, schema }: Named): string {
  const said = comment(schema.description, "");
  if (schema.properties) return `${said}export interface ${name} ${objectOf(schema, "")}\n`;
  if (name === "RefusalCode") {
    const codes = schema.enum!.map((code) => `  ${JSON.stringify(code)},\n`).join("");
    return `export const REFUSAL_CODES = [\n${codes}] as const;\nexport type RefusalCode = (typeof REFUSAL_CODES)[number];\n`;
  }
  return `${said}export type ${name} = ${typeOf(schema, "")};\n`;
}

function objectOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([field, schema]) => {
    const key = /^[A-Za-z_]\w*$/.test(field) ? field : JSON.stringify(field);
    const mark = required.includes(field) ? "" : "?";
    return `${comment(schema.description, inner)}${inner}${key}${mark}: ${typeOf(schema, inner)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return referredName(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return unionOf(choices, indent);
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "boolean":
    case "string":
    case "null":
      return schema.type;
    case "array": {
      const items = typeOf(schema.items ?? {}, indent);
      return /^[\w.]+$/.test(items) ? `${items}[]` : `(${items})[]`;
    }
    case "object":
      return schema.properties ? objectOf(schema, indent) : `Record<string, ${valuesOf(schema, indent)}>`;
    case undefined:
  }
  return "unknown";
}

/** Beside words that are known, any other text stays possible without hiding them from an editor. */
function unionOf(choices: readonly Schema[], indent: string): string {
  const types = new Set(constituentsOf({ anyOf: choices }, indent));
  const hasWords = choices.some((each) => each.$ref !== undefined || each.enum || "const" in each);
  if (hasWords && types.delete("string")) types.add("(string & {})");
  if (types.delete("null")) types.add("null");
  return [...types].join(" | ");
}

/** A choice may stand in another one, and null in both. */
function constituentsOf(schema: Schema, indent: string): readonly string[] {
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word));
  const choices = schema.anyOf ?? schema.oneOf;
  return choices ? choices.flatMap((each) => constituentsOf(each, indent)) : [typeOf(schema, indent)];
}

const valuesOf = ({ additionalProperties }: Schema, indent: string): string =>
  typeof additionalProperties === "object" ? typeOf(additionalProperties, indent) : "unknown";

const comment = (description: string | undefined, indent: string): string =>
  description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "*\\/")} */\n`;
