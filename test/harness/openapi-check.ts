/**
 * Holds answers to the service's own OpenAPI document: the status must be listed for the operation, and a JSON body
 * must fit the schema given for it, and so must each line of a stream. Requests that no operation answers (404, 405) are not its business.
 */
import { type XSchema, Compile } from "typebox/schema";

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly content_type: string | null;
  readonly bytes: Buffer;
}

const LINES_TYPE = "application/x-ndjson";

/** The first difference from the document, as a sentence; null: none. */
export type Check = (answered: Answered) => string | null;

export function openapiCheck(document: Document): Check {
  const schemas = document.components.schemas;
  const compiled = new Map<object, (value: unknown) => boolean>();
  const paths = Object.keys(document.paths)
    .map((path) => ({ path, fits: new RegExp(`^${path.replace(/\{[^}]+\}/g, "[^/]+")}$`) }))
    // A literal segment beats a parameter, and a parameter with more behind it one with less.
    .toSorted(
      (a, b) => Number(a.path.includes("{")) - Number(b.path.includes("{")) || b.path.length - a.path.length,
    );

  function fits(schema: object, value: unknown): boolean {
    let check = compiled.get(schema);
    if (!check) {
      const whole = Compile(inlined(schema, schemas) as XSchema);
      check = (one) => whole.Check(one);
      compiled.set(schema, check);
    }
    return check(value);
  }

  return ({ method, path, status, content_type, bytes }) => {
    const place = paths.find((one) => one.fits.test(path.split("?", 1)[0]!));
    const operation = place && document.paths[place.path]![method.toLowerCase()];
    if (!operation) return null;
    const reply = operation.responses[String(status)];
    const what = `${status} of ${method} ${place.path}`;
    if (!reply) return `${what} is not in the document`;
    const media = reply.content && Object.entries(reply.content)[0];
    if (!media || method === "HEAD") return bytes.length === 0 ? null : `${what} has a body, and should not`;
    if (content_type === LINES_TYPE && LINES_TYPE in reply.content!) {
      const { schema } = reply.content![LINES_TYPE]!;
      const odd = bytes
        .toString()
        .split("\n")
        .find((line) => line !== "" && !fits(schema, JSON.parse(line)));
      return odd === undefined ? null : `${what} has a line that does not fit: ${odd.slice(0, 500)}`;
    }
    if (media[0] !== "application/json") return null;
    const other = content_type?.split(";", 1)[0] ?? "";
    if (other !== "application/json" && other in reply.content!) return null;
    if (content_type !== "application/json") return `${what} is ${content_type}, not application/json`;
    const value: unknown = JSON.parse(bytes.toString());
    return fits(media[1].schema, value)
      ? null
      : `${what} does not fit its schema: ${bytes.toString().slice(0, 500)}`;
  };
}

/** The schema with its references written out; there are no circles. */
function inlined(schema: unknown, named: Readonly<Record<string, object>>): unknown {
  if (Array.isArray(schema)) return schema.map((part) => inlined(part, named));
  if (typeof schema !== "object" || schema === null) return schema;
  const reference = (schema as { $ref?: string }).$ref;
  if (reference !== undefined) return inlined(named[reference.replace("#/components/schemas/", "")], named);
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, inlined(part, named)]));
}
