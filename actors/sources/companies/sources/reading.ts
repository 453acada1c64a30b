/** Reads the JSON answers of sources: what is no JSON, or JSON of another shape, is a failure with a reason. Pure. */
import { type Static, type TSchema, Type } from "typebox";
import { compiled } from "../../../../cluster/contracts/compiled.ts";
import type { SourceFailure, SourceResponse } from "../source.ts";

/** A field that a source may leave out or send as null. */
export const maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
export const maybeText = maybe(Type.String());

export const failure = (
  error: string,
  message: string,
  retry_after_s: number | null = null,
): SourceFailure => ({ kind: "failed", error, message, retry_after_s });

/** The failure for a status that the source should not have answered with. */
export const statusFailure = ({ status, document }: SourceResponse): SourceFailure =>
  failure(`http_${status}`, `${document.url} answered with status ${status}`);

export type Reading<Value> = { readonly kind: "read"; readonly value: Value } | SourceFailure;

/**
 * Makes a reader of documents of one shape. The schema has only the fields that the parser reads, so a new field is no
 * drift; one of another type, or a missing one that is required, is.
 */
export function jsonReader<Schema extends TSchema>(
  schema: Schema,
): (response: Pick<SourceResponse, "body" | "document">) => Reading<Static<Schema>> {
  const validator = compiled(schema);
  return ({ body, document }) => {
    let value: unknown;
    try {
      value = JSON.parse(body.toString("utf8"));
    } catch {
      const what = /^\s*</.test(body.subarray(0, 256).toString("latin1")) ? "a page" : "broken JSON";
      return failure("unreadable", `${document.url} answered with ${what} instead of JSON`);
    }
    if (validator.check(value)) return { kind: "read", value: value as Static<Schema> };
    const [first] = validator.errors(value);
    return failure(
      "schema_drift",
      `${document.url} answered with JSON of another shape: ${first?.instancePath || "/"} ${first?.message ?? ""}`.trim(),
    );
  };
}
