/**
 * POST /v1/batch/<kind>: stores a body, JSON or CSV, as a job, completely or not at all. Every item is validated before anything is
 * written. The document under the idempotency key is the commit: the request that inserts it has created the job, and a
 * second request with the same key is answered with that job. The items run in actors/work/jobs/.
 */
import { type Static, type TObject, type TSchema, Type } from "typebox";
import { yieldToEventLoop } from "../cluster/ports/clock.ts";
import type { QuotaCategory } from "../schemas/accounts.ts";
import { Field, Nullable, Patterned } from "../schemas/common.ts";
import {
  CHUNK_ITEMS,
  MAX_JOB_ITEMS,
  JobCompletion,
  JobCreated,
  MaxCostUsd,
  type JobItem,
  type JobKind,
} from "../schemas/jobs.ts";
import type { Input } from "../schemas/job-inputs.ts";
import { jobWebhook } from "../schemas/job-webhook.ts";
import type { Caller } from "./authenticate.ts";
import type { CsvCell } from "./csv-lines.ts";
import { createCallersJob, type CreateJobDeps, mistakeInMaxCost, storeItems } from "./create-job.ts";
import type { Reply } from "./http.ts";
import { eventCallbacks, type JobEventShapes, type JobWebhooks } from "./job-webhooks.ts";
import { csvItems, type ReadCsv } from "./csv-items.ts";
import { DuplicateKey, malformedAt, type Scanned, scanItems } from "./json-array-scanner.ts";
import { invalid, tooLarge } from "./http-errors.ts";
import { Detail } from "./openapi/gateway-reference.ts";
import { type Call, type Route, route } from "./route.ts";
import { givenTwice, type Mistake, MAX_MISTAKES, shape } from "./validate.ts";
import { unknownFields } from "./unknown-names.ts";
import { refusedNames } from "./warnings.ts";
import { wordsOf } from "./words.ts";

/** A field and what is wrong with it. `type`: default value_error. */
export interface ItemMistake {
  readonly field: string;
  readonly message: string;
  readonly type?: string;
}

/** The gateway's half of a kind of items; schemas/jobs.ts describes both halves. */
export interface BatchKind {
  readonly name: JobKind;
  /** The schema of an item as it may be submitted: the body of the single endpoint. */
  readonly item: TObject;
  /** An item for the API reference. */
  readonly item_example: Input;
  /** Schema of the result of `render`, for the API reference. */
  readonly result: TSchema;
  /** The codes of an item's `error`, and patterns of those with a status, for the API reference. */
  readonly errors: { readonly names: readonly string[]; readonly patterns?: readonly string[] };
  readonly category?: QuotaCategory;
  /** Fields of the whole job that every item is stored with. */
  readonly shared?: TObject;
  /** The part of a valid item of this caller that is stored. Default: its known fields, without those that equal their default. */
  readonly normalize?: (item: Input, caller: Caller) => Input;
  /** Checks that a schema cannot express: the field and its mistake, or null. `shared`: the job's own fields. */
  readonly check?: (item: Input, shared: Input) => ItemMistake | null;
  /** Begins the checks of one request against what is stored: of an item that passed `check` the mistake, or null. Throws Fault. */
  readonly checkStored?: (caller: Caller) => (item: Input) => Promise<ItemMistake | null> | null;
  /** The input as it is shown in a job. Default: as it is. */
  readonly shown?: (input: Input) => Input;
  /** The refusal for an item that this caller may not submit, or null. */
  readonly authorize?: (item: Input, caller: Caller) => Reply | null;
  /** Columns of its results in CSV, after those that every kind has; default: input and result as JSON. */
  readonly csv?: {
    readonly columns: readonly string[];
    readonly rows: (input: Input, result: Input | null) => readonly (readonly CsvCell[])[];
  };
  /** All columns of its results in CSV, one row an item, instead of `csv`. */
  readonly csv_table?: {
    readonly columns: readonly string[];
    readonly row: (item: JobItem) => readonly CsvCell[];
  };
  /** Jobs of this kind take `webhook`. Default: they do not. */
  readonly webhook?: {
    /** Its events are `<name>.page` and `<name>.completed`. */
    readonly name: "crawl" | "batch";
    readonly shapes: JobEventShapes;
    /** Fields of an item's event beside those of every kind; null: the item is no page. Default: each is, with nothing more. */
    readonly page?: (input: Input, answer: unknown) => object | null;
  };
  /** The bytes in memory while that response is made. Default: so few that they do not count. */
  readonly weigh?: (input: Input, answer: unknown) => number;
  /** The response of the single endpoint, made from the stored answer. Throws Fault. */
  readonly render: (
    input: Input,
    answer: unknown,
    reader: { readonly request_id: string; readonly external: boolean },
  ) => unknown;
}

export interface RouteNames {
  /** POST /v1/batch/<this> */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
}

/** An alias of the body's idempotency_key. */
export const IDEMPOTENCY_HEADER = "idempotency-key";
const TOO_MANY = `at most ${MAX_JOB_ITEMS} items per job`;

const jobFields = {
  idempotency_key: Field(
    Type.String({ minLength: 1, maxLength: 500 }),
    "Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header " +
      "Idempotency-Key has it.",
    "monday",
  ),
  callback_url: Type.Optional(
    Field(
      Nullable(
        Patterned("^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$", "Input should be an http or https URL", {
          maxLength: 2_048,
        }),
      ),
      "Where the job's end is told; null: nowhere",
      "https://client.example/jobs",
    ),
  ),
  max_cost_usd: Type.Optional(MaxCostUsd),
};
const webhookField = { webhook: jobWebhook };
type Head = Static<TObject<typeof jobFields & typeof webhookField>>;

/** The items of one request, however they came. */
interface SubmittedItems {
  readonly count: number;
  /** Throws SyntaxError for what is no JSON. */
  readonly read: (index: number) => unknown;
  /** How a mistake names the item. */
  readonly locOf: (index: number) => readonly (string | number)[];
  readonly malformed: (index: number) => Mistake;
}

interface JobCreator {
  /** Validates everything, then stores it. `head`: the fields around the items, which came in the body or the query. */
  readonly accept: (
    call: Call,
    items: SubmittedItems,
    head: unknown,
    place: "body" | "query",
  ) => Promise<Reply>;
}

/** The fields around the items. */
interface Around {
  readonly head: Head;
  /** The options that every item is stored with, without their defaults. */
  readonly shared: Input;
}

/** Reads the fields around the items; `around` is null when they do not fit their schema. */
function aroundReader(item: TObject, shared: TObject, webhooks: JobWebhooks | undefined) {
  const named = batchBody(item, shared, webhooks);
  const schema = Type.Object({
    items: Type.Array(Type.Unknown()),
    ...jobFields,
    ...(webhooks && webhookField),
    ...shared.properties,
  });
  const { read } = shape(schema);

  return (
    call: Call,
    count: number,
    given: unknown,
    place: "body" | "query",
  ): { readonly around: Around | null; readonly mistakes: readonly Mistake[] } => {
    const header_key = call.head.headers.get(IDEMPOTENCY_HEADER);
    const completed = withKey(given, header_key);
    const result = read(place, completed);
    if (result.kind === "wrong") {
      const isList = !result.detail.some(({ loc }) => loc.length === 1 || loc[1] === "items");
      const detail = isList && count === 0 ? [...result.detail, EMPTY] : result.detail;
      return { around: null, mistakes: completed === given ? detail : detail.map(inHeader) };
    }
    const head = result.value as Head;
    const { idempotency_key, callback_url, max_cost_usd } = head;
    const mistakes: Mistake[] =
      place === "body" ? [...refusedNames(unknownFields(named, given, ["body"]), call)] : [];
    if (header_key !== undefined && header_key !== idempotency_key) mistakes.push(TWO_KEYS);
    const cost_mistake = mistakeInMaxCost(max_cost_usd, call, place);
    if (cost_mistake !== null) mistakes.push(cost_mistake);
    if (callback_url != null && URL.parse(callback_url) === null)
      mistakes.push({ loc: [place, "callback_url"], ...NO_URL });
    const webhook_mistake = webhooks?.mistakeIn(head.webhook) ?? null;
    if (webhook_mistake !== null) mistakes.push(webhook_mistake);
    if (count === 0) mistakes.push(EMPTY);
    return { around: { head, shared: withoutDefaults(shared, result.value as Input) }, mistakes };
  };
}

function jobCreator(services: CreateJobDeps, kind: BatchKind, webhooks?: JobWebhooks): JobCreator {
  const { clock } = services;
  const itemShape = shape(kind.item);
  const shared = kind.shared ?? Type.Object({});
  const readAround = aroundReader(kind.item, shared, webhooks);
  const normalize = kind.normalize ?? ((item) => withoutDefaults(kind.item, item));

  /**
   * The 422 with the mistakes around the items and those of the items, or another refusal, or null. `sharedFields`: null when
   * they have mistakes, so that no item is checked against them.
   */
  async function validateItems(
    scanned: SubmittedItems,
    sharedFields: Input | null,
    call: Call,
    mistakesAround: readonly Mistake[],
  ): Promise<Reply | null> {
    const mistakes = [...mistakesAround];
    let refusal: Reply | null = null;
    const checkStored = kind.checkStored?.(call.caller);
    for (let index = 0; index < scanned.count && mistakes.length < MAX_MISTAKES; index++) {
      if (index % CHUNK_ITEMS === 0 && index > 0) await yieldToEventLoop(clock);
      const loc = scanned.locOf(index);
      let item: unknown;
      try {
        item = scanned.read(index);
      } catch (problem) {
        const isDuplicate = problem instanceof DuplicateKey;
        mistakes.push(isDuplicate ? givenTwice([...loc, ...problem.path]) : scanned.malformed(index));
        continue;
      }
      const read = itemShape.read("body", item);
      if (read.kind === "wrong") {
        const wrong = read.detail.map((mistake) => ({ ...mistake, loc: [...loc, ...mistake.loc.slice(1)] }));
        mistakes.push(...wrong.slice(0, MAX_MISTAKES - mistakes.length));
        continue;
      }
      const refused = refusedNames(unknownFields(kind.item, item, loc), call);
      mistakes.push(...refused.slice(0, MAX_MISTAKES - mistakes.length));
      const mistake =
        (sharedFields && kind.check?.(read.value as Input, sharedFields)) ??
        (await checkStored?.(read.value as Input));
      if (mistake)
        mistakes.push({
          loc: [...loc, mistake.field],
          msg: mistake.message,
          type: mistake.type ?? "value_error",
        });
      refusal ??= kind.authorize?.(read.value as Input, call.caller) ?? null;
    }
    return mistakes.length > 0 ? invalid(mistakes) : refusal;
  }

  const create = (call: Call, scanned: SubmittedItems, head: Head, sharedFields: Input): Promise<Reply> =>
    createCallersJob(
      services,
      call,
      head,
      {
        kind: kind.name,
        category: kind.category ?? null,
        total: scanned.count,
        has_webhook: head.webhook != null,
        max_cost_usd: head.max_cost_usd,
        async store(job_id) {
          await webhooks?.store(job_id, head.webhook, call);
          await storeItems(services, job_id, scanned.count, (index) => ({
            ...normalize(scanned.read(index) as Input, call.caller),
            ...sharedFields,
          }));
        },
      },
      webhooks?.begun,
    );

  return {
    async accept(call, items, given, place) {
      if (items.count > MAX_JOB_ITEMS) return tooLarge(TOO_MANY);
      const { around, mistakes } = readAround(call, items.count, given, place);
      const refusal = await validateItems(items, around?.shared ?? null, call, mistakes);
      if (refusal !== null || around === null) return refusal ?? invalid(mistakes);
      return create(call, items, around.head, around.shared);
    },
  };
}

export const HEADERS_READ = {
  "Idempotency-Key":
    "The same as the field idempotency_key; a request that has both, and different ones, is refused",
};
export const CREATED_REPLIES = {
  202: { description: "A new job", schema: JobCreated },
  200: { description: "The existing job of this idempotency key", schema: JobCreated },
} as const;

/** The route that takes the items as JSON. */
export function batchRoute(
  services: CreateJobDeps,
  kind: BatchKind,
  names: RouteNames,
  /** Given where jobs of the kind take a webhook. */
  webhooks?: JobWebhooks,
): Route {
  const { accept } = jobCreator(services, kind, webhooks);
  return route({
    method: "POST",
    path: names.path,
    operationId: names.operationId,
    summary: names.summary,
    description:
      `Up to ${MAX_JOB_ITEMS} items, each run as a call of the single endpoint; items that fail for a transient ` +
      "reason are tried again. GET the job for its progress and its items. `callback_url` is called when the job has " +
      "finished. A request with the same `idempotency_key`, kind and number of items is answered with the same job. " +
      "All items are validated first; a mistake in one item refuses the whole request.",
    tags: [names.tag],
    body: batchBody(kind.item, kind.shared, webhooks),
    body_example: { items: [kind.item_example], idempotency_key: "monday" },
    callbacks: {
      jobCompleted: JOB_COMPLETED,
      ...(webhooks && kind.webhook && eventCallbacks(kind.webhook.name, kind.webhook.shapes)),
    },
    request_headers: HEADERS_READ,
    raw: true,
    items: true,
    too_large: TOO_MANY,
    ...(kind.category && { category: kind.category }),
    replies: {
      ...(kind.authorize && { 403: { description: "An item may not be submitted", schema: ItemRefused } }),
      ...CREATED_REPLIES,
      409: { description: "The idempotency key belongs to a job of another kind or length", schema: Detail },
    },
    handle: async (call) => {
      const scan = await scanItems(call.bytes, MAX_JOB_ITEMS, () => yieldToEventLoop(services.clock));
      if (scan.kind === "wrong") return invalid(scan.detail);
      return accept(call, jsonItems(scan.value), scan.value.head, "body");
    },
  });
}

const jsonItems = ({ count, read, offset }: Scanned): SubmittedItems => ({
  count,
  read,
  locOf: (index) => ["body", "items", index],
  malformed: (index) => malformedAt(offset(index)),
});

export interface CsvUpload extends RouteNames {
  /** A file for the API reference. */
  readonly csv_example: string;
  readonly columns: readonly string[];
  readonly readCsv: ReadCsv;
}

/** The route that takes the items as a CSV file, and the fields around them in the query. */
export function csvBatchRoute(services: CreateJobDeps, kind: BatchKind, upload: CsvUpload): Route {
  const { accept } = jobCreator(services, kind);
  const { idempotency_key, callback_url } = jobFields;
  const shared = kind.shared?.properties ?? {};
  const lists = Object.keys(shared).filter((name) => isList(shared[name]!));
  return route({
    method: "POST",
    path: upload.path,
    operationId: upload.operationId,
    summary: upload.summary,
    description:
      `A file of up to ${MAX_JOB_ITEMS} rows, as the body (text/csv) or as the field \`file\` of a form. The first row names the ` +
      `columns, in any order: ${upload.columns.join(", ")}. Cells are separated by commas, semicolons or tabs; several values in ` +
      "one cell by `;`. UTF-8 with or without a byte-order mark, UTF-16 with one, or windows-1252. A column of another name is " +
      "not read, and named in X-Service-Warning. All rows are validated first; a mistake " +
      "refuses the whole file, and `loc` names its row as an editor counts lines.",
    tags: [upload.tag],
    query: Type.Object({
      idempotency_key: Type.Optional(idempotency_key),
      ...Object.fromEntries(
        Object.entries(shared).map(([name, schema]) => [
          name,
          lists.includes(name) ? Type.Optional(Nullable(Type.String({ maxLength: 500 }))) : schema,
        ]),
      ),
      callback_url,
    }),
    body: Type.String(),
    body_example: upload.csv_example,
    query_example: { idempotency_key: "monday" },
    callbacks: { jobCompleted: JOB_COMPLETED },
    body_content: {
      "text/csv": Type.String({ format: "binary" }),
      "multipart/form-data": Type.Object({ file: Type.String({ format: "binary" }) }),
    },
    request_headers: HEADERS_READ,
    raw: true,
    items: true,
    ...(kind.category && { category: kind.category }),
    replies: {
      ...CREATED_REPLIES,
      409: { description: "The idempotency key belongs to a job of another kind or length", schema: Detail },
    },
    handle: async (call) => {
      const read = await csvItems(call, upload.readCsv, () => yieldToEventLoop(services.clock));
      if ("status" in read) return read;
      const given = Object.entries(call.query as Input).filter(([, value]) => value != null);
      const head = given.map(([name, value]) => [
        name,
        lists.includes(name) ? wordsOf(String(value)) : value,
      ]);
      const items: SubmittedItems = {
        count: read.length,
        read: (index) => read[index]!.item,
        locOf: (index) => ["body", "row", read[index]!.row],
        malformed: () => EMPTY,
      };
      return accept(call, items, { items: [], ...Object.fromEntries(head) }, "query");
    },
  });
}

/** Whether a field, which may be null, takes a list. */
const isList = (schema: TSchema): boolean => JSON.stringify(schema).includes('"type":"array"');

/** A mistake of the idempotency key that came in the header. */
const inHeader = (mistake: Mistake): Mistake =>
  mistake.loc[1] === "idempotency_key" ? { ...mistake, loc: ["header", "Idempotency-Key"] } : mistake;

/** The fields around the items, with the header's key where they have none of their own. */
function withKey(head: unknown, key: string | undefined): unknown {
  if (key === undefined || typeof head !== "object" || head === null || Array.isArray(head)) return head;
  return "idempotency_key" in head ? head : { ...head, idempotency_key: key };
}

const batchBody = (item: TSchema, shared?: TObject, webhooks?: JobWebhooks): TObject =>
  Type.Object({
    items: Field(Type.Array(item, { minItems: 1, maxItems: MAX_JOB_ITEMS }), "The items of the job"),
    ...shared?.properties,
    ...jobFields,
    ...(webhooks && webhookField),
  });

export const JOB_COMPLETED = {
  to: "callback_url",
  summary: "The job has finished",
  description:
    "Tried at once, after 10 and after 60 seconds, until the receiver answers 2xx within 10 seconds.",
  schema: JobCompletion,
  headers: { "X-Service-Delivery": "The id of the job, the same in every attempt" },
} as const;
const ItemRefused = Type.Object({
  detail: Type.Object({ error: Type.Literal("user_agent_not_allowed"), hint: Type.String() }),
});
export const TWO_KEYS: Mistake = {
  loc: ["header", "Idempotency-Key"],
  msg: "Value error, the header Idempotency-Key and idempotency_key differ",
  type: "value_error",
};
const EMPTY: Mistake = {
  loc: ["body", "items"],
  msg: "List should have at least 1 item after validation, not 0",
  type: "too_short",
};
const NO_URL = {
  msg: "Input should be a valid URL",
  type: "url_parsing",
};

/** The known fields of an item that say something: not null, and not their default. */
export function withoutDefaults({ properties }: TObject, item: Input): Input {
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(properties)) {
    const value = item[name];
    if (value === undefined || value === null) continue;
    if (value !== (field as { default?: unknown }).default) fields[name] = value;
  }
  return fields;
}
