/** The filings feature: its settings, and what it contributes to a node. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { FindCompany } from "../../companies/feature/tokens.ts";
import { PageReaders } from "../../../crawl/fetch/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { StatusParts } from "../../../business/status/feature/tokens.ts";
import { filingOwner } from "./owner.ts";
import { SETTINGS } from "./settings.ts";
import { FilingDocuments } from "./tokens.ts";

/** Host names and addresses that are reserved for examples. */
const MADE_UP = /[@.](?:example(?:\.\w+)?|\w+\.(?:test|invalid|localhost))$/i;

export const filingsFeature = feature({
  name: "filings",
  settings: SETTINGS,
  /** The real filing system must not be shown an address that does not exist. */
  problem({ filings: { identity = "", data_url, www_url, search_url } }) {
    const isReal = [data_url, www_url, search_url].some((base) =>
      URL.parse(base)?.hostname.endsWith("sec.gov"),
    );
    if (!isReal || !MADE_UP.test(identity)) return null;
    const message = "must be an e-mail address that is read: the filing system writes to it";
    return { env: "TRAWL_FILINGS_IDENTITY", message };
  },
  collections: Object.values(collections),
  hosts: ({ filings }) => [filingOwner(filings)],
  needs: { findCompany: FindCompany },
  provides: { documents: FilingDocuments, readers: PageReaders, kinds: ItemKinds, status: StatusParts },
  async open(node, settings) {
    const { openFilings } = await import("./open.ts");
    return openFilings(node, settings.filings);
  },
});
