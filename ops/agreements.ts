/**
 * Whether all nodes read a form of stored data that an earlier version does not know, so that this node may write it. A node looks at the reports of all nodes when it has
 * joined, and each minute. A node of an older version that joins later, after a step back, does not find what was stored so.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { NodeReport } from "../cluster/ports/node-directory.ts";
import { everyMinute } from "./every-minute.ts";

/** Fields of a node's report. Nodes of version 0.2.0 have none of them. */
export type Ability = "reads_shared_bodies" | "reads_rights_of_pages";

export interface Agreement {
  /** False until the first look, while a node does not report the ability, and while reports cannot be had. */
  readonly isOn: () => boolean;
  /** Looks from now on, also at once. */
  readonly follow: (reports: () => Promise<readonly Pick<NodeReport, Ability>[]>) => Disposable;
}

export function openAgreement(
  ability: Ability,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Agreement {
  let isOn = false;
  return {
    isOn: () => isOn,
    follow(reports) {
      const look = async (): Promise<void> => {
        // Without an answer the next minute's look decides.
        const all = await reports().catch(() => []);
        isOn = all.length > 0 && all.every((report) => report[ability] === true);
      };
      void look();
      return everyMinute({ clock, log, what: "Cannot look at the versions of nodes" }, look);
    },
  };
}
