/** The span of a request to the API: the first of a trace, or below the span of the W3C `traceparent` that the caller sends. */
import type { Tracing } from "../cluster/ports/tracing.ts";
import type { Body, Head, Reply } from "./http.ts";
import type { Route } from "./route.ts";

type AnswerBody = (body: Body) => Reply | Promise<Reply>;

/** `answer` in a span. Requests for the status, which monitors send every few seconds, have none. */
export function tracedAnswer(
  tracing: Tracing,
  { method, headers }: Head,
  route: Route | undefined,
  answer: AnswerBody,
): AnswerBody {
  if (!route || route.tags[0] === "status") return answer;
  const spec = {
    name: `${method} ${route.path}`,
    kind: "server",
    attributes: { "http.request.method": method, "http.route": route.path },
  } as const;
  return (body) =>
    tracing.root(spec, headers.get("traceparent") ?? null, (span) => {
      const told = ({ status, headers: answered = {} }: Reply): void => {
        const request_id = answered["X-Request-Id"] ?? "";
        span.set({ "http.response.status_code": status, "trawl.request_id": request_id });
        if (status >= 500) span.fail(String(status));
      };
      const reply = answer(body);
      if (!(reply instanceof Promise)) {
        told(reply);
        return reply;
      }
      return reply.then((whole) => {
        told(whole);
        return whole;
      });
    });
}
