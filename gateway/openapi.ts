/**
 * The OpenAPI 3.1 document, drawn from the routes: TypeBox objects are JSON Schema as they stand. What a route
 * does not say because every route does it (keys, limits, validation) is added here.
 */
import { type TSchema, Type } from "typebox";
import type { ReplyShape, Route } from "./route.ts";

export interface About {
  readonly routes: readonly Route[];
  readonly public_url: string;
  /** Schemas with a name of their own. All others are written inline. */
  readonly named: Readonly<Record<string, TSchema>>;
}

/** The version of the API, not of the program. */
const API_VERSION = "1.0.0";

const Detail = Type.Object({ detail: Type.String() });
const Coded = (...codes: string[]) =>
  Type.Object({
    detail: Type.Object({
      error: Type.Enum(codes),
      message: Type.Optional(Type.String()),
      hint: Type.Optional(Type.String()),
    }),
  });
const Validation = Type.Object({
  detail: Type.Array(
    Type.Object({
      loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
      msg: Type.String(),
      type: Type.String(),
    }),
  ),
});
const Limited = Type.Object({
  detail: Type.Union([
    Type.String(),
    Type.Object({
      error: Type.Enum(["key_rate_limited", "key_quota_exhausted", "key_budget_exhausted"]),
      category: Type.Optional(Type.String()),
      limit: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
      currency: Type.Optional(Type.String()),
    }),
  ]),
});
const TimedOut = Type.Object({
  detail: Type.Object({ error: Type.Literal("timeout"), request_id: Type.String() }),
});
const Internal = Type.Object({ detail: Type.String(), request_id: Type.String() });

/** Names of the error bodies beside those of the routes. */
const ERRORS = { Detail, Validation, Limited, TimedOut, Internal } as const;

const RETRY_AFTER = { "Retry-After": "Seconds to wait" };
const RATES = {
  "RateLimit-Policy": 'The limits, as `"project";q=200;w=1`',
  RateLimit: 'What is left of them, as `"project";r=199;t=1`',
};

/** The replies every route can give besides its own. */
function commonReplies({
  auth,
  category,
  body,
  params,
  query,
  authorize_errors = [],
}: Route): Record<number, ReplyShape> {
  const replies: Record<number, ReplyShape> = {};
  if (auth === "key") {
    replies[401] = {
      description: "The key is missing, unknown or revoked",
      schema: Detail,
      headers: { "WWW-Authenticate": "Bearer" },
    };
    const codes = ["customer_suspended"];
    if (category) codes.push("key_category_not_allowed");
    codes.push(...authorize_errors);
    replies[403] = { description: "The key is not allowed to make this request", schema: Coded(...codes) };
    replies[429] = {
      description: "A rate limit or a monthly allowance of the project or the key is used up",
      schema: Limited,
      headers: { ...RETRY_AFTER, ...RATES },
    };
    replies[503] = {
      description: "A store or the cluster is briefly unavailable; try again after Retry-After",
      schema: Detail,
      headers: RETRY_AFTER,
    };
    replies[504] = { description: "There was no result in time; try again later", schema: TimedOut };
  }
  if (body) replies[413] = { description: "The body is too large", schema: Detail };
  if (body || params || query)
    replies[422] = { description: "The request has mistakes; all of them are listed", schema: Validation };
  replies[500] = { description: "An error of the service; quote the request id", schema: Internal };
  return replies;
}

const headers = (of: Readonly<Record<string, string>>): object =>
  Object.fromEntries(
    Object.entries(of).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );

export function openapi({ routes, public_url, named }: About): object {
  const names = new Map<object, string>();
  for (const [name, schema] of Object.entries({ ...named, ...ERRORS })) names.set(schema, name);

  /** A copy without TypeBox's own properties. Named schemas become references, except the one being written. */
  function write(schema: unknown, self?: object): unknown {
    if (Array.isArray(schema)) return schema.map((part) => write(part));
    if (typeof schema !== "object" || schema === null) return schema;
    const name = schema === self ? undefined : names.get(schema);
    if (name) return { $ref: `#/components/schemas/${name}` };
    return Object.fromEntries(
      Object.entries(schema)
        .filter(([key]) => key !== "$id")
        .map(([key, part]) => [key, write(part)]),
    );
  }

  function reply(shapes: readonly ReplyShape[], route: Route): object {
    const [{ description, content_type = "application/json", also, headers: own_headers }, ...otherShapes] =
      shapes as [ReplyShape, ...ReplyShape[]];
    const schemas = shapes.flatMap((shape) => (shape.schema ? [write(shape.schema)] : []));
    const shown = {
      ...own_headers,
      ...otherShapes[0]?.headers,
      "X-Request-Id": "Names this request in the logs of the service",
    };
    const isEmpty = route.method === "HEAD" || schemas.length === 0;
    return {
      description: shapes.map((shape) => shape.description).join("; or: "),
      headers: headers(shown),
      ...(!isEmpty && {
        content: {
          [content_type]: { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas } },
          ...Object.fromEntries((also ?? []).map((type) => [type, { schema: { type: "string" } }])),
        },
      }),
    } satisfies { description: typeof description; headers: object };
  }

  function replies(route: Route): object {
    const common = commonReplies(route);
    const statuses = new Set([...Object.keys(route.replies), ...Object.keys(common)].map(Number));
    return Object.fromEntries(
      [...statuses]
        .toSorted((a, b) => a - b)
        .map((status) => {
          const shapes = [route.replies[status], common[status]].filter((shape) => shape !== undefined);
          return [String(status), reply(shapes, route)];
        }),
    );
  }

  const headerParameters = ({ request_headers = {} }: Route): object[] =>
    Object.entries(request_headers).map(([name, description]) => ({
      name,
      in: "header",
      required: false,
      description,
      schema: { type: "string" },
    }));

  const parameters = ({ params, query }: Route): object[] =>
    [["path", params] as const, ["query", query] as const].flatMap(([place, shape]) =>
      Object.entries(shape?.properties ?? {}).map(([name, schema]) => ({
        name,
        in: place,
        required: place === "path" || ((shape!.required?.includes(name) ?? false) && !("default" in schema)),
        schema: write(schema),
      })),
    );

  const operation = (route: Route): object => {
    const parameterList = [...parameters(route), ...headerParameters(route)];
    return {
      operationId: route.operationId,
      summary: route.summary,
      ...(route.description !== undefined && { description: route.description }),
      tags: route.tags,
      ...(parameterList.length > 0 && { parameters: parameterList }),
      ...(route.body && {
        requestBody: {
          required: true,
          content: Object.fromEntries(
            Object.entries(route.body_content ?? { "application/json": route.body }).map(([type, schema]) => [
              type,
              { schema: write(schema) },
            ]),
          ),
        },
      }),
      responses: replies(route),
      security: route.auth === "key" ? [{ bearer: [] }] : [],
    };
  };

  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: "3.1.0",
    info: {
      title: "Trawl",
      version: API_VERSION,
      description: "A crawler service: searches the web, and fetches pages, PDFs and documents politely.",
    },
    servers: [{ url: public_url }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: Object.fromEntries([...names].map(([schema, name]) => [name, write(schema, schema)])),
    },
  };
}
