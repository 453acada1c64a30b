/** The reference as Markdown, made of the API documents: a page for each operation and each shape, and an index. */
import {
  type ApiDocument,
  type Operation,
  operationsByTag,
  operationsOf,
  type Schema,
} from "./api-document.ts";
import { joined, type SourcePage, table } from "./source-page.ts";

/** Nested fields stand in the table of their object to this depth. */
const MAX_DEPTH = 4;
const MAX_WORDS = 40;
/** Pairs of the words of JSON Schema, with what they count. */
const RANGES: readonly (readonly [least: string, most: string, unit: string])[] = [
  ["minimum", "maximum", ""],
  ["minLength", "maxLength", " characters"],
  ["minItems", "maxItems", " entries"],
];

export const shapePath = (name: string): string => `reference/shapes/${name}`;
export const operationPath = (id: string): string => `reference/${id}`;

const code = (value: unknown): string => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
const nameOf = ({ $ref }: Schema): string | null => $ref?.split("/").at(-1) ?? null;

/** As a reader says it: `string or null`, `list of Link`. */
function typeOf(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== null) return `[${name}](/docs/${shapePath(name)})`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(" or ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) {
    const words = schema.enum.slice(0, MAX_WORDS).map(code);
    return [...words, ...(schema.enum.length > MAX_WORDS ? ["…"] : [])].join(", ");
  }
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object" && typeof schema.additionalProperties === "object" && !schema.properties)
    return `record of ${typeOf(schema.additionalProperties)}`;
  return [schema.type ?? "anything"].flat().join(" or ");
}

function limitsOf(schema: Schema): readonly string[] {
  const ranges = RANGES.flatMap(([least, most, unit]) => {
    const [from, to] = [least, most].map((word) => schema[word] as number | undefined);
    if (from === undefined && to === undefined) return [];
    if (from === undefined) return [`at most ${to}${unit}`];
    return [to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`];
  });
  const words = ["pattern", "format"].flatMap((word) =>
    schema[word] ? [`${word} ${code(schema[word])}`] : [],
  );
  const inner = [...(schema.anyOf ?? schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])];
  return [...ranges, ...words, ...inner.flatMap(limitsOf)];
}

/** The object in a list, a choice or itself whose fields stand in the same table. */
const innerOf = (schema: Schema): Schema | null =>
  schema.properties
    ? schema
    : ((schema.anyOf ?? schema.oneOf ?? [])
        .concat(schema.items ? [schema.items] : [])
        .map(innerOf)
        .find((inner) => inner !== null) ?? null);

function fieldRow(name: string, schema: Schema, isRequired: boolean): readonly string[] {
  const facts = [
    ...limitsOf(schema),
    ...(schema.default === undefined ? [] : [`default ${code(schema.default)}`]),
    ...(schema.examples?.[0] === undefined || typeof schema.examples[0] === "object"
      ? []
      : [`such as ${code(schema.examples[0])}`]),
  ];
  const sentence = schema.description ?? "";
  const fact = facts.length === 0 ? "" : `(${facts.join("; ")})`;
  return [
    `\`${name}\`${isRequired ? " (required)" : ""}`,
    typeOf(schema),
    [sentence, fact].filter(Boolean).join(" "),
  ];
}

function fieldRows(
  schema: Schema,
  marksRequired: boolean,
  prefix = "",
  depth = 0,
): readonly (readonly string[])[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = depth < MAX_DEPTH && nameOf(field) === null ? innerOf(field) : null;
    return [
      fieldRow(`${prefix}${name}`, field, marksRequired && required.includes(name)),
      ...(inner ? fieldRows(inner, marksRequired, `${prefix}${name}.`, depth + 1) : []),
    ];
  });
}

const fieldTable = (schema: Schema, marksRequired: boolean): string =>
  table(["field", "type", "meaning"], fieldRows(schema, marksRequired));

function shapeOf(
  schema: Schema,
  shapes: ApiDocument["components"]["schemas"],
  marksRequired: boolean,
): string {
  const name = nameOf(schema);
  const whole = name === null ? schema : (shapes[name] ?? schema);
  const inner = innerOf(whole);
  return inner ? fieldTable(inner, marksRequired) : typeOf(schema);
}

function shapePage(name: string, schema: Schema): SourcePage {
  const choices = schema.anyOf ?? schema.oneOf;
  const isChoice = choices !== undefined && !schema.properties;
  const parts = [
    `# ${name}`,
    schema.description ?? "",
    isChoice ? `One of:\n\n${choices.map((choice) => `- ${typeOf(choice)}`).join("\n")}` : "",
    !isChoice && innerOf(schema) ? fieldTable(innerOf(schema)!, true) : "",
    !isChoice && !innerOf(schema) ? [typeOf(schema), ...limitsOf(schema)].join(", ") : "",
  ];
  return { path: shapePath(name), title: name, markdown: joined(parts), isSearched: false };
}

function operationPage(operation: Operation, { components: { schemas } }: ApiDocument): SourcePage {
  const { method, path, summary, description = "", parameters = [], requestBody, responses } = operation;
  const samples = (operation["x-codeSamples"] ?? []).map(
    ({ lang, source }) => `\`\`\`${FENCES[lang] ?? "text"}\n${source}\n\`\`\``,
  );
  const bodies = Object.entries(requestBody?.content ?? {}).map(([type, { schema = {} }]) =>
    joined([`### As ${type}`, shapeOf(schema, schemas, true)]),
  );
  const answers = Object.entries(responses).map(([status, { description: what, content = {} }]) => {
    const shapes = Object.entries(content).map(([type, { schema, "x-item-schema": line }]) => {
      const shape = line ?? schema ?? {};
      const isOk = Number(status) < 300;
      return `${type}${line ? ", each line" : ""}: ${isOk ? `\n\n${shapeOf(shape, schemas, false)}` : typeOf(shape)}`;
    });
    return joined([`### ${status}`, what, ...shapes]);
  });
  const rows = parameters.map(({ name, in: place, required, description: what, schema }) => {
    const [field = "", type = "", meaning = ""] = fieldRow(
      name,
      { ...schema, ...(what !== undefined && { description: what }) },
      required,
    );
    return [field, place, type, meaning];
  });
  const title = summary;
  return {
    path: operationPath(operation.operationId),
    title,
    markdown: joined([
      `# ${title}`,
      `\`${method} ${path}\``,
      description,
      ...samples,
      ...(rows.length === 0 ? [] : ["## Parameters", table(["parameter", "in", "type", "meaning"], rows)]),
      ...(bodies.length === 0 ? [] : ["## Body", ...bodies]),
      "## Answers",
      ...answers,
    ]),
    isSearched: true,
  };
}

const FENCES: Readonly<Record<string, string>> = { Shell: "sh", TypeScript: "ts", Python: "python" };

function indexOf(document: ApiDocument): string {
  return joined([
    `## ${document.info.title}`,
    document.info.description,
    ...operationsByTag(document).flatMap(({ name, description, operations }) => {
      const rows = operations.map(({ method, path, operationId, summary }) => [
        `[${summary}](/docs/${operationPath(operationId)})`,
        `\`${method} ${path}\``,
      ]);
      return [`### ${name}`, description, table(["operation", "request"], rows)];
    }),
  ]);
}

/** The documents of clients and of operators. */
export function referencePages(documents: readonly ApiDocument[]): readonly SourcePage[] {
  const index: SourcePage = {
    path: "reference",
    title: "API reference",
    markdown: joined([
      "# API reference",
      "Every operation with its fields, limits, answers and errors, from the same source as [openapi.json](/openapi.json) and " +
        "[openapi-operator.json](/openapi-operator.json). What errors mean: [errors](/docs/errors).",
      ...documents.map(indexOf),
    ]),
    isSearched: true,
  };
  const shapes = new Map(documents.flatMap(({ components }) => Object.entries(components.schemas)));
  return [
    index,
    ...documents.flatMap((document) =>
      operationsOf(document).map((operation) => operationPage(operation, document)),
    ),
    ...[...shapes].map(([name, schema]) => shapePage(name, schema)),
  ];
}
