/**
 * Every public status that a service showed, looked at every second: a state that lasts for one round of reports is not missed while a
 * test does something else.
 */
import { expect } from "vitest";
import type { ServiceStatus } from "../../schemas/status.ts";

/** An address may ask 120 times a minute. */
const LOOK_EVERY_MS = 1_000;

/** State that a component must have had; asymmetric matchers are allowed. */
export interface ExpectedState extends Partial<Record<"reasons" | "metrics", unknown>> {
  readonly status: string;
}
/** By the component's id. */
export type ExpectedStates = Readonly<Record<string, readonly ExpectedState[]>>;

export interface StatusLog {
  /** How many looks there were. */
  readonly length: () => number;
  /** The states that a component has not shown since look number `from`, with what it shows now. */
  readonly missing: (expected: ExpectedStates, from: number) => readonly string[];
  readonly close: () => void;
}

/** `read` gives what GET /v1/status answers. Throws in `missing` what it threw. */
export function statusLog(read: () => Promise<ServiceStatus>): StatusLog {
  const looks: ServiceStatus[] = [];
  let failure: Error | null = null;
  const look = (): void =>
    void read().then(
      (status) => looks.push(status),
      (problem: Error) => (failure ??= problem),
    );
  const timer = setInterval(look, LOOK_EVERY_MS);
  look();
  return {
    length: () => looks.length,
    missing(expected, from) {
      if (failure !== null) throw failure;
      const since = looks.slice(from);
      const wasLike = (id: string, state: object): boolean =>
        since.some(({ components }) => components.some((each) => each.id === id && isLike(each, state)));
      const now = (id: string): unknown => {
        const { status, reasons, metrics } = looks.at(-1)!.components.find((each) => each.id === id)!;
        return { status, reasons, metrics };
      };
      return Object.entries(expected).flatMap(([id, states]) =>
        states
          .filter((state) => !wasLike(id, state))
          .map((state) => `${id} ${JSON.stringify(state)}, it is ${JSON.stringify(now(id))}`),
      );
    },
    close: () => clearInterval(timer),
  };
}

function isLike(value: object, like: object): boolean {
  try {
    expect(value).toMatchObject(like);
    return true;
  } catch {
    return false;
  }
}
