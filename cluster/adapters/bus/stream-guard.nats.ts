/**
 * Streams that a server may lose while nodes run (its disk was replaced, `trawl cluster rebuild`): the first node that
 * finds one missing creates it again.
 */
import { JetStreamApiError } from "@nats-io/jetstream";
import type { Log } from "../../ports/log.ts";
import type { NatsLink } from "./connection.nats.ts";

const STREAM_NOT_FOUND = 10_059;

export const isStreamNotFound = (problem: unknown): boolean =>
  problem instanceof JetStreamApiError && problem.code === STREAM_NOT_FOUND;

/** Whether a call may have failed because a stream is missing: a publish to no stream looks like no JetStream at all. */
const mayBeMissing = (problem: unknown): boolean =>
  isStreamNotFound(problem) || (problem instanceof Error && problem.name === "JetStreamNotEnabled");

export interface StreamGuard {
  /** Creates what is missing and resolves to true; false: everything is there. Throws what NATS answers. */
  readonly restore: () => Promise<boolean>;
  /** Runs a call; when it fails because a stream is missing, the stream is created again and the call repeated once. */
  readonly run: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Watches over streams that a server may lose while nodes run. `create` leaves those that exist as they are. */
export function guardStreams(
  { jsm }: Pick<NatsLink, "jsm">,
  names: readonly string[],
  create: () => Promise<void>,
  log: Log | undefined,
): StreamGuard {
  let restoring: Promise<boolean> | null = null;

  async function isMissing(name: string): Promise<boolean> {
    try {
      await jsm.streams.info(name);
      return false;
    } catch (problem) {
      if (isStreamNotFound(problem)) return true;
      throw problem;
    }
  }

  async function createMissing(): Promise<boolean> {
    const found = await Promise.all(names.map(isMissing));
    const missing = names.filter((_, i) => found[i]);
    if (missing.length === 0) return false;
    await create();
    log?.warn("NATS had lost streams, and they were created again without their messages", {
      streams: missing,
    });
    return true;
  }

  const restore = (): Promise<boolean> =>
    (restoring ??= createMissing().finally(() => {
      restoring = null;
    }));

  return {
    restore,
    async run(call) {
      try {
        return await call();
      } catch (problem) {
        if (!mayBeMissing(problem) || !(await restore())) throw problem;
        return call();
      }
    },
  };
}
