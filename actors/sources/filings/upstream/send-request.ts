/** Sends an HTTP request to the filing system with a slot; a slot that expires before it is used is replaced by another. */
import type { Exchange } from "../../../../cluster/ports/egress.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { countOutcome, type FailedAnswer, failed, type FetchRun } from "./fetch-run.ts";
import { acquireSlot, recordOutcomeLater, type SlotPermit } from "./slot-permit.ts";

/** A caller waits this long for the slot of each request. */
const SLOT_WAIT_MS = 10_000;
const SLOT_RETRY_AFTER_S = 5;
const MAX_CONNECT_MS = 15_000;
const MAX_HEADERS_MS = 30_000;
const MAX_SILENCE_MS = 30_000;

export async function sendRequest(
  run: FetchRun,
  url: string,
): Promise<{ readonly exchange: Exchange; readonly permit: SlotPermit } | FailedAnswer> {
  const { work, signal, request } = run;
  const { clock, send } = run.deps;
  const deadline_ms = Math.min(request.deadline_ms, clock.now() + SLOT_WAIT_MS);
  /** Requests sent on a pooled connection that the filing system had closed. */
  let lost = 0;
  for (;;) {
    const permit = await acquireSlot(run, deadline_ms);
    if ("kind" in permit) return permit;
    if (!work.ownsKey()) {
      recordOutcomeLater(run, permit, "dropped");
      throw new Fault("lease_lost", `Cannot ask "${url}": another node may hold it`);
    }
    const exchange = await send(permit.usable, {
      url,
      method: "GET",
      headers: headersOf(run),
      signal,
      connect_timeout_ms: MAX_CONNECT_MS,
      headers_timeout_ms: MAX_HEADERS_MS,
      idle_timeout_ms: MAX_SILENCE_MS,
      ownsKey: () => work.ownsKey(),
    });
    if (exchange.kind !== "expired") {
      run.requests += 1;
      return { exchange, permit };
    }
    countOutcome(run, "slot_expired");
    if (exchange.was_sent) {
      run.requests += 1;
      lost += 1;
      const detail = "Every connection dies under its request";
      if (lost > 1) return { exchange: { kind: "failed", problem: "network_reset", detail, ms: 0 }, permit };
    }
    recordOutcomeLater(run, permit, exchange.was_sent ? "answered" : "dropped");
    if (signal.aborted) return failed(run, "timeout", `The time ran out before ${url} could be asked for`);
    // Opening the connection took longer than the slot was valid; the next slot finds it open.
    if (clock.now() >= deadline_ms)
      return failed(run, "rate_limited", "Every slot of the filing system was over before it could be used", {
        retry_after_s: SLOT_RETRY_AFTER_S,
      });
  }
}

/** Only the first request is conditional: what a redirect leads to may be another document. */
function headersOf({
  deps: { identity },
  stale,
  redirects,
}: FetchRun): readonly (readonly [string, string])[] {
  const last_modified = redirects.length === 0 ? stale?.last_modified : null;
  return [
    ["User-Agent", identity],
    ["Accept", "*/*"],
    ...(last_modified ? [["If-Modified-Since", last_modified] as const] : []),
  ];
}
