/** The hosts that the filing system owns: its real ones, whatever bases are configured, and those of the bases. */
import type { HostOwner } from "../../../../node/host-owners.ts";
import { ownedHosts } from "../upstream/hosts.ts";
import type { FilingsSettings } from "./settings.ts";

export const FILING_OWNER = "the filing system";

export const filingOwner = ({
  data_url,
  www_url,
  search_url,
}: Pick<FilingsSettings, "data_url" | "www_url" | "search_url">): HostOwner => ({
  name: FILING_OWNER,
  ...ownedHosts({ data: data_url, www: www_url, search: search_url }),
});
