/**
 * Vitest's globalSetup for engines: finds what is installed (it never installs), starts an engine when the first suite
 * asks for it, once per run, and stops all of them at the end. Suites ask through test/harness/engines.ts; they live in other
 * processes, hence the little server.
 *
 * Engines that the environment names are used instead (TRAWL_BUS, TRAWL_DOCUMENTS, TRAWL_BLOBS with what belongs to it). A
 * missing engine is one line on the terminal; with ENGINES=required it ends the run.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { TestProject } from "vitest/node";
import { start } from "../../ops/engines/adapters/process.ts";
import { ENGINES } from "../../ops/engines/engine.ts";
import type { Engine, EngineName, Settings } from "../../ops/engines/engine.ts";
import { HOW_TO_INSTALL, find, placeOf } from "../../ops/engines/install.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where engines are asked for. */
    engines_at: string;
  }
}

interface Kind {
  /** For people. */
  readonly title: string;
  /** Matches the first of `names` if it is the address of an engine and not an embedded store. */
  readonly scheme: RegExp;
  readonly names: readonly string[];
}
const KINDS: Record<EngineName, Kind> = {
  bus: { title: "NATS", scheme: /^nats:/, names: ["TRAWL_BUS"] },
  documents: { title: "MongoDB", scheme: /^mongodb(\+srv)?:/, names: ["TRAWL_DOCUMENTS"] },
  blobs: {
    title: "S3",
    scheme: /^s3:/,
    names: ["TRAWL_BLOBS", "S3_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"],
  },
};

function given(name: EngineName): Settings | undefined {
  const { scheme, names } = KINDS[name];
  if (!scheme.test(process.env[names[0]!] ?? "")) return undefined;
  return Object.fromEntries(names.flatMap((key) => (process.env[key] ? [[key, process.env[key]]] : [])));
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const place = placeOf(process.env, homedir(), false, () => {});
  const started: Promise<Engine>[] = [];

  async function bring(name: EngineName): Promise<Settings | null> {
    const settings = given(name);
    if (settings) return settings;
    const found = await find(name, place);
    switch (found.kind) {
      case "missing":
        console.warn(
          `Skipped: what runs on ${KINDS[name].title} (${found.reason}). To run it: ${HOW_TO_INSTALL}`,
        );
        return null;
      case "external":
        return found.settings;
      case "program": {
        const engine = start(found.program);
        started.push(engine);
        return (await engine).settings;
      }
    }
  }

  const asked = new Map<EngineName, Promise<Settings | null>>();
  function ask(name: EngineName): Promise<Settings | null> {
    const answer = asked.get(name) ?? bring(name);
    asked.set(name, answer);
    return answer;
  }

  const stop = (): Promise<unknown> =>
    Promise.allSettled(started.map(async (engine) => (await engine).stop()));

  if (process.env["ENGINES"] === "required") {
    const answers = await Promise.allSettled(ENGINES.map(ask));
    const lacking = ENGINES.filter((_, i) => answers[i]!.status === "rejected" || answers[i]!.value === null);
    if (lacking.length > 0) await stop();
    if (lacking.length > 0)
      throw new Error(
        `ENGINES=required, and these are missing: ${lacking.map((name) => KINDS[name].title).join(", ")}`,
      );
  }

  /** Null: the environment names the engine, or there is none. */
  async function folderOf(name: EngineName): Promise<string | null> {
    await ask(name);
    const engine = (await Promise.all(started)).find((one) => one.name === name);
    return engine ? dirname(engine.log) : null;
  }

  const server = createServer((request, response) => {
    const [, name, wanted] = request.url!.split("/") as [string, EngineName, string?];
    (wanted === "folder" ? folderOf(name) : ask(name)).then(
      (answer) => response.end(JSON.stringify(answer)),
      (problem: unknown) => response.writeHead(500).end(String(problem)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  provide("engines_at", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);

  return async () => {
    server.close();
    server.closeAllConnections();
    await stop();
  };
}
