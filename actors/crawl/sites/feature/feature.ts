/** The sites feature: what it contributes to a node, made from the pages of the fetch feature. */
import { feature } from "../../../../node/feature.ts";
import { Pages } from "../../fetch/feature/tokens.ts";
import { IndexOfPages } from "../../../sources/search/feature/tokens.ts";

export const sitesFeature = feature({
  name: "sites",
  settings: {},
  collections: [],
  needs: { fetchPage: Pages, index: IndexOfPages },
  provides: {},
  async open() {
    const { mapRoutes } = await import("./map-route.ts");
    return {
      join({ blobs, clock, metrics, memory }, { fetchPage, index: { local } }) {
        return {
          provides: {},
          routes: mapRoutes({ fetchPage, blobs, clock, metrics, memory, index: local }),
        };
      },
    };
  },
});
