/** The schema of a job's items in the API document: one for each kind, told apart by `kind`. */
import { type TObject, type TSchema, Type } from "typebox";
import type { BatchKind } from "../../../../gateway/batch.ts";
import { pascal } from "../../../../gateway/openapi/schemas.ts";
import { Component, Field, Nullable, OneOf } from "../../../../schemas/common.ts";
import { itemErrorCode } from "../../../../schemas/errors.ts";
import { ITEM_STATUSES } from "../../../../schemas/jobs.ts";

export const itemSchema = (kinds: readonly BatchKind[]): TSchema =>
  OneOf("JobItem", "kind", kinds.map(schemaOf));

function schemaOf({ name, item, item_example, shared, result, errors }: BatchKind): TObject {
  return Component(`${pascal(name)}JobItem`, {
    index: Field(Type.Integer({ minimum: 0 }), "Its place among the submitted items, from 0", 0),
    kind: Field(Type.Literal(name), "What the items of the job are"),
    status: Field(Type.Enum([...ITEM_STATUSES]), "What has become of it"),
    input: Field(
      someOf({ ...item.properties, ...shared?.properties }),
      "As it was submitted, without defaults and unknown fields",
      item_example,
    ),
    result: Field(
      Nullable(result),
      "The answer of the single endpoint; null while unfinished or unavailable",
    ),
    error: Field(
      itemErrorCode(pascal(name), errors.names, errors.patterns),
      "The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now",
    ),
  });
}

/** An object with any of these properties. */
const someOf = (properties: Readonly<Record<string, TSchema>>): TSchema =>
  Type.Unsafe<object>({ type: "object", properties });
