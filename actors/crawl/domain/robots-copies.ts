/**
 * The copies of robots.txt by which the Robots actors of this process answer. A fetch of the same site runs in the same process
 * and under the same epoch; where the copy is fresh, it is answered from here, without a message. Whatever else there is to know (no
 * copy, an old one, a read that failed, the exchanges for an archive) only the actor says.
 */
import { LRUCache } from "lru-cache";
import type { RobotsAnswer, RobotsRequest } from "../../../schemas/domain.ts";
import { answerFor, type RobotsCopy } from "./robots-state.ts";

/** About so many characters of rules; the copies are those of the actors, as long as these are in memory. */
const MAX_CHARS = 4 * 2 ** 20;
/** Counted for each rule beside its pattern, and for each copy beside its rules. */
const MORE_CHARS = 64;

export interface RobotsCopies {
  /** The actor with this key, activated under this epoch, has answered by its copy, which is stored. */
  readonly onAnswered: (key: string, epoch: number, copy: RobotsCopy) => void;
  /** The actor with this key has read the file again: the copy before says nothing any more, and the next one may not be stored yet. */
  readonly onRead: (key: string) => void;
  /** Null: the actor must be asked. `epoch`: that of the fetch, whose node owns the key. */
  readonly answerFor: (
    key: string,
    epoch: number,
    request: { readonly url: URL; readonly networks: RobotsRequest["networks"] },
    now_ms: number,
  ) => RobotsAnswer | null;
}

export function robotsCopies(): RobotsCopies {
  const kept = new LRUCache<string, { readonly epoch: number; readonly copy: RobotsCopy }>({
    maxSize: MAX_CHARS,
    sizeCalculation: ({ copy }) =>
      copy.rules.rules.reduce((chars, { pattern }) => chars + pattern.length + MORE_CHARS, MORE_CHARS),
  });
  return {
    onAnswered(key, epoch, copy) {
      const known = kept.get(key);
      if (known?.copy !== copy || known.epoch !== epoch) kept.set(key, { epoch, copy });
    },
    onRead: (key) => void kept.delete(key),
    answerFor(key, epoch, { url, networks }, now_ms) {
      const known = kept.get(key);
      // Another node may have read the file since then.
      if (known?.epoch !== epoch) return null;
      return answerFor({ copy: known.copy, failure: null }, url, now_ms, networks ?? null);
    },
  };
}
