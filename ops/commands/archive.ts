/** trawl archive import, list, show, delete: a client of /v1/archives. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { Command } from "commander";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { sleep } from "../../cluster/ports/clock.ts";
import type { ArchiveImportView } from "../../schemas/archives.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, errorOf, exchange, operatedService, service } from "./client.ts";
import { CommandError, type Context, EXIT, table } from "./context.ts";

interface SharedOptions extends ClientOptions {
  readonly shared?: boolean;
}

const PATH = "/v1/archives";
/** The most that the service takes at once. */
const PART_BYTES = 8 * 2 ** 20;
const POLL_MS = 500;
const RETRIES = 5;
const RETRY_MS = 2_000;

type Place = ReturnType<typeof service>;

export function archiveCommand(context: Context): Command {
  const archive = new Command("archive").description("make WARC and WACZ files a source of the service");
  const placeOf = (options: SharedOptions): Place =>
    options.shared ? operatedService(context, options) : service(context, options);
  archive.addCommand(
    clientCommand("import")
      .description(
        "import WARC (.warc, .warc.gz) and WACZ files; again for a file whose upload was broken off; exit code 3 when a part of one cannot be read",
      )
      .argument("<files...>", "on this machine")
      .option("--shared", "they serve every project; with an operator key")
      .action(async (files: string[], options: SharedOptions) => {
        const place = placeOf(options);
        for (const file of files) {
          const done = await importFile(context, place, file, options.shared === true);
          if (options.json) context.out(JSON.stringify(done));
          else for (const line of describe(done)) context.out(line);
          if (done.state === "failed" || Object.keys(done.bad).length > 0) context.exit(EXIT.some_failed);
        }
      }),
  );
  archive.addCommand(
    clientCommand("list")
      .description("list the imported files: of the project, and those that serve every project")
      .action(async (options: ClientOptions) => {
        const listed = await call<{ readonly archives: readonly ArchiveImportView[] }>(
          placeOf(options),
          "GET",
          "",
        );
        if (options.json) return context.out(JSON.stringify(listed, null, 2));
        context.out(table(HEAD, listed.archives.map(row)));
      }),
  );
  archive.addCommand(
    clientCommand("show")
      .description("show an import, and what of its file could not be read")
      .argument("<id>", "the import, arc_…")
      .action(async (id: string, options: ClientOptions) => {
        const shown = await call<ArchiveImportView>(placeOf(options), "GET", `/${id}`);
        if (options.json) return context.out(JSON.stringify(shown, null, 2));
        for (const line of describe(shown)) context.out(line);
      }),
  );
  archive.addCommand(
    clientCommand("delete")
      .description("remove an import and its captures")
      .argument("<id>", "the import, arc_…")
      .option("--shared", "it serves every project; with an operator key")
      .action(async (id: string, options: SharedOptions) => {
        await call<null>(placeOf(options), "DELETE", `/${id}`);
        if (!options.json) context.out(`${id} is gone`);
      }),
  );
  return archive;
}

async function call<T>(
  { base, key }: Place,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T> {
  const { reply, content } = await exchange(method, `${base}${PATH}${path}`, key, body);
  if (!reply.ok) throw errorOf(reply, content);
  return content as T;
}

async function importFile(
  context: Context,
  place: Place,
  file: string,
  shared: boolean,
): Promise<ArchiveImportView> {
  const { size } = await stat(file).catch(() => {
    throw new CommandError(`Cannot read "${file}": it is not there`, EXIT.usage);
  });
  const digest = createHash("sha256");
  for await (const piece of createReadStream(file)) digest.update(piece as Buffer);
  const name = basename(file);
  let view = await call<ArchiveImportView>(place, "POST", "", {
    name,
    bytes: size,
    sha256: digest.digest("hex"),
    ...(shared && { shared }),
  });
  const handle = await open(file);
  try {
    const part = Buffer.alloc(Math.min(PART_BYTES, size));
    while (view.state === "uploading") {
      const { bytesRead } = await handle.read(part, 0, part.length, view.received_bytes);
      if (bytesRead === 0) throw new CommandError(`"${file}" has become shorter`, EXIT.error);
      view = await send(place, view, part.subarray(0, bytesRead));
      tell(context, `${name}: ${percent(view.received_bytes, size)} uploaded`);
    }
  } finally {
    await handle.close();
  }
  while (view.state === "importing") {
    await sleep(systemClock(), POLL_MS);
    view = await call<ArchiveImportView>(place, "GET", `/${view.id}`);
    tell(context, `${name}: ${view.records} records, ${view.captures} captures`);
  }
  tell(context, "");
  return view;
}

/** The next part, again where the service does not answer. */
async function send(
  { base, key }: Place,
  { id, received_bytes }: ArchiveImportView,
  part: Buffer,
): Promise<ArchiveImportView> {
  const url = `${base}${PATH}/${id}?offset=${received_bytes}`;
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" };
  for (let attempt = 1; ; attempt++) {
    const reply = await fetch(url, { method: "PATCH", headers, body: part }).catch(
      (problem: unknown) => problem as Error,
    );
    if (!(reply instanceof Error)) {
      const content: unknown = await reply.json().catch(() => null);
      // Another upload was quicker: its answer says where to go on.
      const isElsewhere =
        reply.status === 409 &&
        typeof content === "object" &&
        content !== null &&
        "received_bytes" in content;
      if (reply.ok || isElsewhere) return content as ArchiveImportView;
      if (reply.status < 500 || attempt === RETRIES) throw errorOf(reply, content);
    } else if (attempt === RETRIES)
      throw new CommandError(`Cannot upload to ${base}: ${reply.message}`, EXIT.error);
    await sleep(systemClock(), RETRY_MS);
  }
}

const percent = (part: number, whole: number): string => `${Math.floor((part / whole) * 100)} %`;
/** Draws the line on a terminal again; nothing elsewhere. */
function tell(context: Context, line: string): void {
  const { columns, draw } = context.terminal?.() ?? systemTerminal();
  if (columns !== null) draw(line.slice(0, columns - 1));
}

const HEAD = ["ID", "STATE", "CAPTURES", "BYTES", "SHARED", "FILE"] as const;
const row = ({ id, state, captures, bytes, shared, name }: ArchiveImportView): string[] => [
  id,
  state,
  String(captures),
  String(bytes),
  shared ? "yes" : "no",
  name,
];

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([kind, n]) => `${n} ${kind}`)
    .join(", ");

function describe({
  id,
  name,
  state,
  problem,
  records,
  captures,
  known,
  indexed,
  skipped,
  bad,
}: ArchiveImportView): string[] {
  return [
    `${id}  ${name}: ${state}${problem === null ? "" : `: ${problem}`}`,
    `${records} records, ${captures} captures, ${known} known before, ${indexed} in the search index`,
    ...(Object.keys(skipped).length > 0 ? [`skipped: ${counted(skipped)}`] : []),
    ...(Object.keys(bad).length > 0 ? [`bad: ${counted(bad)}`] : []),
  ];
}
