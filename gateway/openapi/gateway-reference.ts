/** Additions of the gateway itself to the OpenAPI document: its errors, header fields and tags, and fields that have one meaning everywhere. */
import { type TSchema, Type } from "typebox";
import { LogLevelChange, LogLevelChanged, NodeReports } from "../../schemas/operator.ts";
import { Health, NodeMemory, Ready } from "../routes/status.ts";
import { ANY, type ApiReference } from "./reference.ts";

export const Detail = Type.Object({ detail: Type.String() });

/** A refusal with one of these codes. */
export const refused = (codes: readonly string[]): TSchema =>
  Type.Object({
    detail: Type.Object({
      error: Type.Enum([...codes]),
      message: Type.Optional(Type.String()),
      hint: Type.Optional(Type.String()),
    }),
  });

export const Mistake = Type.Object({
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
  msg: Type.String(),
  type: Type.String(),
});
export const Validation = Type.Object({ detail: Type.Array(Mistake) });

const Allowance = Type.Object({
  error: Type.Enum(["key_rate_limited", "key_quota_exhausted", "key_budget_exhausted"]),
  category: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
  currency: Type.Optional(Type.String()),
});
export const Limited = Type.Object({ detail: Type.Union([Type.String(), Allowance]) });
export const TimedOut = Type.Object({
  detail: Type.Object({ error: Type.Literal("timeout"), request_id: Type.String() }),
});
export const Internal = Type.Object({ detail: Type.String(), request_id: Type.String() });

const header = (description: string, example: string) => ({
  description,
  schema: { type: "string", examples: [example] },
});

/** Header fields of answers, by name. */
export const HEADERS = {
  "X-Request-Id": header("Names this request in the logs of the service", "req_01M7Z1CVXK95PKYBAJS889KGKS"),
  "WWW-Authenticate": header("How to authenticate", "Bearer"),
  "Retry-After": header("Seconds to wait", "2"),
  "RateLimit-Policy": header("The limits of requests per second", '"project";q=200;w=1'),
  RateLimit: header("What is left of them in this second", '"project";r=199;t=1'),
  "X-Service-Key-Role": header("The role of the key: standard, account_admin or operator", "standard"),
  "X-Service-Quota-Remaining": header(
    "What is left of the key's monthly quotas; absent when it has none",
    "fetch=998",
  ),
  "X-Service-Key-Budget-Remaining": header(
    "What is left of the key's monthly spend cap; absent when it has none, and for external customers without prices",
    "12.500000",
  ),
  "X-Service-Warning": header(
    "A field, a query parameter or a value of `include` that the service does not know; the field is repeated, at most ten times",
    'unknown field "timeout"; did you mean "timeout_s"?',
  ),
  Deprecation: header(
    "Since when the operation is deprecated, as `@` and Unix seconds (RFC 9745)",
    "@1795651200",
  ),
  Sunset: header("From when on the operation may be gone (RFC 8594)", "Thu, 27 May 2027 00:00:00 GMT"),
  Link: header(
    "Where the deprecation is explained (`deprecation`, `sunset`), and the operation that takes its place (`successor-version`)",
    '</docs/api/fetch>; rel="deprecation"; type="text/html"',
  ),
} as const;

/** Header fields of signed deliveries. */
export const SIGNATURE_FIELDS = {
  "X-Service-Signature":
    "`t=<Unix seconds>,v1=<hex>`: v1 is the HMAC-SHA256 of `<t>.<body>` with the secret of the webhook",
  "webhook-id": "The id of the event, the same in every attempt",
  "webhook-timestamp": "Unix seconds of this attempt",
  "webhook-signature": "The signature as Standard Webhooks has it",
} as const;

const DIGEST_TAG = '"27a0a7b1d66b1a8f4ba7b8f54f9a9a5e1b5e6ff4d0a2c3c4d5e6f708192a3b4c"';

export const GATEWAY_REFERENCE: ApiReference = {
  tags: {
    search: "Web search",
    fetch: "Pages and documents, with the bytes as they were sent",
    jobs: "Batches of up to 50,000 items",
    filings: "Companies' filings and what is in them",
    sites: "The addresses of a site",
    monitors: "Pages that are visited for their changes",
    companies: "The register of companies",
    account: "The account of a key: limits, usage, keys",
    callbacks: "Requests that the service makes to a client's address",
    status: "Whether a node works",
    about: "The pages for people, and this document",
    internal: "For the operator of the service; may change without notice",
  },
  schemas: {
    Detail,
    Validation,
    Mistake,
    Limited,
    ExhaustedAllowance: Allowance,
    TimedOut,
    Internal,
    Refused: refused(["customer_suspended"]),
    CategoryRefused: refused(["customer_suspended", "key_category_not_allowed"]),
    NodeReports,
    LogLevelChange,
    LogLevelChanged,
    Health,
    Ready,
    NodeMemory,
  },
  fields: {
    NodeReports: {
      nodes: ["One report of each node, with its domains and its unfinished jobs", [{ node: "host-1-a" }]],
    },
    LogLevelChange: { level: ["Lines below it are left out", "debug"] },
    LogLevelChanged: {
      level: ["The level that is set now", "debug"],
      nodes: ["The nodes that have set it", ["host-1-a"]],
    },
    [ANY]: {
      detail: ["What was wrong", "not found"],
      hint: ["What to do instead", "Leave user_agent out"],
      message: ["A sentence for people; null where there is no error", "This is for account admin keys only"],
      error: ["A code that does not change; null where there is no error", "not_found"],
      request_id: ["Names this request in the logs of the service", "req_01M7Z1CVXK95PKYBAJS889KGKS"],
      project_ref: ["A word of the client's own, which the ledger of requests shows again", "customer-4711"],
      retry_after_s: ["Seconds after which another try is worth it; null where none is", 30],
      cached: ["The answer came from the cache", false],
      sha256: [
        "SHA-256 of the exact bytes",
        "27a0a7b1d66b1a8f4ba7b8f54f9a9a5e1b5e6ff4d0a2c3c4d5e6f708192a3b4c",
      ],
      bytes: ["Bytes of the body", 1742],
      body_url: [
        "Where the exact bytes can be downloaded, relative to the service; null where there are none",
        "/v1/bodies/27a0a7b1d66b1a8f4ba7b8f54f9a9a5e1b5e6ff4d0a2c3c4d5e6f708192a3b4c",
      ],
      content_type: ["The media type of the body", "text/html; charset=utf-8"],
      limit: ["The most items of the answer", 20],
      cursor: ["`next_cursor` of the page before", "eyJhdCI6MjB9.5Yf0"],
      items: "The entries of the page",
      next_cursor: ["For the next page; null: there is none", "eyJhdCI6MjB9.5Yf0"],
      debug_url: [
        "Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days",
        "http://127.0.0.1:8080/debug/0123456789abcdefghijklmnopqrstuv?expires=1795527600&sig=zVYw2hpVbyBAtMoYlAPZKDHEAOGGvjQdBmWYLFOiyoY",
      ],
      "Idempotency-Key": [null, "monday"],
      "X-Service-Debug": [null, "1"],
      "If-None-Match": [null, DIGEST_TAG],
      "If-Range": [null, DIGEST_TAG],
      Range: [null, "bytes=0-1023"],
      cost_usd: ["What providers cost, in US dollars; null for external customers", 0],
      billing_category: ["How the answer is billed", "fetch_own"],
      cache_ttl_s: ["The oldest acceptable answer from the cache, in seconds; 0 asks anew", 3600],
      timeout_s: ["How long to wait at most, in seconds; what is then known is the answer", 30],
      created_at: "When it was created",
    },
    Validation: { detail: "Every mistake of the request, at most 100" },
    Mistake: {
      loc: ["Where: body, query, path or header, then names and positions", ["body", "items", 3, "url"]],
      msg: ["What is wrong, in words", "Field required"],
      type: ["A code of the mistake, as pydantic names it", "missing"],
    },
    Limited: { detail: ["A sentence, or which allowance is used up", "rate limit exceeded"] },
    ExhaustedAllowance: {
      error: "Which allowance",
      category: ["The category of a quota", "fetch"],
      limit: ["The quota, or the spend cap as a decimal", 1000],
      currency: ["The currency of a spend cap", "USD"],
    },
    TimedOut: { detail: "What happened" },
    Refused: { detail: "Why" },
    CategoryRefused: { detail: "Why" },
    Health: { status: "The process is up" },
    Ready: {
      status: "Whether the node can work",
      checks: [
        "By dependency; of a store that refuses writes, why",
        { documents: "ok", object_storage: "ok" },
      ],
      clock_skew_ms: [
        "How far this node's clock is ahead of the cluster's, in milliseconds; absent: not measured, or there is no other node",
        12,
      ],
      memory: "The memory for bodies on this node",
      warnings: [
        "What the operator should change although everything works",
        ["The browser runs without its sandbox: TRAWL_CHROMIUM_SANDBOX is off"],
      ],
      version: ["The version of the program", "0.1.0"],
      http_server: ["Which server carries the API, and why not the faster one", "HTTP by uWebSockets.js"],
    },
    NodeMemory: {
      limit_bytes: ["The most bytes of bodies in memory at once", 536_870_912],
      reserved_bytes: ["What is in use", 1_048_576],
      waiting: [null, 0],
    },
    debugRecord: {
      name: ["The last part of the path of a debug_url", "0123456789abcdefghijklmnopqrstuv"],
      expires: ["Of a debug_url: until when the link holds, in Unix seconds", 1_795_527_600],
      sig: ["Of a debug_url: its signature", "zVYw2hpVbyBAtMoYlAPZKDHEAOGGvjQdBmWYLFOiyoY"],
    },
    pageFile: { name: ["The name of the file", "home.css"] },
    demoPage: { page: ["The name of the page", "lighthouse"] },
  },
};
