/** trawl secrets status and rotate: the key that encrypts stored secrets, and its change beside a running service. */
import { Command } from "commander";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";

export function secretsCommand(context: Context): Command {
  const secrets = new Command("secrets").description("see and change the key that encrypts stored secrets");

  withJson(secrets.command("status"))
    .description("which keys there are, and with which one the documents are sealed")
    .action(async ({ json }: Json) => {
      const { secretsStatus } = await import("../rotate-secrets.ts");
      const status = await withDocuments(context, async (documents) =>
        secretsStatus(await context.config(), documents),
      );
      if (json) return context.out(JSON.stringify(status));
      context.err(`Keys in "${status.file}"`);
      return context.out(
        table(
          ["KEY", "IN THE FILE", "USE"],
          status.keys.map(({ id, in_file, use }) => [id, in_file ? "yes" : "no", use]),
        ),
      );
    });

  withJson(secrets.command("rotate"))
    .description("seal everything with a new key, beside a running service; run again after an interruption")
    .option("--lost", "the key of the documents is lost: give up what it sealed, and begin with a new one")
    .action(async ({ lost = false, json }: Json & { readonly lost?: boolean }) => {
      const { rotateSecrets } = await import("../rotate-secrets.ts");
      const { systemClock } = await import("../../cluster/adapters/time/clock.system.ts");
      const clock = systemClock();
      const result = await withDocuments(context, async (documents) =>
        rotateSecrets(await context.config(), documents, {
          lost,
          wait: (ms) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve)),
          now: context.now,
        }),
      );
      if (json) return context.out(JSON.stringify(result));
      context.err(
        `${result.changed} documents were sealed with key "${result.key}"` +
          (result.unreadable > 0 ? `; ${result.unreadable} texts could not be read` : ""),
      );
      return context.err(result.advice);
    });
  return secrets;
}
