/** A shell to which blocks of commands are given one after the other, as a reader would paste them into one terminal. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Shell {
  /** Throws when a command of the block fails (`set -e`, `pipefail`). */
  readonly run: (commands: string) => Promise<CommandResult>;
  /** Ends the shell and what it started in the background. */
  readonly close: () => Promise<void>;
}

const END = "\u001e";

/** `preamble`: functions and variables that the blocks find. `folder`: where it runs, and where its blocks are written. */
export function shell(
  preamble: string,
  folder: string,
  environment: Readonly<Record<string, string>>,
): Shell {
  // A group of its own, so that what a block leaves in the background ends with it.
  const bash: ChildProcess = spawn("bash", ["--noprofile", "--norc"], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(bash, "close");
  let stdout = "";
  let stderr = "";
  let wake = (): void => {};
  bash.stdout!.on("data", (text: Buffer) => {
    stdout += text.toString();
    wake();
  });
  bash.stderr!.on("data", (text: Buffer) => (stderr += text.toString()));
  // "close" comes only when what it left in the background has ended, too.
  bash.once("exit", () => wake());
  bash.stdin!.write(`set -eo pipefail\n${preamble}\n`);
  let blocks = 0;

  return {
    async run(commands) {
      const file = join(folder, `block-${(blocks += 1)}.sh`);
      writeFileSync(file, commands);
      [stdout, stderr] = ["", ""];
      bash.stdin!.write(`. ${file} </dev/null\nprintf '%s' '${END}'\n`);
      // Commands that an earlier block left in the background may write at any time.
      while (!stdout.includes(END)) {
        if (bash.exitCode !== null || bash.signalCode !== null)
          throw new Error(`Cannot run these commands:\n${commands}\n\n${stdout}\n${stderr}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return { stdout: stdout.slice(0, stdout.indexOf(END)), stderr };
    },
    async close() {
      try {
        process.kill(-bash.pid!, "SIGTERM");
      } catch {
        // Nothing of its group runs any more.
      }
      await ended;
    },
  };
}
