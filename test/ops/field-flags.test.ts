/** Flags of trawl fetch, search and batch: those of the fields of their requests. */
import { Command } from "commander";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { batchCommand } from "../../ops/commands/batch.ts";
import type { Context } from "../../ops/commands/context.ts";
import { fetchCommand } from "../../ops/commands/fetch.ts";
import { fieldFlags, givenFields, withFlags } from "../../ops/commands/field-flags.ts";
import { searchCommand } from "../../ops/commands/search.ts";
import { Field, Nullable } from "../../schemas/common.ts";
import { PageSelector } from "../../schemas/css-selector.ts";
import { FetchBody } from "../../schemas/fetch.ts";
import { SearchBody } from "../../schemas/search.ts";

const NO_CONTEXT = {} as Context;
const helpOf = (command: Command): string =>
  command.configureHelp({ helpWidth: 1_000 }).helpInformation().replaceAll(/\s+/g, " ");

describe("the flags", () => {
  /** The flag of a field that has another form than its name. */
  const OWN_FORMS: Readonly<Record<string, string>> = {
    url: "<url>",
    query: "<query...>",
    include_html: "--html",
    formats: "--markdown",
    screenshot_options: "--full-page",
    wait_for: "--wait-for <what>",
    allow_premium: "--no-paid",
  };
  const sentence = (schema: object): string =>
    (schema as { readonly description: string }).description.replaceAll("`", "");

  test.each([
    ["fetch", fetchCommand, FetchBody.properties],
    ["search", searchCommand, SearchBody.properties],
  ] as const)(
    "of trawl %s are all fields of its request, each with its sentence",
    (_, command, properties) => {
      const help = helpOf(command(NO_CONTEXT));
      const missing = Object.entries(properties).flatMap(([field, schema]) =>
        help.includes(OWN_FORMS[field] ?? sentence(schema).slice(1)) ? [] : [field],
      );
      expect(missing).toEqual([]);
    },
  );

  test("of trawl batch are those of both kinds of items", () => {
    const help = helpOf(batchCommand(NO_CONTEXT));
    for (const flag of [
      "--render <word>",
      "--formats <list>",
      "--wait-for <json>",
      "--max <number>",
      "--no-pdf",
    ])
      expect(help).toContain(flag);
  });

  test("have one for an option that is added to the schema", () => {
    const body = {
      properties: {
        ...FetchBody.properties,
        only_new: Type.Optional(Field(Type.Boolean({ default: false }), "Whether it is new")),
      },
    };
    const command = withFlags(new Command("fetch"), fieldFlags(body, []));
    expect(helpOf(command)).toContain("--only-new whether it is new");
  });
});

describe("what is given", () => {
  const FLAGS = fieldFlags(
    Type.Object({
      allow_archive: Type.Optional(Field(Type.Boolean({ default: true }), "Archived copies")),
      deep: Type.Optional(Field(Type.Boolean({ default: false }), "Deep")),
      mode: Type.Optional(Field(Nullable(Type.Enum(["a", "b"])), "The mode")),
      kinds: Type.Optional(Field(Nullable(Type.Array(Type.Enum(["x", "y"]))), "Kinds")),
      wait_s: Type.Optional(Field(Nullable(Type.Number({ minimum: 5, maximum: 150 })), "The wait")),
      depth: Type.Optional(Field(Type.Integer({ minimum: 1, maximum: 9, default: 2 }), "The depth")),
      label: Type.Optional(Field(Nullable(Type.String()), "A label")),
      area: Type.Optional(Field(Type.Object({ x: Type.Integer() }), "An area")),
      whole: Type.Optional(Field(Nullable(Type.Boolean()), "Whole, or as it comes")),
      part_selectors: Type.Optional(Field(Nullable(Type.Array(PageSelector)), "Parts")),
    }),
    [],
  );
  const parsed = (...words: string[]) => {
    const command = withFlags(new Command("c"), FLAGS)
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    return givenFields(FLAGS, command.parse(words, { from: "user" }).opts());
  };

  test("is nothing without flags: the service has its own defaults", () => {
    expect(parsed()).toEqual({});
  });

  test.each<[string[], object]>([
    [["--no-archive"], { allow_archive: false }],
    [["--deep"], { deep: true }],
    [["--mode", "b"], { mode: "b" }],
    [["--kinds", "x, y"], { kinds: ["x", "y"] }],
    [["--wait", "7.5"], { wait_s: 7.5 }],
    [["--depth", "3"], { depth: 3 }],
    [["--label", "3"], { label: "3" }],
    [["--area", '{"x":1}'], { area: { x: 1 } }],
    [["--whole=false"], { whole: false }],
    [["--whole"], { whole: true }],
    [["--part", "a, b", "--part", ".c"], { part_selectors: ["a, b", ".c"] }],
  ])("%j is the field %j", (words, field) => {
    expect(parsed(...words)).toEqual(field);
  });

  test.each([
    [["--mode", "c"], "Allowed choices are a, b"],
    [["--kinds", "x,z"], '"z" is none of x, y'],
    [["--wait", "4"], "Not a number of seconds from 5 to 150"],
    [["--depth", "1.5"], "Not a whole number from 1 to 9"],
    [["--area", "1"], "Not a JSON object"],
    [["--whole=no"], "Neither true nor false"],
  ])("%j is refused", (words, sentence) => {
    expect(() => parsed(...words)).toThrow(sentence);
  });
});
