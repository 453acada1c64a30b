/** The OpenAPI document as the tests of its clients read it: one call for each operation, with values that a service knows. */

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: object | string }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
  readonly callbacks?: object;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface ClientCall {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, { readonly in: string; readonly value: unknown }>>;
  readonly body: object | string | null;
  readonly body_type: string | null;
  /** The answer to a good request is JSON. */
  readonly isJson: boolean;
  readonly statuses: readonly number[];
}

export const operationsOf = ({
  paths,
}: Document): readonly (Operation & { path: string; method: string })[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );

/** Parameters that are needed although others may take their place. */
const ONE_OF: Readonly<Record<string, string>> = {
  resolveFiler: "ticker",
  searchCompanies: "q",
  batchCompaniesFromCsv: "idempotency_key",
};

/** A call of each operation: its required parameters and its example body. `given` wins over the document's examples. */
export const callsOf = (document: Document, given: Readonly<Record<string, string>>): readonly ClientCall[] =>
  operationsOf(document).map(({ operationId, path, method, parameters = [], requestBody, responses }) => ({
    operation: operationId,
    method,
    path,
    parameters: Object.fromEntries(
      parameters
        .filter(({ required, name }) => required || ONE_OF[operationId] === name)
        .map(({ name, in: place, schema }) => [
          name,
          { in: place, value: given[name] ?? schema.examples![0] },
        ]),
    ),
    body: (requestBody && Object.values(requestBody.content)[0]!.example) ?? null,
    body_type: (requestBody && Object.keys(requestBody.content)[0]) ?? null,
    isJson: "application/json" in (responses["200"]?.content ?? responses["202"]?.content ?? {}),
    statuses: Object.keys(responses).map(Number),
  }));

/** Fields and parameters without a sentence or an example, as `Schema.field`. Fields that are objects have the examples of their own. */
export function undocumentedOf(document: Document): readonly string[] {
  const { schemas } = document.components;
  const isObject = (schema: Schema): boolean => {
    if (schema.$ref !== undefined)
      return isObject(schemas[schema.$ref.replace("#/components/schemas/", "")]!);
    const { items, additionalProperties, anyOf = [], oneOf = [], properties } = schema;
    const parts = [
      items,
      typeof additionalProperties === "object" ? additionalProperties : undefined,
      ...anyOf,
      ...oneOf,
    ];
    return properties !== undefined || parts.some((part) => part !== undefined && isObject(part));
  };
  const lacks = (description: string | undefined, schema: Schema): boolean =>
    !description || (schema.examples === undefined && !isObject(schema));
  const fields = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).flatMap(([field, schema]) =>
      lacks(schema.description, schema) ? [`${name}.${field}`] : [],
    ),
  );
  const parameters = operationsOf(document).flatMap(({ operationId, parameters: all = [] }) =>
    all.flatMap(({ name, description, schema }) =>
      lacks(description, schema) ? [`${operationId}.${name}`] : [],
    ),
  );
  return [...fields, ...parameters];
}

/** Objects with fields that stand in the document without a name. A field may itself be called `properties`; an example is no schema. */
export function inlineObjectsOf(value: unknown, at = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const isSchema = "properties" in value && !/^\/components\/schemas\/\w+(?:\/properties)?$/.test(at);
  return [
    ...(isSchema ? [at] : []),
    ...Object.entries(value).flatMap(([name, part]) =>
      name === "examples" && Array.isArray(part) ? [] : inlineObjectsOf(part, `${at}/${name}`),
    ),
  ];
}
