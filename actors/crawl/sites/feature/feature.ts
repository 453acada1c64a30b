/** The sites feature: what it contributes to a node, made from the pages of the fetch feature. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import * as collections from "../frontier/collections.ts";
import { PageItems, Pages } from "../../fetch/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { IndexOfPages } from "../../../sources/search/feature/tokens.ts";

export const sitesFeature = feature({
  name: "sites",
  settings: {},
  collections: Object.values(collections),
  async sealed() {
    const { sealedCrawls } = await import("../frontier/sealed.ts");
    return { [collections.CRAWLS.name]: sealedCrawls };
  },
  needs: { fetchPage: Pages, index: IndexOfPages, pages: PageItems },
  provides: { kinds: ItemKinds },
  async open() {
    const { openSites } = await import("./open.ts");
    return { join: openSites };
  },
});
