/**
 * The company register without sockets: scripted sources, a virtual clock, stores in memory. A node can be killed between
 * any two writes and started again on what is stored.
 */
import { memoryCompanyIndex } from "../../actors/sources/companies/adapters/index.memory.ts";
import type { OpenHttp } from "../../actors/sources/companies/ask-source.ts";
import type { FieldPath, Json, SourceClaim } from "../../actors/sources/companies/claim.ts";
import { companyActor } from "../../actors/sources/companies/company.actor.ts";
import { companyFeedActor } from "../../actors/sources/companies/feed/feed.actor.ts";
import { type StoredChange } from "../../actors/sources/companies/feed/changes.ts";
import { openPeople } from "../../actors/sources/companies/people.ts";
import { sqliteImports } from "../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { openImports } from "../../actors/sources/companies/imports/imported.ts";
import { importedChanges } from "../../actors/sources/companies/imports/imported-changes.ts";
import { IMPORT_KINDS, IMPORTED_SOURCES } from "../../actors/sources/companies/imports/imported-sources.ts";
import { parseCompanyReference } from "../../actors/sources/companies/references.ts";
import {
  type CompanyCaller,
  companyService,
  type GetOptions,
} from "../../actors/sources/companies/service.ts";
import { sourceActor } from "../../actors/sources/companies/source.actor.ts";
import { openHealth } from "../../actors/sources/companies/source-health.ts";
import type {
  CompanyIdentifier,
  LookupAnswer,
  RawDocument,
  Source,
  SourceDescription,
} from "../../actors/sources/companies/source.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { type Cluster, embedded } from "../../cluster/embedded.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { COMPANY_FEED_KEY, CompanyFeed, type FieldGroup } from "../../schemas/companies.ts";

/** A claim as a test writes it: field, value, and the key of a keyed field. */
export type ScriptedClaim = readonly [field: FieldPath, value: Json, key?: string];

export const DAY_MS = 86_400_000;
const SHA = "a".repeat(64);

export const document = (retrieved_ms: number, sha256 = SHA): RawDocument => ({
  url: "https://register.example/1",
  retrieved_at: new Date(retrieved_ms).toISOString(),
  sha256,
  bytes: 100,
  content_type: "application/json",
});

export const claimOf = ([field, value, key]: ScriptedClaim): SourceClaim => ({
  field,
  key: key ?? null,
  value,
  raw_sha256: SHA,
});

export const identifier = (scheme: string, value: string): ScriptedClaim => [
  "identifiers",
  { scheme, value, kind: scheme === "lei" ? "lei" : "registration", status: "active", valid: true },
  `${scheme}:${value}`,
];

/** Answer of a scripted source: claims by group, or another answer. */
export type Script = (
  identifier: CompanyIdentifier,
  groups: readonly FieldGroup[],
) => Partial<Record<FieldGroup, readonly ScriptedClaim[]>> | LookupAnswer | Promise<LookupAnswer>;

export function scriptedSource(
  name: string,
  scheme: string,
  script: Script,
  description: Partial<SourceDescription> = {},
  now: () => number = () => 0,
): Source & { readonly lookups: CompanyIdentifier[] } {
  const lookups: CompanyIdentifier[] = [];
  const rule = { precedence: 60, freshness: "registry_core" } as const;
  return {
    lookups,
    inactive_because: null,
    description: {
      name,
      title: name,
      countries: ["*"],
      schemes: { lookup: [scheme], yields: [] },
      home_register_of: [],
      capabilities: ["lookup"],
      groups: {
        core: rule,
        people: { precedence: 60, freshness: "registry_people" },
        ownership: { precedence: 60, freshness: "ownership" },
      },
      licence: {
        id: "CC0-1.0",
        url: "https://example.org/licence",
        attribution: null,
        redistribution: "open",
      },
      terms_url: null,
      limits: { requests_per_second: 10, max_in_flight: 4 },
      parser_version: "1",
      canaries: [],
      ...description,
    },
    async lookup(asked, groups) {
      lookups.push(asked);
      const answer = await script(asked, groups);
      if ("kind" in answer) return answer as LookupAnswer;
      return {
        kind: "found",
        native_id: asked.value,
        groups: Object.entries(answer).map(([group, scripted]) => ({
          group: group as FieldGroup,
          kind: "claims" as const,
          is_complete: true,
          documents: [document(now())],
          claims: scripted.map(claimOf),
        })),
      };
    },
  };
}

/** A scripted source sends no requests. */
const NO_HTTP = async () =>
  ({ kind: "failed", error: "scripted", message: "", retry_after_s: null }) as const;

/** The prefix of a key that may not be used for what costs money. */
export const UNPAID_KEY = "sk_unpaidx";

export const RETENTION_MS = 30 * DAY_MS;

export function oneRegister(
  makeSources: (now: () => number) => readonly Source[],
  stored: Documents = memoryDocuments(),
  openHttp: OpenHttp = () => NO_HTTP,
) {
  const clock = virtualClock(Date.UTC(2026, 10, 22));
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const sources = makeSources(() => clock.now());
  const index = memoryCompanyIndex();
  const import_store = sqliteImports(":memory:");
  const imports = openImports({ store: import_store, sources: IMPORTED_SOURCES, clock });
  const notified: StoredChange[] = [];
  /** Failures of sources, as their health hears of them. */
  const failures: string[] = [];
  const people = openPeople({ documents: stored, clock, retention_ms: RETENTION_MS });
  /** Writes of a killed node never happen. */
  let generation = 0;

  function documentsOf(mine: number): Documents {
    const stop = (): boolean => mine !== generation;
    const never = new Promise<never>(() => {});
    return new Proxy(stored, {
      get(target, name: keyof Documents) {
        const method = target[name] as (...args: unknown[]) => Promise<unknown>;
        return (...args: unknown[]) =>
          stop() ? never : method.apply(target, args).then((done) => (stop() ? never : done));
      },
    });
  }

  function launch(): Cluster {
    const documents = documentsOf(generation);
    const own = { documents, clock, metrics, log };
    return embedded(
      [
        companyActor({
          ...own,
          sources,
          imports,
          index,
          people: openPeople({ documents, clock, retention_ms: RETENTION_MS }),
          bodyRefs: bodyRefs(documents),
          health: { record: (source, error) => void (error !== null && failures.push(`${source} ${error}`)) },
          openHttp,
        }),
        sourceActor({ ...own, sources, health: openHealth(own), openHttp }),
        companyFeedActor({
          ...own,
          index,
          imported: importedChanges({ documents, store: import_store, imports, kinds: IMPORT_KINDS }),
          notifyWatches: async (_, change) => void notified.push(change),
        }),
      ],
      { clock, random: seededRandom(1), documents },
    );
  }

  let cluster = launch();
  /** Cost of the attempts of a request in all runs, by its id. */
  const spent_micros = new Map<string, number>();
  const OPTIONS: GetOptions = { sources: null, groups: [], max_age_s: null, refresh: false };

  /** As a caller of the service gets it, a company or not. */
  async function find(
    reference: string,
    options: Partial<GetOptions> = {},
    payer?: NonNullable<CompanyCaller["payer"]>,
  ) {
    const parsed = parseCompanyReference(reference);
    if (parsed.kind === "wrong") throw new TypeError(parsed.message);
    const service = companyService({
      documents: stored,
      clock,
      ask: cluster.ask,
      sources,
      imports,
      allowsPaid: async (_, key) => key !== UNPAID_KEY,
      spentBy: async (request_id) => spent_micros.get(request_id) ?? 0,
    });
    return service.get(
      parsed,
      { ...OPTIONS, ...options },
      { project: "default", lane: "sync", ...(payer && { payer }) },
    );
  }

  /** Null: no company. */
  async function get(...call: Parameters<typeof find>) {
    const found = await find(...call);
    return found.company === null ? null : found;
  }

  return {
    clock,
    documents: stored,
    sources,
    index,
    imports,
    import_store,
    notified,
    failures,
    log,
    lines: telemetry.lines,
    people,
    find,
    get,
    spent_micros,
    ask: () => cluster.ask,
    /** Lets the feed number and hand out everything that waits. */
    async feed() {
      // A node that is killed meanwhile answers nothing.
      cluster.ask(CompanyFeed, COMPANY_FEED_KEY, "wake", null).catch(() => {});
      await clock.advance(5_000);
    },
    /** kill -9: nothing that the node had begun is written any more. */
    kill() {
      generation++;
      cluster = launch();
    },
    stop: () => cluster.stop(0),
  };
}
