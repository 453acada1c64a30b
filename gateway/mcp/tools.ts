/** All tools, and what is done for each of them: arguments checked, the answer cut to the model's budget, errors in words. */
import { type TObject, Type } from "typebox";
import { type Shape, shape } from "../validate.ts";
import { cut, estimateTokens } from "./budget.ts";
import { decodeCursor, digestOf, encodeCursor } from "./cursor.ts";
import { COMPANY_TOOLS } from "./tools/companies.ts";
import { FILING_TOOLS } from "./tools/filings.ts";
import { JOB_TOOLS } from "./tools/jobs.ts";
import { WEB_TOOLS } from "./tools/web.ts";
import { mistakesText } from "./tool-errors.ts";
import { type ToolText, type Tool, ToolError, type ToolContext } from "./tool.ts";

/** Claude Code warns at 10,000 tokens of an answer and delivers none above 25,000. */
const TOKENS_DEFAULT = 8_000;
const TOKENS_CEILING = 20_000;
const MIN_TOKENS = 200;
/** For the notice that an answer was cut. */
const NOTICE_TOKENS = 120;

const MaxTokens = Type.Optional(
  Type.Integer({
    minimum: MIN_TOKENS,
    maximum: TOKENS_CEILING,
    default: TOKENS_DEFAULT,
    description: "The answer's size",
  }),
);

const READ_MORE_INPUT = Type.Object({
  cursor: Type.String({ minLength: 1, maxLength: 20_000 }),
  max_tokens: MaxTokens,
});

/** A tool as it is listed for the model. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly openWorldHint: true;
    readonly destructiveHint?: false;
    readonly idempotentHint?: true;
  };
}

export interface ToolAnswer {
  readonly content: { readonly type: "text"; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: true;
}

interface Prepared {
  readonly input: TObject;
  readonly args: Shape<unknown>;
}

const prepared = (input: TObject): Prepared => ({ input, args: shape(input) });

const READS: readonly Tool[] = [...WEB_TOOLS, ...COMPANY_TOOLS, ...FILING_TOOLS, ...JOB_TOOLS];

const PREPARED: ReadonlyMap<string, Prepared & { readonly tool: Tool }> = new Map(
  READS.map((tool) => {
    const input = Type.Object(
      { ...tool.input.properties, max_tokens: MaxTokens },
      { additionalProperties: false },
    );
    return [tool.name, { tool: { ...tool, input }, ...prepared(input) }];
  }),
);
const readMoreArgs = prepared(READ_MORE_INPUT);

const READ_MORE = {
  name: "read_more",
  title: "Go on reading",
  description: "The next part of an answer that was cut, by its cursor.",
  input: READ_MORE_INPUT,
  is_read_only: true,
};

const listed = ({ name, title, description, input, is_read_only }: Omit<Tool, "tell">): ListedTool => ({
  name,
  title,
  description,
  inputSchema: JSON.parse(JSON.stringify(input satisfies TObject)),
  annotations: {
    readOnlyHint: is_read_only,
    openWorldHint: true,
    ...(!is_read_only && { destructiveHint: false, idempotentHint: true }),
  },
});

export const TOOLS: readonly ListedTool[] = [
  ...[...PREPARED.values()].map(({ tool }) => listed(tool)),
  listed(READ_MORE),
];

export const hasTool = (name: string): boolean => PREPARED.has(name) || name === READ_MORE.name;

/** Never throws: what goes wrong is the answer, in words that say what to try. */
export async function callTool(
  name: string,
  args: Record<string, unknown>,
  context: Omit<ToolContext, "is_continued">,
): Promise<ToolAnswer> {
  try {
    return name === READ_MORE.name ? await readMore(args, context) : await begin(name, args, context);
  } catch (problem) {
    const { code, message } =
      problem instanceof ToolError
        ? problem
        : {
            code: "internal_error",
            message: "The service failed at this call. Try it once more, then tell the user.",
          };
    return { content: [{ type: "text", text: message }], structuredContent: { error: code }, isError: true };
  }
}

async function begin(
  name: string,
  args: Record<string, unknown>,
  context: Omit<ToolContext, "is_continued">,
): Promise<ToolAnswer> {
  const { max_tokens = TOKENS_DEFAULT, ...own } = checked(PREPARED.get(name)!, args) as {
    max_tokens?: number;
  };
  const told = await tell(name, own, { ...context, is_continued: false });
  return partOf(told, { tool: name, args: own, offset: 0 }, max_tokens);
}

async function readMore(
  args: Record<string, unknown>,
  context: Omit<ToolContext, "is_continued">,
): Promise<ToolAnswer> {
  const { cursor, max_tokens = TOKENS_DEFAULT } = checked(readMoreArgs, args) as {
    cursor: string;
    max_tokens?: number;
  };
  const place = decodeCursor(cursor);
  const cutTool = place && PREPARED.get(place.tool);
  if (!place || !cutTool?.tool.is_read_only || !cutTool.args.fits(place.args))
    throw new ToolError(
      "invalid_cursor",
      "This is no cursor of an answer. Call the tool of the first part again.",
    );
  const told = await tell(place.tool, place.args, { ...context, is_continued: true });
  if (digestOf(told.markdown) !== place.digest)
    throw new ToolError(
      "changed",
      `The content has changed since its first part was read. Call ${place.tool} again with the same arguments.`,
    );
  return partOf(told, place, max_tokens);
}

const tell = (name: string, args: object, context: ToolContext): Promise<ToolText> =>
  PREPARED.get(name)!.tool.tell(args, context);

function checked({ input, args }: Prepared, value: Record<string, unknown>): unknown {
  const unknown = Object.keys(value).filter((name) => !(name in input.properties));
  if (unknown.length > 0)
    throw new ToolError(
      "invalid_arguments",
      `Unknown: ${unknown.join(", ")}. The arguments are ${Object.keys(input.properties).join(", ")}.`,
    );
  const read = args.read("body", value);
  if (read.kind === "read") return read.value;
  throw new ToolError(
    "invalid_arguments",
    `${mistakesText(read.detail)}. Change the arguments and call again.`,
  );
}

function partOf(
  { head, markdown, facts }: ToolText,
  {
    tool,
    args,
    offset,
  }: { readonly tool: string; readonly args: Record<string, unknown>; readonly offset: number },
  max_tokens: number,
): ToolAnswer {
  const above = head === undefined ? "" : `${head}\n\n`;
  const { part, next } = cut(markdown, offset, max_tokens - NOTICE_TOKENS - estimateTokens(above));
  const cursor =
    next === null ? null : encodeCursor({ tool, args, offset: next, digest: digestOf(markdown) });
  const notice =
    cursor &&
    `\n\n---\n[Cut here: ${part.length} of ${markdown.length} characters shown from ${offset} on, about ${estimateTokens(markdown.slice(next!))} tokens follow. Go on with read_more and this cursor: ${cursor}]`;
  return {
    content: [{ type: "text", text: above + part + (notice ?? "") }],
    structuredContent: { ...facts, cursor },
  };
}
