/**
 * Makes an HTTP exchange over routes instead of an egress: a small document, such as robots.txt, of a site that is asked over
 * paid routes only. The first route that reaches the site answers; a redirect is answered, not followed.
 */
import type { Egress, EgressProblem, Exchange, ExchangeRequest } from "../../../cluster/ports/egress.ts";
import type { Admission, Transport, TransportResult } from "../../lib/web/transport.ts";

const MAX_BYTES = 2 ** 20;

/** The next request of a transport that was given one permit: a redirect. */
const NOT_FOLLOWED: Admission = {
  kind: "refused",
  refusal: { error: "redirect", step: "egress", reason: "redirect", retry_after_s: null, detail: null },
};

export function exchangeByRoutes(routes: readonly Transport[]): Egress["exchange"] {
  return async (request) => {
    let last: Exchange = failed("proxy_unreachable", "No paid route is configured");
    for (const route of routes) {
      last = exchangeOf(await send(route, request));
      if (last.kind === "answered" || request.signal.aborted) return last;
    }
    return last;
  };
}

function send(
  route: Transport,
  { url, signal, beforeSend, onSent }: ExchangeRequest,
): Promise<TransportResult> {
  let requests = 0;
  return route({
    url,
    max_bytes: MAX_BYTES,
    accept_language: null,
    user_agent: null,
    country: null,
    validators: null,
    signal,
    admit: async () =>
      requests++ > 0
        ? NOT_FOLLOWED
        : {
            kind: "admitted",
            beforeSend: beforeSend ?? (() => true),
            onSent: onSent ?? (() => {}),
            release: () => {},
          },
  });
}

function exchangeOf(result: TransportResult): Exchange {
  switch (result.kind) {
    case "page": {
      const headers = [...result.headers].map(([name, value]) => [name, [value]] as const);
      const body = result.body_kind === "rendered_dom" ? shownText(result.body) : result.body;
      return answered(result.status, new Map(headers), body);
    }
    case "refused": {
      const [redirect] = result.redirects;
      if (!redirect) return failed("aborted", result.refusal.detail ?? result.refusal.reason);
      return answered(redirect.status, new Map([["location", [redirect.location]]]), Buffer.alloc(0));
    }
    case "failed":
      return failed(
        PROBLEMS.has(result.reason) ? (result.reason as EgressProblem) : "proxy_unreachable",
        result.reason,
      );
  }
}

/** Reasons that routes give for a failure of the connection to the site. */
const PROBLEMS: ReadonlySet<string> = new Set<EgressProblem>([
  "dns_nxdomain",
  "dns_error",
  "tls_error",
  "network_refused",
  "network_reset",
  "network_unreachable",
  "network_protocol",
  "network_encoding",
  "timeout",
]);

const answered = (
  status: number,
  headers: ReadonlyMap<string, readonly string[]>,
  body: Buffer,
): Exchange => ({
  kind: "answered",
  status,
  headers,
  body: (async function* () {
    yield body;
  })(),
  cancel: () => {},
  address: "",
  timings: { dns_ms: 0, connect_ms: 0, tls_ms: 0, first_byte_ms: 0 },
});

const failed = (problem: EgressProblem, detail: string): Exchange => ({
  kind: "failed",
  problem,
  connected: problem !== "proxy_unreachable",
  detail,
  ms: 0,
});

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };

/** A browser shows a plain text as the text of an element. */
function shownText(body: Buffer): Buffer {
  const html = body.toString();
  const opening = /<pre\b[^<>]*>/i.exec(html);
  const start = opening ? opening.index + opening[0].length : 0;
  const end = opening ? html.toLowerCase().indexOf("</pre>", start) : -1;
  const shown = end < 0 ? html : html.slice(start, end);
  const text = shown
    .replaceAll(/<[^<>]*>/g, "")
    .replaceAll(/&(lt|gt|quot|amp);/g, (_, name: string) => ENTITIES[name]!);
  return Buffer.from(text);
}
