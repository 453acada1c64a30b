/** trawl customer suspend, activate: changes the document store; a running service follows within 5 seconds. */
import { Command } from "commander";
import { setCustomerStatus } from "../../actors/accounts/keys.ts";
import type { Customer } from "../../schemas/accounts.ts";
import { type Context, type Json, withDocuments, withJson } from "./context.ts";

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
  becomes("suspend", "suspended", "refuse all requests with the customer's keys");
  becomes("activate", "active", "accept requests with the customer's keys again");
  return customer;
}
