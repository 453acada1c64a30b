/** Replies that every route can give besides its own, and the header fields of answers. */
import type { ReplyShape, Route } from "../route.ts";
import { Detail, HEADERS, Internal, Limited, refused, TimedOut, Validation } from "./gateway-reference.ts";

/** The replies every route can give besides its own. */
export function commonReplies({
  auth,
  category,
  body,
  params,
  query,
  operators_only,
  authorize_errors = [],
}: Route): Record<number, ReplyShape> {
  const replies: Record<number, ReplyShape> = {};
  if (auth === "key") {
    replies[401] = { description: "The key is missing, unknown or revoked", schema: Detail };
    const codes = ["customer_suspended"];
    if (category) codes.push("key_category_not_allowed");
    if (operators_only) codes.push("operator_only");
    codes.push(...authorize_errors);
    replies[403] = { description: "The key is not allowed to make this request", schema: refused(codes) };
    replies[429] = {
      description: "A rate limit or a monthly allowance of the project or the key is used up",
      schema: Limited,
    };
    replies[503] = {
      description: "A store or the cluster is briefly unavailable; try again after Retry-After",
      schema: Detail,
    };
    replies[504] = { description: "There was no result in time; try again later", schema: TimedOut };
  }
  if (body) {
    replies[408] = {
      description: "The body came too slowly: less than 16 KB a second, or longer than 300 s",
      schema: Detail,
    };
    replies[413] = { description: "The body is too large, or is when it is decompressed", schema: Detail };
    replies[415] = {
      description: "The Content-Encoding of the body is none of those that the service reads",
      schema: Detail,
      headers: { "Accept-Encoding": "Those that the service reads" },
    };
  }
  if (body || params || query)
    replies[422] = {
      description:
        "The request has mistakes; all of them are listed. Unknown names are among them with `Prefer: handling=strict`, and always one that is near an option which changes the result",
      schema: Validation,
    };
  replies[500] = { description: "An error of the service; quote the request id", schema: Internal };
  return replies;
}

/** The fields of an answer: those of the status, those of every answer to a caller with a key, and the route's own. */
export function headersOf(
  status: number,
  shapes: readonly ReplyShape[],
  { auth, deprecated }: Route,
): object {
  const names: (keyof typeof HEADERS)[] = ["X-Request-Id"];
  if (status === 401) names.push("WWW-Authenticate");
  if (status === 408 || status === 429 || status === 503) names.push("Retry-After");
  if (auth === "key" && status !== 401) {
    names.push("RateLimit-Policy", "RateLimit", "X-Service-Key-Role");
    names.push("X-Service-Quota-Remaining", "X-Service-Key-Budget-Remaining");
  }
  if (auth === "key" && status < 300) names.push("X-Service-Warning");
  if (deprecated)
    names.push("Deprecation", ...(deprecated.sunset === null ? [] : (["Sunset"] as const)), "Link");
  const own = Object.assign({}, ...shapes.map(({ headers }) => headers)) as Record<string, string>;
  return {
    ...Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...Object.fromEntries(
      Object.entries(own).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
    ),
  };
}
