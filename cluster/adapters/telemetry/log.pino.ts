/** Log lines through pino: one JSON object a line on standard error, readable lines where that is a terminal. */
import pino from "pino";
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

/** Fields that are masked in case a caller passes a secret by mistake. */
const SECRETS = ["authorization", "api_key", "secret", "token", "password"];
const REDACTED = SECRETS.flatMap((name) => [name, `*.${name}`]);

export interface PinoLog extends Log {
  /** From now on lines below this level are left out. */
  readonly setLevel: (level: LogLevel) => void;
}

export function pinoLog({ level, fields: common = {}, write }: PinoLogOptions): PinoLog {
  const terminal = pretty?.({ destination: 2, sync: true }) ?? pino.destination(2);
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
    { write: (line: string) => void (write ?? terminal).write(maskAddresses(line)) },
  );
  const at =
    (name: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](fields, message);
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
