/**
 * The trawl command line: which commands there are, and how each ends. It is run by main.ts, and by tests as it is. A command that is named is the
 * only one that is loaded: the settings and schemas of all take three times the CPU time of a start.
 */
import { Command, CommanderError } from "commander";
import { readClientConfig } from "./client-config.ts";
import { type Context, EXIT, type Json, type Paint } from "./commands/context.ts";
import { codeOf, messageOf } from "./commands/ends.ts";
import { openOutput, type Output } from "./commands/output.ts";
import type { Starting } from "./commands/start.ts";

export interface World extends Omit<Context, "exit" | "clientConfig" | "paint"> {
  readonly starting: () => Promise<Starting>;
  readonly version: string;
  /** Serves the `_FILE` variants of secrets. Default: no file is read. */
  readonly readFile?: (path: string) => string;
  /** Colours of standard output. Default: none. */
  readonly paint?: Paint;
}

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, (context: Context, world: World) => Promise<Command>>> = {
  start: async (context, { starting }) =>
    (await import("./commands/start.ts")).startCommand(context, starting),
  demo: async (context) => (await import("./commands/demo.ts")).demoCommand(context),
  login: async (context) => (await import("./commands/login.ts")).loginCommand(context),
  logout: async (context) => (await import("./commands/login.ts")).logoutCommand(context),
  profiles: async (context) => (await import("./commands/login.ts")).profilesCommand(context),
  config: async (context) => (await import("./commands/config.ts")).configCommand(context),
  doctor: async (context) => (await import("./commands/doctor.ts")).doctorCommand(context),
  key: async (context) => (await import("./commands/key.ts")).keyCommand(context),
  keys: async (context) => (await import("./commands/keys.ts")).keysCommand(context),
  project: async (context) => (await import("./commands/project.ts")).projectCommand(context),
  customer: async (context) => (await import("./commands/customer.ts")).customerCommand(context),
  invoice: async (context) => (await import("./commands/invoice.ts")).invoiceCommand(context),
  rate: async (context) => (await import("./commands/rate.ts")).rateCommand(context),
  alert: async (context) => (await import("./commands/alert.ts")).alertCommand(context),
  nodes: async (context) => (await import("./commands/nodes.ts")).nodesCommand(context),
  drain: async (context) => (await import("./commands/drain.ts")).drainCommand(context),
  incident: async (context) => (await import("./commands/incident.ts")).incidentCommand(context),
  maintenance: async (context) => (await import("./commands/maintenance.ts")).maintenanceCommand(context),
  secrets: async (context) => (await import("./commands/secrets.ts")).secretsCommand(context),
  backup: async (context) => (await import("./commands/backup.ts")).backupCommand(context),
  restore: async (context) => (await import("./commands/backup.ts")).restoreCommand(context),
  stores: async (context) => (await import("./commands/stores.ts")).storesCommand(context),
  bodies: async (context) => (await import("./commands/stores.ts")).bodiesCommand(context),
  cluster: async (context) => (await import("./commands/cluster.ts")).clusterCommand(context),
  audit: async (context) => (await import("./commands/audit.ts")).auditCommand(context),
  fetch: async (context) => (await import("./commands/fetch.ts")).fetchCommand(context),
  search: async (context) => (await import("./commands/search.ts")).searchCommand(context),
  map: async (context) => (await import("./commands/map.ts")).mapCommand(context),
  crawl: async (context) => (await import("./commands/crawl.ts")).crawlCommand(context),
  mcp: async (context, { version }) => (await import("./commands/mcp.ts")).mcpCommand(context, version),
  archive: async (context) => (await import("./commands/archive.ts")).archiveCommand(context),
  monitors: async (context) => (await import("./commands/monitors.ts")).monitorsCommand(context),
  batch: async (context) => (await import("./commands/batch.ts")).batchCommand(context),
  job: async (context) => (await import("./commands/job.ts")).jobCommand(context),
  domain: async (context) => (await import("./commands/domain.ts")).domainCommand(context),
  domains: async (context) => (await import("./commands/top.ts")).domainsCommand(context),
  jobs: async (context) => (await import("./commands/top.ts")).jobsCommand(context),
  top: async (context) => (await import("./commands/top.ts")).topCommand(context),
  "log-level": async (context) => (await import("./commands/log-level.ts")).logLevelCommand(context),
  "dead-letters": async (context) => (await import("./commands/dead-letters.ts")).deadLettersCommand(context),
  company: async (context) => (await import("./commands/company.ts")).companyCommand(context),
  companies: async (context) => (await import("./commands/companies.ts")).companiesCommand(context),
  completion: async (context) => (await import("./commands/completion.ts")).completionCommand(context),
};
/** It describes all the others. */
const NEEDS_ALL = "completion";

/** Runs one command and returns its exit code. Problems are written to standard error, in a sentence; with --json as JSON on standard output. */
export async function trawl(words: readonly string[], world: World): Promise<number> {
  let code: number = EXIT.ok;
  let output: Output | null = null;
  const context: Context = {
    ...world,
    clientConfig: () => readClientConfig(world.environment, world.readFile),
    exit: (wanted) => void (code = wanted),
    out: (line) => (output === null ? world.out(line) : output.write(line)),
    paint: (style, text) => (output === null && world.paint ? world.paint(style, text) : text),
  };
  const program = new Command("trawl")
    .description("Trawl: search and fetch the web politely, behind one HTTP API")
    .version(world.version)
    .addHelpText(
      "after",
      "\nExit codes: 0 ok, 1 error, 2 usage, 3 some items failed, 4 key, 5 limit or quota, 124 timeout.",
    )
    .hook("preAction", (_, command) => {
      const { output: path } = command.opts<{ output?: string }>();
      if (path !== undefined && path !== "-") output = openOutput(path);
    });
  const named = Object.hasOwn(COMMANDS, words[0] ?? "") && words[0] !== NEEDS_ALL ? words[0]! : null;
  const loaded =
    named !== null ? [named] : words[0] === "--version" || words[0] === "-V" ? [] : Object.keys(COMMANDS);
  for (const name of loaded) program.addCommand(await COMMANDS[name]!(context, world));
  configure(program, world);
  try {
    await program.parseAsync([...words], { from: "user" });
    return code;
  } catch (problem) {
    return ended(problem, world, isJson(words));
  } finally {
    (output as Output | null)?.close();
  }
}

/** Words behind `--` are arguments. */
const isJson = (words: readonly string[]): boolean =>
  (words.includes("--") ? words.slice(0, words.indexOf("--")) : words).includes("--json");

/** Keeps Commander from exiting and writing by itself. Set on every command, because children do not inherit it. */
function configure(command: Command, { out, err }: Pick<World, "out" | "err">): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => out(text.replace(/\n$/, "")),
    writeErr: (text) => err(text.replace(/\n$/, "")),
  });
  for (const child of command.commands) configure(child, { out, err });
}

function ended(problem: unknown, { out, err }: World, isJsonWanted: NonNullable<Json["json"]>): number {
  // Commander has written its output already: help, the version or a usage error.
  const isWritten = problem instanceof CommanderError;
  if (isWritten && problem.exitCode === 0) return EXIT.ok;
  const exit_code = isWritten ? EXIT.usage : codeOf(problem);
  const message = messageOf(problem);
  if (isJsonWanted) out(JSON.stringify({ error: { message, exit_code } }));
  else if (!isWritten) err(message);
  return exit_code;
}
