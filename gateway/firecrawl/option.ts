/** An option of a body of theirs: its type, what it does here, and what it becomes. A body with an unknown option is refused, as theirs is. */
import type { Static, TSchema } from "typebox";
import { mistakesText } from "../mcp/tool-errors.ts";
import { type ReadResult, shape } from "../validate.ts";
import { badRequest, notServed } from "./errors.ts";

/** Fields of a body of this API. */
export type Ours = Readonly<Record<string, unknown>>;
export type Given = Readonly<Record<string, unknown>>;

export interface Option {
  /** Effect of the option here, as `docs/api/firecrawl.md` has it. */
  readonly does: string;
  readonly read: (value: unknown) => ReadResult<any>;
  /** Throws Refused. */
  readonly take: (value: any) => Ours;
}
export type Options = Readonly<Record<string, Option>>;

export function option<S extends TSchema>(
  schema: S,
  does: string,
  take: (value: Static<S>) => Ours = () => ({}),
): Option {
  const { read } = shape(schema);
  return { does, take, read: (value) => read("body", value) };
}

/** An option that this service does not serve. Their clients send many options with the value that wishes nothing: it is taken. */
export const refused = (
  sentence: string,
  wishesNothing: (value: unknown) => boolean = (value) => value === false,
): Option => ({
  does: `refused: ${sentence}`,
  read: (value) => ({ kind: "read", value }),
  take(value) {
    if (wishesNothing(value)) return {};
    throw notServed(sentence);
  },
});

/** The fields of this API that the options become. Throws Refused. */
export function taken(options: Options, body: Given): Record<string, unknown> {
  const ours: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    if (!Object.hasOwn(options, name))
      throw badRequest(`Bad Request: Unrecognized option ${JSON.stringify(name)}`);
    const { read, take } = options[name]!;
    const result = read(value);
    if (result.kind === "wrong") {
      const detail = result.detail.map(({ loc, msg }) => ({ loc: ["body", name, ...loc.slice(1)], msg }));
      throw badRequest(`Bad Request: ${mistakesText(detail)}`);
    }
    Object.assign(ours, take(result.value));
  }
  return ours;
}
