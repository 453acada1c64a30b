/** Their format `attributes`: values of attributes by selectors, as rules of `extract` whose names say which selector they are of. */
import { Type } from "typebox";
import { option, type Options } from "./option.ts";

interface AttributeRule {
  readonly selector: string;
  readonly attribute: string;
}

const NAME = /^attribute_\d+$/;

export const ATTRIBUTES: Options = {
  type: option(Type.Literal("attributes"), "the format"),
  selectors: option(
    Type.Array(
      Type.Object({ selector: Type.String({ minLength: 1 }), attribute: Type.String({ minLength: 1 }) }),
      { minItems: 1, maxItems: 100 },
    ),
    "`extract.fields`",
    (selectors) => ({
      extract: {
        fields: Object.fromEntries(
          selectors.map(({ selector, attribute }, n) => [
            `attribute_${n}`,
            { selector, attribute, many: true },
          ]),
        ),
      },
    }),
  ),
};

/** `fields`: of the `extract` that was asked for; `data`: what it gave. Null: none of them is theirs. */
export function attributesOf(
  fields: Readonly<Record<string, AttributeRule>> | undefined,
  data: Readonly<Record<string, unknown>> | null | undefined,
): readonly object[] | null {
  const theirs = Object.entries(fields ?? {}).filter(([name]) => NAME.test(name));
  if (theirs.length === 0) return null;
  return theirs.map(([name, { selector, attribute }]) => ({
    selector,
    attribute,
    // As theirs: an element without the attribute has no value.
    values: ((data?.[name] ?? []) as readonly unknown[]).filter((value) => value !== null),
  }));
}
