/** The terminal of a command that runs for a while: drawing a progress line, interrupts, reading files and waiting. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { sleep } from "../cluster/ports/clock.ts";

export interface Terminal {
  /** Whether standard output goes to a program or a file and not to a terminal. */
  readonly isPiped: boolean;
  /** The width of standard error; null when it is not a terminal, so nothing is drawn. */
  readonly columns: number | null;
  /** Draws one line on standard error in place of the last one; "" erases it. */
  readonly draw: (line: string) => void;
  /** Standard output as a whole; null when it is not a terminal. */
  readonly screen: {
    readonly rows: () => number;
    readonly columns: () => number;
    readonly write: (text: string) => void;
  } | null;
  /** Calls back on Ctrl-C. */
  readonly onInterrupt: (call: () => void) => Disposable;
  /** A file, or standard input for "-". */
  readonly read: (path: string) => Promise<string>;
  /** A line that the terminal does not show, asked for with this question; the first line of standard input where that is no terminal. */
  readonly readSecret: (question: string) => Promise<string>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
}

export function systemTerminal(): Terminal {
  const clock = systemClock();
  const { stderr, stdout } = process;
  return {
    isPiped: !stdout.isTTY,
    columns: stderr.isTTY ? stderr.columns : null,
    draw: (line) => void stderr.write(`\r\u001B[2K${line}`),
    screen: stdout.isTTY
      ? { rows: () => stdout.rows, columns: () => stdout.columns, write: (frame) => void stdout.write(frame) }
      : null,
    onInterrupt(call) {
      process.once("SIGINT", call);
      return { [Symbol.dispose]: () => void process.off("SIGINT", call) };
    },
    read: (path) => (path === "-" ? text(process.stdin) : readFile(path, "utf8")),
    readSecret: async (question) => {
      if (!process.stdin.isTTY) return (await text(process.stdin)).split(/\r?\n/, 1)[0]!.trim();
      stderr.write(question);
      // readline shows what is typed on its output: nothing.
      const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({ input: process.stdin, output: hidden, terminal: true });
      lines.once("SIGINT", () => lines.close());
      const [line = ""] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as [string?];
      lines.close();
      stderr.write("\n");
      return line.trim();
    },
    sleep: (ms) => sleep(clock, ms),
    now: () => clock.now(),
  };
}
