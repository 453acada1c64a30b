/** trawl project create, list, allow-agent, forbid-agent, allow-network, forbid-network, rate, archive, budget: changes the document store; a running service follows within 5 seconds. */
import { Argument, Command, Option } from "commander";
import {
  allowAgent,
  allowNetwork,
  createCustomer,
  createProject,
  FIRST_NAME,
  forbidAgent,
  forbidNetwork,
  listProjects,
  setArchive,
  setBudget,
  setRate,
} from "../../actors/business/accounts/keys.ts";
import { type Customer, fromMicros } from "../../schemas/accounts.ts";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";
import { amount, wholeNumber } from "./key.ts";

interface ProjectOptions extends Json {
  readonly customer: string;
  readonly newCustomer?: boolean;
  readonly external?: boolean;
  readonly currency: Customer["currency"];
}

export function projectCommand(context: Context): Command {
  const project = new Command("project").description(
    "manage projects, which share a rate limit, keys and bodies",
  );

  withJson(project.command("create"))
    .description("create a project")
    .argument("<name>", "lower-case letters, digits, - and _")
    .option("--customer <name>", "the customer that owns the project", FIRST_NAME)
    .option("--new-customer", "create the customer as well")
    .option("--external", "the new customer does not see provider costs")
    .addOption(
      new Option("--currency <code>", "the currency of the new customer")
        .choices(["USD", "CHF", "EUR"])
        .default("USD"),
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
    .description("allow a project's fetches to use this User-Agent")
    .argument("<project>", "the name of the project")
    .argument("<user-agent>", "exactly as fetches will send it")
    .action(async (name: string, agent: string, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => allowAgent(documents, name, agent));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(
        `Project "${name}" may use the User-Agents ${changed.user_agents.map((allowed) => `"${allowed}"`).join(", ")}.`,
      );
    });

  withJson(project.command("forbid-agent"))
    .description("take a User-Agent back that a project's fetches were allowed to use")
    .argument("<project>")
    .argument("<user-agent>")
    .action(async (name: string, agent: string, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => forbidAgent(documents, name, agent));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(`Project "${name}" may not use the User-Agent "${agent}".`);
    });

  withJson(project.command("allow-network"))
    .description("let a project's requests reach a private network, an intranet for example")
    .argument("<project>", "the name of the project")
    .argument("<network>", "an address or a range in CIDR form, for example 10.1.0.0/16")
    .action(async (name: string, network: string, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => allowNetwork(documents, name, network));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(`Project "${name}" may reach ${changed.networks!.join(", ")}.`);
    });

  withJson(project.command("forbid-network"))
    .description("take a private network back that a project's requests were allowed to reach")
    .argument("<project>")
    .argument("<network>", "as `trawl project list` shows it")
    .action(async (name: string, network: string, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => forbidNetwork(documents, name, network));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(`Project "${name}" may not reach ${network} of its own.`);
    });

  withJson(project.command("rate"))
    .description("limit a project's requests per second, over all gateways")
    .argument("<project>")
    .argument("<rps>", "for example 200", wholeNumber)
    .action(async (name: string, rps: number, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => setRate(documents, name, rps));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(`Project "${name}" may send ${rps} requests per second.`);
    });

  withJson(project.command("archive"))
    .description("keep the exchanges of all fetches of a project that do not say archive themselves")
    .argument("<project>")
    .addArgument(new Argument("<state>").choices(["on", "off"]))
    .action(async (name: string, state: "on" | "off", { json }: Json) => {
      const changed = await withDocuments(context, (documents) =>
        setArchive(documents, name, state === "on"),
      );
      if (json) return context.out(JSON.stringify(changed));
      const kept =
        state === "on" ? "are kept, unless a fetch says otherwise" : "are kept where a fetch says so";
      return context.err(`Exchanges of project "${name}" ${kept}.`);
    });

  withJson(project.command("list"))
    .description("list projects with their limits")
    .action(async ({ json }: Json) => {
      const projects = await withDocuments(context, listProjects);
      if (json) return context.out(JSON.stringify(projects, null, 2));
      const rows = projects.map(
        ({ name, customer, rate_limit_rps, budget_micros, archive, networks = [] }) => [
          name,
          customer,
          String(rate_limit_rps),
          budget_micros === null ? "none" : fromMicros(budget_micros),
          networks.join(" ") || "none",
          archive ? "on" : "off",
        ],
      );
      return context.out(table(["PROJECT", "CUSTOMER", "RPS", "BUDGET", "NETWORKS", "ARCHIVE"], rows));
    });

  withJson(project.command("budget"))
    .description("limit what a project may spend on premium routes in a month")
    .argument("<project>", "the name of the project")
    .argument("<amount>", "for example 25.50, or none", (text) => (text === "none" ? null : amount(text)))
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
