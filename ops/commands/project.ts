/** trawl project create, allow-agent, budget: beside a running service. */
import { Command, Option } from "commander";
import {
  allowAgent,
  createCustomer,
  createProject,
  FIRST_NAME,
  setBudget,
} from "../../actors/accounts/keys.ts";
import { type Customer, fromMicros } from "../../schemas/accounts.ts";
import { type Context, type Json, withDocuments, withJson } from "./context.ts";
import { amount } from "./key.ts";

interface ProjectOptions extends Json {
  readonly customer: string;
  readonly newCustomer?: boolean;
  readonly external?: boolean;
  readonly currency: Customer["currency"];
}

export function projectCommand(context: Context): Command {
  const project = new Command("project").description("projects: who shares a rate limit, keys and bodies");

  withJson(project.command("create"))
    .description("create a project")
    .argument("<name>", "lower-case letters, digits, - and _")
    .option("--customer <name>", "whose it is", FIRST_NAME)
    .option("--new-customer", "create that customer, too")
    .option("--external", "the new customer does not see what providers cost")
    .addOption(
      new Option("--currency <code>", "of the new customer").choices(["USD", "CHF", "EUR"]).default("USD"),
    )
    .action(async (name: string, { customer, newCustomer, external, currency, json }: ProjectOptions) => {
      const created = await withDocuments(context, async (documents) => {
        if (newCustomer)
          await createCustomer(
            documents,
            { name: customer, external: external ?? false, currency },
            context.now(),
          );
        return createProject(documents, { name, customer }, context.now());
      });
      if (json) return context.out(JSON.stringify(created));
      return context.err(`Project "${name}" of customer "${customer}" is created.`);
    });

  withJson(project.command("allow-agent"))
    .description("let a project's fetches name this user agent")
    .argument("<project>")
    .argument("<user-agent>", "letter by letter as fetches will say it")
    .action(async (name: string, agent: string, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => allowAgent(documents, name, agent));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(
        `Project "${name}" may say ${changed.user_agents.map((allowed) => `"${allowed}"`).join(", ")}.`,
      );
    });

  withJson(project.command("budget"))
    .description("limit what a project may spend on premium routes in a month")
    .argument("<project>")
    .argument("<amount>", "as 25.50, or none", (text) => (text === "none" ? null : amount(text)))
    .action(async (name: string, micros: number | null, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => setBudget(documents, name, micros));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(
        micros === null
          ? `Project "${name}" has no budget limit.`
          : `Project "${name}" may spend ${fromMicros(micros)} a month.`,
      );
    });

  return project;
}
