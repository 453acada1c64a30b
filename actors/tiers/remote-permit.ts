/**
 * The permit for one request, as the hooks that a transport calls. In the caller's process they are its own functions. For
 * a caller on another node the permit is renewed while the request is being connected, because what sends it asks
 * synchronously: the last renewal must be younger than RENEWAL_VALID_MS.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Caller } from "../../cluster/role-actor.ts";
import type { TierAnswer, TierQuestion } from "../../schemas/tiers.ts";
import type { Admission } from "../lib/web/transport.ts";

/** A permit may wait in a domain's queue for a minute (batch), after robots.txt was loaded. */
export const ADMIT_TIMEOUT_MS = 120_000;
export const RELEASE_TIMEOUT_MS = 2_000;
/** A lease has a safety margin of 600 ms: a node that got the answer to a question older than this must not send. */
export const RENEWAL_VALID_MS = 400;
const RENEW_MS = 150;

type Admitted = Extract<Admission, { readonly kind: "admitted" }>;
type TierCaller = Caller<TierQuestion, TierAnswer>;

export async function admissionHooks(caller: TierCaller, admission: number, clock: Clock): Promise<Admitted> {
  const tell = (question: TierQuestion): void => {
    const told = caller.ask(question, RELEASE_TIMEOUT_MS);
    // Lost on the way, the request counts as sent and its permit is released at the latest when the call ends.
    if (told instanceof Promise) told.catch(() => {});
  };
  const hooks = {
    kind: "admitted",
    onSent: () => tell({ do: "sent", admission }),
    release: ({ status, retry_after_s }: { status: number | null; retry_after_s: number | null }) =>
      tell({ do: "release", admission, status, retry_after_s }),
  } as const;
  if (caller.isLocal)
    return {
      ...hooks,
      beforeSend: () => caller.ask({ do: "before_send", admission }, RENEWAL_VALID_MS) === true,
    };
  const renewal = renewedPermit(caller, admission, clock);
  await renewal.first;
  return {
    ...hooks,
    beforeSend: renewal.isValid,
    onSent() {
      renewal.stop();
      hooks.onSent();
    },
    release(answer) {
      renewal.stop();
      hooks.release(answer);
    },
  };
}

interface RenewedPermit {
  /** The first renewal was answered, or not in time. */
  readonly first: Promise<void>;
  readonly isValid: () => boolean;
  readonly stop: () => void;
}

function renewedPermit(caller: TierCaller, admission: number, clock: Clock): RenewedPermit {
  let renewed_ms = -Infinity;
  let isOver = false;
  let timer: Disposable | null = null;

  async function renew(): Promise<void> {
    const asked_ms = clock.mono();
    try {
      const may = await caller.ask({ do: "before_send", admission }, RENEWAL_VALID_MS);
      if (may === true) renewed_ms = Math.max(renewed_ms, asked_ms);
      else isOver = true;
    } catch {
      // The next renewal may be answered; until then the permit grows old.
    }
    if (isOver || caller.signal.aborted) return;
    timer = clock.at(clock.now() + RENEW_MS, () => void renew());
  }

  return {
    first: renew(),
    isValid: () => !isOver && clock.mono() - renewed_ms < RENEWAL_VALID_MS,
    stop() {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}
