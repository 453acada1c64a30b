/**
 * The context that every command of `trawl` gets, and how a command ends. Data goes to standard output, everything about it to
 * standard error; with --json the data is one JSON value.
 */
import type { Command } from "commander";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { NodeDirectory } from "../../cluster/ports/node-directory.ts";
import type { Config } from "../config.ts";
import type { ClientConfig } from "../client-config.ts";
import type { Environment } from "../settings-reader.ts";
import type { Terminal } from "../terminal.ts";

/** How a command ends, for scripts. */
export const EXIT = { ok: 0, error: 1, usage: 2, some_failed: 3, key: 4, limit: 5, time: 124 } as const;

/** Ends the command with a sentence on standard error and an exit code. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code: number;

  constructor(message: string, code: number = EXIT.error) {
    super(message);
    this.code = code;
  }
}

/** The service does not answer, as while it restarts: the same command may work a little later. */
export class Unreachable extends CommandError {}

export type Paint = (style: "bold" | "cyan" | "green" | "yellow" | "dim", text: string) => string;

export interface Context {
  readonly environment: Environment;
  /** Read when it is needed: `trawl --help` works with a broken configuration. Throws ConfigError, or rejects with it. */
  readonly config: () => Config | Promise<Config>;
  /** The part that clients of the service need, without the settings of the slices. Throws ConfigError. */
  readonly clientConfig: () => ClientConfig;
  readonly openDocuments: (config: Config) => Promise<Documents>;
  /** The node directory of the configured cluster. Throws Fault. */
  readonly openNodeDirectory: (config: Config) => Promise<NodeDirectory>;
  /** The operator key in the data folder. Default: there is none. */
  readonly readOperatorKey?: (config: Pick<Config, "storage">) => string | null;
  readonly now: () => number;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Default: the terminal of this process. */
  readonly terminal?: () => Terminal;
  /** Text for standard output in a colour, where that is a terminal whose reader wants colours (NO_COLOR); else as it is. */
  readonly paint: Paint;
  /** Sets the exit code of a command that worked, for example for a fetch with an error. */
  readonly exit: (code: number) => void;
}

export interface Json {
  readonly json?: boolean;
  /** A file in place of standard output (cli.ts opens it). */
  readonly output?: string;
}

/** Adds the options that every command has. */
export const withJson = (command: Command): Command =>
  command
    .option("--json", "print JSON, errors as well")
    .option("-o, --output <file>", "write there what standard output would get; - is standard output");

/** Opens the stores beside a running service, does one thing and closes them. */
export async function withDocuments<T>(
  { config, openDocuments }: Context,
  work: (documents: Documents) => Promise<T>,
): Promise<T> {
  const documents = await openDocuments(await config());
  try {
    return await work(documents);
  } finally {
    await documents.close();
  }
}

/** Looks at the cluster this configuration is part of. */
export async function withNodeDirectory<T>(
  { config, openNodeDirectory }: Context,
  work: (nodeDirectory: NodeDirectory) => Promise<T>,
): Promise<T> {
  if ((await config()).cluster.bus === "memory")
    throw new CommandError("There is no cluster: TRAWL_BUS is memory, so there is only one process");
  const nodeDirectory = await openNodeDirectory(await config());
  try {
    return await work(nodeDirectory);
  } finally {
    await nodeDirectory.close();
  }
}

/** Columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((row) => row[column]!.length)));
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
