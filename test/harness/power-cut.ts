/**
 * A power cut on real programs: while a program runs, a preloaded library records every file and folder as it was at its
 * last sync (power-cut.c); `restore` then makes a folder of exactly that. Names that were not synced are missing, contents
 * that were not synced are empty. Linux with a C compiler only.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Null where it can run, else why not. */
export const powerCutProblem: string | null =
  process.platform !== "linux"
    ? "not Linux"
    : spawnSync("cc", ["--version"]).status === 0
      ? null
      : "no C compiler (cc)";

/** For the title of a suite that is skipped. */
export const unavailable = powerCutProblem === null ? "" : ` (cannot run: ${powerCutProblem})`;

export interface PowerCut {
  /** Where the program keeps its data: this folder exists before it starts. */
  readonly root: string;
  /** For the program's environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** While this file exists, every sync fails as on a broken disk. */
  readonly fail_file: string;
  /** Makes a new folder that holds what the disk would hold of `root`. The program must have ended. */
  readonly restore: () => string;
  readonly remove: () => void;
}

export function powerCut(): PowerCut {
  const folder = mkdtempSync(join(tmpdir(), "trawl-power-"));
  const [root, image, library] = ["root", "image", "power-cut.so"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const needed of [root, join(image, "content"), join(image, "names")])
    mkdirSync(needed, { recursive: true });
  const source = new URL("power-cut.c", import.meta.url).pathname;
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"]);
  let restored = 0;

  function restoreFolder(inode: number, into: string): void {
    mkdirSync(into);
    const names = join(image, "names", String(inode));
    if (!existsSync(names)) return;
    for (const line of readFileSync(names, "utf8").split("\n").filter(Boolean)) {
      const [, entry, kind, name] = /^(\d+) (.) (.+)$/.exec(line)!;
      const content = join(image, "content", entry!);
      if (kind === "d") restoreFolder(Number(entry), join(into, name!));
      else if (existsSync(content)) copyFileSync(content, join(into, name!));
      else writeFileSync(join(into, name!), "");
    }
  }

  return {
    root,
    environment: { LD_PRELOAD: library, POWER_CUT_ROOT: root, POWER_CUT_IMAGE: image },
    fail_file: join(image, "fail"),
    restore() {
      const into = join(folder, `restored-${++restored}`);
      restoreFolder(statSync(root).ino, into);
      return into;
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}
