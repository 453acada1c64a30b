/** The context that all features of a node share: the stores, the egress, the worker processes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { allowedNetworks } from "../actors/business/accounts/allowed-networks.ts";
import { RollingWindow } from "../actors/lib/rolling-window.ts";
import { joinedSites } from "../actors/lib/web/url.ts";
import { destination } from "../actors/lib/web/destination.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { bodyPlaces } from "../cluster/body-places.ts";
import { cacheLimits } from "../cluster/cache-limits.ts";
import { CACHES } from "./caches.ts";
import { openBodyGrants } from "../gateway/body-access.ts";
import { openDebugRecords } from "../gateway/debug-records.ts";
import { openLedger } from "../gateway/ledger.ts";
import { assertNoNodeRuns, type Membership } from "./cluster.ts";
import type { Config } from "./config.ts";
import type { Extraction, ReaderDeps } from "./extraction.ts";
import { FEATURES } from "./features.ts";
import type { AnyFeature, JoinedNode, OpeningNode } from "../node/feature.ts";
import { hostOwners, unownedDestination, withoutOwnedHosts } from "../node/host-owners.ts";
import { type Agreement, openAgreement } from "./agreements.ts";
import { openMemory } from "./memory.ts";
import { meteredEgress } from "./metered-egress.ts";
import { meteredBlobs, meteredDocuments } from "./metered-stores.ts";
import { ownEndpoints } from "./own-endpoints.ts";
import { openRequestAudit } from "./request-audit.ts";
import type { Closers } from "./stopping.ts";
import { type StoreWatch, watchStores } from "./store-watch.ts";
import { followSecrets, openSecrets, type OpenSecrets } from "./secrets.ts";
import { openStoreIdentity, type StoreIdentity } from "./store-identity.ts";
import { withoutDamagedCaches } from "./scrub-documents.ts";
import { dataPath, openBlobs, openDocuments, REBUILDABLE, storePlaces } from "./stores.ts";

/** `closers` gets what closes each part, also when a later part fails to open. */
export async function openContext(
  config: Config,
  given: Pick<OpeningNode, "topology" | "version" | "build" | "metrics" | "log" | "tracing" | "clock">,
  closers: Closers,
): Promise<
  OpeningNode & {
    readonly storeWatch: StoreWatch;
    readonly identity: StoreIdentity;
    readonly sharing: Agreement;
    readonly rightsOfPages: Agreement;
    readonly secrets: OpenSecrets;
    readonly warmReaders: () => void;
  }
> {
  const { topology, version, metrics, log, tracing, clock } = given;
  const random = systemRandom();
  const openedDocuments = await openDocuments(config, {
    log,
    assertNoneRuns: () => assertNoNodeRuns(config),
  });
  closers.push(() => openedDocuments.close());
  const countedDocuments = meteredDocuments(openedDocuments, { metrics, clock, tracing });
  const sharing = openAgreement("reads_shared_bodies", { clock, log });
  const rightsOfPages = openAgreement("reads_rights_of_pages", { clock, log });
  const openedBlobs = await openBlobs(config, {
    sharing: { places: bodyPlaces(countedDocuments), isOn: sharing.isOn, clock },
    onUpload: (kind) => metrics.count("trawl_object_storage_uploads_total", { kind }),
  });
  closers.push(() => openedBlobs.close());
  const identity = await openStoreIdentity({
    documents: openedDocuments,
    blobs: openedBlobs,
    places: storePlaces(config),
    now_ms: () => clock.now(),
    random,
  });
  const stores = {
    documents: withoutDamagedCaches(countedDocuments, { log, rebuildable: REBUILDABLE }),
    blobs: meteredBlobs(openedBlobs, { metrics, clock, tracing }),
  };
  const storeWatch = watchStores({ ...stores, clock, random, metrics, log });
  closers.push(async () => storeWatch.close());
  const { documents, blobs } = storeWatch;
  const secrets = await openSecrets(config, openedDocuments, clock);
  const following = followSecrets(secrets, { clock, log });
  closers.push(async () => following[Symbol.dispose]());
  const rule = destination({ allow: config.egress.allow, own: ownEndpoints(config) });
  const { dns_servers, ca_file } = config.egress;
  const ca = ca_file === undefined ? [] : [readFileSync(ca_file, "utf8")];
  const waiting = { count: 0 };
  const onBodyBytes = (direction: "received" | "sent", bytes: number): void =>
    metrics.count("trawl_egress_body_bytes_total", { direction }, bytes);
  // Callers are told that such a name does not exist: an operator finds the reason here.
  const onHiddenName = (name: string): void =>
    log.debug("A name leads to refused addresses only", { name, answered: "dns_nxdomain" });
  const openEgress: OpeningNode["openEgress"] = (options) =>
    meteredEgress(undiciEgress({ ...options, dns_servers, ca, onBodyBytes, onHiddenName }), {
      metrics,
      waiting,
      tracing,
    });
  const hosts = hostOwners(FEATURES.flatMap((feature: AnyFeature) => feature.hosts?.(config, config) ?? []));
  const egress = withoutOwnedHosts(openEgress({ judge: rule }), hosts);
  closers.push(() => egress.close());
  const readers = await openDocumentReaders(topology.isWorker, {
    clock,
    log,
    metrics,
    is_warmed: config.runtime.warm_readers === "on",
    ocr: config.runtime.ocr === "off" ? null : config.runtime.ocr_languages,
  });
  closers.push(readers.close);
  return {
    ...given,
    config,
    user_agent: declaredUserAgent(config.crawler, version),
    random,
    documents,
    blobs,
    storeWatch,
    identity,
    sharing,
    rightsOfPages,
    keepsRights: rightsOfPages.isOn,
    secrets,
    store_id: identity.id,
    memory: openMemory(config, { clock, metrics }),
    caches: cacheLimits(CACHES, config.memory.cache_mb),
    destination: rule,
    unowned_destination: unownedDestination(rule, hosts),
    hosts,
    ca,
    networksOf: allowedNetworks({
      documents,
      clock,
      allow: config.egress.allow,
      named: config.egress.allow_projects,
    }),
    egress,
    openEgress,
    extract: readers.extract,
    warmReaders: readers.warmReaders,
    openReaders: readers.openReaders,
    bodyGrants: openBodyGrants({ documents, clock }),
    joined: joinedSites(config.profiles.hosts),
    requestWindow: new RollingWindow(["requests", "successes"]),
    debugRecords: openDebugRecords({ documents, clock, secrets }),
    dataPath: (name) => dataPath(config.storage.data_dir, name),
  };
}

/** Adds to the context what features may use now that the node has joined. */
export function joinContext(
  context: OpeningNode,
  { cluster, node }: Pick<Membership, "cluster" | "node">,
  checkStores: JoinedNode["checkStores"],
  closers: Closers,
): JoinedNode {
  const { topology, config, documents, clock, log } = context;
  const isAudited = topology.isWorker && config.audit.requests === "on";
  const audit = isAudited ? openRequestAudit({ documents, clock, log, node }) : null;
  if (audit) closers.push(() => audit.close());
  return {
    ...context,
    name: node,
    ask: cluster.ask,
    roles: cluster.roles,
    actorStats: cluster.stats,
    ownsKey: cluster.ownsKey,
    checkStores,
    onRequestSent: audit?.record,
    ledger: openLedger({ documents, ask: cluster.ask, clock, log, writer: () => node }),
  };
}

type DocumentReaders = Extraction & Pick<OpeningNode, "openReaders">;

/** Documents are read on workers; other nodes do not load what reads them. */
async function openDocumentReaders(isWorker: boolean, deps: ReaderDeps): Promise<DocumentReaders> {
  if (!isWorker) {
    const refuse = (): never => assert.fail("A node without the role worker reads no documents");
    return { extract: refuse, openReaders: refuse, warmReaders: () => {}, close: async () => {} };
  }
  const { openExtraction, openReaders } = await import("./extraction.ts");
  return { ...openExtraction(deps), openReaders: (options) => openReaders(options, deps) };
}

const declaredUserAgent = ({ name, url }: Config["crawler"], version: string): string =>
  `Mozilla/5.0 (compatible; ${name}/${version}${url === undefined ? "" : `; +${url}`})`;
