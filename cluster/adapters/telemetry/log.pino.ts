/**
 * Log lines through pino: one JSON object a line on standard error, readable lines where that is a terminal. Lines below `warn` are
 * written within GATHER_MS, those of one such time together; a process that is killed in between loses them.
 */
import pino from "pino";
import { gatheredLines } from "./gathered-lines.ts";
import { maskAddresses } from "../../ports/mask.ts";
import type { Log, LogFields, LogLevel } from "../../ports/log.ts";

/** Loaded where it is needed only: a service under systemd or in a container writes JSON. */
const pretty = process.stderr.isTTY ? (await import("pino-pretty")).default : null;

export interface PinoLogOptions {
  /** Less important lines are left out. */
  readonly level: LogLevel | "trace" | "fatal" | "silent";
  /** On every line; read when the line is written. Default: none. */
  readonly fields?: LogFields;
  /** Default: standard error. */
  readonly write?: { write(line: string): void };
}

const GATHER_MS = 50;
/** Written at once, with what waits before them. */
const URGENT: ReadonlySet<LogLevel> = new Set(["warn", "error"]);

/** Standard error, shared by all logs of the process, so that their lines stay in order. */
const terminal = pretty?.({ destination: 2, sync: true });
let destination = pino.destination(2);
const gathered = gatheredLines(
  (lines) => void destination.write(lines),
  (flush) => void setTimeout(flush, GATHER_MS).unref(),
);
process.once("exit", () => {
  // Nothing that is written in the background now would arrive.
  destination = pino.destination({ dest: 2, sync: true });
  gathered.flush();
});

/** Fields that are masked in case a caller passes a secret by mistake. */
const SECRETS = ["authorization", "api_key", "secret", "token", "password"];
const REDACTED = SECRETS.flatMap((name) => [name, `*.${name}`]);

export interface PinoLog extends Log {
  /** From now on lines below this level are left out. */
  readonly setLevel: (level: LogLevel) => void;
}

export function pinoLog({ level, fields: common = {}, write }: PinoLogOptions): PinoLog {
  const logger = pino(
    {
      level,
      base: null,
      redact: { paths: REDACTED, censor: "[redacted]" },
      serializers: { problem: pino.stdSerializers.errWithCause, url: bareUrl, callback_url: bareUrl },
      mixin: () => ({ ...common }),
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    // The message of an error, which a library wrote, may hold an address, too.
    {
      write(line: string) {
        const shown = maskAddresses(line);
        if (write) write.write(shown);
        else if (terminal) terminal.write(shown);
        else gathered.add(shown);
      },
    },
  );
  const at =
    (name: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      logger[name](fields, message);
      if (URGENT.has(name)) gathered.flush();
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    setLevel: (changed) => void (logger.level = changed),
  };
}

/** Without user name and query: clients put secrets there. What is no URL is left out. */
function bareUrl(value: unknown): string {
  const url = URL.parse(String(value));
  return url === null ? "[no URL]" : `${url.origin}${url.pathname}`;
}
