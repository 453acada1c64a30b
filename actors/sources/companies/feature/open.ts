/** Assembles the company register: its sources with a limiter each, its actors, its search index, its routes. */
import type { CompanyIndex } from "../search-index.ts";
import type { Actor } from "../../../../cluster/actor.ts";
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import { allowsPaid } from "../../../../schemas/accounts.ts";
import { COMPANY_FEED_KEY, CompanyFeed, CompanySource } from "../../../../schemas/companies.ts";
import { type LimiterContract, limiterContract } from "../../../../schemas/upstream.ts";
import { limiterActor } from "../../upstream/limiter.actor.ts";
import { sendWithSlot } from "../../upstream/slot-egress.ts";
import type { FindPayer } from "../../../business/accounts/payer.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import type { ReadFilingDocument } from "../../filings/feature/tokens.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { ReadProfile } from "../../profiles/feature/tokens.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import type { AskSourceDeps, LookupCaller } from "../ask-source.ts";
import { companyActor } from "../company.actor.ts";
import { openCursors } from "../cursor.ts";
import { companyFeedActor } from "../feed/feed.actor.ts";
import { notifyWatches } from "../notify-watches.ts";
import type { LiveCaller } from "../live-search.ts";
import { openPeople } from "../people.ts";
import { companyService } from "../service.ts";
import { type HealthBook, openHealth } from "../source-health.ts";
import { sourceHttp } from "../source-http.ts";
import { sourceActor } from "../source.actor.ts";
import type { Source, SourceHttp, SourceSettings } from "../source.ts";
import { watchActor } from "../watch.actor.ts";
import { openSanctions } from "../sources/opensanctions.ts";
import { openSources } from "../sources/open-sources.ts";
import { type SourceName, SOURCES } from "../sources/sources.ts";
import type { Imports } from "../imports/imported-company.ts";
import type { ImportStore } from "../imports/store.ts";
import { indexChanges } from "../imports/index-imported.ts";
import { importedChanges } from "../imports/imported-changes.ts";
import { IMPORT_KINDS } from "../imports/imported-sources.ts";
import { takeImported } from "../imports/take-imported.ts";
import { openImporting } from "./open-importing.ts";
import { feedRoutes } from "./feed-routes.ts";
import { filingHttp } from "./filing-http.ts";
import { companyItems } from "./item-kind.ts";
import { recordRoutes } from "./record-routes.ts";
import { operatorRoutes } from "./operator-routes.ts";
import { profileHttp } from "./profile-http.ts";
import { registerRoutes } from "./register-routes.ts";
import { searchRoutes } from "./search-routes.ts";
import { watchRoutes } from "./watch-routes.ts";
import { type CompaniesStatus, companiesStatus } from "./status.ts";
import { addressedSettings, type CompaniesSettings } from "./settings.ts";
import { recordReference } from "./record-reference.ts";
import { SOURCE_SLOTS } from "../source-slots.ts";

const DAY_MS = 86_400_000;
/** Documents from which nothing new was read; the others are kept with their claims. */
const DOCUMENT_RETENTION_MS = 30 * DAY_MS;
/** A source that asks for a pause gets this one first; each further one is twice as long. */
const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 600_000;
const PROBE_TIMEOUT_MS = 30_000;

interface CompaniesNeed {
  readonly index: CompanyIndex;
  readonly imported: { readonly store: ImportStore; readonly imports: Imports };
  readonly payers: FindPayer;
  readonly readFilings: ReadFilingDocument | null;
  readonly readProfile: ReadProfile | null;
  readonly spending: Spending;
}

interface CompaniesProvide {
  readonly kinds: readonly ItemKindParts[];
  readonly status: readonly StatusPart[];
}

export function openCompanies(
  node: OpeningNode,
  settings: CompaniesSettings,
): OpenFeature<CompaniesNeed, CompaniesProvide> {
  const egress = node.openEgress({ judge: node.unowned_destination });
  return {
    join: (joined, given) => joinCompanies(joined, given, settings, egress),
    close: () => egress.close(),
  };
}

/** `egress`: of the sources that have a limiter here. */
async function joinCompanies(
  node: JoinedNode,
  { index, imported, payers, readFilings, readProfile, spending }: CompaniesNeed,
  settings: CompaniesSettings,
  egress: Egress,
): Promise<JoinedFeature<CompaniesProvide>> {
  const { clock, random, documents, blobs, metrics, log, ask, bodyGrants, user_agent } = node;
  const asked = await openSources(sourceSettings(settings, { readFilings, readProfile }));
  const sources = [...asked, openSanctions];
  const retention_ms = settings.people_retention_days * DAY_MS;
  const refs = bodyRefs(documents);
  const sendRequest = sendWithSlot(egress, clock);
  const limiters = limitersOf(asked);
  const people = openPeople({ documents, clock, retention_ms });
  const health = openHealth({
    documents,
    clock,
    log,
    onUsed: (source) => void ask(CompanySource, source, "wake", null).catch(() => {}),
    onCompared: (source, count) => metrics.count("trawl_company_documents_compared_total", { source }, count),
  });
  for (const { description } of sources)
    metrics.begin("trawl_company_documents_compared_total", { source: description.name });

  const status = companiesStatus({ clock, sources, health });

  function openHttp(
    source: Source,
    caller: LookupCaller,
    ownsKey: () => boolean,
    signal: AbortSignal,
  ): SourceHttp {
    const { name } = source.description;
    const through = throughOf(name);
    if (through === "filings") return filingHttp({ read: readFilings!, blobs, clock }, caller);
    if (through === "profiles") return profileHttp({ read: readProfile!, blobs, clock }, caller);
    const { project, lane } = caller;
    const send = sourceHttp(
      { ask, send: sendRequest, clock, blobs, bodyRefs: refs, user_agent },
      {
        source: name,
        limiter: limiters.get(name)!,
        project,
        lane,
        signal,
        ownsKey,
        retention_ms: Math.min(DOCUMENT_RETENTION_MS, retention_ms),
      },
    );
    return async (request) => {
      const response = await send(request);
      if (response.kind === "answered" && response.status === 200)
        health.observe(name, request.url, response.body);
      return response;
    };
  }

  const asking: AskSourceDeps = {
    clock,
    log,
    health,
    openHttp: (source, caller, work, signal) => openHttp(source, caller, work.ownsKey, signal),
  };
  const { imports } = imported;
  const service = companyService({
    documents,
    clock,
    ask,
    sources,
    imports,
    ...paymentsOf(payers, spending),
  });
  const importing = openImporting(node, imported, settings, egress, (changes) =>
    indexChanges({ documents, index, onStored: (id) => takeImported(ask, id) }, changes),
  );
  const search = {
    documents,
    clock,
    index,
    imports,
    sources,
    service,
    openHttp: (source: Source, caller: LiveCaller, signal: AbortSignal) =>
      openHttp(source, caller, () => true, signal),
  };
  const cursors = openCursors(documents);
  /** Known once the service listens. */
  let public_url = "";

  return {
    provides: {
      kinds: [companyItems({ ...search, bodyGrants })],
      status: [status.part],
    },
    actors: [
      companyActor({ ...asking, documents, sources, imports, index, people, bodyRefs: refs }),
      importing.actor,
      sourceActor({ ...asking, health, sources }),
      companyFeedActor({
        documents,
        clock,
        metrics,
        log,
        index,
        imported: importedChanges({ ...imported, documents, kinds: IMPORT_KINDS }),
        onLag: status.onFeedLag,
        notifyWatches: (client, change) => notifyWatches({ documents, ask: client, clock }, change),
      }),
      watchActor({
        ...node,
        cursors,
        random: () => random.next(),
        publicUrl: () => public_url,
      }),
      ...[...limiters].map(([name, contract]) =>
        sourceLimiter(
          node,
          contract,
          sources.find(({ description }) => description.name === name)!,
          status,
        ),
      ),
    ],
    routes: [
      ...searchRoutes({ ...search, cursors }),
      ...watchRoutes({ ...node, service, imports }),
      ...feedRoutes({ documents, clock, cursors, imports }),
      ...registerRoutes({ sources, health }),
      ...operatorRoutes({ sources, people, index, ask }),
      ...importing.routes,
      ...recordRoutes({ service, sources, cursors, bodyGrants, clock }),
    ],
    reference: recordReference,
    checks: sourceChecks(sources, health),
    onAddress: async (base) => {
      public_url = base;
    },
    every_minute: { what: "Cannot go on with an import of companies", work: importing.wake },
    async onServing() {
      // A node that died may have left changes without numbers, and files that are not imported.
      await ask(CompanyFeed, COMPANY_FEED_KEY, "wake", null).catch(() => {});
      void importing.resume();
    },
    async close() {
      await health.close().catch(() => {});
    },
  };
}

/** Limiters of the sources that are asked here, by the sources' names. */
const limitersOf = (sources: readonly Source[]): ReadonlyMap<string, LimiterContract> =>
  new Map(
    sources
      .filter(({ description }) => throughOf(description.name) === null)
      .map(({ description }) => [
        description.name,
        limiterContract(`company_limiter_${description.name}`, "company_sources"),
      ]),
  );

const paymentsOf = (findPayer: FindPayer, spending: Spending) => ({
  allowsPaid: async (project: string, prefix: string): Promise<boolean> => {
    const payer = await findPayer(project, prefix);
    return payer?.key != null && allowsPaid(payer.key);
  },
  spentBy: spending.spentBy,
});

const sourceChecks = (sources: readonly Source[], health: HealthBook) =>
  Object.fromEntries(
    sources
      .filter(({ inactive_because }) => inactive_because === null)
      .map(({ description: { name } }) => [
        `company_${name}`,
        {
          gates: false,
          ping: async () => {
            if ((await health.read([name])).get(name)?.state === "major")
              throw new Error(`${name} hardly answers`);
          },
        },
      ]),
  );

function sourceLimiter(
  { documents, clock, metrics, log }: OpeningNode,
  contract: LimiterContract,
  { description: { name, limits } }: Source,
  status: CompaniesStatus,
): Actor {
  metrics.begin("trawl_company_source_pause_level", { source: name });
  metrics.begin("trawl_company_slot_wait_seconds", { source: name });
  for (const outcome of ["granted", "paused", "rate_limited"])
    metrics.begin("trawl_company_slots_total", { source: name, outcome });
  return limiterActor(contract, {
    documents,
    clock,
    collection: SOURCE_SLOTS,
    limits: {
      max_starts_per_second: Math.ceil(limits.requests_per_second) + 1,
      first_pause_ms: FIRST_PAUSE_MS,
      max_pause_ms: MAX_PAUSE_MS,
      probe_timeout_ms: PROBE_TIMEOUT_MS,
    },
    requests_per_second: limits.requests_per_second,
    max_in_flight: limits.max_in_flight,
    events: {
      onAnswered: (_, outcome) => metrics.count("trawl_company_slots_total", { source: name, outcome }),
      onWaited: (_, seconds) => metrics.observe("trawl_company_slot_wait_seconds", { source: name }, seconds),
      onPauseLevel(level) {
        metrics.gauge("trawl_company_source_pause_level", { source: name }, level);
        status.onPauseLevel(name, level);
      },
      onStoreFailed: (source, problem) =>
        log.warn("Cannot take a slot of a company source", { source, problem: String(problem) }),
    },
  });
}

/** `given`: what is null is off. */
function sourceSettings(
  settings: CompaniesSettings,
  { readFilings, readProfile }: Pick<CompaniesNeed, "readFilings" | "readProfile">,
): (name: SourceName) => SourceSettings {
  return (name) => {
    switch (throughOf(name)) {
      case "filings":
        return {
          base_url: "https://data.sec.gov",
          credentials: null,
          ...(readFilings === null && { inactive_because: "TRAWL_FILINGS_IDENTITY is not set" }),
        };
      case "profiles":
        return {
          // The source asks the service itself.
          base_url: "service:",
          credentials: null,
          is_opt_in: settings.profiles === "named",
          ...(settings.profiles === "off" && { inactive_because: "TRAWL_COMPANY_PROFILES is off" }),
          ...(readProfile === null && { inactive_because: "TRAWL_PROFILES is off" }),
        };
      case null:
        return addressedSettings(settings, name);
    }
  };
}

/** The slice through which a source is asked; null: it is asked at an address of its own. */
function throughOf(name: string): "filings" | "profiles" | null {
  const entry = SOURCES[name as SourceName];
  return "through" in entry ? entry.through : null;
}
