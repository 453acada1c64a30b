/** trawl customer budget, suspend, activate: changes the document store; a running service follows within 5 seconds. */
import { Command } from "commander";
import { setCustomerBudget, setCustomerStatus } from "../../actors/accounts/keys.ts";
import { type Customer, fromMicros } from "../../schemas/accounts.ts";
import { type Context, type Json, withDocuments, withJson } from "./context.ts";
import { amount } from "./key.ts";

export function customerCommand(context: Context): Command {
  const customer = new Command("customer").description("manage customers, which own projects");
  const becomes = (name: string, status: Customer["status"], description: string): void => {
    withJson(customer.command(name))
      .description(description)
      .argument("<name>")
      .action(async (whose: string, { json }: Json) => {
        const changed = await withDocuments(context, (documents) =>
          setCustomerStatus(documents, whose, status),
        );
        if (json) return context.out(JSON.stringify(changed));
        return context.err(`Customer "${whose}" is ${changed.status}.`);
      });
  };
  withJson(customer.command("budget"))
    .description("limit what all projects of a customer together may spend in a month")
    .argument("<name>")
    .argument("<amount>", "for example 250.50, or none", (text) => (text === "none" ? null : amount(text)))
    .action(async (name: string, micros: number | null, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => setCustomerBudget(documents, name, micros));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(
        micros === null
          ? `Customer "${name}" has no budget limit.`
          : `Customer "${name}" may spend ${fromMicros(micros)} a month.`,
      );
    });
  becomes("suspend", "suspended", "refuse all requests with the customer's keys");
  becomes("activate", "active", "accept requests with the customer's keys again");
  return customer;
}
