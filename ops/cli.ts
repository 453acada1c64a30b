/** The trawl command line: which commands there are, and how each ends. It is run by main.ts, and by tests as it is. */
import { Command, CommanderError } from "commander";
import { AccountError } from "../actors/business/accounts/keys.ts";
import { NoticeError } from "../actors/business/status/notices.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { auditCommand } from "./commands/audit.ts";
import { backupCommand, restoreCommand } from "./commands/backup.ts";
import { batchCommand } from "./commands/batch.ts";
import { clusterCommand } from "./commands/cluster.ts";
import { companiesCommand } from "./commands/companies.ts";
import { companyCommand } from "./commands/company.ts";
import { completionCommand } from "./commands/completion.ts";
import { configCommand } from "./commands/config.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { CommandError, type Context, EXIT } from "./commands/context.ts";
import { alertCommand } from "./commands/alert.ts";
import { customerCommand } from "./commands/customer.ts";
import { drainCommand } from "./commands/drain.ts";
import { deadLettersCommand } from "./commands/dead-letters.ts";
import { domainCommand } from "./commands/domain.ts";
import { fetchCommand } from "./commands/fetch.ts";
import { invoiceCommand } from "./commands/invoice.ts";
import { incidentCommand } from "./commands/incident.ts";
import { jobCommand } from "./commands/job.ts";
import { keyCommand } from "./commands/key.ts";
import { keysCommand } from "./commands/keys.ts";
import { logLevelCommand } from "./commands/log-level.ts";
import { maintenanceCommand } from "./commands/maintenance.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { monitorsCommand } from "./commands/monitors.ts";
import { nodesCommand } from "./commands/nodes.ts";
import { projectCommand } from "./commands/project.ts";
import { rateCommand } from "./commands/rate.ts";
import { secretsCommand } from "./commands/secrets.ts";
import { crawlCommand } from "./commands/crawl.ts";
import { mapCommand } from "./commands/map.ts";
import { searchCommand } from "./commands/search.ts";
import { bodiesCommand, storesCommand } from "./commands/stores.ts";
import { startCommand, type Starting } from "./commands/start.ts";
import { domainsCommand, jobsCommand, topCommand } from "./commands/top.ts";
import { ConfigError } from "./config.ts";
import { SecretsError } from "./secrets-error.ts";
import { DataFormatError } from "./data-format.ts";

export interface World extends Omit<Context, "exit"> {
  readonly starting: () => Promise<Starting>;
  readonly version: string;
}

/** Runs one command and returns its exit code. Problems are written to standard error, in a sentence. */
export async function trawl(words: readonly string[], world: World): Promise<number> {
  let code: number = EXIT.ok;
  const context: Context = { ...world, exit: (wanted) => void (code = wanted) };
  const program = new Command("trawl")
    .description("Trawl: search and fetch the web politely, behind one HTTP API")
    .version(world.version)
    .addHelpText(
      "after",
      "\nExit codes: 0 ok, 1 error, 2 usage, 3 some items failed, 4 key, 5 limit or quota, 124 timeout.",
    );
  for (const command of [
    startCommand(context, world.starting),
    configCommand(context),
    doctorCommand(context),
    keyCommand(context),
    keysCommand(context),
    projectCommand(context),
    customerCommand(context),
    invoiceCommand(context),
    rateCommand(context),
    alertCommand(context),
    nodesCommand(context),
    drainCommand(context),
    incidentCommand(context),
    maintenanceCommand(context),
    secretsCommand(context),
    backupCommand(context),
    restoreCommand(context),
    storesCommand(context),
    bodiesCommand(context),
    clusterCommand(context),
    auditCommand(context),
    fetchCommand(context),
    searchCommand(context),
    mapCommand(context),
    crawlCommand(context),
    mcpCommand(context, world.version),
    monitorsCommand(context),
    batchCommand(context),
    jobCommand(context),
    domainCommand(context),
    domainsCommand(context),
    jobsCommand(context),
    topCommand(context),
    logLevelCommand(context),
    deadLettersCommand(context),
    companyCommand(context),
    companiesCommand(context),
    completionCommand(context),
  ])
    program.addCommand(command);
  configure(program, world);
  try {
    await program.parseAsync([...words], { from: "user" });
    return code;
  } catch (problem) {
    return exitCodeOf(problem, world);
  }
}

/** Keeps Commander from exiting and writing by itself. Set on every command, because children do not inherit it. */
function configure(command: Command, { out, err }: Pick<World, "out" | "err">): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => out(text.replace(/\n$/, "")),
    writeErr: (text) => err(text.replace(/\n$/, "")),
  });
  for (const child of command.commands) configure(child, { out, err });
}

function exitCodeOf(problem: unknown, { err }: World): number {
  // Commander has written its output already: help, the version or a usage error.
  if (problem instanceof CommanderError) return problem.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (problem instanceof CommandError) {
    err(problem.message);
    return problem.code;
  }
  if (problem instanceof ConfigError) {
    err(problem.message);
    return EXIT.usage;
  }
  if (
    problem instanceof AccountError ||
    problem instanceof NoticeError ||
    problem instanceof Fault ||
    problem instanceof DataFormatError ||
    problem instanceof SecretsError
  ) {
    err(problem.message);
    return EXIT.error;
  }
  err(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem));
  return EXIT.error;
}
