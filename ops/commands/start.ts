/**
 * trawl start: runs a node until a signal or `trawl drain` stops it. Signals within a second are one request to stop; a later
 * one ends the process at once.
 */
import { Command } from "commander";
import type { Config } from "../config.ts";
import { systemTerminal } from "../terminal.ts";
import { CommandError, type Context, EXIT, type Json, withJson } from "./context.ts";

/** The node that compose.ts starts. */
interface Running {
  readonly address: string;
  readonly http: string;
  readonly first_key: string | null;
  readonly signInLink?: () => string | null;
  readonly serves: boolean;
  readonly warmReaders?: () => void;
  readonly warnings: readonly string[];
  readonly stop: () => Promise<void>;
  readonly ended: Promise<void>;
  readonly crash: (kind: "unhandled_rejection" | "uncaught_exception", problem: unknown) => void;
}

export interface Starting {
  readonly start: (config: Config) => Promise<Running>;
  /** Calls back for each signal that asks the process to end. */
  readonly onSignal: (call: (name: string) => void) => void;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  readonly kill: (code: number) => never;
  /** Calls back for each failure that no code handled. */
  readonly onCrash: (call: Running["crash"]) => void;
  /** Ends the process after this time if something keeps it alive. */
  readonly exitWithin: (ms: number) => void;
}

/** The exit code after a second signal. */
const INTERRUPTED = 130;
/**
 * Ctrl-C and systemd signal the whole process group: the launcher of ops/node.mjs and npm pass the same signal on, so one
 * request to stop arrives up to three times.
 */
const ONE_REQUEST_MS = 1_000;
/** How long the process may take to end after its node has stopped. */
const EXIT_MS = 1_000;

export const startCommand = (context: Context, starting: () => Promise<Starting>): Command =>
  withJson(new Command("start").description("run this node")).action(async ({ json, output }: Json) => {
    const config = await context.config();
    const { start, onSignal, mono, kill, onCrash, exitWithin } = await starting();
    const running = await start(config).catch((problem: Error) => {
      throw new CommandError(problem.message);
    });
    const { address, http, first_key, warnings } = running;
    for (const warning of warnings) context.err(`Warning: ${warning}`);
    if (json) context.out(JSON.stringify({ address, http, first_key, warnings }));
    else {
      for (const line of greeting(running, config)) context.out(line);
      // For the person at the terminal only: a log is read by others.
      const isTerminal = !(context.terminal?.() ?? systemTerminal()).isPiped;
      const link = isTerminal && output === undefined ? (running.signInLink?.() ?? null) : null;
      if (link !== null) context.out(`This link signs in there, once, within ten minutes: ${link}\n`);
    }

    running.warmReaders?.();
    onCrash((kind, problem) => {
      context.exit(EXIT.error);
      running.crash(kind, problem);
    });
    let requested_ms: number | null = null;
    onSignal((name) => {
      if (requested_ms !== null) {
        if (mono() - requested_ms > ONE_REQUEST_MS) kill(INTERRUPTED);
        return;
      }
      requested_ms = mono();
      context.err(`${name}: waiting for requests in flight to end; send it again to stop at once`);
      // A failure of the stop ends the process below.
      running.stop().catch(() => {});
    });
    try {
      await running.ended;
    } finally {
      exitWithin(EXIT_MS);
    }
  });

function greeting({ address, http, first_key, serves }: Running, config: Config): string[] {
  // The first node on an empty store creates it.
  const first =
    first_key === null ? [] : ["", "The first admin key, shown only this once:", "", `  ${first_key}`];
  if (!serves) {
    const roles = config.cluster.roles.join(", ");
    return [`This node (${roles}) answers status requests at ${address}`, http, ...first, ""];
  }
  const key = first_key ?? "$TRAWL_KEY";
  const base_url = config.gateway.public_url ?? address;
  return [
    `Trawl answers at ${base_url}`,
    http,
    ...first,
    "",
    "Try it:",
    "",
    `  curl ${base_url}/v1/search -H "Authorization: Bearer ${key}" -d '{"query": "when was the lighthouse lit"}'`,
    `  curl ${base_url}/v1/fetch -H "Authorization: Bearer ${key}" -d '{"url": "https://example.org/"}'`,
    "",
    `Console, for people with a key: ${base_url}/console`,
    "A crawl, a search and companies on a demo site, without a network: npx @trawl/server demo (./trawl demo in a checkout)",
    "",
  ];
}
