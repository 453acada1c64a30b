/** The monitors feature: pages that are visited when it is time, and what has changed on them. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import { Visits } from "../../jobs/feature/tokens.ts";
import { MONITOR_CHANGES, MONITORS, sealedMonitors } from "../stored-monitor.ts";

export const monitorsFeature = feature({
  name: "monitors",
  settings: {},
  collections: [MONITORS, MONITOR_CHANGES],
  sealed: async () => ({ [MONITORS.name]: sealedMonitors }),
  needs: { visits: Visits },
  provides: {},
  async open() {
    const { openMonitors } = await import("./open.ts");
    return { join: openMonitors };
  },
});
