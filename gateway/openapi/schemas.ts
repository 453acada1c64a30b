/**
 * TypeBox objects to the schemas of the OpenAPI document: each object becomes a component with a name, and each field gets its sentence
 * and its example. It knows nothing of routes.
 */
import type { TSchema } from "typebox";
import { baseOf } from "../../schemas/common.ts";
import { ANY, type ApiReference, type FieldDoc } from "./reference.ts";

/** JSON Schema as it is written. */
export interface Node {
  $ref?: string;
  type?: string;
  description?: string;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  anyOf?: Node[];
  oneOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  [keyword: string]: unknown;
}

interface Discriminator {
  readonly propertyName: string;
  readonly mapping?: Readonly<Record<string, string>>;
}

export interface SchemaWriter {
  /** The schema for its place: a reference where it is or contains an object with fields. `name`: of an object without one. */
  readonly write: (schema: TSchema, name: string) => Node;
  /** A field with its sentence and its example; `scope`: the schema or operation it belongs to. */
  readonly field: (scope: string, name: string, schema: TSchema) => Node;
  /** The components that the written schemas refer to, by name. */
  readonly components: () => Record<string, Node>;
}

const REFERENCE = "#/components/schemas/";
const MOMENT = "2026-11-22T10:30:00.000Z";
const EXAMPLES_BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": MOMENT,
  date: MOMENT.slice(0, 10),
  uuid: "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41",
  uri: "https://example.org/",
};

export function schemaWriter({
  schemas,
  fields,
}: Pick<Required<ApiReference>, "schemas" | "fields">): SchemaWriter {
  const nameOf = new Map<object, string>();
  const nameByShape = new Map<string, string>();
  const components = new Map<string, Node>();
  /** The shape that was written under each name, to notice two under one. */
  const shapes = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    nameOf.set(schema, name);
    const shape = JSON.stringify(schema);
    if (!nameByShape.has(shape)) nameByShape.set(shape, name);
  }

  function write(schema: unknown, name: string): Node {
    const source = baseOf(schema as TSchema) as Node;
    const known =
      titleOf(source) ??
      nameOf.get(source) ??
      (isRecord(source) ? nameByShape.get(JSON.stringify(source)) : undefined);
    if (known !== undefined || isRecord(source)) return refer(known ?? name, source);
    return keywords(source, name);
  }

  /** Writes a component once, before its fields: they may refer to it. */
  function refer(name: string, source: Node): Node {
    const shape = JSON.stringify(source);
    const written = shapes.get(name);
    if (written !== undefined && written !== shape)
      throw new TypeError(`Cannot write the schema "${name}": two shapes have this name`);
    if (written === undefined) {
      shapes.set(name, shape);
      nameByShape.set(shape, nameByShape.get(shape) ?? name);
      components.set(name, {});
      components.set(name, keywords(source, name));
    }
    return { $ref: REFERENCE + name };
  }

  /** A copy with the parts written. Objects among them are named after `name`. */
  function keywords(source: Node, name: string): Node {
    const node: Node = {};
    const words = source.enum ?? ("const" in source ? [source.const] : []);
    if (source.type === undefined && words.length > 0 && words.every((word) => typeof word === "string"))
      node.type = "string";
    for (const [keyword, part] of Object.entries(source)) {
      // Generators would name classes after a title rather than after the component.
      if (keyword === "$id" || keyword === "title") continue;
      if (keyword === "properties") node.properties = properties(part as Record<string, TSchema>, name);
      else if (keyword === "items") node.items = write(part, `${name}Item`);
      else if (keyword === "anyOf") node.anyOf = (part as unknown[]).map((each) => write(each, name));
      else if (keyword === "oneOf") node.oneOf = (part as unknown[]).map((each) => write(each, name));
      else if (keyword === "discriminator")
        node.discriminator = discriminator(source.oneOf!, (part as Discriminator).propertyName);
      else if (keyword === "allOf" && (part as unknown[]).length === 1)
        Object.assign(node, write((part as unknown[])[0], name));
      else if (keyword === "patternProperties") {
        // Every name fits the only pattern that records have.
        node.additionalProperties = write(Object.values(part as object)[0], `${name}Value`);
      } else if (keyword === "additionalProperties" && typeof part === "object")
        node.additionalProperties = write(part, `${name}Value`);
      else if (keyword === "$ref") {
        node.$ref = part as string;
        const target = (part as string).slice(REFERENCE.length);
        if (schemas[target]) refer(target, schemas[target] as Node);
      } else node[keyword] = part;
    }
    return node;
  }

  const properties = (parts: Record<string, TSchema>, scope: string): Record<string, Node> =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, field(scope, name, part)]));

  function field(scope: string, name: string, schema: TSchema): Node {
    const node = write(schema, scope + pascal(name));
    const fieldDoc = docOf(schema);
    const own = fieldDoc ?? fields[scope]?.[name];
    const anywhere = fields[ANY]?.[name];
    const inner = liftDescription(node);
    const description =
      sentenceOf(fieldDoc) ??
      node.description ??
      sentenceOf(own ?? anywhere) ??
      inner ??
      componentOf(node)?.description;
    const told = exampleOf(own);
    // Null is an example: of a field that never has a value.
    const example =
      told === null ? null : (told ?? node.examples?.[0] ?? closedExample(node) ?? exampleOf(anywhere));
    const documented: Node = { ...node, ...(description !== undefined && { description }) };
    if (refersToObject(node)) return documented;
    const shown = example === undefined ? derivedExample(node) : example;
    return shown === undefined ? documented : { ...documented, examples: [shown] };
  }

  const componentOf = ({ $ref }: Node): Node | undefined =>
    $ref === undefined ? undefined : components.get($ref.slice(REFERENCE.length));

  /** Its example is that of its own fields. */
  function refersToObject(node: Node): boolean {
    const component = componentOf(node);
    if (component) {
      // A component that is being written refers to itself.
      const isOpen = Object.keys(component).length === 0;
      return isOpen || component.properties !== undefined || refersToObject(component);
    }
    const { items, additionalProperties, anyOf = [], oneOf = [] } = node;
    const parts = [
      items,
      typeof additionalProperties === "object" ? additionalProperties : undefined,
      ...anyOf,
      ...oneOf,
    ];
    return parts.some((part) => part !== undefined && refersToObject(part));
  }

  /** Example of a schema that only some values fit. */
  function closedExample(node: Node): unknown {
    const component = componentOf(node);
    if (component) return component.examples?.[0] ?? closedExample(component);
    if ("const" in node) return node.const;
    if (node.enum) return node.default ?? node.enum[0];
    if (node.anyOf) return closedExample(valueBranch(node));
    return node.format === undefined ? undefined : EXAMPLES_BY_FORMAT[node.format];
  }

  function derivedExample(node: Node): unknown {
    const component = componentOf(node);
    if (component) return component.examples?.[0] ?? derivedExample(component);
    if (node.default !== undefined) return node.default;
    if (node.anyOf) return derivedExample(valueBranch(node));
    if (node.type === "boolean") return true;
    if (node.type !== "array" || !node.items) return closedExample(node);
    const item = derivedExample(node.items);
    return item === undefined ? undefined : [item];
  }

  /** Only what is referred to from outside: named schemas that no route uses are left out. */
  return {
    write,
    field,
    components: () => Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** The name of an object, a choice of objects or an enumeration that has one. */
const titleOf = (source: Node): string | undefined =>
  (isRecord(source) || source.oneOf || source.enum) && typeof source["title"] === "string"
    ? source["title"]
    : undefined;

/** The field's own sentence and example; undefined where it is only a schema. */
function docOf(schema: TSchema): FieldDoc | undefined {
  if (baseOf(schema) === schema) return undefined;
  const { description = null, examples: [example] = [] } = schema as Node;
  const inherited = (baseOf(schema) as Node).description;
  return [description === inherited ? null : description, example];
}

const isRecord = ({ type, properties }: Node): boolean =>
  type === "object" && properties !== undefined && Object.keys(properties).length > 0;

export const pascal = (name: string): string =>
  name.replace(/(^|[_-])([a-z0-9])/gi, (_, __, letter: string) => letter.toUpperCase());

/** The schema of a nullable field when it is not null. */
const valueBranch = ({ anyOf = [] }: Node): Node => anyOf.find(({ type }) => type !== "null") ?? {};

const sentenceOf = (doc: FieldDoc | undefined): string | undefined =>
  typeof doc === "string" ? doc : (doc?.[0] ?? undefined);

const exampleOf = (doc: FieldDoc | undefined): unknown => (typeof doc === "object" ? doc[1] : undefined);

/** A nullable field's sentence stands on its one branch; it is taken from there. */
function liftDescription(node: Node): string | undefined {
  const branches = node.anyOf?.filter(({ type }) => type !== "null") ?? [];
  if (branches.length !== 1) return undefined;
  const [branch] = branches as [Node];
  const { description, ...rest } = branch;
  if (description === undefined || branch.$ref !== undefined) return description;
  node.anyOf = node.anyOf!.map((each) => (each === branch ? rest : each));
  return description;
}

/** Says which component a word means: generators would take the word for its name. */
const discriminator = (members: readonly Node[], propertyName: string): Discriminator => ({
  propertyName,
  mapping: Object.fromEntries(
    members.map((member) => [member.properties![propertyName]!.const, REFERENCE + titleOf(member)!]),
  ),
});
