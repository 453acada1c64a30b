/** The terminal a command was typed in, for those that go on for a while: what is drawn, typed, read and waited for. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";

export interface Terminal {
  /** Whether what is printed goes to a program or a file, which wants results, and not to a person. */
  readonly isPiped: boolean;
  /** How wide standard error is; null: it is no terminal, so nothing is drawn. */
  readonly columns: number | null;
  /** One line on standard error, over the one drawn before; "" takes it away. */
  readonly draw: (line: string) => void;
  /** Calls back when somebody wants to leave. */
  readonly onInterrupt: (call: () => void) => Disposable;
  /** A file, or standard input for "-". */
  readonly read: (path: string) => Promise<string>;
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
    onInterrupt(call) {
      process.once("SIGINT", call);
      return { [Symbol.dispose]: () => void process.off("SIGINT", call) };
    },
    read: (path) => (path === "-" ? text(process.stdin) : readFile(path, "utf8")),
    sleep: (ms) =>
      new Promise((resolve) => {
        clock.at(clock.now() + ms, resolve);
      }),
    now: () => clock.now(),
  };
}
