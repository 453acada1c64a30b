/** Opens the index of the register's companies, and makes it from the documents where it is not complete, beside requests. */
import { openOrSetAside } from "../../../../cluster/adapters/files/set-aside.sqlite.ts";
import type { OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { Register } from "../../filings/register.ts";
import { sqliteCompanyIndex } from "../adapters/index.sqlite.ts";
import { rebuildIndex } from "../rebuild-index.ts";
import type { CompanyIndex } from "../search-index.ts";
import { filingRegister } from "./filing-register.ts";

interface IndexProvides {
  readonly index: CompanyIndex;
  readonly find: Register;
}

export async function openCompanyIndex(node: OpeningNode): Promise<OpenFeature<unknown, IndexProvides>> {
  const index = await openIndex(node);
  const { documents, clock, log, metrics } = node;
  metrics.begin("trawl_company_index_building", {});

  async function make(): Promise<void> {
    metrics.gauge("trawl_company_index_building", {}, 1);
    try {
      const companies = await rebuildIndex(documents, index);
      if (companies > 0) log.info("The index of companies was made from the documents", { companies });
    } catch (problem) {
      log.warn("Cannot make the index of companies", { problem: String(problem) });
    }
    metrics.gauge("trawl_company_index_building", {}, 0);
  }

  return {
    join: ({ ask }) => ({
      provides: { index, find: filingRegister({ documents, clock, ask, index }) },
      onServing: async () => void make(),
    }),
    close: () => index.close(),
  };
}

/** The driver is loaded when the store is MongoDB. */
async function openIndex({
  config,
  topology,
  clock,
  log,
  store_id,
  dataPath,
}: OpeningNode): Promise<CompanyIndex> {
  if (topology.documents === "mongodb")
    return (await import("../adapters/index.mongo.ts")).mongoCompanyIndex(config.storage.documents);
  const path = dataPath("companies.sqlite");
  return openOrSetAside(path, () => sqliteCompanyIndex(path), { clock, log, store_id }).opened;
}
