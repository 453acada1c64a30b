/**
 * Streams that a server may lose while nodes run (its disk was replaced, `trawl cluster rebuild`): the first node that
 * finds one missing creates it again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiError, type StreamInfo } from "@nats-io/jetstream";
import type { Log } from "../../ports/log.ts";
import type { NatsLink } from "./connection.nats.ts";

const STREAM_NOT_FOUND = 10_059;
/**
 * nats-server (2.15) says that a stream is missing while it still removes the stream's files, and removes those of a stream
 * that is created meanwhile under the same name, too: such a stream acknowledges nothing.
 */
const FILES_REMOVED_MS = 500;
/** Each of them waits for the removal of the one before. */
const MAX_CREATIONS = 5;

export const isStreamNotFound = (problem: unknown): boolean =>
  problem instanceof JetStreamApiError && problem.code === STREAM_NOT_FOUND;

/** Whether a call may have failed because a stream is missing: a publish to no stream looks like no JetStream at all. */
const mayBeMissing = (problem: unknown): boolean =>
  isStreamNotFound(problem) || (problem instanceof Error && problem.name === "JetStreamNotEnabled");

/** Whether a stream has counted messages from before it was created. */
const hasOldState = ({ created, state }: StreamInfo): boolean =>
  state.last_seq > 0 && Date.parse(state.last_ts) < Date.parse(created);

export interface StreamGuard {
  /** Creates what is missing and resolves to true; false: everything is there. Throws what NATS answers. */
  readonly restore: () => Promise<boolean>;
  /** Runs a call; when it fails because a stream is missing, the stream is created again and the call repeated once. */
  readonly run: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Watches over streams that a server may lose while nodes run. `create` leaves those that exist as they are. */
export function guardStreams(
  { jsm, noteCall }: Pick<NatsLink, "jsm"> & Partial<Pick<NatsLink, "noteCall">>,
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

  async function findMissing(): Promise<readonly string[]> {
    const found = await Promise.all(names.map(isMissing));
    return names.filter((_, i) => found[i]);
  }

  async function createMissing(): Promise<boolean> {
    let missing = await findMissing();
    if (missing.length === 0) return false;
    for (let creations = 0; missing.length > 0 && creations < MAX_CREATIONS; creations++) {
      await sleep(FILES_REMOVED_MS);
      missing = await findMissing();
      // Another node has created them.
      if (missing.length === 0) return true;
      await create();
      log?.warn("NATS had lost streams, and they were created again without their messages", {
        streams: missing,
      });
      missing = await removeDamaged(missing);
    }
    return true;
  }

  /** Streams that were created while the files of their predecessors were being removed. Resolves to their names. */
  async function removeDamaged(created: readonly string[]): Promise<readonly string[]> {
    const infos = await Promise.all(created.map((name) => jsm.streams.info(name)));
    const damaged = infos.filter(hasOldState).map(({ config }) => config.name);
    for (const name of damaged) await jsm.streams.delete(name);
    return damaged;
  }

  const restore = (): Promise<boolean> =>
    (restoring ??= createMissing().finally(() => {
      restoring = null;
    }));

  return {
    restore,
    async run(call) {
      try {
        const answer = await call();
        noteCall?.(null);
        return answer;
      } catch (problem) {
        noteCall?.(problem);
        if (!mayBeMissing(problem) || !(await restore())) throw problem;
        return call();
      }
    },
  };
}
