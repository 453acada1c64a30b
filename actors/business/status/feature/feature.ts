/** The status feature: what the whole service is like, for everyone. */
import { Type } from "typebox";
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { closed } from "../../../../node/settings.ts";
import { StatusAlerts } from "../../accounts/feature/tokens.ts";
import { StatusParts } from "./tokens.ts";

export const statusFeature = feature({
  name: "status",
  settings: {
    status: Type.Object(
      {
        period_s: Type.Integer({
          env: "TRAWL_STATUS_PERIOD_S",
          default: 15,
          minimum: 1,
          maximum: 15,
          shared: true,
          description:
            "Seconds between two rounds of the public status: each node reports its figures, each gateway looks at the stores. Figures of a node that is silent for four rounds are left out.",
        }),
      },
      closed,
    ),
  },
  collections: Object.values(collections),
  needs: { parts: StatusParts, announceNotices: StatusAlerts },
  provides: {},
  async open(_, settings) {
    const { openStatus } = await import("./open.ts");
    return openStatus(1_000 * settings.status.period_s);
  },
});
