/**
 * The types of trawl-client: `params.py`, what a program sends, as typed dictionaries, and `models.py`, what the service answers, as models that take
 * new fields and new words of a newer service.
 */
import { type ApiDocument, type Named, namedSchemas, referredName, type Schema } from "./api-model.ts";

const HEAD = '"""Made of the API document by `npm run clients`, which writes it anew: changes are lost."""\n';
const KEYWORDS = new Set(["class", "from", "global", "import", "in", "is", "not", "pass", "with"]);
/** Names that a model of pydantic has by itself. */
const OF_MODELS = new Set(["construct", "copy", "dict", "fields", "json", "schema", "validate"]);

/** Bodies without what stands for itself in a call: the name of the rest, and the fields that are left out. */
const OPTIONS: Readonly<Record<string, readonly [name: string, without: readonly string[]]>> = {
  FetchBody: ["FetchOptions", ["url"]],
  SearchBody: ["SearchOptions", ["query"]],
  MapBody: ["MapOptions", ["url"]],
  CrawlBody: ["CrawlOptions", ["url", "seeds"]],
  ListCapturesQuery: ["CapturesOptions", ["url", "output"]],
  MonitorBody: ["MonitorOptions", ["url"]],
  BatchFetchBody: ["BatchFetchOptions", ["items"]],
  BatchSearchBody: ["BatchSearchOptions", ["items"]],
  BatchFilingsBody: ["BatchFilingsOptions", ["items"]],
  BatchProfilesBody: ["BatchProfilesOptions", ["items"]],
  BatchCompaniesBody: ["BatchCompaniesOptions", ["items"]],
};

type Direction = "sent" | "received";

export function pythonParams(document: ApiDocument): string {
  const named = namedSchemas(document).filter(({ isSent }) => isSent);
  const imports = [
    "from __future__ import annotations\n",
    "from collections.abc import Mapping, Sequence",
    "from typing import Any, Literal\n",
    "from typing_extensions import Required, TypedDict\n",
  ];
  const options = named.flatMap(({ name, schema }) => {
    const [rest, without] = OPTIONS[name] ?? ["", []];
    const properties = Object.entries(schema.properties ?? {}).filter(([field]) => !without.includes(field));
    // The client draws a key for a job that is given none.
    return rest ? [dictionary(rest, { properties: Object.fromEntries(properties) })] : [];
  });
  return moduleOf(imports, named, "sent", dictionary, options);
}

export function pythonModels(document: ApiDocument): string {
  const named = namedSchemas(document).filter(({ isReceived }) => isReceived);
  const imports = [
    "from __future__ import annotations\n",
    "from typing import Annotated, Any, Literal\n",
    "from pydantic import BaseModel, ConfigDict, Field\n",
    "#: Of a field that the service always sends, and leaves out where it was asked to.",
    "ABSENT: Any = None\n\n",
    "class Answer(BaseModel):",
    '    model_config = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())\n',
  ];
  return moduleOf(imports, named, "received", model, []);
}

function moduleOf(
  imports: readonly string[],
  named: readonly Named[],
  direction: Direction,
  classOf: (name: string, schema: Schema) => string,
  more: readonly string[],
): string {
  const isRecord = ({ schema }: Named): boolean => schema.properties !== undefined;
  const others = named.filter((each) => !isRecord(each));
  const words = others
    .filter(({ schema }) => schema.enum)
    .map(({ name, schema }) => alias(name, literal(schema.enum!)));
  const records = named.filter(isRecord).map(({ name, schema }) => classOf(name, schema));
  // They are read when the module is, so what they name stands before them.
  const choices = others
    .filter(({ schema }) => !schema.enum)
    .toSorted((a, b) => depthOf(a.schema, others) - depthOf(b.schema, others))
    .map(({ name, schema }) => alias(name, unionOf(schema, direction)));
  return `${[HEAD, ...imports, ...words, "", ...records, ...more, ...choices].join("\n").trimEnd()}\n`;
}

/** How many choices stand within each other. */
function depthOf(schema: Schema, others: readonly Named[]): number {
  const named = JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g);
  const below = [...named].flatMap(([, reference]) =>
    others.filter(({ name, schema: its }) => name === referredName(reference!) && !its.enum),
  );
  return below.length === 0 ? 0 : 1 + Math.max(...below.map((each) => depthOf(each.schema, others)));
}

const alias = (name: string, type: string): string => `${name} = ${type}`;
const literal = (words: readonly unknown[]): string => `Literal[${words.map(constant).join(", ")}]`;
const constant = (value: unknown): string =>
  value === null ? "None" : typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);

const sentence = (description: string | undefined): string =>
  description === undefined ? "" : `    """${description.replaceAll("\\", "\\\\").replace(/"$/, '" ')}"""\n`;

function dictionary(name: string, { properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const key = KEYWORDS.has(field) ? `${field}_` : field;
    const type = typeOf(schema, "sent");
    return `    ${key}: ${required.includes(field) ? `Required[${type}]` : type}\n${sentence(schema.description)}`;
  });
  return `\nclass ${name}(TypedDict, total=False):\n${fields.join("") || "    pass\n"}`;
}

function model(name: string, { properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const type = typeOf(schema, "received");
    const key = fieldName(field);
    const isRequired = required.includes(field);
    // The field that tells the members of a choice apart is always there.
    const value =
      key !== field
        ? ` = Field(${isRequired ? "ABSENT" : "None"}, alias=${JSON.stringify(field)})`
        : isRequired
          ? "const" in schema
            ? ""
            : " = ABSENT"
          : " = None";
    const known = isRequired || type.endsWith("None") ? type : `${type} | None`;
    return `    ${key}: ${known}${value}\n${sentence(schema.description)}`;
  });
  return `\nclass ${name}(Answer):\n${fields.join("") || "    pass\n"}`;
}

function fieldName(field: string): string {
  const name = field.replaceAll(/\W/g, "_").replace(/^(?=\d|_)/, "n");
  return KEYWORDS.has(name) || OF_MODELS.has(name) ? `${name}_` : name;
}

function typeOf(schema: Schema, direction: Direction): string {
  if (schema.$ref !== undefined) return referredName(schema.$ref);
  if ("const" in schema) return literal([schema.const]);
  if (schema.enum || schema.anyOf || schema.oneOf) return unionOf(schema, direction);
  switch (schema.type) {
    case "integer":
      return "int";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "string":
      return "str";
    case "null":
      return "None";
    case "array":
      return `${direction === "sent" ? "Sequence" : "list"}[${typeOf(schema.items ?? {}, direction)}]`;
    case "object": {
      const { additionalProperties: values } = schema;
      const type = typeof values === "object" ? typeOf(values, direction) : "Any";
      return `${direction === "sent" ? "Mapping" : "dict"}[str, ${type}]`;
    }
    case undefined:
  }
  return "Any";
}

/** An answer may have a word that this client does not know yet. */
function unionOf(schema: Schema, direction: Direction): string {
  const types = new Set(membersOf(schema, direction));
  if (
    direction === "received" &&
    [...types].some((type) => type.startsWith("Literal[") || type.endsWith("Name"))
  )
    types.add("str");
  const isNullable = types.delete("None");
  const { discriminator } = schema;
  const union = [...types, ...(isNullable ? ["None"] : [])].join(" | ");
  return discriminator ? `Annotated[${union}, Field(discriminator="${discriminator.propertyName}")]` : union;
}

function membersOf(schema: Schema, direction: Direction): readonly string[] {
  if (schema.enum) {
    const words = schema.enum.filter((word) => (word as unknown) !== null);
    return [literal(words), ...(words.length < schema.enum.length ? ["None"] : [])];
  }
  const choices = schema.anyOf ?? schema.oneOf;
  return choices ? choices.flatMap((each) => membersOf(each, direction)) : [typeOf(schema, direction)];
}
