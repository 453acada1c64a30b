/**
 * The body of any refusal, as one union over what the statuses have: a sentence, a code with what belongs to it, or the mistakes of the
 * request. A client with one handler for errors switches over it; the reply of a status is narrower. The codes are those of the routes.
 */
import { type TSchema, Type } from "typebox";
import { Component, Field, Words } from "../../schemas/common.ts";
import type { Route } from "../route.ts";
import { commonReplies } from "./common-replies.ts";
import { Mistake } from "./gateway-reference.ts";

export function errorBodyOf(routes: readonly Route[]): TSchema {
  const codes = routes.flatMap((route) =>
    [route.replies, commonReplies(route)].flatMap((replies) =>
      Object.entries(replies).flatMap(([status, { schema }]) =>
        Number(status) < 400 ? [] : codesOf(propertiesOf(schema)["detail"]),
      ),
    ),
  );
  const Refusal = Component("Refusal", {
    error: Field(
      Words("RefusalCode", [...new Set(codes)].toSorted()),
      "A code that does not change",
      "key_quota_exhausted",
    ),
    message: Type.Optional(Type.String()),
    hint: Type.Optional(Type.String()),
    category: Type.Optional(Field(Type.String(), "Of a quota: its category", "fetch")),
    limit: Type.Optional(
      Field(Type.Union([Type.Integer(), Type.String()]), "The quota, or the spend cap as a decimal", 1000),
    ),
    currency: Type.Optional(Field(Type.String(), "The currency of a spend cap", "USD")),
    request_id: Type.Optional(Type.String()),
  });
  return Component("ErrorBody", {
    detail: Field(
      Type.Union([Type.String(), Refusal, Type.Array(Mistake)]),
      "A sentence; a code with what belongs to it; or all mistakes of the request",
    ),
    request_id: Type.Optional(Type.String()),
  });
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly anyOf?: readonly Shape[];
  readonly enum?: readonly string[];
  readonly const?: string;
}

const propertiesOf = (schema: unknown): Readonly<Record<string, Shape>> =>
  (schema as Shape)?.properties ?? {};

function codesOf(detail: Shape | undefined): readonly string[] {
  if (detail?.anyOf) return detail.anyOf.flatMap(codesOf);
  const error = detail?.properties?.["error"];
  return error?.enum ?? (error?.const === undefined ? [] : [error.const]);
}
