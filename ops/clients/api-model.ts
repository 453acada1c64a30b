/** Model of generated types: the operations and schemas of the API document that a client sends and receives. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly discriminator?: { readonly propertyName: string };
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly callbacks?: Readonly<Record<string, unknown>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly "x-error-body": Schema;
}

/** A schema with a name. */
export interface Named {
  readonly name: string;
  readonly schema: Schema;
  readonly isSent: boolean;
  readonly isReceived: boolean;
}

const REFERENCE = "#/components/schemas/";
export const referredName = (reference: string): string => reference.slice(REFERENCE.length);

/** Tags that a client has no types of: pages for people, this document, and what programs that watch a node read. */
const LEFT_OUT = new Set(["about", "internal", "status"]);

/** The query of each operation that has one, and every schema that its operations name, in the order of their names. */
export function namedSchemas(document: ApiDocument): readonly Named[] {
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ tags }) => !tags.some((tag) => LEFT_OUT.has(tag)));
  const queries = operations.flatMap(({ operationId, parameters = [] }): Named[] => {
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    if (inQuery.length === 0) return [];
    const schema: Schema = {
      type: "object",
      required: inQuery.filter(({ required }) => required).map(({ name }) => name),
      properties: Object.fromEntries(
        inQuery.map(({ name, description, schema: its }) => [
          name,
          { ...its, ...(description !== undefined && { description }) },
        ]),
      ),
    };
    return [{ name: `${pascal(operationId)}Query`, schema, isSent: true, isReceived: false }];
  });
  const bodies = operations.map(({ requestBody }) => requestBody);
  const sent = reachedFrom(document, [bodies, queries]);
  const answers = operations.map(({ responses, callbacks }) => [
    callbacks,
    Object.entries(responses).filter(([status]) => Number(status) < 300),
  ]);
  const received = reachedFrom(document, [answers, document["x-error-body"]]);
  const named = Object.entries(document.components.schemas)
    .filter(([name]) => sent.has(name) || received.has(name))
    .map(([name, schema]): Named => ({
      name,
      schema,
      isSent: sent.has(name),
      isReceived: received.has(name),
    }));
  return [...named, ...queries].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function reachedFrom(document: ApiDocument, parts: unknown): ReadonlySet<string> {
  const reached = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [keyword, value] of Object.entries(part)) {
      if (keyword !== "$ref" || typeof value !== "string" || !value.startsWith(REFERENCE)) look(value);
      else if (!reached.has(referredName(value))) {
        reached.add(referredName(value));
        look(document.components.schemas[referredName(value)]);
      }
    }
  };
  look(parts);
  return reached;
}

const pascal = (name: string): string => name[0]!.toUpperCase() + name.slice(1);
