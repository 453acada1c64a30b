/** trawl companies import: a file of a whole source into the register of the running service, with its progress. */
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { sleep } from "../../cluster/ports/clock.ts";
import { IMPORT_KIND_NAMES, type ImportKindNames } from "../../schemas/company-import-kinds.ts";
import type { Config } from "../config.ts";
import { dataPath } from "../stores.ts";
import { type ClientOptions, errorOf, exchange, operatedService, operatorCommand } from "./client.ts";
import { CommandError, type Context, EXIT, table } from "./context.ts";

interface ImportShown {
  readonly run: number;
  readonly kind: string;
  readonly origin: string;
  readonly state: "running" | "done" | "failed";
  readonly phase: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly claims: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly bad_reasons: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly bytes_read: number;
  readonly records_per_s: number | null;
  readonly eta_s: number | null;
  readonly warnings: readonly string[];
  readonly problem: string | null;
}

interface ImportOptions extends ClientOptions {
  readonly publishedAt?: string;
  readonly delta?: boolean;
  readonly licence?: string;
  readonly detach?: boolean;
}

const POLL_MS = 1_000;

const KINDS: readonly (readonly [kind: string, names: ImportKindNames])[] = Object.entries(IMPORT_KIND_NAMES);
const SOURCES = [...new Set(KINDS.map(([, { command }]) => command))];

/** A name that is in no table goes to the service as a kind, which names those that it has. */
function kindOf(source: string, file: string): string {
  const found = KINDS.find(
    ([, { command, file: pattern }]) => command === source && (pattern?.test(basename(file)) ?? true),
  );
  return found?.[0] ?? source.replaceAll("-", "_");
}

export const importCommand = (context: Context): Command =>
  operatorCommand("import")
    .description("import files of a whole source; exit code 3 when records of them are bad")
    .argument("<source>", SOURCES.join(", "))
    .argument("<files...>", "on this machine; one that is elsewhere is copied into the folder of imports")
    .option(
      "--published-at <moment>",
      "when the source published them; default: the date in the name of each",
    )
    .option("--delta", "the files have only what changed")
    .option("--licence <id>", "that you may use the files under this licence; ftm needs it")
    .option("--detach", "do not wait until a file is done; for one file")
    .action(async (source: string, files: string[], options: ImportOptions) => {
      if (options.detach && files.length > 1)
        throw new CommandError(
          "--detach is for one file: files of a source are imported one by one",
          EXIT.usage,
        );
      const { base, key } = operatedService(context, options);
      const imports: ImportShown[] = [];
      for (const file of files) {
        const name = await inFolder(await context.config(), resolve(file));
        const body = {
          kind: kindOf(source, file),
          file: name,
          ...(options.publishedAt !== undefined && { published_at: options.publishedAt }),
          ...(options.delta && { delta: true }),
          ...(options.licence !== undefined && { licence: options.licence }),
        };
        const { reply, content } = await exchange("POST", `${base}/v1/ops/companies/imports`, key, body);
        if (!reply.ok) throw errorOf(reply, content);
        const clock = systemClock();
        let shown = content as ImportShown;
        while (shown.state === "running" && !options.detach) {
          context.err(progressOf(shown));
          await sleep(clock, POLL_MS);
          shown = (await importsOf(base, key)).find(({ run }) => run === shown.run) ?? shown;
        }
        if (!options.json) context.out(summaryOf(shown));
        imports.push(shown);
        if (shown.state === "failed") break;
      }
      if (options.json) context.out(JSON.stringify(totalOf(imports)));
      const failed = imports.find(({ state }) => state === "failed");
      if (failed) throw new CommandError(failed.problem ?? "The import failed");
      if (imports.some(({ counts }) => counts["bad"]! > 0)) context.exit(EXIT.some_failed);
    });

function totalOf(imports: readonly ImportShown[]) {
  const sum = (of: (shown: ImportShown) => number): number =>
    imports.reduce((total, shown) => total + of(shown), 0);
  const secondsOf = ({ started_at, ended_at }: ImportShown): number =>
    ended_at === null ? 0 : (Date.parse(ended_at) - Date.parse(started_at)) / 1_000;
  const companiesOf = ({ kind, counts }: ImportShown): number =>
    KINDS.find(([name]) => name === kind)?.[1].is_company
      ? ["created", "changed", "renewed", "unchanged", "older"].reduce(
          (total, name) => total + counts[name]!,
          0,
        )
      : 0;
  return {
    rows: sum(({ counts }) => counts["records"]!),
    companies: sum(companiesOf),
    claims: sum(({ claims }) => claims),
    bad_rows: sum(({ counts }) => counts["bad"]!),
    seconds: Math.round(sum(secondsOf) * 10) / 10,
    imports,
  };
}

export const importsCommand = (context: Context): Command =>
  operatorCommand("imports")
    .description("list imports of whole sources, newest first")
    .action(async (options: ClientOptions) => {
      const { base, key } = operatedService(context, options);
      const imports = await importsOf(base, key);
      if (options.json) return context.out(JSON.stringify(imports, null, 2));
      context.out(
        table(
          ["RUN", "KIND", "STATE", "RECORDS", "CHANGED", "BAD", "FILE"],
          imports.map(({ run, kind, state, counts, origin }) => [
            String(run),
            kind,
            state,
            String(counts["records"]),
            String(counts["created"]! + counts["changed"]!),
            String(counts["bad"]),
            origin,
          ]),
        ),
      );
    });

async function importsOf(base: string, key: string): Promise<readonly ImportShown[]> {
  const { reply, content } = await exchange("GET", `${base}/v1/ops/companies/imports`, key);
  if (!reply.ok) throw errorOf(reply, content);
  return (content as { imports: readonly ImportShown[] }).imports;
}

/** The file's name in the folder of imports, into which it is copied. */
async function inFolder({ companies, storage }: Config, path: string): Promise<string> {
  if (!existsSync(path)) throw new CommandError(`There is no file "${path}"`, EXIT.usage);
  const folder = resolve(companies.imports_dir ?? join(dataPath(storage.data_dir, "imports")));
  const name = relative(folder, path);
  if (!name.startsWith("..")) return name;
  await mkdir(folder, { recursive: true });
  await copyFile(path, join(folder, basename(path)));
  return basename(path);
}

function progressOf({ phase, counts, bytes, bytes_read, records_per_s, eta_s }: ImportShown): string {
  const share = bytes === 0 ? 0 : Math.floor((100 * bytes_read) / bytes);
  const rate = records_per_s === null ? "" : `, ${Math.round(records_per_s)} a second`;
  const rest = eta_s === null ? "" : `, ${eta_s} s to go`;
  return `${phase}: ${share} %, ${counts["records"]} records${rate}${rest}, ${counts["bad"]} bad`;
}

function summaryOf({ run, state, counts, bad_reasons, warnings }: ImportShown): string {
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  const reasons = Object.entries(bad_reasons).map(([reason, count]) => `bad: ${reason} (${count})`);
  return [`Import ${run} is ${state}: ${parts.join(", ")}`, ...reasons, ...warnings].join("\n");
}
