/** A job that stands still in the middle until a test lets it go on. */
import { client } from "../jobs-client.ts";
import type { Scenario } from "../scenario.ts";
import { article, gate, type Site } from "../web.ts";

interface HeldJob {
  readonly id: string;
  readonly open: () => void;
  /** Site of all its pages but the held one. */
  readonly site: Site;
}

/** The item `held` answers when the gate is opened, and all others at once. */
export async function heldJob({ sites, service }: Scenario, total: number, held: number): Promise<HeldJob> {
  const { opened, open } = gate();
  const site = sites.site({ "*": { body: article("A page") } });
  const slow = sites.site({
    "*": async () => {
      await opened;
      return { body: article("At last") };
    },
  });
  const items = Array.from({ length: total }, (_, n) => ({
    url: n === held ? `${slow.origin}/` : `${site.origin}/${n}`,
    timeout_s: 120,
  }));
  const { json } = await client(service).create(items, { idempotency_key: `held ${site.host}` });
  return { id: json.job_id, open, site };
}
