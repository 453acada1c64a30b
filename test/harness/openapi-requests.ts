/** A request for each operation of the OpenAPI document, made from its schemas: a new endpoint is asked without a line here. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
}
export interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A small value of a schema. Texts are what they are called: a field of the first project is given its identifier. */
function valueOf(
  schema: Schema,
  name: string,
  given: Readonly<Record<string, string>>,
  document: ApiDocument,
): unknown {
  if (Object.hasOwn(given, name)) return given[name];
  if (schema.$ref)
    return valueOf(document.components.schemas[schema.$ref.split("/").at(-1)!]!, name, given, document);
  if (schema.anyOf) return valueOf(schema.anyOf[0]!, name, given, document);
  if (schema.enum) return schema.enum[0];
  if ("const" in schema) return schema.const;
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((field) => [
          field,
          valueOf(schema.properties![field]!, field, given, document),
        ]),
      );
    case "array":
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () =>
        valueOf(schema.items ?? {}, name, given, document),
      );
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    case undefined:
    default:
      return "x";
  }
}

export const operationsOf = (document: ApiDocument): [path: string, method: string, operation: Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => [
      path,
      method.toUpperCase(),
      operation,
    ]),
  );

/** `given`: values by the name of the parameter or field that takes them. */
export function requestOf(
  document: ApiDocument,
  path: string,
  { parameters = [], requestBody }: Operation,
  given: Readonly<Record<string, string>>,
): { target: string; body?: unknown } {
  const valued = parameters.map(
    (each) => [each, encodeURIComponent(String(valueOf(each.schema, each.name, given, document)))] as const,
  );
  const at = valued.reduce((text, [{ name }, value]) => text.replace(`{${name}}`, value), path);
  const query = valued.filter(
    ([each]) => each.in === "query" && (each.required || Object.hasOwn(given, each.name)),
  );
  const target =
    query.length === 0 ? at : `${at}?${query.map(([{ name }, value]) => `${name}=${value}`).join("&")}`;
  const schema = requestBody && Object.values(requestBody.content)[0]!.schema;
  return schema ? { target, body: valueOf(schema, "", given, document) } : { target };
}
