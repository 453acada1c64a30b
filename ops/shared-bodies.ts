/**
 * Whether small bodies may share objects of S3, where the operator wants it (TRAWL_S3_SMALL_BODIES). Nodes of version 0.2.0 do not find such bodies, so none is stored while one of them
 * runs: a node looks at the reports of all nodes when it has joined, and each minute. A node of an older version that joins
 * later, after a step back, does not find those that were stored.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { NodeReport } from "../cluster/ports/node-directory.ts";
import { everyMinute } from "./every-minute.ts";

export interface SharedBodies {
  /** False until the first look, while a node does not report that it reads them, and while reports cannot be had. */
  readonly isOn: () => boolean;
  /** Looks from now on, also at once. */
  readonly follow: (reports: () => Promise<readonly Pick<NodeReport, "reads_shared_bodies">[]>) => Disposable;
}

export function openSharing({ clock, log }: { readonly clock: Clock; readonly log: Log }): SharedBodies {
  let isOn = false;
  return {
    isOn: () => isOn,
    follow(reports) {
      const look = async (): Promise<void> => {
        // Without an answer the next minute's look decides.
        const all = await reports().catch(() => []);
        isOn = all.length > 0 && all.every(({ reads_shared_bodies }) => reads_shared_bodies === true);
      };
      void look();
      return everyMinute({ clock, log, what: "Cannot look at the versions of nodes" }, look);
    },
  };
}
