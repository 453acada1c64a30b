/**
 * The OpenAPI 3.1 document, drawn from the routes: TypeBox objects are JSON Schema as they stand. What a route does not say because
 * every route does it (keys, limits, validation) comes from common-replies.ts.
 */
import type { TSchema } from "typebox";
import type { ReplyShape, Route } from "../route.ts";
import { commonReplies, headersOf } from "./common-replies.ts";
import { GATEWAY_REFERENCE, HEADERS } from "./gateway-reference.ts";
import { type ApiReference, mergeReferences } from "./reference.ts";
import { type Node, pascal, schemaWriter } from "./schemas.ts";

export interface About {
  readonly routes: readonly Route[];
  readonly public_url: string;
  /** What the slices add. */
  readonly references: readonly ApiReference[];
}

/** The version of the API, not of the program. */
const API_VERSION = "1.0.0";

export function openapi({ routes, public_url, references }: About): object {
  const reference = mergeReferences([GATEWAY_REFERENCE, ...references]);
  const { write, field, components } = schemaWriter(reference);

  function reply(status: number, shapes: readonly ReplyShape[], route: Route): object {
    const name = pascal(route.operationId) + (status < 300 ? "Response" : `Error${status}`);
    const schemas = shapes.flatMap(({ schema }) => (schema ? [write(schema, name)] : []));
    const isEmpty = route.method === "HEAD" || schemas.length === 0;
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
      description: route.description ?? `${route.summary}.`,
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
      security: route.auth === "key" ? [{ bearer: [] }] : [],
    };
  };

  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  const used = new Set(routes.flatMap(({ tags, callbacks: made }) => (made ? [...tags, "callbacks"] : tags)));
  return {
    openapi: "3.1.0",
    info: {
      title: "Trawl",
      version: API_VERSION,
      description: "A crawler service: searches the web, and fetches pages, PDFs and documents politely.",
      contact: { name: "The operator of this service", url: public_url },
    },
    servers: [{ url: public_url }],
    tags: Object.entries(reference.tags)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key: sk_…, ak_… or ok_…" },
      },
      headers: HEADERS,
      schemas: components() satisfies Record<string, Node>,
    },
  };
}
