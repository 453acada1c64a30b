/**
 * Additions of a slice to the OpenAPI document beside its routes: names of schemas, sentences and examples for their fields, tags. Parts
 * are merged in the order of the slices.
 */
import type { TSchema } from "typebox";

/**
 * A field in the API reference: a sentence, with an example where none follows from the schema (`exampleOf` in schemas.ts).
 * A null sentence: the schema has it.
 */
export type FieldDoc = string | readonly [description: string | null, example: unknown];

/** By schema or operation, then by field or parameter. `ANY` holds names that mean the same wherever they stand. */
export type FieldDocs = Readonly<Record<string, Readonly<Record<string, FieldDoc>>>>;
export const ANY = "*";

export interface ApiReference {
  /** Tags of operations, each with a sentence. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Names of schemas. Other objects are named after the place where they stand. */
  readonly schemas?: Readonly<Record<string, TSchema>>;
  readonly fields?: FieldDocs;
}

/** Throws TypeError for a name that two parts give to different schemas. */
export function mergeReferences(parts: readonly ApiReference[]): Required<ApiReference> {
  const tags: Record<string, string> = {};
  const schemas: Record<string, TSchema> = {};
  const fields: Record<string, Record<string, FieldDoc>> = {};
  for (const part of parts) {
    Object.assign(tags, part.tags);
    for (const [name, schema] of Object.entries(part.schemas ?? {})) {
      if (schemas[name] !== undefined && schemas[name] !== schema)
        throw new TypeError(`Cannot name a schema "${name}": another schema has the name`);
      schemas[name] = schema;
    }
    for (const [scope, docs] of Object.entries(part.fields ?? {})) {
      fields[scope] = { ...fields[scope], ...docs };
    }
  }
  return { tags, schemas, fields };
}
