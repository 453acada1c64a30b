/**
 * `npm run engines`: installs what is missing, starts the three engines with fresh data on free loopback ports, says
 * in one line of JSON on standard output what the service must be given, and stops them on SIGINT or SIGTERM.
 *
 *   --install-only   install and exit
 *   --required       exit 1 when one of them cannot be had
 */
import { homedir } from "node:os";
import { parseArgs } from "node:util";
import { start } from "./adapters/process.ts";
import { ENGINES } from "./engine.ts";
import type { Engine, EngineName, Settings } from "./engine.ts";
import { find, placeOf } from "./install.ts";
import type { EngineCommand } from "./install.ts";

const { values: options } = parseArgs({
  options: {
    "install-only": { type: "boolean", default: false },
    required: { type: "boolean", default: false },
  },
});
const log = (line: string): void => console.error(`engines: ${line}`);
/** All engines that were started, ready or not: each is stopped in the end. */
const started: Promise<Engine>[] = [];
const stopRequested = Promise.withResolvers<void>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => stopRequested.resolve());

const place = placeOf(process.env, homedir(), true, log);
const settings: Settings[] = [];
let missing = 0;

/** Starts the engine that was found, or logs why there is none. */
async function bring(name: EngineName, command: EngineCommand): Promise<void> {
  switch (command.kind) {
    case "missing":
      missing += 1;
      return log(`no ${name}: ${command.reason}`);
    case "external":
      settings.push(command.settings);
      return log(`${name}: ${command.title}`);
    case "program": {
      const { program } = command;
      if (options["install-only"]) return log(`${name}: ${program.title} is installed`);
      const starting = start(program);
      started.push(starting);
      const engine = await starting;
      settings.push(engine.settings);
      void engine.failed.then(() => log(`${name}: ${engine.title} has ended by itself`));
      return log(`${name}: ${engine.title} on port ${engine.port}`);
    }
  }
}

async function bringAll(): Promise<"all"> {
  const commands: [EngineName, EngineCommand][] = [];
  for (const name of ENGINES) commands.push([name, await find(name, place)]); // a build takes every core there is
  await Promise.all(
    commands.map(([name, what]) =>
      bring(name, what).catch((problem: Error) => bring(name, { kind: "missing", reason: problem.message })),
    ),
  );
  return "all";
}

const brought = await Promise.race([bringAll(), stopRequested.promise]);
const refused = missing > 0 && options.required;
if (brought === "all" && !options["install-only"] && !refused) {
  console.log(JSON.stringify(Object.assign({}, ...settings)));
  log("ready; Ctrl-C or SIGTERM stops them and removes their data");
  await stopRequested.promise;
}
await Promise.allSettled(started.map(async (engine) => (await engine).stop()));
process.exit(refused || brought !== "all" ? 1 : 0);
