/** `x-codeSamples` of an operation: a request that works as it is where its identifiers exist, made of the examples that the document has. */
import type { TSchema } from "typebox";
import type { Route } from "../route.ts";
import type { Node } from "./schemas.ts";

interface Sample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

const exampleOf = ({ examples, enum: words, default: preset, anyOf = [] }: Node): unknown =>
  examples?.[0] ?? words?.[0] ?? preset ?? anyOf.map(exampleOf).find((one) => one !== undefined);

function textOf(schema: Node): string {
  const example = exampleOf(schema);
  return typeof example === "string" ? example : JSON.stringify(example ?? "");
}

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function codeSamples(
  route: Route,
  public_url: string,
  field: (name: string, schema: TSchema) => Node,
): readonly Sample[] {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(textOf(field(name, route.params!.properties[name]!))),
  );
  const required = (route.query?.required ?? []).filter(
    (name) => !("default" in route.query!.properties[name]!),
  );
  const query = new URLSearchParams([
    ...required.map((name): [string, string] => [name, textOf(field(name, route.query!.properties[name]!))]),
    ...Object.entries(route.query_example ?? {}),
  ]).toString();
  const address = `${public_url.replace(/(?<!\/)\/+$/, "")}${path}${query === "" ? "" : `?${query}`}`;
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
  return [{ lang: "Shell", label: "curl", source: parts.join(" \\\n  ") }];
}
