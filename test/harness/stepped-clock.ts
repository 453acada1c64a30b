/**
 * The wall clock of a program, which can be stepped while the program runs, by libfaketime (Debian's package libfaketime). Its
 * monotonic clock runs on.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LIBRARIES = "/usr/lib";
const LIBRARY = "faketime/libfaketime.so.1";

/** Null: it is not installed. */
function library(): string | null {
  if (!existsSync(LIBRARIES)) return null;
  const paths = readdirSync(LIBRARIES).map((folder) => join(LIBRARIES, folder, LIBRARY));
  return paths.find((path) => existsSync(path)) ?? null;
}

export const canStepClocks = (): boolean => library() !== null;

export interface SteppedClock {
  /** For the program. */
  readonly environment: Readonly<Record<string, string>>;
  /** The wall clock is so far from the system's from now on; the program notices within a second. */
  readonly set: (ahead_s: number) => void;
}

/** Throws where libfaketime is not installed. */
export function steppedClock(folder: string): SteppedClock {
  const path = library();
  if (path === null) throw new Error("Cannot step a clock: install Debian's package libfaketime");
  const file = join(folder, "clock");
  const set = (ahead_s: number): void => writeFileSync(file, `${ahead_s < 0 ? "" : "+"}${ahead_s}`);
  set(0);
  return {
    environment: {
      LD_PRELOAD: path,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    },
    set,
  };
}
