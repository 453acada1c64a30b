/**
 * The route `proxy_render`: a commercial rendering service, called over JSON. The page's own site needs one permit, for
 * the visit of the service; the service does not report redirects before it has followed them.
 *
 * The result is the document after its scripts have run, without the origin's header fields. The key is sent to the
 * service only.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { type Egress, EgressError, type EgressProblem } from "../../../../cluster/ports/egress.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import type { Transport, TransportResult } from "../../../lib/web/transport.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { problemOf, renderService } from "../render-services.ts";
import { collectBody, admitted, sendHooks, destinationRefusal } from "./one-request.ts";

export interface RenderOptions {
  /** Egress to the service, which may have a private address, because an operator configured it. */
  readonly egress: Egress;
  readonly clock: Clock;
  /** Checks the page's URL, because the service would request any. */
  readonly destination: Destination;
  readonly render_url: string;
  readonly render_key?: string;
}

/** Time-out of the service, with its proxies and retries. Longer, and the caller has disconnected. */
const MAX_RENDER_MS = 120_000;
/** The response is JSON around the document: factor for escaping, and bytes for the other fields. */
const MAX_ESCAPED = 2;
const AROUND_BYTES = 65_536;

export function renderTransport({
  egress,
  clock,
  destination,
  render_url,
  render_key,
}: RenderOptions): Transport {
  const service = renderService(render_url);
  const headers = [
    ["Content-Type", "application/json"],
    ["Accept", "application/json"],
    ...(render_key === undefined ? [] : service.headers(render_key)),
  ] as const;

  return async ({ url, country, max_bytes, signal, admit: enter }): Promise<TransportResult> => {
    const began_ms = clock.mono();
    const rest = () => ({ redirects: [], final_url: null, ms: Math.round(clock.mono() - began_ms) });
    const failed = (reason: string, detail: string | null): TransportResult => ({
      kind: "failed",
      reason,
      status: null,
      detail,
      ...rest(),
    });

    const judged = destination.url(url);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      return { kind: "refused", refusal: destinationRefusal(judged, url), ...rest() };
    }
    const entry = await admitted({ admit: enter, signal }, url);
    if (entry === null) return failed("timeout", "The deadline passed before the page could be requested");
    if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...rest() };

    let seen: number | null = null;
    try {
      const exchange = await egress.exchange({
        url: render_url,
        method: "POST",
        headers,
        body: Buffer.from(JSON.stringify(service.body({ url, country }))),
        signal,
        ...sendHooks(entry),
        headers_timeout_ms: MAX_RENDER_MS,
      });
      if (exchange.kind === "failed") return failed(reasonOf(exchange.problem), exchange.detail);
      if (exchange.status !== 200) {
        exchange.cancel();
        const reason = problemOf(exchange.status, service);
        return failed(reason, `The rendering service answered ${exchange.status}`);
      }
      const bytes = await collectBody(exchange, MAX_ESCAPED * max_bytes + AROUND_BYTES);
      if (bytes === null) return failed("too_large", `The page is larger than ${max_bytes} bytes`);
      const rendered = service.read(parsed(bytes));
      if (rendered === null) {
        return failed("provider_bad_answer", "The rendering service's answer does not have its shape");
      }
      seen = rendered.status;
      const body = Buffer.from(rendered.html);
      if (body.length > max_bytes) return failed("too_large", `The page is larger than ${max_bytes} bytes`);
      return {
        kind: "page",
        ...rest(),
        final_url: parseUrl(rendered.final_url ?? "")?.href ?? url,
        status: rendered.status,
        headers: new Map(),
        body,
        body_kind: "rendered_dom",
        ...(rendered.difficulty !== null && { detail: rendered.difficulty }),
      };
    } catch (problem) {
      if (problem instanceof EgressError) return failed(reasonOf(problem.problem), problem.message);
      throw problem;
    } finally {
      entry.release({ status: seen, retry_after_s: null });
    }
  };
}

/** A failure to reach the service is not the page's failure. */
const reasonOf = (problem: EgressProblem): string =>
  problem === "aborted" || problem === "timeout" ? "timeout" : "provider_unreachable";

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
