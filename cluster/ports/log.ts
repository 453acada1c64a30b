/**
 * Log lines for operators. A line is a constant English sentence; what varies stands in `fields`, so that lines can be
 * searched. Fields never hold secrets, and callers cut query strings off URLs.
 */
/** From the least to the most urgent. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

const ignore = (): void => {};

/** Writes nothing: the default where a caller gives no log. */
export const SILENT_LOG: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
