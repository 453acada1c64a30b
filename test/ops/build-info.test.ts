/** The version and the commit that `trawl nodes` shows, in the layouts in which git and an image leave them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readBuildInfo } from "../../ops/build-info.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-build-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;

const COMMIT = "d86a7ba61f9923ee6966dc47ad48eeba452de706";

function rootWith(files: Readonly<Record<string, string>>): string {
  const root = join(folder, String(count++));
  for (const [path, text] of Object.entries({ "package.json": '{"version":"1.2.3"}', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

describe("the commit", () => {
  const found: [string, Record<string, string>][] = [
    ["of an image", { "build-commit": `${COMMIT}\n` }],
    ["of a branch", { ".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": `${COMMIT}\n` }],
    [
      "of a packed branch",
      {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/packed-refs": `# pack-refs with: peeled\n0000000 refs/heads/x\n${COMMIT} refs/heads/main\n`,
      },
    ],
    ["of a detached head", { ".git/HEAD": `${COMMIT}\n` }],
    [
      "of a worktree",
      {
        ".git": "gitdir: main/worktrees/w\n",
        "main/worktrees/w/HEAD": "ref: refs/heads/w\n",
        "main/worktrees/w/commondir": "../..\n",
        "main/refs/heads/w": `${COMMIT}\n`,
      },
    ],
  ];
  test.each(found)("%s is read", (_, files) => {
    expect(readBuildInfo(rootWith(files))).toEqual({ version: "1.2.3", commit: "d86a7ba61f99" });
  });

  test.each([
    ["neither a checkout nor an image", {}],
    ["a branch without commits", { ".git/HEAD": "ref: refs/heads/main\n" }],
    ["something else in the file", { "build-commit": "unknown" }],
  ])("%s has none", (_, files) => {
    expect(readBuildInfo(rootWith(files)).commit).toBeNull();
  });
});
