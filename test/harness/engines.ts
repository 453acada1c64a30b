/**
 * Real engines for suites, where there are any: `const { bus } = await engines("bus")` at the top of a test file, then
 * `describe.skipIf(bus === null)`. Started on first use, shared by all suites of a run: take names of your own for
 * databases, streams, buckets and prefixes. A test that kills takes an engine of its own (`ownEngine`).
 */
import { homedir } from "node:os";
import { inject } from "vitest";
import { start } from "../../ops/engines/adapters/process.ts";
import { ENGINES } from "../../ops/engines/engine.ts";
import type { Engine, EngineName, Program, Settings } from "../../ops/engines/engine.ts";
import { find, placeOf } from "../../ops/engines/install.ts";

/** The environment that makes the service use each engine, or null where there is none. */
export type Engines<Name extends EngineName = EngineName> = Readonly<Record<Name, Settings | null>>;

export async function engines<Name extends EngineName>(...names: Name[]): Promise<Engines<Name>> {
  const at = inject("engines_at");
  if (!at)
    throw new Error(
      'Cannot ask for engines: vitest.config.ts lacks globalSetup "test/harness/engines.setup.ts"',
    );
  const wanted = names.length > 0 ? names : (ENGINES as unknown as Name[]);
  const answers = wanted.map(async (name) => {
    const answer = await fetch(`${at}/${name}`);
    if (!answer.ok) throw new Error(await answer.text());
    return [name, (await answer.json()) as Settings | null] as const;
  });
  return Object.fromEntries(await Promise.all(answers)) as Engines<Name>;
}

/** The folder with all that a shared engine stores and logs; null: it is not of this run. */
export async function engineFolder(name: EngineName): Promise<string | null> {
  return (await (await fetch(`${inject("engines_at")}/${name}/folder`)).json()) as string | null;
}

/** How to run an engine, for suites that start it in ways of their own; null where it is not installed. */
export async function engineProgram(name: EngineName): Promise<Program | null> {
  const found = await find(
    name,
    placeOf(process.env, homedir(), false, () => {}),
  );
  return found.kind === "program" ? found.program : null;
}

/** An engine for one suite, which may kill, pause and restart it; null where it is not installed. The caller stops it. */
export async function ownEngine(name: EngineName): Promise<Engine | null> {
  const program = await engineProgram(name);
  return program && start(program);
}
