/** A stored company takes what a file says of it, so that its change is in the feed and its watches hear of it. */
import type { ActorClient } from "../../../../cluster/actor.ts";
import { Company } from "../../../../schemas/companies.ts";

const TIMEOUT_MS = 20_000;

/** No source is asked. Repeating it changes nothing. Throws Fault. */
export async function takeImported(ask: ActorClient, company_id: string): Promise<void> {
  await ask(
    Company,
    company_id,
    "refresh",
    {
      reference: null,
      sources: [],
      groups: [],
      max_age_s: null,
      force: false,
      project: "",
      lane: "batch",
    },
    { timeout_ms: TIMEOUT_MS },
  );
}
