/**
 * `x-codeSamples` of an operation: a request that works as it is where its identifiers exist, made of the examples that the document
 * has, in curl and as a call of the clients that have the operation.
 */
import type { TObject, TSchema } from "typebox";
import type { Route } from "../route.ts";
import { clientSamples } from "./client-samples.ts";
import type { Node } from "./schemas.ts";

const exampleOf = ({ examples, enum: words, default: preset, anyOf = [] }: Node): unknown =>
  examples?.[0] ?? words?.[0] ?? preset ?? anyOf.map(exampleOf).find((one) => one !== undefined);

const textOf = (example: unknown): string =>
  typeof example === "string" ? example : JSON.stringify(example ?? "");

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function codeSamples(
  route: Route,
  public_url: string,
  field: (name: string, schema: TSchema) => Node,
): readonly { readonly lang: string; readonly label: string; readonly source: string }[] {
  const examples = (shape: TObject | null, names: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, exampleOf(field(name, shape!.properties[name]!))]));
  const params = examples(route.params, Object.keys(route.params?.properties ?? {}));
  const required = (route.query?.required ?? []).filter(
    (name) => !("default" in route.query!.properties[name]!),
  );
  const asked = { ...examples(route.query, required), ...route.query_example };
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(textOf(params[name])),
  );
  const query = new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, textOf(value)]),
  ).toString();
  const address = `${public_url}${path}${query === "" ? "" : `?${query}`}`;
  const method =
    route.method === "GET" || (route.method === "POST" && route.body) ? "" : ` -X ${route.method}`;
  const [type = "application/json"] = Object.keys(route.body_content ?? {});
  const { body_example: body } = route;
  const parts = [
    `curl${route.method === "HEAD" ? " -I" : method} ${quoted(address)}`,
    ...(route.auth === "key" ? ['-H "Authorization: Bearer $TRAWL_KEY"'] : []),
    ...(body === undefined
      ? []
      : [
          `-H ${quoted(`Content-Type: ${type}`)}`,
          `--data-raw ${quoted(typeof body === "string" ? body : JSON.stringify(body))}`,
        ]),
  ];
  const fields = { ...params, ...asked, ...(typeof body === "object" && body) };
  const calls = clientSamples(route.operationId, public_url, fields);
  return [
    { lang: "Shell", label: "curl", source: parts.join(" \\\n  ") },
    ...(calls
      ? [
          { lang: "TypeScript", label: "@trawl/client", source: calls.in_typescript },
          { lang: "Python", label: "trawl-client", source: calls.in_python },
        ]
      : []),
  ];
}
