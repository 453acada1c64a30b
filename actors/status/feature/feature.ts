/** The status feature: what the whole service is like, for everyone. It stands after the features whose components it shows. */
import { feature } from "../../../ops/feature.ts";
import { INCIDENTS, MAINTENANCE } from "../notices.ts";

export const statusFeature = feature({
  name: "status",
  settings: {},
  collections: { expiring: [INCIDENTS, MAINTENANCE], rebuildable: [] },
  async open(context) {
    const { openStatus } = await import("./open.ts");
    return openStatus(context);
  },
});
