/** A disk that turns read-only or slow below a running program (faulty-disk.c). Linux with a C compiler only. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface FaultyDisk {
  /** Where the program keeps its data: this folder exists before it starts. */
  readonly root: string;
  /** For the program's environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly turnReadOnly: () => void;
  /** Each write takes so much longer. */
  readonly slow: (ms: number) => void;
  readonly heal: () => void;
  readonly remove: () => void;
}

export function faultyDisk(): FaultyDisk {
  const folder = mkdtempSync(join(tmpdir(), "trawl-faulty-"));
  const [root, state, library] = ["root", "state", "faulty-disk.so"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(root);
  writeFileSync(state, "");
  const source = new URL("faulty-disk.c", import.meta.url).pathname;
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"]);
  return {
    root,
    environment: { LD_PRELOAD: library, FAULTY_DISK_ROOT: root, FAULTY_DISK_STATE: state },
    turnReadOnly: () => writeFileSync(state, "ro"),
    slow: (ms) => writeFileSync(state, String(ms)),
    heal: () => writeFileSync(state, ""),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
