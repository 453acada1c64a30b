/** trawl maintenance schedule, complete, list: announced work, on the status page. Gateways show it within 15 seconds. */
import { Command, InvalidArgumentError } from "commander";
import {
  completeMaintenance,
  readNotices,
  scheduleMaintenance,
} from "../../actors/business/status/notices.ts";
import { maintenanceState } from "../../actors/business/status/evaluate.ts";
import { systemRandom } from "../../cluster/adapters/time/random.system.ts";
import type { StatusMaintenance } from "../../schemas/status.ts";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";
import { componentList } from "./incident.ts";

interface ScheduleOptions extends Json {
  readonly message: string;
  readonly from: number;
  readonly to: number;
  readonly components: readonly string[];
}

export function maintenanceCommand(context: Context): Command {
  const { now, out, err } = context;
  const maintenance = new Command("maintenance").description(
    "announce work on the service, on the status page",
  );
  const shown = (changed: StatusMaintenance, json: boolean | undefined): void => {
    if (json) return out(JSON.stringify(changed));
    const scope = changed.components.length === 0 ? "the whole service" : changed.components.join(", ");
    out(changed.id);
    return err(
      `${changed.title}: ${changed.status}, ${changed.starts_at} to ${changed.ends_at}, concerns ${scope}.`,
    );
  };

  withJson(maintenance.command("schedule"))
    .description("announce a window; it begins and ends by itself; prints its id")
    .argument("<title>", "what is done, in a few words")
    .requiredOption("--message <text>", "what is said about it; everyone can read it")
    .requiredOption("--from <time>", "when it begins, as 2026-11-24T22:00Z", instant)
    .requiredOption("--to <time>", "when it ends", instant)
    .option(
      "--components <ids>",
      "what it concerns, as fetch,search; left out: the whole service",
      componentList,
      [],
    )
    .action(async (title: string, { json, message, from, to, components }: ScheduleOptions) => {
      const text = { title, message, starts_ms: from, ends_ms: to, components };
      const scheduled = await withDocuments(context, (documents) =>
        scheduleMaintenance({ documents, now_ms: now(), random: systemRandom() }, text),
      );
      shown(scheduled, json);
    });

  withJson(maintenance.command("complete"))
    .description("end a window before its time; one that has not begun is called off")
    .argument("<id>")
    .requiredOption("--message <text>", "what is said about it")
    .action(async (id: string, { json, message }: { readonly message: string } & Json) => {
      const completed = await withDocuments(context, (documents) =>
        completeMaintenance({ documents, now_ms: now() }, id, message),
      );
      shown(completed, json);
    });

  withJson(maintenance.command("list"))
    .description("list the newest windows")
    .action(async ({ json }: Json) => {
      const { maintenance: windows } = await withDocuments(context, readNotices);
      const current = windows.map((window) => ({ ...window, status: maintenanceState(window, now()) }));
      if (json) return out(JSON.stringify(current, null, 2));
      const rows = current.map(({ id, status, components, starts_at, ends_at, title }) => [
        id,
        status,
        components.join(",") || "all",
        starts_at,
        ends_at,
        title,
      ]);
      return out(table(["MAINTENANCE", "STATUS", "COMPONENTS", "FROM", "TO", "TITLE"], rows));
    });
  return maintenance;
}

/** Without an offset a time would mean another moment on another machine. */
function instant(text: string): number {
  const ms = Date.parse(text);
  if (!/(?:Z|[+-]\d\d:?\d\d)$/.test(text) || Number.isNaN(ms))
    throw new InvalidArgumentError("Not a time with its offset, as 2026-11-24T22:00Z.");
  return ms;
}
