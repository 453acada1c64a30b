/** Opens the index of the register's companies, and makes it from the documents where it is not complete, beside requests. */
import { openOrSetAside } from "../../../../cluster/adapters/files/set-aside.sqlite.ts";
import type { OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { Register } from "../../filings/register.ts";
import { sqliteCompanyIndex } from "../adapters/index.sqlite.ts";
import type { Imports } from "../imports/imported-company.ts";
import { openImports } from "../imports/imported.ts";
import { IMPORTED_SOURCES } from "../imports/imported-sources.ts";
import type { ImportStore } from "../imports/store.ts";
import { indexAllImported } from "../imports/index-imported.ts";
import { rebuildIndex } from "../rebuild-index.ts";
import { type CompanyIndex, isComplete } from "../search-index.ts";
import { filingRegister } from "./filing-register.ts";

interface IndexProvides {
  readonly index: CompanyIndex;
  readonly find: Register;
  readonly imported: { readonly store: ImportStore; readonly imports: Imports };
}

export async function openCompanyIndex(node: OpeningNode): Promise<OpenFeature<unknown, IndexProvides>> {
  const index = await openIndex(node);
  const store = await openImportStore(node);
  const { documents, clock, log, metrics } = node;
  const imports = openImports({ store, clock, sources: IMPORTED_SOURCES });
  metrics.begin("trawl_company_index_building", {});

  async function make(): Promise<void> {
    metrics.gauge("trawl_company_index_building", {}, 1);
    try {
      const made = await index.readState();
      if (!isComplete(made)) await indexAllImported({ documents, index }, imports, IMPORTED_SOURCES);
      const companies = await rebuildIndex(documents, index);
      if (companies > 0) log.info("The index of companies was made from the documents", { companies });
    } catch (problem) {
      log.warn("Cannot make the index of companies", { problem: String(problem) });
    }
    metrics.gauge("trawl_company_index_building", {}, 0);
  }

  return {
    join: ({ ask }) => ({
      provides: {
        index,
        find: filingRegister({ documents, clock, ask, index, imports }),
        imported: { store, imports },
      },
      onServing: async () => void make(),
    }),
    async close() {
      await Promise.all([index.close(), store.close()]);
    },
  };
}

async function openImportStore({ config, topology, dataPath }: OpeningNode): Promise<ImportStore> {
  if (topology.documents === "mongodb")
    return (await import("../imports/adapters/imports.mongo.ts")).mongoImports(config.storage.documents);
  return (await import("../imports/adapters/imports.sqlite.ts")).sqliteImports(dataPath("imports.sqlite"));
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
