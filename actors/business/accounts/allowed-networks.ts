/**
 * Which private networks a project's requests may reach. TRAWL_EGRESS_ALLOW holds for every project while there is one
 * customer, else for the projects that TRAWL_EGRESS_ALLOW_PROJECTS names; a project may have networks of its own beside that
 * (`trawl project allow-network`). A change takes effect within five seconds.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { AllowedNetworks, NetworksOf } from "../../lib/web/destination.ts";
import { CUSTOMERS, PROJECTS } from "./collections.ts";

interface AllowedNetworksOptions {
  readonly documents: Pick<Documents, "get" | "list">;
  readonly clock: Pick<Clock, "mono">;
  /** TRAWL_EGRESS_ALLOW. */
  readonly allow: readonly string[];
  /** TRAWL_EGRESS_ALLOW_PROJECTS; "*" names every project. */
  readonly named: readonly string[];
}

const KNOWN_MS = 4_000;
/** Maximum remembered projects; the one asked for first is forgotten first. */
const MAX_KNOWN = 10_000;

export function allowedNetworks({ documents, clock, allow, named }: AllowedNetworksOptions): NetworksOf {
  const known = new Map<string, { readonly at_ms: number; readonly answer: Promise<AllowedNetworks> }>();

  async function read(name: string): Promise<AllowedNetworks> {
    const isOnlyCustomer = async () => (await CUSTOMERS.list(documents, { limit: 2 })).length < 2;
    const isEveryones = allow.length > 0 && (named.includes("*") || (await isOnlyCustomer()));
    const project = await PROJECTS.get(documents, name);
    const own = project?.networks ?? [];
    const given = isEveryones || named.includes(name) ? allow : [];
    // Networks are the same list again and again, so that it is read once (actors/lib/web/destination.ts).
    return {
      networks: own.length === 0 ? given : [...given, ...own],
      is_everyones: isEveryones && own.length === 0,
    };
  }

  return (name) => {
    const last = known.get(name);
    if (last && clock.mono() - last.at_ms < KNOWN_MS) return last.answer;
    const answer = read(name);
    known.delete(name);
    known.set(name, { at_ms: clock.mono(), answer });
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
    answer.catch(() => known.delete(name));
    return answer;
  };
}
