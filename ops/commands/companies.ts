/** trawl companies sources [check], import, imports, resolve: the sources of the company register, how they are, and what their canaries say now. */
import { Command } from "commander";
import {
  type ClientOptions,
  clientCommand,
  errorOf,
  exchange,
  operatedService,
  operatorCommand,
  service,
} from "./client.ts";
import { importCommand, importsCommand } from "./company-import.ts";
import { resolveCommand } from "./company-resolve.ts";
import { type Context, EXIT, table } from "./context.ts";

interface SourceShown {
  readonly name: string;
  readonly active: boolean;
  readonly inactive_because: string | null;
  readonly countries: readonly string[];
  readonly schemes: { readonly lookup: readonly string[] };
  readonly licence: { readonly id: string };
  readonly health: {
    readonly state: string;
    readonly success_rate: number | null;
    readonly last_error: string | null;
    readonly canary: { readonly at: string; readonly problem: string | null } | null;
    readonly drift: readonly string[];
  };
}

export function companiesCommand(context: Context): Command {
  const check = operatorCommand("check")
    .description("ask sources for the companies that they must know; exit code 3 when one fails")
    .argument("[sources...]", "names of sources; default: all that are active")
    .action(async (names: string[], options: ClientOptions) => {
      const { base, key } = operatedService(context, options);
      const sources = names.length > 0 ? names : await activeOf(base, key);
      const body = { sources };
      const { reply, content } = await exchange("POST", `${base}/v1/ops/companies/sources/check`, key, body);
      if (!reply.ok) throw errorOf(reply, content);
      const { checks } = content as { checks: readonly { source: string; problem: string | null }[] };
      if (options.json) context.out(JSON.stringify(checks, null, 2));
      else
        context.out(
          table(
            ["SOURCE", "CANARIES"],
            checks.map(({ source, problem }) => [source, problem ?? "ok"]),
          ),
        );
      if (checks.some(({ problem }) => problem !== null)) context.exit(EXIT.some_failed);
    });
  const sources = clientCommand("sources")
    .description("list the sources of the register with their health")
    .action(async (options: ClientOptions) => {
      const { base, key } = service(context, options);
      const listed = await sourcesOf(base, key);
      if (options.json) return context.out(JSON.stringify(listed, null, 2));
      context.out(
        table(
          ["SOURCE", "STATE", "ANSWERED", "CANARY", "COUNTRIES", "IDENTIFIERS", "LICENCE"],
          listed.map(rowOf),
        ),
      );
      for (const { name, health } of listed)
        for (const path of health.drift) context.out(`${name}: its documents have no more ${path}`);
    });
  sources.addCommand(check);
  return new Command("companies")
    .description(
      "look at the company register, fill it from files of whole sources, and find companies in it",
    )
    .addCommand(sources)
    .addCommand(importCommand(context))
    .addCommand(importsCommand(context))
    .addCommand(resolveCommand(context));
}

async function sourcesOf(base: string, key: string): Promise<readonly SourceShown[]> {
  const { reply, content } = await exchange("GET", `${base}/v1/companies/sources`, key);
  if (!reply.ok) throw errorOf(reply, content);
  return (content as { sources: readonly SourceShown[] }).sources;
}

const activeOf = async (base: string, key: string): Promise<readonly string[]> =>
  (await sourcesOf(base, key)).filter(({ active }) => active).map(({ name }) => name);

function rowOf({ name, inactive_because, countries, schemes, licence, health }: SourceShown): string[] {
  const { state, success_rate, canary } = health;
  return [
    name,
    inactive_because === null ? state : `inactive: ${inactive_because}`,
    success_rate === null ? "-" : `${Math.round(success_rate * 100)} %`,
    canary === null ? "-" : canary.problem === null ? "ok" : "failed",
    countries.join(" "),
    schemes.lookup.join(" "),
    licence.id,
  ];
}
