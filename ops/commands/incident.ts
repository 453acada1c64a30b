/** trawl incident open, update, resolve, list: what the status page says of a fault. Gateways show it within 15 seconds. */
import { Command, Option } from "commander";
import {
  type IncidentChange,
  type IncidentText,
  openIncident,
  readNotices,
  updateIncident,
} from "../../actors/business/status/notices.ts";
import { systemRandom } from "../../cluster/adapters/time/random.system.ts";
import { IMPACTS, INCIDENT_STATES, type StatusIncident } from "../../schemas/status.ts";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";

const MESSAGE = ["--message <text>", "what is said about it; everyone can read it"] as const;
const impactOption = () =>
  new Option("--impact <impact>", "the least its components are shown as").choices(IMPACTS);

export const componentList = (text: string): string[] => text.split(",").map((id) => id.trim());

export function incidentCommand(context: Context): Command {
  const { now, out, err } = context;
  const incident = new Command("incident").description("tell clients of a fault, on the status page");
  const shown = (changed: StatusIncident, json: boolean | undefined): void => {
    if (json) out(JSON.stringify(changed));
    else {
      out(changed.id);
      err(
        `${changed.title}: ${changed.status}, impact ${changed.impact}, concerns ${changed.components.join(", ")}.`,
      );
    }
  };

  withJson(incident.command("open"))
    .description("announce an incident; prints its id")
    .argument("<title>", "what it is, in a few words")
    .requiredOption(...MESSAGE)
    .requiredOption("--components <ids>", "what it concerns, as fetch,search", componentList)
    .addOption(impactOption().default("degraded"))
    .addOption(
      new Option("--status <status>", "how far it is")
        .choices(INCIDENT_STATES.slice(0, -1))
        .default("investigating"),
    )
    .action(async (title: string, { json, ...rest }: Omit<IncidentText, "title"> & Json) =>
      shown(
        await withDocuments(context, (documents) =>
          openIncident({ documents, now_ms: now(), random: systemRandom() }, { title, ...rest }),
        ),
        json,
      ),
    );

  const update = async (id: string, change: IncidentChange, json: boolean | undefined): Promise<void> =>
    shown(
      await withDocuments(context, (documents) => updateIncident({ documents, now_ms: now() }, id, change)),
      json,
    );

  withJson(incident.command("update"))
    .description("say more about an incident, or move it forward")
    .argument("<id>")
    .requiredOption(...MESSAGE)
    .addOption(new Option("--status <status>", "how far it is now").choices(INCIDENT_STATES))
    .option("--components <ids>", "what it concerns now", componentList)
    .addOption(impactOption())
    .action((id: string, { json, ...change }: IncidentChange & Json) => update(id, change, json));

  withJson(incident.command("resolve"))
    .description("end an incident; it is shown for seven more days")
    .argument("<id>")
    .requiredOption(...MESSAGE)
    .action((id: string, { json, message }: { readonly message: string } & Json) =>
      update(id, { message, status: "resolved" }, json),
    );

  withJson(incident.command("list"))
    .description("list the newest incidents")
    .action(async ({ json }: Json) => {
      const { incidents } = await withDocuments(context, readNotices);
      if (json) return out(JSON.stringify(incidents, null, 2));
      const rows = incidents.map(({ id, status, impact, components, created_at, title }) => [
        id,
        status,
        impact,
        components.join(","),
        created_at,
        title,
      ]);
      return out(table(["INCIDENT", "STATUS", "IMPACT", "COMPONENTS", "SINCE", "TITLE"], rows));
    });
  return incident;
}
