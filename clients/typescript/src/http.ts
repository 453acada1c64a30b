/** The HTTP layer: the key, deadlines, the caller's signal, and retries within a budget. It knows no operation. */
import { refusal, TrawlError } from "./errors.ts";

export interface ClientOptions {
  /** An API key: `sk_…` or `ak_…`. */
  readonly key: string;
  /** The address of the service, as `https://trawl.example`; a path before `/v1` is kept. */
  readonly url: string;
  /** Default: the one of this runtime. */
  readonly fetch?: typeof globalThis.fetch;
  /** The most further attempts of a call. Default 3. Of 100 calls in a row, about 10 are tried again at most. */
  readonly retries?: number;
  /** How long a call may take with its retries, in milliseconds. Default 300,000. The results of a job may take longer. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  /** Ends the call, its retries, and a stream of results. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
}

export interface BodyOptions {
  /** As in HTTP: `bytes=1000-`. */
  readonly range?: string;
}

export interface CallRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  /** Bytes in place of a body of JSON. */
  readonly bytes?: Blob | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether a second request changes and costs nothing more than the first. */
  readonly isRepeatable: boolean;
}

export interface Http {
  /** The answer as JSON. */
  readonly json: <T>(request: CallRequest, call?: CallOptions) => Promise<T>;
  /** The answer once its head is there: its body may take as long as it takes. */
  readonly open: (request: CallRequest, call?: CallOptions) => Promise<Response>;
}

const TIMEOUT_MS = 300_000;
const RETRIES = 3;
const BUDGET = 10;
/** Share that each call gives back to the budget. */
const BUDGET_SHARE = 0.1;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** A service that asks for a longer pause is not waited for. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Codes of runtimes for a connection that was not made, so the service knows of no request. */
const NOT_CONNECTED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ConnectionRefused"];

/** Bun 1.4.5 takes a relative Location with `://` in its path, which captures have, for an absolute one: it is read here. */
const IS_BUN = "Bun" in globalThis;
/** As the Fetch Standard has it. */
const MOST_REDIRECTS = 20;

async function followed(
  request: typeof globalThis.fetch,
  address: string,
  asked: RequestInit,
): Promise<Response> {
  let at = address;
  for (let redirects = 0; ; redirects++) {
    const { authorization: _, ...elsewhere } = asked.headers as Record<string, string>;
    const isOwn = new URL(at).origin === new URL(address).origin;
    const headers = isOwn ? asked.headers! : elsewhere;
    const response = await request(at, { ...asked, headers, redirect: "manual" });
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    if (redirects === MOST_REDIRECTS) throw new Error("redirected too often");
    await response.body?.cancel();
    at = new URL(location, at).href;
  }
}

export function http(options: ClientOptions): Http {
  const base = options.url.replace(/\/+$/, "");
  const request = options.fetch ?? globalThis.fetch.bind(globalThis);
  let budget = BUDGET;

  async function once<T>(
    { method, path, query, body, bytes, headers }: CallRequest,
    { signal }: CallOptions,
    ms: number,
    read: (response: Response) => Promise<T> | T,
  ): Promise<T> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      controller.abort();
    }, ms);
    if (signal?.aborted) abort();
    // Stays while a stream is read: the signal ends that, too.
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const asked: RequestInit = {
        method,
        headers: {
          authorization: `Bearer ${options.key}`,
          ...(body && { "content-type": "application/json" }),
          ...(bytes && { "content-type": "application/octet-stream" }),
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
        ...(bytes && { body: bytes }),
        signal: controller.signal,
      };
      const address = base + path + queryOf(query);
      const response = await (IS_BUN && method === "GET"
        ? followed(request, address, asked)
        : request(address, asked));
      if (!response.ok && response.status !== 304) throw refusal(response, await response.text(), Date.now());
      return await read(response);
    } catch (problem) {
      signal?.removeEventListener("abort", abort);
      throw isLate
        ? new TrawlError("timeout", `No answer within the time of the call to ${path}`)
        : failure(problem, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async function send<T>(
    asked: CallRequest,
    call: CallOptions,
    read: (response: Response) => Promise<T> | T,
  ): Promise<T> {
    const until_ms = Date.now() + (call.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS);
    const retries = call.retries ?? options.retries ?? RETRIES;
    budget = Math.min(BUDGET, budget + BUDGET_SHARE);
    for (let attempt = 0; ; attempt++) {
      try {
        return await once(asked, call, Math.max(0, until_ms - Date.now()), read);
      } catch (problem) {
        if (!(problem instanceof TrawlError) || attempt >= retries || budget < 1) throw problem;
        const wait_ms = isWorthRetrying(problem, asked) ? waitOf(problem, attempt) : Infinity;
        if (Date.now() + wait_ms >= until_ms) throw problem;
        budget--;
        await pause(wait_ms, call.signal);
      }
    }
  }

  return {
    json: <T>(asked: CallRequest, call: CallOptions = {}) =>
      send(asked, call, async (response) => {
        const text = await response.text();
        try {
          return (text === "" ? undefined : JSON.parse(text)) as T;
        } catch (cause) {
          const requestId = response.headers.get("x-request-id");
          throw new TrawlError("protocol", `The answer to ${asked.path} is no JSON`, {
            status: response.status,
            requestId,
            cause,
          });
        }
      }),
    open: (asked, call = {}) => send(asked, call, (response) => response),
  };
}

/** Turns what `fetch` or the reading of a body was rejected with into an error of this client. */
export function failure(problem: unknown, signal?: AbortSignal): TrawlError {
  if (problem instanceof TrawlError) return problem;
  if (signal?.aborted)
    return new TrawlError("aborted", "The caller's signal ended the call", { cause: signal.reason });
  const { message, cause } = problem instanceof Error ? problem : new Error(String(problem));
  const why = cause instanceof Error && cause.message !== "" ? cause.message : message;
  return new TrawlError("connection", `No whole answer came: ${why}`, { cause: problem });
}

/** Billed requests are repeated only where the service has done nothing: it said so, or never got them. */
function isWorthRetrying({ status, cause, code }: TrawlError, { isRepeatable }: CallRequest): boolean {
  if (code === "customer_suspended") return false;
  if (status === 429 || status === 503 || status === 408) return true;
  if (code === "connection") return isRepeatable || NOT_CONNECTED.includes(systemCode(cause));
  return isRepeatable && code !== "timeout" && status !== null && status >= 500;
}

function systemCode(problem: unknown): string {
  const { code, cause } = (problem ?? {}) as { readonly code?: unknown; readonly cause?: unknown };
  return typeof code === "string" ? code : cause === undefined ? "" : systemCode(cause);
}

/** Never before the service's Retry-After; clients that were refused together do not come back together. */
function waitOf({ retryAfterMs }: TrawlError, attempt: number): number {
  const most_ms = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
  const jitter_ms = Math.random() * most_ms;
  if (retryAfterMs === null) return jitter_ms;
  return retryAfterMs > LONGEST_RETRY_AFTER_MS ? Infinity : retryAfterMs + jitter_ms / 2;
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(failure(signal?.reason, signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Lists are joined by commas, as the API reads them. */
function queryOf(query: object = {}): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) fields.append(name, String(value));
  return fields.size === 0 ? "" : `?${fields}`;
}
