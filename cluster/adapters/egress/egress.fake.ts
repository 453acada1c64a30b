/**
 * A table that plays the web, without sockets: for tests of code that uses Egress. It does not check destinations as
 * egress.undici.ts does.
 */
import type { Clock } from "../../ports/clock.ts";
import { type Egress, EgressError, type EgressProblem, type ExchangeRequest } from "../../ports/egress.ts";

/** The response for a URL, delayed by `after_ms` when a clock is given. */
export type FakeAnswer = { readonly after_ms?: number } & (
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Pieces are delivered as they are; a body may be endless. */
      readonly body?: string | Buffer | Iterable<Buffer>;
      /** Fails with this problem after the body. */
      readonly breaks?: EgressProblem;
    }
  | { readonly problem: EgressProblem; readonly connected?: boolean }
);

/** By absolute URL. Other paths of a known origin answer 404; other origins do not resolve. */
export type FakeWeb = Readonly<Record<string, FakeAnswer | ((request: ExchangeRequest) => FakeAnswer)>>;

export interface FakeEgress extends Egress {
  /** All requests in order; `at_ms` by the given clock, else 0. */
  readonly hits: readonly {
    readonly url: string;
    readonly at_ms: number;
    readonly request: ExchangeRequest;
  }[];
}

const TIMINGS = { dns_ms: 0, connect_ms: 0, tls_ms: 0, first_byte_ms: 0 } as const;

export function fakeEgress(web: FakeWeb, clock?: Clock): FakeEgress {
  const hits: FakeEgress["hits"][number][] = [];
  const origins = new Set(Object.keys(web).map((url) => new URL(url).origin));

  function answerTo(request: ExchangeRequest): FakeAnswer {
    const { href, origin } = new URL(request.url);
    const answer = web[href];
    if (answer) return typeof answer === "function" ? answer(request) : answer;
    return origins.has(origin) ? { status: 404 } : { problem: "dns_nxdomain", connected: false };
  }

  /** Resolves after the delay, or earlier when the exchange is aborted. */
  function pause(for_ms: number, signal: AbortSignal): Promise<void> {
    if (!clock || for_ms === 0 || signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const alarm = clock.at(clock.now() + for_ms, resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    return promise.finally(() => alarm[Symbol.dispose]());
  }

  return {
    hits,
    async exchange(request) {
      if (request.beforeSend && !request.beforeSend())
        return { kind: "failed", problem: "aborted", connected: true, detail: "aborted", ms: 0 };
      request.onSent?.();
      hits.push({ url: request.url, at_ms: clock?.now() ?? 0, request });
      const answer = answerTo(request);
      const began_ms = clock?.now() ?? 0;
      await pause(answer.after_ms ?? 0, request.signal);
      const failed = (problem: EgressProblem, connected: boolean) =>
        ({
          kind: "failed",
          problem,
          connected,
          detail: problem,
          ms: (clock?.now() ?? 0) - began_ms,
        }) as const;
      if (request.signal.aborted) return failed("aborted", true);
      if ("problem" in answer) return failed(answer.problem, answer.connected ?? false);
      let is_cancelled = false;
      async function* body(pieces: Iterable<Buffer>, breaks: EgressProblem | undefined) {
        for (const piece of pieces) {
          if (request.signal.aborted || is_cancelled) throw new EgressError("aborted", "Cannot read on");
          yield piece;
        }
        if (breaks) throw new EgressError(breaks, "Cannot read on");
      }
      const { status, headers = {}, body: content = "", breaks } = answer;
      const pieces =
        typeof content === "string" || Buffer.isBuffer(content) ? [Buffer.from(content)] : content;
      return {
        kind: "answered",
        status,
        headers: new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]])),
        body: body(pieces, breaks),
        cancel: () => void (is_cancelled = true),
        address: "192.0.2.1",
        timings: TIMINGS,
      };
    },
    close: async () => {},
  };
}
