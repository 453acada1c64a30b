#!/usr/bin/env node
/** The process: the one place that reads the environment, the arguments and the time by itself. See cli.ts. */
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import type { Starting } from "./commands/start.ts";
import type { Config } from "./config.ts";
import { trawl } from "./cli.ts";
import { readOperatorKey } from "./operator-key.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
// Stored pages may be private: files that a command makes are readable for their owner only.
process.umask(0o077);
const environment = { ...process.env };
const clock = systemClock();
let config: Config | null = null;
const readFile = (path: string): string => readFileSync(path, "utf8");
let isService = false;

// A command ends when its reader has enough (trawl top | head); a service goes on without one.
process.stdout.on("error", (problem: NodeJS.ErrnoException) => {
  if (problem.code !== "EPIPE") throw problem;
  if (!isService) process.exit();
});

const starting = async (): Promise<Starting> => {
  isService = true;
  const { start } = await import("./compose.ts");
  return {
    start,
    onSignal: (call) => {
      for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, call);
    },
    mono: () => clock.mono(),
    kill: (code) => process.exit(code),
    onCrash(call) {
      process.on("unhandledRejection", (problem) => call("unhandled_rejection", problem));
      process.on("uncaughtException", (problem) => call("uncaught_exception", problem));
    },
    exitWithin: (ms) => void setTimeout(() => process.exit(process.exitCode), ms).unref(),
  };
};

process.exitCode = await trawl(process.argv.slice(2), {
  environment,
  config: async () => (config ??= (await import("./config.ts")).readConfig(environment, readFile)),
  readFile,
  openDocuments: async (given) => (await import("./stores.ts")).openDocuments(given),
  openNodeDirectory: async ({ cluster }) => (await import("./cluster.ts")).openNodeDirectory(cluster.bus),
  readOperatorKey,
  paint: (style, text) => styleText(style, text, { stream: process.stdout }),
  now: () => clock.now(),
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  starting,
  version,
});
