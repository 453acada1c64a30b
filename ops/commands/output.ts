/** The file of `-o FILE`: lines that a command prints on standard output otherwise. */
import { closeSync, openSync, writeSync } from "node:fs";
import { CommandError, EXIT } from "./context.ts";

export interface Output {
  readonly write: (line: string) => void;
  readonly close: () => void;
}

/** Empties the file. What was written stays there when the command fails later. Throws CommandError. */
export function openOutput(path: string): Output {
  const file = attempt(path, () => openSync(path, "w"));
  return {
    write: (line) => void attempt(path, () => writeSync(file, `${line}\n`)),
    close: () => closeSync(file),
  };
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException;
    throw new CommandError(`Cannot write "${path}": ${code ?? String(problem)}`, EXIT.usage);
  }
}
