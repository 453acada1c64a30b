/**
 * Which program runs: the version of package.json and the commit it was built from. An image has the commit in the file
 * `build-commit` beside package.json (ops/deploy/Containerfile); a checkout has it in `.git`.
 */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export interface BuildInfo {
  readonly version: string;
  /** The first 12 digits; null: neither an image nor a checkout. */
  readonly commit: string | null;
}

/** For people: what a report of a bug needs. */
export const buildName = ({ version, commit }: BuildInfo): string =>
  `Trawl ${version}${commit === null ? "" : `, commit ${commit}`}`;

const DIGITS = 12;

/** `root` is the folder of package.json. */
export function readBuildInfo(root: string): BuildInfo {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const commit = textOf(join(root, "build-commit")) ?? commitOfCheckout(root);
  return {
    version,
    commit: commit !== null && /^[0-9a-f]{7,64}$/.test(commit) ? commit.slice(0, DIGITS) : null,
  };
}

/** Without git, which an image lacks. */
function commitOfCheckout(root: string): string | null {
  const git = gitFolder(root);
  const head = git && textOf(join(git, "HEAD"));
  if (!git || head === null) return null;
  const [, ref] = /^ref: (.+)$/.exec(head) ?? [];
  if (ref === undefined) return head;
  // A worktree has its HEAD to itself and shares the branches.
  const common = resolve(git, textOf(join(git, "commondir")) ?? ".");
  const loose = textOf(join(common, ref));
  if (loose !== null) return loose;
  const packed = textOf(join(common, "packed-refs"))?.split("\n") ?? [];
  return packed.find((line) => line.endsWith(` ${ref}`))?.split(" ", 1)[0] ?? null;
}

function gitFolder(root: string): string | null {
  const path = join(root, ".git");
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return null;
  if (found.isDirectory()) return path;
  const [, folder] = /^gitdir: (.+)$/.exec(textOf(path) ?? "") ?? [];
  return folder === undefined ? null : resolve(root, folder);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}
