/** trawl customer suspend, activate: beside a running service, which honours them within 5 seconds. */
import { Command } from "commander";
import { setCustomerStatus } from "../../actors/accounts/keys.ts";
import type { Customer } from "../../schemas/accounts.ts";
import { type Context, type Json, withDocuments, withJson } from "./context.ts";

export function customerCommand(context: Context): Command {
  const customer = new Command("customer").description("customers: who owns projects");
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
  becomes("suspend", "suspended", "refuse every call of its keys");
  becomes("activate", "active", "let its keys call again");
  return customer;
}
