/**
 * The remote form of what a tier asks its caller: questions of the tier's node, numbered by admission, and the answers of the
 * caller's node. The permit of an admitted request is renewed while it is being connected, because what sends it asks
 * synchronously: the last renewal must be younger than RENEWAL_VALID_MS.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Caller } from "../../../cluster/role-actor.ts";
import type { AdmissionAnswer, LimitsAnswer, TierAnswer, TierQuestion } from "../../../schemas/tiers.ts";
import { type Admitted, type TierCallbacks, UNANSWERED } from "./callbacks.ts";

/** A permit may wait in a domain's queue for a minute (batch), after robots.txt was loaded. */
const ADMIT_TIMEOUT_MS = 120_000;
const RELEASE_TIMEOUT_MS = 2_000;
/** A lease has a safety margin of 600 ms: a node that got the answer to a question older than this must not send. */
export const RENEWAL_VALID_MS = 400;
const RENEW_MS = 150;

export type TierCaller = Caller<TierQuestion, TierAnswer>;

/** On the tier's node: the callbacks of a caller on another one. */
export function remoteCallbacks(caller: TierCaller, clock: Clock): Omit<TierCallbacks, "room"> {
  return {
    async admit(url, options = {}) {
      const question = { do: "admit", url, ...options } as const;
      const answer = (await caller.ask(question, ADMIT_TIMEOUT_MS)) as AdmissionAnswer | null;
      if (answer?.kind !== "admitted") return answer;
      const { admission } = answer;
      return {
        kind: "admitted",
        giveBack: () => tell(caller, { do: "release", admission, ...UNANSWERED }),
        use: () => usedPermit(caller, admission, clock),
      };
    },
    currentLimits: async () => (await caller.ask({ do: "limits" }, RELEASE_TIMEOUT_MS)) as LimitsAnswer,
  };
}

/** Lost on the way, a request counts as sent, and its permit is released at the latest when the call ends. */
function tell(caller: TierCaller, question: TierQuestion): void {
  void Promise.resolve(caller.ask(question, RELEASE_TIMEOUT_MS)).catch(() => {});
}

async function usedPermit(caller: TierCaller, admission: number, clock: Clock): Promise<Admitted> {
  const renewal = renewedPermit(caller, admission, clock);
  await renewal.first;
  return {
    kind: "admitted",
    beforeSend: renewal.isValid,
    onSent() {
      renewal.stop();
      tell(caller, { do: "sent", admission });
    },
    release({ status, retry_after_s }) {
      renewal.stop();
      tell(caller, { do: "release", admission, status, retry_after_s });
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

/** On the caller's node: answers the questions of a tier on another one by the caller's own callbacks. */
export function remoteAnswers({
  admit,
  currentLimits,
}: Omit<TierCallbacks, "room">): (question: TierQuestion) => TierAnswer | Promise<TierAnswer> {
  /** By number; null: released. */
  const admissions: (Admitted | null)[] = [];
  return (question) => {
    switch (question.do) {
      case "admit": {
        const { do: _, url, ...options } = question;
        return admit(url, options).then(async (entry): Promise<TierAnswer> =>
          entry?.kind === "admitted"
            ? { kind: "admitted", admission: admissions.push(await entry.use()) - 1 }
            : entry,
        );
      }
      case "before_send":
        return admissions[question.admission]?.beforeSend() ?? false;
      case "sent":
        admissions[question.admission]?.onSent();
        return null;
      case "release": {
        const { admission, status, retry_after_s } = question;
        admissions[admission]?.release({ status, retry_after_s });
        admissions[admission] = null;
        return null;
      }
      case "limits":
        return currentLimits().then((limits): TierAnswer => ({ kind: "limits", ...limits }));
    }
  };
}
