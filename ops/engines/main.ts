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
import type { Found } from "./install.ts";

const { values: options } = parseArgs({
  options: {
    "install-only": { type: "boolean", default: false },
    required: { type: "boolean", default: false },
  },
});
const say = (line: string): void => console.error(`engines: ${line}`);
/** Those that answer and those that do not yet: whoever was started is stopped. */
const started: Promise<Engine>[] = [];
const told = Promise.withResolvers<void>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => told.resolve());

const place = placeOf(process.env, homedir(), true, say);
const settings: Settings[] = [];
let missing = 0;

/** Starts what was found, or says why there is nothing to start. */
async function bring(name: EngineName, found: Found): Promise<void> {
  switch (found.kind) {
    case "missing":
      missing += 1;
      return say(`no ${name}: ${found.reason}`);
    case "external":
      settings.push(found.settings);
      return say(`${name}: ${found.title}`);
    case "program": {
      const { program } = found;
      if (options["install-only"]) return say(`${name}: ${program.title} is installed`);
      const starting = start(program);
      started.push(starting);
      const engine = await starting;
      settings.push(engine.settings);
      void engine.failed.then(() => say(`${name}: ${engine.title} has ended by itself`));
      return say(`${name}: ${engine.title} on port ${engine.port}`);
    }
  }
}

async function bringAll(): Promise<"all"> {
  const found: [EngineName, Found][] = [];
  for (const name of ENGINES) found.push([name, await find(name, place)]); // a build takes every core there is
  await Promise.all(
    found.map(([name, what]) =>
      bring(name, what).catch((problem: Error) => bring(name, { kind: "missing", reason: problem.message })),
    ),
  );
  return "all";
}

const brought = await Promise.race([bringAll(), told.promise]);
const refused = missing > 0 && options.required;
if (brought === "all" && !options["install-only"] && !refused) {
  console.log(JSON.stringify(Object.assign({}, ...settings)));
  say("ready; Ctrl-C or SIGTERM stops them and removes their data");
  await told.promise;
}
await Promise.allSettled(started.map(async (engine) => (await engine).stop()));
process.exit(refused || brought !== "all" ? 1 : 0);
