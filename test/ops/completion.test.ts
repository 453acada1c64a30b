/** The scripts of trawl completion, run by the shells that they are for. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { trawl } from "../../ops/cli.ts";
import { findProgram } from "../harness/programs.ts";

async function completion(shell: string): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const never = (): never => {
    throw new Error("not here");
  };
  const code = await trawl(["completion", shell], {
    environment: {},
    config: never,
    openDocuments: never,
    openNodeDirectory: never,
    now: () => 0,
    out: (line) => void lines.push(line),
    err: (line) => void lines.push(line),
    starting: never,
    version: "0.0.0",
  });
  return { code, text: lines.join("\n") };
}

/** The words of a line so far, the last one begun, and all that may stand there. */
const LINES: readonly (readonly [line: readonly string[], offered: readonly string[]])[] = [
  [["dom"], ["domain", "domains"]],
  [
    ["job", ""],
    ["cancel", "help", "items", "pause", "resume", "save", "show", "verify", "watch"],
  ],
  [["job", "--key", "sk_x", "can"], ["cancel"]],
  [["job", "show", "--js"], ["--json"]],
  [["fetch", "--ren"], ["--render"]],
  [
    ["fetch", "--render", ""],
    ["always", "auto", "never"],
  ],
];

interface Shell {
  readonly shell: string;
  readonly program: (script: string, line: readonly string[]) => string;
}

const quoted = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
/** Commands that bash runs when a word is completed, and bashcompinit of zsh after it. */
const called = (line: readonly string[]): string =>
  `COMP_WORDS=(trawl ${quoted(line)}); COMP_CWORD=${line.length}; _trawl; printf '%s\\n' "\${COMPREPLY[@]}"`;

const SHELLS: readonly Shell[] = [
  { shell: "bash", program: (script, line) => `${script}\n${called(line)}` },
  {
    shell: "zsh",
    program: (script, line) =>
      `autoload -U compinit && compinit -u -D\n${script}\ncomplete_line() { emulate -L sh; setopt kshglob noshglob braceexpand; ${called(line)}; }\ncomplete_line`,
  },
  {
    shell: "fish",
    program: (script, line) => `${script}\ncomplete -C ${quoted([["trawl", ...line].join(" ")])}`,
  },
];

describe.each(SHELLS)("completion in $shell", ({ shell, program }) => {
  const path = findProgram(shell);
  test.skipIf(path === null).each(LINES)(`%j (needs ${shell})`, async (line, offered) => {
    const { text } = await completion(shell);
    const printed = execFileSync(path!, ["-c", program(text, line)], { encoding: "utf8" });
    const words = printed.split("\n").flatMap((each) => each.split("\t")[0] || []);
    const last = line.at(-1)!;
    // Fish offers options where a word begins with a dash only; the completion system of zsh leaves out what begins otherwise.
    const isMeant = (word: string): boolean =>
      word.startsWith(last) && (last.startsWith("-") || !word.startsWith("-"));
    expect(words.filter(isMeant).toSorted()).toEqual(offered);
  });
});

test("another shell is refused", async () => {
  expect(await completion("csh")).toEqual({
    code: 2,
    text: 'shell: "csh" should be one of bash, zsh, fish',
  });
});
