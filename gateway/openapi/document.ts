/**
 * The OpenAPI 3.1 document, drawn from the routes: TypeBox objects are JSON Schema as they stand. What a route does not say because
 * every route does it (keys, limits, validation) comes from common-replies.ts.
 */
import type { TSchema } from "typebox";
import { type Audience, audienceOf, type ReplyShape, type Route } from "../route.ts";
import { deprecationSentence } from "../deprecation.ts";
import { commonReplies, headersOf } from "./common-replies.ts";
import { errorBodyOf } from "./error-body.ts";
import { GATEWAY_REFERENCE, HEADERS } from "./gateway-reference.ts";
import { type ApiReference, mergeReferences } from "./reference.ts";
import { codeSamples } from "./samples.ts";
import { type Node, pascal, schemaWriter } from "./schemas.ts";

export interface About {
  readonly routes: readonly Route[];
  readonly public_url: string;
  /** Whose operations it has. */
  readonly audience: Audience;
  /** Additions of the slices. */
  readonly references: readonly ApiReference[];
}

/**
 * OpenAPI 3.1 has no word for the schema of a line, 3.2 has `itemSchema`, which generators do not read yet: `schema` is that of one line,
 * which is what they make a type of, and `x-item-schema` says so.
 */
const LINES_TYPE = "application/x-ndjson";

/** The version of the API, not of the program. */
const API_VERSION = "1.0.0";

const ABOUT: Readonly<Record<Audience, { readonly title: string; readonly description: string }>> = {
  clients: {
    title: "Trawl",
    description: "A crawler service: searches the web, and fetches pages, PDFs and documents politely.",
  },
  operators: {
    title: "Trawl for operators",
    description: "What only the operator of the service may call, and what its monitoring reads.",
  },
  people: {
    title: "Trawl's pages",
    description: "Pages for people with a browser. A program has no use for them.",
  },
};

export function openapi({ routes, public_url, audience, references }: About): object {
  const reference = mergeReferences([GATEWAY_REFERENCE, ...references]);
  const { write, field, components } = schemaWriter(reference);

  function reply(status: number, shapes: readonly ReplyShape[], route: Route): object {
    const name = pascal(route.operationId) + (status < 300 ? "Response" : `Error${status}`);
    const schemas = shapes.flatMap(({ schema }) => (schema ? [write(schema, name)] : []));
    const lines = shapes.flatMap((shape) => (shape.lines ? [write(shape.lines, `${name}Line`)] : []));
    const isEmpty = route.method === "HEAD" || schemas.length + lines.length === 0;
    const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
    const types = shapes.flatMap(({ schema: its, content_type = "application/json" }) =>
      its ? [content_type] : [],
    );
    const content = [...new Set(types)].map((type) => [type, { schema }] as const);
    const also = shapes.flatMap((shape) => shape.also ?? []);
    return {
      description: shapes.map(({ description }) => description).join("; or: "),
      headers: headersOf(status, shapes, route),
      ...(!isEmpty && {
        content: Object.fromEntries([
          ...content,
          ...lines.map((line) => [LINES_TYPE, { schema: line, "x-item-schema": line }] as const),
          ...also.map((type) => [type, { schema: { type: "string" } }] as const),
        ]),
      }),
    };
  }

  function replies(route: Route): object {
    const common = commonReplies(route);
    const statuses = new Set([...Object.keys(route.replies), ...Object.keys(common)].map(Number));
    return Object.fromEntries(
      [...statuses]
        .toSorted((a, b) => a - b)
        .map((status) => {
          const shapes = [route.replies[status], common[status]].filter((shape) => shape !== undefined);
          return [String(status), reply(status, shapes, route)];
        }),
    );
  }

  /** The sentence stands on the parameter, the example in its schema. */
  function parameter(
    place: string,
    name: string,
    required: boolean,
    operation: string,
    schema: TSchema,
  ): object {
    const { description, ...rest } = field(operation, name, schema);
    return { name, in: place, required, ...(description !== undefined && { description }), schema: rest };
  }

  function parameters({ params, query, request_headers = {}, operationId }: Route): object[] {
    const inPlaces = [["path", params] as const, ["query", query] as const].flatMap(([place, shape]) =>
      Object.entries(shape?.properties ?? {}).map(([name, schema]) => {
        const isRequired = (shape!.required?.includes(name) ?? false) && !("default" in schema);
        return parameter(place, name, place === "path" || isRequired, operationId, schema);
      }),
    );
    const inHead = Object.entries(request_headers).map(([name, description]) =>
      parameter("header", name, false, operationId, { type: "string", description } as TSchema),
    );
    return [...inPlaces, ...inHead];
  }

  /** Requests that the service makes to an address in the request. */
  const callbacks = ({ callbacks: described = {}, operationId }: Route): object =>
    Object.fromEntries(
      Object.entries(described).map(([name, { to, summary, description, schema, headers }]) => [
        name,
        {
          [`{$request.body#/${to}}`]: {
            post: {
              operationId: `${operationId}${pascal(name)}`,
              summary,
              description,
              tags: ["callbacks"],
              parameters: Object.entries(headers).map(([header, meaning]) =>
                parameter("header", header, true, name, { type: "string", description: meaning } as TSchema),
              ),
              requestBody: {
                required: true,
                content: { "application/json": { schema: write(schema, pascal(name)) } },
              },
              responses: {
                "2XX": { description: "Received. A body is not read" },
                "4XX": { description: "Tried again later" },
                "5XX": { description: "Tried again later" },
              },
              security: [],
            },
          },
        },
      ]),
    );

  const operation = (route: Route): object => {
    const parameterList = parameters(route);
    return {
      operationId: route.operationId,
      summary: route.summary,
      ...(route.deprecated && { deprecated: true }),
      description: [
        ...(route.deprecated ? [deprecationSentence(route.deprecated)] : []),
        route.description ?? `${route.summary}.`,
      ].join("\n\n"),
      tags: route.tags,
      ...(parameterList.length > 0 && { parameters: parameterList }),
      ...(route.body && {
        requestBody: {
          required: true,
          content: Object.fromEntries(
            Object.entries(route.body_content ?? { "application/json": route.body }).map(
              ([type, schema], at) => [
                type,
                {
                  schema: write(schema, `${pascal(route.operationId)}Body`),
                  ...(at === 0 && route.body_example !== undefined && { example: route.body_example }),
                },
              ],
            ),
          ),
        },
      }),
      responses: replies(route),
      ...(route.callbacks && { callbacks: callbacks(route) }),
      "x-codeSamples": codeSamples(route, public_url, (name, schema) =>
        field(route.operationId, name, schema),
      ),
      security: route.auth === "key" ? [{ bearer: [] }] : [],
    };
  };

  // All are written, so that a schema has the same name in each of the documents.
  const own = routes
    .filter((route) => audienceOf(route) !== "protocols")
    .map((route) => ({ route, written: operation(route) }))
    .filter(({ route }) => audienceOf(route) === audience);
  const error_body = write(errorBodyOf(routes), "ErrorBody");
  return documentOf(own, { audience, public_url, tags: reference.tags, error_body, schemas: components() });
}

interface Frame extends Pick<About, "audience" | "public_url"> {
  readonly tags: Readonly<Record<string, string>>;
  /** A reference to the schema of any refusal. */
  readonly error_body: Node;
  readonly schemas: Readonly<Record<string, Node>>;
}

/** The document of these operations, with the components that they refer to. */
function documentOf(
  operations: readonly { readonly route: Route; readonly written: object }[],
  { audience, public_url, tags, error_body, schemas }: Frame,
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { route, written } of operations)
    (paths[route.path] ??= {})[route.method.toLowerCase()] = written;
  const used = new Set(
    operations.flatMap(({ route }) => (route.callbacks ? [...route.tags, "callbacks"] : route.tags)),
  );
  return {
    openapi: "3.1.0",
    info: {
      ...ABOUT[audience],
      version: API_VERSION,
      contact: { name: "The operator of this service", url: public_url },
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: public_url }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      ...(operations.some(({ route }) => route.auth === "key") && {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer", description: "An API key: sk_…, ak_… or ok_…" },
        },
      }),
      headers: reachedFrom("headers", paths, HEADERS),
      schemas: reachedFrom("schemas", [paths, error_body], schemas),
    },
    "x-error-body": error_body,
  };
}

/** The components of a kind that these paths refer to, directly or through others. */
function reachedFrom<Part extends object>(
  kind: "headers" | "schemas",
  paths: object,
  components: Readonly<Record<string, Part>>,
): Record<string, Part> {
  const reference = `#/components/${kind}/`;
  const reached = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [keyword, value] of Object.entries(part)) {
      const name =
        keyword === "$ref" && typeof value === "string" && value.startsWith(reference)
          ? value.slice(reference.length)
          : null;
      if (name === null) look(value);
      else if (!reached.has(name)) {
        reached.add(name);
        look(components[name]);
      }
    }
  };
  look(paths);
  return Object.fromEntries(Object.entries(components).filter(([name]) => reached.has(name)));
}
