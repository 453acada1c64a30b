/**
 * Whether streams acknowledge what is published to them: a server whose stream is broken answers everything else. What is
 * published anyway tells it; a stream that acknowledged nothing lately is sent a message of this file's own, which no consumer
 * reads and which is removed at once.
 */
import type { Log } from "../../ports/log.ts";
import type { NatsLink } from "./connection.nats.ts";

/** For so long an acknowledgement counts, so an idle stream is sent a message every five seconds at most. */
const RECENT_MS = 5_000;

export interface WatchedStream {
  readonly name: string;
  /** A subject of the stream that no consumer reads: for the messages of this file. */
  readonly probe_subject: string;
}

export interface Acknowledgements {
  /** A publish to the stream was acknowledged, or was not. */
  readonly record: (name: string, isAcknowledged: boolean) => void;
  /** Resolves when every stream has acknowledged something lately. Throws what the publish to one of them failed with. */
  readonly confirm: () => Promise<void>;
  /** Streams of which the last message of this file was not acknowledged, although NATS answered. */
  readonly silent: () => readonly string[];
}

interface State extends WatchedStream {
  /** On the monotonic clock; null: never, or a later publish failed. */
  acknowledged_ms: number | null;
  isFailing: boolean;
  probing: Promise<void> | null;
}

export function watchAcknowledgements(
  { js, jsm }: Pick<NatsLink, "js" | "jsm">,
  streams: readonly WatchedStream[],
  /** Runs a publish, perhaps twice. */
  run: <T>(publish: () => Promise<T>) => Promise<T>,
  log: Log | undefined,
): Acknowledgements {
  const states = new Map<string, State>(
    streams.map((stream) => [
      stream.name,
      { ...stream, acknowledged_ms: null, isFailing: false, probing: null },
    ]),
  );

  const hasRecent = ({ acknowledged_ms }: State): boolean =>
    acknowledged_ms !== null && performance.now() - acknowledged_ms < RECENT_MS;

  function record(name: string, isAcknowledged: boolean): void {
    const state = states.get(name)!;
    state.acknowledged_ms = isAcknowledged ? performance.now() : null;
    if (isAcknowledged && state.isFailing) log?.info("A stream of NATS acknowledges again", { stream: name });
    if (isAcknowledged) state.isFailing = false;
  }

  async function probe(state: State): Promise<void> {
    const { name, probe_subject } = state;
    try {
      await run(() => js.publish(probe_subject));
      record(name, true);
    } catch (problem) {
      record(name, false);
      if (!state.isFailing)
        log?.error("A stream of NATS acknowledges nothing", { stream: name, problem: String(problem) });
      state.isFailing = true;
      throw problem;
    }
    // A message that stays is removed after the next probe.
    await jsm.streams.purge(name, { filter: probe_subject }).catch((problem: unknown) => {
      log?.debug("A message to a stream of NATS cannot be removed", {
        stream: name,
        problem: String(problem),
      });
    });
  }

  return {
    record,
    silent: () => [...states.values()].filter(({ isFailing }) => isFailing).map(({ name }) => name),
    async confirm() {
      const silent = [...states.values()].filter((state) => !hasRecent(state));
      await Promise.all(
        silent.map(
          (state) =>
            (state.probing ??= probe(state).finally(() => {
              state.probing = null;
            })),
        ),
      );
    },
  };
}
