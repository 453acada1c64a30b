/**
 * Constants of the runtime that a simulated course may shrink by chance, so that what they bound is reached: time-outs, pauses,
 * batches, caches and limits of attempts. In the project `simulation` Vite makes variables of them (vitest.config.ts); the
 * program itself has constants.
 */
import { relative } from "node:path";

/** By file: the constants, and the smallest value with which all that is promised still holds. */
const SMALLEST: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // A turn whose state another owner has stored meanwhile is one of the attempts.
  "cluster/internal/turn/activation.ts": { MAX_ATTEMPTS: 3, RETRY_DELAY_MS: 1 },
  "cluster/dead-letters.ts": { MAX_PAUSE_MS: 100 },
  "cluster/internal/turn/node.ts": { MAX_REMEMBERED_ANSWERS: 1, REMEMBER_MS: 1_000 },
  "cluster/internal/transport/outstanding-asks.ts": {
    RESEND_AFTER_MS: 300,
    TELL_RESEND_AFTER_MS: 50,
    FIRST_MOVED_PAUSE_MS: 10,
    MAX_MOVED_PAUSE_MS: 100,
  },
  "cluster/internal/partition/rounds.ts": { ROUND_MS: 300 },
  "cluster/internal/partition/partition-lease.ts": { MAX_DRAIN_MS: 100 },
  "cluster/internal/partition/partition.ts": {
    ACK_RETRY_MS: 10,
    STRANDED_CHECK_MS: 2_000,
    STRANDED_CHECK_SOON_MS: 500,
  },
  "cluster/internal/turn/passivation.ts": { SWEEP_MS: 200, MAX_SWEEP: 2 },
  "cluster/reminders.ts": { MAX_RECOVER: 1, MAX_CONCURRENT_RECOVERIES: 1, REMINDER_RETRY_MS: 1_000 },
  "cluster/internal/turn/store-later.ts": { STORE_LATER_MS: 10 },
  "cluster/internal/turn/store-wait.ts": { MAX_PAUSE_MS: 100, LEASE_PAUSE_MS: 10 },
  "cluster/internal/transport/tell-retries.ts": { FIRST_PAUSE_MS: 10, MAX_PAUSE_MS: 100 },
  "cluster/internal/transport/unreadable-envelopes.ts": { CHECK_MS: 200 },
  "actors/crawl/domain/actor.ts": { MAX_QUEUE: 4, MAX_HELD: 2, MAX_REPLIES: 1, MAX_DOMAINS_WITH_SENT: 1 },
  "actors/work/jobs/actor.ts": { SHARE_MS: 200 },
  "actors/work/jobs/allowance.ts": { PAYER_MS: 200, REPORT_MS: 200, ASK_AGAIN_MS: 100 },
  "actors/work/jobs/checkpoint.ts": { CHECKPOINT_MS: 20, SEAL_MS: 100, MAX_BATCH_ROWS: 1 },
  "actors/work/jobs/load.ts": { CHUNKS_AT_ONCE: 1 },
};

/** In a course, one of so many is shrunk. */
const SHRUNK_OF = 4;

interface Shrinkable {
  readonly usual: number;
  readonly set: (value: number) => void;
}

/** By file and name, of the modules that this process has loaded. */
const loaded = ((globalThis as { shrinkableConstants?: Map<string, Shrinkable> }).shrinkableConstants ??=
  new Map<string, Shrinkable>());

/** The plugin for Vite. Throws for a constant that its file lacks. */
export const shrinkableConstants = (root: string) => ({
  name: "shrinkable-constants",
  enforce: "pre" as const,
  transform(code: string, id: string): string | null {
    const file = relative(root, id.split("?", 1)[0]!);
    return Object.keys(SMALLEST[file] ?? {}).reduce<string | null>((text, name) => {
      const declaration = new RegExp(`^((?:export )?)const ${name} = `, "m");
      if (!declaration.test(code)) throw new Error(`${file} has no constant "${name}"`);
      const entry = `{ usual: ${name}, set: (value) => void (${name} = value) }`;
      return `${(text ?? code).replace(declaration, `$1let ${name} = `)}
(globalThis.shrinkableConstants ??= new Map()).set("${file} ${name}", ${entry});`;
    }, null);
  },
});

/** Gives each constant its usual value, or by chance a smaller one. Answers what was shrunk, for the trace. */
export function shrinkConstants(chance: (below: number) => number): readonly string[] {
  const shrunk: string[] = [];
  for (const [file, names] of Object.entries(SMALLEST))
    for (const [name, smallest] of Object.entries(names)) {
      // The draws are the same whatever this process has loaded.
      const [isShrunk, share] = [chance(SHRUNK_OF) === 0, chance(100) / 100];
      const constant = loaded.get(`${file} ${name}`);
      if (!constant) continue;
      // Small values are the likelier ones.
      const value = smallest + Math.round((constant.usual - smallest) * share ** 3);
      constant.set(isShrunk ? value : constant.usual);
      if (isShrunk) shrunk.push(`${name} is ${value}`);
    }
  return shrunk;
}

/** All constants are as in production again. */
export function restoreConstants(): void {
  for (const { usual, set } of loaded.values()) set(usual);
}
