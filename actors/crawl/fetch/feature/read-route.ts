/**
 * GET /v1/read/{address}: the body of a fetch from an address and a query. The address stands in the path as it is, then the query is
 * its own but for the options of a fetch; or percent-encoded, then all of the query is options.
 */
import { type TProperties, type TSchema, Type } from "typebox";
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";
import { type Mistake, queryReader, type ReadResult, shape } from "../../../../gateway/validate.ts";
import { Field } from "../../../../schemas/common.ts";
import { type UnknownName, unknownParameters } from "../../../../gateway/unknown-names.ts";
import { wordsOf } from "../../../../gateway/words.ts";
import { DomainBusy, FetchBody, FetchResponse } from "../../../../schemas/fetch.ts";
import { unescaped } from "../../../lib/web/url.ts";
import { type Forms, MARKDOWN, MARKDOWN_FIRST } from "./markdown-reply.ts";

interface Node {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
}

/** A GET asks a page with GET, and what the caller gives of its own request has no place in an address. */
const LEFT_OUT: ReadonlySet<string> = new Set(["url", "method", "body", "cache_private"]);
const TEXT_TYPES: ReadonlySet<string | undefined> = new Set(["string", "integer", "number", "boolean"]);

/** An address that a proxy has written with one slash is the same. */
const PLAIN = /^(https?):\/\/?(?=[^/])/i;

const valueOf = (node: Node): Node => node.anyOf?.find(({ type }) => type !== "null") ?? node;
const isText = ({ type, enum: words }: Node): boolean => words !== undefined || TEXT_TYPES.has(type);
const isList = ({ type, items }: Node): boolean => type === "array" && items !== undefined && isText(items);

/** The options that a text, or several of them, can give. */
const READ_QUERY = Type.Object(
  Object.fromEntries(
    Object.entries(FetchBody.properties as TProperties).filter(([name, schema]) => {
      const node = valueOf(schema as Node);
      return !LEFT_OUT.has(name) && (isText(node) || isList(node));
    }),
  ),
);

/** Lists of words take them with commas between; a comma within a selector is part of it. */
const WORD_LISTS: ReadonlySet<string> = new Set(
  Object.entries(READ_QUERY.properties).flatMap(([name, schema]) =>
    valueOf(schema as Node).items?.enum ? [name] : [],
  ),
);

const readOptions = queryReader(READ_QUERY as TSchema);
const fetchBody = shape(FetchBody);

function readAddress(
  { address: written = "" }: Readonly<Record<string, string>>,
  query: string,
): { readonly body: ReadResult<unknown>; readonly unknown: readonly UnknownName[] } {
  const isPlain = PLAIN.test(written);
  const parts = query.split("&").filter((part) => part !== "");
  const [options, own] = isPlain ? partedBy(parts, isOption) : [parts, []];
  const read = readOptions(options.flatMap(withoutCommas).join("&"));
  const unknown = isPlain ? [] : unknownParameters(READ_QUERY, query);
  if (read.kind === "wrong") return { body: read, unknown };
  const address = isPlain ? written.replace(PLAIN, "$1://") : unescaped(written);
  const url = own.length === 0 ? address : `${address}?${own.join("&")}`;
  const body = fetchBody.read("path", { ...(read.value as object), url });
  return { body: body.kind === "read" ? body : { ...body, detail: body.detail.map(inPath) }, unknown };
}

const inPath = (mistake: Mistake): Mistake =>
  mistake.loc[1] === "url" ? { ...mistake, loc: ["path", "address"] } : mistake;

function partedBy<T>(
  all: readonly T[],
  isFirst: (each: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

const nameOf = (part: string): string => new URLSearchParams(part).keys().next().value ?? "";
const isOption = (part: string): boolean => Object.hasOwn(READ_QUERY.properties, nameOf(part));

function withoutCommas(part: string): readonly string[] {
  const name = nameOf(part);
  if (!WORD_LISTS.has(name)) return [part];
  return wordsOf(new URLSearchParams(part).get(name)!).map(
    (word) => `${encodeURIComponent(name)}=${encodeURIComponent(word)}`,
  );
}

export const FETCH_BUSY = {
  description: "`domain_busy`: the expected wait for a polite slot is too long for a synchronous call",
  schema: DomainBusy,
  headers: { "Retry-After": "Seconds until a slot is expected" },
};

export interface ReadDeps {
  readonly handle: (call: Call<null, null, FetchBody>, forms: Forms) => Promise<Answer>;
  /** The caller may not send this User-Agent; null: it may. */
  readonly refusal: (body: FetchBody, caller: Caller) => Reply | null;
}

export const readRoute = ({ handle, refusal }: ReadDeps): Route =>
  route({
    method: "GET",
    path: "/v1/read/{address}",
    operationId: "read",
    summary: "Read a page as Markdown",
    description:
      "`address` is the absolute address of the page, as it is or percent-encoded. As it is, parameters of the query are its own, but for those " +
      "that are named here; percent-encoded, all of the query is options. Lists take several parameters of one name, lists of words also " +
      "commas. The answer to a page that could not be fetched, or has no text, is that of a fetch, as JSON; `Accept: application/json` has it always.",
    tags: ["fetch"],
    params: Type.Object({ address: Field(Type.String(), "The page", "https://example.org/") }),
    query: READ_QUERY,
    rest: true,
    readAddress,
    category: "fetch",
    replies: {
      200: {
        description: "The text of the page; or in `error` of the JSON the reason why there is none",
        schema: FetchResponse,
        also: [MARKDOWN],
      },
      503: FETCH_BUSY,
    },
    authorize_errors: ["user_agent_not_allowed"],
    authorize: (call) => refusal(fetchCall(call).body, call.caller),
    handle: (call) => handle(fetchCall(call), MARKDOWN_FIRST),
  });

/** `readAddress` made the body. */
const fetchCall = (call: Omit<Call, "body">) => call as unknown as Call<null, null, FetchBody>;
