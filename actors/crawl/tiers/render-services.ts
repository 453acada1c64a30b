/**
 * Requests and responses of rendering services, as data: Trawl's own interface and two public services. A service is
 * recognised by the host of TRAWL_RENDER_URL or named in its fragment (`…/v2/scrape#firecrawl`), which is never sent. A
 * new service is one more entry here; transport.render.ts makes the call.
 */
import { type Static, type TSchema, Type } from "typebox";
import { compiled } from "../../../cluster/contracts/compiled.ts";

export interface RenderRequest {
  readonly url: string;
  /** ISO 3166-1 alpha-2, or null. */
  readonly country: string | null;
}

export interface Rendered {
  readonly status: number;
  readonly html: string;
  readonly final_url: string | null;
  readonly difficulty: "low" | "medium" | "high" | null;
}

export interface RenderService {
  readonly name: string;
  /** Hosts in TRAWL_RENDER_URL that select this service. */
  readonly hosts: readonly string[];
  readonly headers: (key: string) => readonly (readonly [string, string])[];
  readonly body: (request: RenderRequest) => unknown;
  /** Null: the response does not have this service's shape. */
  readonly read: (answer: unknown) => Rendered | null;
  /** Statuses with another meaning than in REASONS. */
  readonly status_problems?: Readonly<Record<number, RenderProblem>>;
}

/** Why a service did not render, as `reason` in attempts. */
export type RenderProblem =
  | "provider_over_budget"
  | "provider_rate_limited"
  | "provider_refused"
  | "provider_failed"
  | "provider_error"
  | "timeout";

/** Meaning of the service's own status, unless the service defines another. */
const REASONS: Readonly<Record<number, RenderProblem>> = {
  402: "provider_over_budget",
  408: "timeout",
  429: "provider_rate_limited",
  504: "timeout",
};

/** Milliseconds for a page's scripts after it has loaded. Longer costs time on every page, and most pages need less. */
export const WAIT_MS = 2_000;

const Status = Type.Integer({ minimum: 100, maximum: 599 });

const reader = <Schema extends TSchema>(schema: Schema, rendered: (answer: Static<Schema>) => Rendered) => {
  const validator = compiled(schema);
  return (answer: unknown): Rendered | null =>
    validator.check(answer) ? rendered(answer as Static<Schema>) : null;
};

const bearer = (key: string) => [["Authorization", `Bearer ${key}`]] as const;

const TRAWL: RenderService = {
  name: "trawl",
  hosts: [],
  headers: bearer,
  body: ({ url, country }) => ({ url, country, wait: WAIT_MS }),
  read: reader(
    Type.Object({
      status: Status,
      html: Type.String(),
      final_url: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      difficulty: Type.Optional(Type.Unknown()),
    }),
    ({ status, html, final_url = null, difficulty }) => ({
      status,
      html,
      final_url,
      difficulty:
        difficulty === "low" || difficulty === "medium" || difficulty === "high" ? difficulty : null,
    }),
  ),
};

/** docs.zyte.com/zyte-api: POST /v1/extract, the key as the user of Basic authentication. */
const ZYTE: RenderService = {
  name: "zyte",
  hosts: ["api.zyte.com"],
  headers: (key) => [["Authorization", `Basic ${Buffer.from(`${key}:`).toString("base64")}`]],
  body: ({ url, country }) => ({
    url,
    browserHtml: true,
    ...(country !== null && { geolocation: country.toUpperCase() }),
  }),
  read: reader(
    Type.Object({ url: Type.String(), statusCode: Status, browserHtml: Type.String() }),
    ({ url, statusCode, browserHtml }) => ({
      status: statusCode,
      html: browserHtml,
      final_url: url,
      difficulty: null,
    }),
  ),
  // 403: the account is suspended, for instance at its spending limit. 503: overloaded. 520 and 521: no page, not
  // charged.
  status_problems: {
    403: "provider_over_budget",
    503: "provider_rate_limited",
    520: "provider_failed",
    521: "provider_failed",
  },
};

/** docs.firecrawl.dev/api-reference: POST /v2/scrape; also self-hosted. */
const FIRECRAWL: RenderService = {
  name: "firecrawl",
  hosts: ["api.firecrawl.dev"],
  headers: bearer,
  body: ({ url, country }) => ({
    url,
    formats: ["rawHtml"],
    onlyMainContent: false,
    waitFor: WAIT_MS,
    // Otherwise its cache answers with a page up to two days old.
    maxAge: 0,
    ...(country !== null && { location: { country: country.toUpperCase() } }),
  }),
  read: reader(
    Type.Object({
      success: Type.Literal(true),
      data: Type.Object({
        rawHtml: Type.String(),
        metadata: Type.Object({ statusCode: Status, url: Type.Optional(Type.String()) }),
      }),
    }),
    ({ data: { rawHtml, metadata } }) => ({
      status: metadata.statusCode,
      html: rawHtml,
      final_url: metadata.url ?? null,
      difficulty: null,
    }),
  ),
};

const SERVICES = [TRAWL, ZYTE, FIRECRAWL] as const;

/** The service by fragment, else by host, else Trawl's own interface. */
export function renderService(render_url: string): RenderService {
  const url = URL.parse(render_url);
  const named = SERVICES.find(({ name }) => url?.hash === `#${name}`);
  return named ?? SERVICES.find(({ hosts }) => hosts.includes(url?.hostname ?? "")) ?? TRAWL;
}

export function problemOf(status: number, { status_problems: says }: RenderService): RenderProblem {
  const problem = says?.[status] ?? REASONS[status];
  if (problem) return problem;
  return status >= 400 && status < 500 ? "provider_refused" : "provider_error";
}
