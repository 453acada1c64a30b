/**
 * POST /v1/fetch: turns a validated body into the request to the Fetch actor, waits for the answer within the call's
 * deadline, and writes it as a FetchResponse. Whether a page is fresh, and how one is fetched, is decided by the services
 * it is given. Responses from the cache stay in memory and are sent again without being written again.
 */
import assert from "node:assert/strict";
import { LRUCache } from "lru-cache";
import type { ByteBudget, Reservation } from "../../../../cluster/byte-budget.ts";
import { type CacheLimits, cacheLimits } from "../../../../cluster/cache-limits.ts";
import { FETCH_CACHES } from "../caches.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { allowsPaid } from "../../../../schemas/accounts.ts";
import type { FetchError } from "../../../../schemas/errors.ts";
import {
  EMPTY_ANSWER,
  type FetchAnswer,
  type FetchRequest,
  type UnsealedFetch,
  FetchBody,
  type DomainBusy,
  FetchResponse,
  BATCH_PDF_BYTES_DEFAULT,
  MAX_BYTES_DEFAULT,
  keptOptions,
  type PageRecord,
  type ScreenshotOptions,
  withFieldsRead,
} from "../../../../schemas/fetch.ts";
import { BatchCompletedEvent, BatchPageEvent } from "../../../../schemas/job-events.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../../../schemas/tier-table.ts";
import { isPictured } from "../../../../schemas/actions.ts";
import { ownRequestOf, withoutOwnValues } from "../../../../schemas/own-request.ts";
import { type OwnMistake, ownRequestMistake } from "../../../lib/web/own-request-check.ts";
import { contentChoiceOf, isDataFormat } from "../../../../schemas/content.ts";
import { pageViewOf } from "../../../../schemas/page-view.ts";
import { extractMistake } from "../../../../schemas/extract.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { type Forms, JSON_FIRST, markdownReply, wantsMarkdown, withMarkdown } from "./markdown-reply.ts";
import { FETCH_BUSY, type ReadDeps, readRoute } from "./read-route.ts";
import { type BatchKind, withoutDefaults } from "../../../../gateway/batch.ts";
import { heldUntilSent } from "../../../../gateway/held-body.ts";
import type { Bill, BodyGrant, Key, Project } from "../../../../schemas/accounts.ts";
import { WAIT_BEYOND_TIMEOUT_MS, WAIT_MS, withDeadline } from "../../../../gateway/with-deadline.ts";
import { invalid, JSON_TYPE, timedOut, userAgentNotAllowed } from "../../../../gateway/http-errors.ts";
import { withWarnings } from "../../../../gateway/warnings.ts";
import { REQUEST_ID_CHARS } from "../../../../gateway/request-id.ts";
import type { DebugRecords } from "../../../../gateway/debug-records.ts";
import type { AnswerSource, BeginWork, FetchService } from "../service.ts";
import {
  billOf,
  EMPTY_TEXTS,
  type PageParts,
  responseOf,
  type Texts,
  type TextSource,
  textsOf,
  weightOf,
} from "../answer.ts";
import { secretCheck } from "../secret-check.ts";
import type { Sessions } from "../sessions.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import { downloadTypeOf } from "../page-store.ts";
import type { ArchiveKeeper } from "../../archive/keep.ts";
import { type Answer, type Call, type Route, route, type Shortcut } from "../../../../gateway/route.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { FETCH_ERRORS, HTTP_STATUS, meaningOf } from "../../../../schemas/errors.ts";

export interface FetchServices extends TextSource {
  /**
   * The whole fetch: from the cache or by the Fetch actor. `signal` aborts when the client does not wait any more; the
   * work may go on into the cache. `beginWork` is awaited before an actor is asked. Throws Fault; `mailbox_full` is
   * answered as domain_busy.
   */
  readonly fetch: (request: UnsealedFetch, signal: AbortSignal, beginWork: BeginWork) => Promise<FetchAnswer>;
  /** Whether a response may be sent again to the same request; asked for each. Default: every response is written anew. */
  readonly cache?: Pick<FetchService, "sourceOf" | "isCurrent">;
  /** The language model that can be asked for values, by its name. Default: there is none. */
  readonly model?: string | null;
  /** Whether an address is requested with the operator's User-Agent only, so that `user_agent` is ignored. Default: none. */
  readonly isOperatorUrl?: (url: string) => boolean;
  /** The routes whose exit may be in a country that the caller names. Default: all that cost money. */
  readonly country_routes?: readonly PremiumTier[];
  /** Default: there are none. */
  readonly sessions?: Pick<Sessions, "get">;
  readonly bodyGrants: BodyGrants;
  readonly archives: Pick<ArchiveKeeper, "keep">;
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
  readonly caches?: Pick<CacheLimits, "responses">;
  /** Default: no request is debugged. */
  readonly debugRecords?: DebugRecords;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Longer request bodies are seldom sent twice without a change. */
const REMEMBERED_BODY_BYTES = 4_096;
/** Limit of a written response in memory. */
const WRITTEN_BYTES_EACH = 2 * 2 ** 20;

type FetchCall = Call<null, null, FetchBody>;

/** A response from the cache as it was sent; only its request id differs between responses. */
interface Written {
  readonly source: AnswerSource;
  readonly bytes: Buffer;
  readonly id_at: number;
  readonly bill: Bill;
  readonly project_ref: string | null;
  /** Bodies that the response names. */
  readonly bodies: readonly RetrievedBody[];
}

/** A character that no byte becomes in Latin-1. */
const EXTERNAL = "\u0100";
/** External customers have written responses of their own: they do not see what a fetch cost. */
const keyOf = (bytes: Buffer, external: boolean): string => {
  const text = bytes.toString("latin1");
  return external ? EXTERNAL + text : text;
};

export function fetchRoutes(services: FetchServices): readonly Route[] {
  const { metrics, bodyGrants, cache, caches = cacheLimits(FETCH_CACHES) } = services;
  const written = new LRUCache<string, Written>({
    maxSize: caches.responses,
    maxEntrySize: Math.min(WRITTEN_BYTES_EACH, caches.responses),
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length,
  });

  const shortcut: Route["shortcut"] = (bytes, { grant }, now_ms, head) => {
    if (!cache || bytes.length > REMEMBERED_BODY_BYTES || grant.key.debug || grant.project.archive)
      return null;
    if (wantsMarkdown(head, JSON_FIRST)) return null;
    const key = keyOf(bytes, grant.customer.external);
    const cached = written.get(key);
    if (!cached) return null;
    if (!cache.isCurrent(cached.source, now_ms)) {
      written.delete(key);
      return null;
    }
    for (const body of cached.bodies) if (!bodyGrants.isFresh(grant.project.name, body, now_ms)) return null;
    metrics.count("trawl_fetch_requests_total", HIT);
    const { bill, project_ref } = cached;
    return { bill, project_ref, reply: (request_id) => resend(cached, request_id) } satisfies Shortcut;
  };

  async function handle(asked: FetchCall, forms: Forms): Promise<Answer> {
    const isMarkdown = wantsMarkdown(asked.head, forms);
    const said = isArchived(asked.body, asked.caller.grant.project) ? archived(asked) : asked;
    const call = isMarkdown ? { ...said, body: withMarkdown(said.body) } : said;
    const { body, caller, request_id } = call;
    if (!isWebAddress(body.url)) return write(call, INVALID_URL, EMPTY_TEXTS);
    const mistake = await secretCheck(services.sessions, caller.grant.project.name)(body);
    if (mistake) return refused(mistake);

    const request = fetchRequestOf(allowedBody(body, caller.grant.key), {
      fetch_id: request_id,
      project: caller.grant.project.name,
      key: caller.grant.key.prefix,
      lane: "sync",
      now_ms: call.now_ms,
      wait_ms: WAIT_MS,
    });
    if (body.country != null && !takesCountry(request, services.country_routes ?? PREMIUM_TIERS))
      call.warnings.add(body.session_id == null ? NO_EXIT : SESSION_EXIT);
    const isDebugged = services.debugRecords?.isWanted(call) === true;
    const late = Promise.withResolvers<Bill | null>();
    const page = await fetchWithTexts(
      services,
      call,
      isDebugged ? { ...request, is_traced: true } : request,
      (answer) => late.resolve(answer && billOf(answer)),
    );
    if (page === null) return { ...timedOut(request_id), late_bill: late.promise };
    const { answer, texts, reservation } = page;
    try {
      const debug_url = isDebugged ? await debugUrl(services, call, answer) : null;
      const response = write(call, answer, texts, { debug_url, isMarkdown });
      const reply = withWarnings(response, call.warnings);
      const { name: project } = caller.grant.project;
      const beforeSending = async (): Promise<void> => {
        await grantBodies(services.bodyGrants, project, answer);
        if (body.archive) await services.archives.keep(project, request_id, answer.record);
      };
      // A user agent is allowed by project, so a response for one project may not be sent to another.
      // A response that is sent again from memory carries no warnings.
      const isPlain =
        body.user_agent == null &&
        !body.archive &&
        call.warnings.size === 0 &&
        !isDebugged &&
        !isMarkdown &&
        forms === JSON_FIRST;
      const source = isPlain && answer.error === null && !answer.only_project && cache?.sourceOf(answer);
      if (source) remember(call, source, answer.record, reply);
      if (reservation === null || !Buffer.isBuffer(reply.body)) return { ...reply, beforeSending };
      // Written: only its bytes are left.
      reservation.shrink(reply.body.length);
      return { ...reply, beforeSending, body: heldUntilSent(reply.body, reservation, call.signal) };
    } catch (problem) {
      reservation?.release();
      throw problem;
    }
  }

  function remember(
    { bytes: asked, request_id, body: wishes, caller }: FetchCall,
    source: AnswerSource,
    record: PageRecord,
    { body, bill }: Answer,
  ): void {
    if (asked.length > REMEMBERED_BODY_BYTES || !Buffer.isBuffer(body) || !bill) return;
    // request_id is the last field, so only the quote and the brace follow it.
    const id_at = body.length - 2 - REQUEST_ID_CHARS;
    assert(body.toString("latin1", id_at, id_at + REQUEST_ID_CHARS) === request_id);
    // A copy, because these bytes may still be on their way to the client.
    const project_ref = wishes.project_ref ?? null;
    const bytes = Buffer.from(body);
    const bodies = retrievedBodies(record);
    const key = keyOf(asked, caller.grant.customer.external);
    written.set(key, { source, bytes, id_at, bill, project_ref, bodies });
  }

  function write(
    call: FetchCall,
    answer: FetchAnswer,
    texts: Texts,
    {
      debug_url = null,
      isMarkdown = false,
    }: { readonly debug_url?: string | null; readonly isMarkdown?: boolean } = {},
  ): Answer {
    const { caller, request_id, body } = call;
    const response = responseOf(body, answer, texts, {
      request_id,
      external: caller.grant.customer.external,
      ...(debug_url !== null && { debug_url }),
    });
    const bill = billOf(answer);
    metrics.count("trawl_fetch_requests_total", {
      outcome: outcomeOf(answer.error),
      cached: String(answer.cached),
      category: bill.category,
    });
    const lean = isMarkdown ? markdownReply(response) : null;
    if (lean) return { ...lean, bill };
    if (answer.error !== "domain_busy")
      return { status: 200, headers: JSON_TYPE, body: Buffer.from(JSON.stringify(response)), bill };
    const busy: DomainBusy = {
      ...response,
      detail: { error: "domain_busy", message: answer.error_detail ?? meaningOf("domain_busy") },
    };
    return {
      status: 503,
      headers: { ...JSON_TYPE, "Retry-After": String(answer.retry_after_s ?? 1) },
      body: Buffer.from(JSON.stringify(busy)),
    };
  }

  const refusal = (body: FetchBody, caller: Caller): Reply | null => agentRefusal(services, body, caller);
  return [fetchRoute({ handle, refusal, shortcut, services }), readRoute({ handle, refusal })];
}

type FetchRouteDeps = ReadDeps & Required<Pick<Route, "shortcut">> & { readonly services: ModelChoice };

const fetchRoute = ({ handle, refusal, shortcut, services }: FetchRouteDeps): Route =>
  route({
    method: "POST",
    path: "/v1/fetch",
    operationId: "fetch",
    summary: "Fetch a page, PDF or document",
    description:
      "Answers 200 also when the page could not be fetched: read `error`. Waits up to 150 s, or timeout_s + 15 s. " +
      "With `Accept: text/markdown` a page with text is answered as Markdown and nothing else; with `fields` the answer lacks the others, also those that its schema requires.",
    tags: ["fetch"],
    body: FetchBody,
    request_headers: {
      "X-Service-Debug": "1: a key that may gets debug_url, a page with the request's story",
    },
    body_example: { url: "https://example.org/" },
    category: "fetch",
    replies: {
      200: { description: "The page, or in `error` the reason why there is none", schema: FetchResponse },
      503: FETCH_BUSY,
    },
    authorize_errors: ["user_agent_not_allowed"],
    authorize: ({ body, caller }) => mistakeIn(body, services) ?? refusal(body, caller),
    shortcut,
    handle: (call) => handle(call, JSON_FIRST),
  });

type ModelChoice = Pick<FetchServices, "model">;

function fieldMistake(body: FetchBody, { model = null }: ModelChoice): ReturnType<typeof ownRequestMistake> {
  const message = extractMistake(body.extract, model);
  return message === null
    ? ownRequestMistake(body)
    : { field: "extract", message: `Value error, ${message}` };
}

const refused = ({ field, message }: OwnMistake): Reply =>
  invalid([{ loc: ["body", field], msg: message, type: "value_error" }]);

/** The 422 for what the schema of the body does not say; null: nothing is wrong. */
function mistakeIn(body: FetchBody, choice: ModelChoice): Reply | null {
  const mistake = fieldMistake(body, choice);
  return mistake && refused(mistake);
}

/** Null: the project may send this user agent, or the address is asked with the operator's own. */
const agentRefusal = (
  { isOperatorUrl }: Pick<FetchServices, "isOperatorUrl">,
  { url, user_agent }: FetchBody,
  { grant }: Caller,
): Reply | null =>
  user_agent == null || grant.project.user_agents.includes(user_agent) || isOperatorUrl?.(url)
    ? null
    : userAgentNotAllowed(user_agent);

/** Stores a debug record, without the values of the caller's own request. */
const debugUrl = ({ debugRecords }: FetchServices, call: FetchCall, answer: FetchAnswer): Promise<string> =>
  debugRecords!.store({ ...call, body: withoutOwnValues(call.body) }, storyOf(answer));

/** The part of an answer that a debug record shows. */
function storyOf(answer: FetchAnswer): Parameters<DebugRecords["store"]>[1] {
  const { cached, cost_usd, error, error_detail, attempts, trace = null } = answer;
  const billing_category = billOf(answer).category;
  return { cached, billing_category, cost_usd, error, error_detail, attempts, trace };
}

/** The page, and the texts its response is written from. Null: the time was over. Throws Fault. */
async function fetchWithTexts(
  services: FetchServices,
  call: FetchCall,
  request: UnsealedFetch,
  onLate: (answer: FetchAnswer | null) => void,
): Promise<FetchedPage | null> {
  const { request_id, signal: client, now_ms } = call;
  const body = withFieldsRead(call.body);
  const allowed_ms = body.timeout_s == null ? WAIT_MS : body.timeout_s * 1000 + WAIT_BEYOND_TIMEOUT_MS;
  const timeout_ms = Math.max(1, now_ms + allowed_ms - services.clock.now());
  const options = { id: request_id, timeout_ms, signal: client, onLate };
  const answer = await withDeadline(services, options, (signal) =>
    services.fetch(request, signal, call.beginWork).catch(asBusy),
  );
  if (answer === null) return null;
  const wanted = { with_html: body.include_html !== false, with_formats: wantsFormats(body) };
  const weight = weightOf(answer.record, wanted);
  const isHeavy = services.memory !== undefined && weight > MAX_UNRESERVED_BYTES;
  const reservation = isHeavy ? await services.memory!.reserve(weight, client) : null;
  if (isHeavy && reservation === null) return { answer: BUSY, texts: EMPTY_TEXTS, reservation };
  try {
    return { answer, texts: await textsOf(services, answer.record, wanted), reservation };
  } catch (problem) {
    reservation?.release();
    const isLost = problem instanceof Fault && problem.code === "body_damaged";
    if (!isLost || !answer.cached) throw problem;
    // A cached page whose body is lost: fetched from its origin, which stores the body anew.
    const anew = { ...request, fetch_id: `${request_id}.anew`, cache_ttl_s: 0 };
    return fetchWithTexts(services, call, anew, onLate);
  }
}

const HIT = { outcome: "ok", cached: "true", category: "fetch_cached" } as const;

/** A socket takes longer responses in parts, so their buffer cannot be lent: they are sent in pieces. */
const MAX_BORROWED_BYTES = 64 * 1024;

function resend({ bytes, id_at }: Written, request_id: string): Answer {
  const { length } = bytes;
  if (length > MAX_BORROWED_BYTES) {
    const end = bytes.toString("latin1", id_at + REQUEST_ID_CHARS);
    const chunks = concat(bytes.subarray(0, id_at), Buffer.from(request_id + end));
    return { status: 200, headers: JSON_TYPE, body: { length, chunks } };
  }
  const take = (): Buffer => {
    bytes.write(request_id, id_at, "latin1");
    return bytes;
  };
  return { status: 200, headers: JSON_TYPE, body: { length, take } };
}

async function* concat(...pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

/** Grants the project access to bodies before their addresses are sent: the client may request them at once. */
export async function grantBodies(
  bodyGrants: BodyGrants,
  project: string,
  { record, granted }: FetchAnswer,
): Promise<void> {
  const grant = (body: RetrievedBody): Promise<void> =>
    granted?.project === project && granted.sha256 === body.sha256
      ? bodyGrants.recorded(project, { ...body, retrieved_at_ms: granted.at_ms })
      : bodyGrants.record(project, body);
  await Promise.all(retrievedBodies(record).map(grant));
}

type RetrievedBody = Omit<BodyGrant, "retrieved_at_ms">;

/** The bodies that an answer names, as they are downloaded: the page and its screenshot. */
function retrievedBodies(record: PageRecord): readonly RetrievedBody[] {
  const { sha256, body_kind, screenshot, actions } = record;
  if (sha256 === null || body_kind === null) return [];
  const pictures = [...(screenshot ? [screenshot] : []), ...(actions?.files ?? [])];
  return [
    { sha256, content_type: downloadTypeOf(record), body_kind },
    ...pictures.map((picture) => ({
      sha256: picture.sha256,
      content_type: picture.content_type,
      body_kind: "screenshot" as const,
    })),
  ];
}

/** Items of a batch: without HTML, unless an item asks for it. */
export const fetchBatch = (
  services: Pick<FetchServices, "blobs" | "decode" | "isOperatorUrl" | "model" | "sessions">,
): BatchKind => ({
  name: "fetch",
  item: FetchBody,
  item_example: { url: "https://example.org/" },
  result: FetchResponse,
  errors: { names: Object.keys(FETCH_ERRORS), patterns: [HTTP_STATUS] },
  category: "fetch",
  webhook: { name: "batch", shapes: { page: BatchPageEvent, completed: BatchCompletedEvent } },
  csv: {
    columns: [
      "url",
      "final_url",
      "http_status",
      "tier",
      "content_type",
      "title",
      "published_at",
      "bytes",
      "sha256",
      "text",
    ],
    rows(input, result) {
      const page = result as Partial<FetchResponse> | null;
      const { final_url, status, tier, content_type, title, meta, bytes, sha256, text } = page ?? {};
      return [
        [
          input["url"] as string,
          final_url,
          status,
          tier,
          content_type,
          title,
          meta?.published_at,
          bytes,
          sha256,
          text,
        ],
      ];
    },
  },
  normalize(item, { grant: { key, project } }) {
    const { include_html, allow_premium, archive: _, ...rest } = withoutDefaults(FetchBody, item);
    const { max_bytes } = item as FetchBody;
    return {
      ...rest,
      ...(include_html === true && { include_html }),
      ...(isArchived(item, project) && { archive: true }),
      // Without max_bytes a PDF has another limit.
      ...(typeof max_bytes === "number" && { max_bytes }),
      ...((allow_premium === false || !allowsPaid(key)) && { allow_paid: false }),
    };
  },
  check: (item) => fieldMistake(item as FetchBody, services),
  checkStored({ grant }) {
    const checkSecrets = secretCheck(services.sessions, grant.project.name);
    return (item) => checkSecrets(item as FetchBody);
  },
  shown: withoutOwnValues,
  authorize: (item, caller) => agentRefusal(services, item as FetchBody, caller),
  weigh: (input, stored) => weightOf((stored as FetchAnswer).record, partsOfItem(readItem(input))),
  async render(input, stored, reader) {
    const answer = stored as FetchAnswer;
    const body = readItem(input);
    const texts = await textsOf(services, answer.record, partsOfItem(body));
    return responseOf(body, answer, texts, reader);
  },
});

const NO_EXIT = "country has no effect: none of the routes that this request may take has exits by country";
const SESSION_EXIT = "country has no effect: that of the session holds";

/** Headers and cookies of the caller take no route of a provider, and a session has a country of its own. */
const takesCountry = (
  { allow_paid, own_request, tiers }: UnsealedFetch,
  country_routes: readonly PremiumTier[],
): boolean =>
  allow_paid &&
  own_request === undefined &&
  country_routes.some((tier) => tiers === null || tiers.includes(tier));

/** The fetch's own setting, else that of its project. */
const isArchived = ({ archive }: Pick<FetchBody, "archive">, project: Project): boolean =>
  archive ?? project.archive === true;

const archived = (call: FetchCall): FetchCall =>
  call.body.archive ? call : { ...call, body: { ...call.body, archive: true } };

/** A key without paid fetches never takes a route that costs money. */
const allowedBody = (body: FetchBody, key: Pick<Key, "paid_fetches">): FetchBody =>
  allowsPaid(key) ? body : { ...body, allow_paid: false };

const partsOfItem = (input: FetchBody): PageParts => ({
  with_html: input.include_html === true,
  with_formats: wantsFormats(input),
});

/** An item as it is read: without HTML unless it asks for it. */
function readItem(input: Readonly<Record<string, unknown>>): FetchBody {
  const item = withFieldsRead(input as FetchBody);
  return { ...item, include_html: item.include_html === true };
}

/** Whether a text is an http or https URL; which destinations are allowed is judged when it is fetched. */
function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
}

interface CallerContext {
  readonly fetch_id: string;
  readonly project: string;
  readonly key?: string | undefined;
  readonly lane: FetchRequest["lane"];
  readonly now_ms: number;
  /** How long the caller waits when timeout_s is not given. */
  readonly wait_ms: number;
}

/** The request to the Fetch actor, with defaults filled in. Its id names the fetch: one place in each queue. */
export function fetchRequestOf(
  asked: FetchBody,
  { fetch_id, project, key, lane, now_ms, wait_ms }: CallerContext,
): UnsealedFetch {
  const body = withFieldsRead(asked);
  const timeout_s = body.timeout_s ?? null;
  const given = ownRequestOf(body);
  return {
    ...keptOptions(body),
    fetch_id,
    max_bytes: body.max_bytes ?? MAX_BYTES_DEFAULT,
    max_pdf_bytes: body.max_bytes ?? (lane === "batch" ? BATCH_PDF_BYTES_DEFAULT : MAX_BYTES_DEFAULT),
    allow_paid: (body.allow_paid ?? true) && (body.allow_premium ?? true),
    ...(wantsDerived(body) && { with_formats: true }),
    ...contentChoiceOf(body),
    ...awaitedBy(body),
    ...pageViewOf(body, {
      isSeen: body.formats?.includes("screenshot") === true || isPictured(body.actions ?? []),
      isArchived: body.archive === true,
    }),
    ...(body.formats?.includes("screenshot") && { screenshot: screenshotOf(body) }),
    ...(body.archive && { archive: true }),
    ...(body.session_id != null && { session_id: body.session_id }),
    ...(given && { own_request: { given, is_cached: body.cache_private ?? false } }),
    lane,
    project,
    ...(key !== undefined && { key }),
    deadline_ms: Math.round(now_ms + (timeout_s === null ? wait_ms : timeout_s * 1000)),
    hard_deadline: timeout_s !== null,
  };
}

/** Whether forms of the page are wanted that are read from its document. */
const wantsFormats = ({ formats, extract }: FetchBody): boolean =>
  extract != null || (formats ?? []).some((format) => format !== "screenshot");

/** Whether the request wants formats that are derived once for all callers. A model chooses among the page's links. */
const wantsDerived = ({ formats, extract }: FetchBody): boolean =>
  extract?.schema != null ||
  (formats ?? []).some((format) => format !== "screenshot" && !isDataFormat(format));

/** Nothing for a wait that says nothing. */
function awaitedBy({ wait_for }: FetchBody): Pick<FetchRequest, "wait_for"> {
  const awaited = { selector: wait_for?.selector ?? null, ms: wait_for?.ms ?? 0 };
  return awaited.selector === null && awaited.ms === 0 ? {} : { wait_for: awaited };
}

const screenshotOf = ({ screenshot_options }: FetchBody): Required<ScreenshotOptions> => ({
  type: screenshot_options?.type ?? "png",
  full_page: screenshot_options?.full_page ?? false,
});

/** A page with what its response is written from. */
interface FetchedPage {
  readonly answer: FetchAnswer;
  readonly texts: Texts;
  /** The memory of a large response; null: it is small. */
  readonly reservation: Reservation | null;
}

/** Responses up to this weight are not reserved for: the number of connections bounds them. */
const MAX_UNRESERVED_BYTES = 2 ** 20;

/** The outcome as a label from a closed set: `http_404` becomes `http_4xx`. */
const outcomeOf = (error: string | null): string =>
  error === null ? "ok" : error.startsWith("http_") ? `http_${error.charAt(5)}xx` : error;

/** Answers that the gateway gives itself. */
const failedAnswer = (
  error: FetchError,
  error_detail: string,
  retry_after_s: number | null,
): FetchAnswer => ({
  ...EMPTY_ANSWER,
  error,
  error_detail,
  retry_after_s,
});

const INVALID_URL = failedAnswer("invalid_url", "The url is no http or https URL", null);
const BUSY = failedAnswer("domain_busy", "Too many requests wait for this page", 5);

/** A full mailbox means that too many callers wait for this page. */
function asBusy(problem: unknown): FetchAnswer {
  if (problem instanceof Fault && (problem.code === "mailbox_full" || problem.code === "overloaded"))
    return BUSY;
  throw problem;
}
