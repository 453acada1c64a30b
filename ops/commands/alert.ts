/** trawl alert list: the webhooks of a customer that are told of its usage, and how their last delivery ended. */
import { Command } from "commander";
import { hookView, listHooks } from "../../actors/business/accounts/alerts.ts";
import { customerNamed } from "../../actors/business/accounts/keys.ts";
import { openSecrets } from "../secrets.ts";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";

export function alertCommand(context: Context): Command {
  const alert = new Command("alert").description("see webhooks for usage alerts");
  withJson(alert.command("list"))
    .description("list the webhooks of a customer, without their secrets")
    .argument("<customer>")
    .action(async (customer: string, { json }: Json) => {
      const views = await withDocuments(context, async (documents) => {
        await customerNamed(documents, customer);
        const secrets = await openSecrets(await context.config(), documents, context);
        return (await listHooks(documents, customer)).map((hook) => hookView(hook, secrets));
      });
      if (json) return context.out(JSON.stringify(views, null, 2));
      const rows = views.map(
        ({ id, scope, key, project, thresholds, url, last_delivery_at, last_status }) => [
          String(id),
          [scope, key ?? project ?? ""].join(" ").trim(),
          thresholds.join(","),
          last_status ?? "none yet",
          last_delivery_at ?? "",
          url ?? "cannot be read",
        ],
      );
      return context.out(table(["ID", "OF", "PERCENT", "LAST DELIVERY", "AT", "URL"], rows));
    });
  return alert;
}
