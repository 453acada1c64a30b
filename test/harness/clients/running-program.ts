/** A client's program as a child process, which prints a line of JSON for each thing that a test waits for. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll } from "vitest";

/** A program that runs, and the lines that it has printed so far. */
export interface Program {
  readonly lines: any[];
  /** Resolves with its lines when there are so many. */
  readonly printed: (count: number) => Promise<any[]>;
  /** Resolves when it has ended; rejects when it failed. */
  readonly ended: () => Promise<any[]>;
}

const programs: ChildProcess[] = [];
afterAll(() => {
  for (const program of programs) if (program.exitCode === null) program.kill("SIGKILL");
});

/** `command`: the program that runs it. */
export function startProgram(
  command: string,
  words: readonly string[],
  cwd: string,
  env?: NodeJS.ProcessEnv,
): Program {
  const program = spawn(command, words, { cwd, ...(env && { env }), stdio: ["ignore", "pipe", "pipe"] });
  programs.push(program);
  const lines: any[] = [];
  let errors = "";
  let look = (): void => {};
  program.stderr.on("data", (text: Buffer) => (errors += text.toString()));
  createInterface({ input: program.stdout }).on("line", (line) => {
    lines.push(JSON.parse(line));
    look();
  });
  const closed = once(program, "close").then(([code]) => {
    if (code !== 0) throw new Error(`The program ended with ${code}: ${errors}`);
    return lines;
  });
  closed.catch(() => {});
  const printed = (count: number): Promise<any[]> =>
    Promise.race([
      new Promise<any[]>((resolve) => {
        look = () => lines.length >= count && resolve(lines);
        look();
      }),
      closed.then(() => {
        if (lines.length < count) throw new Error(`The program ended after ${lines.length} lines: ${errors}`);
        return lines;
      }),
    ]);
  return { lines, printed, ended: () => closed };
}
