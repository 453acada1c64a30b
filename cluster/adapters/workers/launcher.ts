/** How a child process is started so that the kernel ends it with its parent and limits its memory. */
import { spawnSync } from "node:child_process";

const TIE = ["/usr/bin/setpriv", "--pdeathsig", "KILL"] as const;
/**
 * The kernel's limit on writable memory (RLIMIT_DATA), which V8's limit on its heap does not bind for buffers: what a child
 * reserves but does not use, some gigabytes, is not counted. A child above `max_rss_mb` is killed when it is measured next;
 * this is for what it takes until then.
 */
const limitOf = (mb: number): readonly string[] => ["/usr/bin/prlimit", `--data=${mb * 2 ** 20}`];
const LIMIT_SLACK_MB = 64;
const usable = new Map<string, boolean>();
/** Whether programs can be started by this one, tried when this process starts its first child. */
function canStartBy(launcher: readonly string[]): boolean {
  const [program] = launcher as [string];
  const known = usable.get(program) ?? spawnSync(program, [...launcher.slice(1), "/bin/true"]).status === 0;
  usable.set(program, known);
  return known;
}

/** The words before a program that may take so much memory; none where the system has no such launchers. */
export const launcherOf = (max_mb: number): readonly string[] =>
  [limitOf(max_mb + LIMIT_SLACK_MB), TIE].filter(canStartBy).flat();
