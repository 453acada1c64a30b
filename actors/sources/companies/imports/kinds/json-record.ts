/**
 * Records of files that are JSON documents of one shape: the same shape that the source's API answers with. The tuple has one place, the
 * document with the fields that the adapter reads, in the schema's order. Pure.
 */
import type { Static, TSchema } from "typebox";
import { compiled } from "../../../../../cluster/contracts/compiled.ts";
import type { Json } from "../../claim.ts";
import type { ReadRecord, Tuple } from "../import-kind.ts";

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly type?: string;
}

const typeOf = (value: Json): string =>
  Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0);

/** Only what the schema names, without what is empty. */
function pruned(shape: Shape, value: Json): Json {
  if (shape.anyOf !== undefined) {
    const fits = shape.anyOf.find(({ type }) => type === typeOf(value));
    return fits === undefined ? value : pruned(fits, value);
  }
  if (Array.isArray(value) && shape.items !== undefined)
    return value.filter((item) => !isEmpty(item)).map((item) => pruned(shape.items!, item));
  if (typeOf(value) !== "object" || shape.properties === undefined) return value;
  const fields: [string, Json][] = [];
  for (const [name, part] of Object.entries(shape.properties)) {
    const field = (value as { readonly [name: string]: Json })[name];
    if (isEmpty(field)) continue;
    const kept = pruned(part, field!);
    if (!isEmpty(kept)) fields.push([name, kept]);
  }
  return Object.fromEntries(fields);
}

/** Reads a record under the number that `keyOf` finds in it; null: it has no number of the scheme. */
export function documentReader<Schema extends TSchema>(
  schema: Schema,
  scheme: string,
  keyOf: (document: Static<Schema>) => string | null,
): (record: Json) => ReadRecord {
  const validator = compiled(schema);
  return (record) => {
    if (!validator.check(record)) return { kind: "bad", reason: "shape" };
    const document = pruned(schema as unknown as Shape, record as Json);
    const key = keyOf(document as Static<Schema>);
    return key === null ? { kind: "bad", reason: scheme } : { kind: "row", key, tuple: [document] };
  };
}

export const documentOf = (tuple: Tuple): unknown => tuple[0];
