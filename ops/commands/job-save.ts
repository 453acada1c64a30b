/**
 * trawl job save: the items of a job as one file of Parquet, CSV, NDJSON or SQLite. Items are read as they end and written as they come;
 * a connection that breaks is opened again at the item that follows. The file has its name once it is whole.
 */
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { extname } from "node:path";
import type { Command } from "commander";
import type { JobItem } from "../../schemas/jobs.ts";
import { type Cell, RESULT_COLUMNS, rowOf } from "../../actors/work/sinks/result-table.ts";
import { csvLines } from "../../gateway/csv-lines.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, errorOf, service } from "./client.ts";
import { CommandError, type Context, EXIT, Unreachable } from "./context.ts";
import { readJob } from "./watch.ts";

interface ItemFile {
  readonly write: (items: readonly JobItem[]) => void;
  readonly close: () => void;
}

const ofRows = (file: {
  readonly write: (rows: readonly (readonly Cell[])[]) => void;
  readonly close: () => void;
}): ItemFile => ({
  write: (items) => file.write(items.map(rowOf)),
  close: file.close,
});

function textFile(path: string, head: string, textOf: (items: readonly JobItem[]) => string): ItemFile {
  const file = openSync(path, "w");
  writeSync(file, head);
  return { write: (items) => void writeSync(file, textOf(items)), close: () => closeSync(file) };
}

const FORMATS: Readonly<Record<string, (path: string) => ItemFile | Promise<ItemFile>>> = {
  parquet: async (path) =>
    ofRows((await import("../../actors/work/sinks/adapters/rows.parquet.ts")).parquetFile(path)),
  sqlite: async (path) =>
    ofRows((await import("../../actors/work/sinks/adapters/rows.sqlite.ts")).sqliteFile(path)),
  csv: (path) =>
    textFile(path, csvLines([RESULT_COLUMNS.map(({ name }) => name)]), (items) => csvLines(items.map(rowOf))),
  ndjson: (path) => textFile(path, "", (items) => items.map((item) => `${JSON.stringify(item)}\n`).join("")),
};
const NAMES = Object.keys(FORMATS);

/** A row group of Parquet, or a transaction. */
const ITEMS_A_WRITE = 500;
const MAX_WRITE_CHARS = 16_000_000;
/** Connections in a row that brought no item: a service that restarts is waited for two minutes. */
const MAX_BREAKS = 120;
const PAUSE_MS = 1_000;

export const jobSaveCommand = (context: Context): Command =>
  clientCommand("save")
    .description("write the items of a job to a file, as they end: Parquet, CSV, NDJSON or SQLite")
    .argument("<id>", "the id of the job")
    .argument(
      "<file>",
      `the file; its ending names the format: ${NAMES.map((name) => `.${name}`).join(", ")}`,
    )
    .option("--format <name>", `the format, whatever the file is called: ${NAMES.join(", ")}`)
    .action(async (job_id: string, path: string, options: ClientOptions & { readonly format?: string }) => {
      const format = options.format ?? extname(path).slice(1).toLowerCase();
      const open = FORMATS[format];
      if (open === undefined)
        throw new CommandError(`The format is one of ${NAMES.join(", ")}, and not "${format}"`, EXIT.usage);
      const at = { ...service(context, options), job_id };
      await readJob(at);
      const unfinished = `${path}.part`;
      rmSync(unfinished, { force: true });
      const file = await opened(unfinished, open);
      let items: number;
      try {
        items = await copyItems(context, at, file);
        file.close();
      } catch (problem) {
        rmSync(unfinished, { force: true });
        throw problem;
      }
      renameSync(unfinished, path);
      if (options.json) return context.out(JSON.stringify({ job_id, file: path, format, items }));
      return context.err(`${items} items of job ${job_id} are in ${path}`);
    });

async function opened(path: string, open: (path: string) => ItemFile | Promise<ItemFile>): Promise<ItemFile> {
  try {
    return await open(path);
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException;
    throw new CommandError(`Cannot write "${path}": ${code ?? String(problem)}`, EXIT.usage);
  }
}

interface JobAt {
  readonly base: string;
  readonly key: string;
  readonly job_id: string;
}

/** Answers how many items there are. Throws CommandError. */
async function copyItems(context: Context, at: JobAt, file: ItemFile): Promise<number> {
  let next = 0;
  let breaks = 0;
  for (;;) {
    const before = next;
    try {
      for await (const items of itemsFrom(at, next)) {
        file.write(items);
        next += items.length;
      }
      // A service that stops ends the stream without an error.
      const { counts, finished_at } = await readJob(at);
      if (finished_at !== null && next >= counts.total) return next;
    } catch (problem) {
      if (problem instanceof CommandError && !(problem instanceof Unreachable)) throw problem;
      breaks = next > before ? 1 : breaks + 1;
      if (breaks === MAX_BREAKS)
        throw new CommandError(
          `The connection broke ${MAX_BREAKS} times after ${next} items: ${String(problem)}`,
        );
      await (context.terminal?.() ?? systemTerminal()).sleep(PAUSE_MS);
    }
  }
}

/** Items in their order from one on, as they end. Throws what fetch throws when the connection breaks, and CommandError. */
async function* itemsFrom({ base, key, job_id }: JobAt, from: number): AsyncGenerator<readonly JobItem[]> {
  const reply = await fetch(`${base}/v1/jobs/${job_id}/results?follow=true&from=${from}`, {
    headers: { authorization: `Bearer ${key}`, accept: "application/x-ndjson" },
  });
  if (!reply.ok || reply.body === null) throw errorOf(reply, await reply.json().catch(() => null));
  let rest = "";
  let items: JobItem[] = [];
  let chars = 0;
  for await (const text of reply.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === "") continue;
      items.push(JSON.parse(line) as JobItem);
      chars += line.length;
      if (items.length < ITEMS_A_WRITE && chars < MAX_WRITE_CHARS) continue;
      yield items;
      [items, chars] = [[], 0];
    }
  }
  if (items.length > 0) yield items;
}
