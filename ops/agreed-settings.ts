/**
 * Settings that all nodes of a cluster must have alike, or it corrupts data or is impolite: a node that differs does not
 * join, and says which setting differs.
 *
 * They stand in the document store, and on the bus with the id of that record. So a node with the same documents and
 * another cluster's name is found by the documents, and a node on the same bus with another database by the bus. The
 * nodes that run decide: when none runs, the next node to start may bring other values.
 */
import { createHash } from "node:crypto";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Leases } from "../cluster/ports/leases.ts";
import type { NodeReport } from "../cluster/ports/node-directory.ts";
import { type Config, SETTINGS } from "./config.ts";
import { DATA_FORMAT } from "./data-format.ts";
import { CLUSTER } from "../cluster/cluster-documents.ts";

/** By the variable, or by what it is where it has none. */
export type AgreedSettings = Readonly<Record<string, string>>;

interface SettingsRecord {
  /** Which database this is: the identity of its stores, or the name of the node of an earlier version that wrote it first. */
  readonly id: string;
  readonly settings: AgreedSettings;
}

export interface AgreementDeps {
  readonly documents: Documents;
  readonly leases: Pick<Leases, "agreeOn" | "overrule">;
  /** The nodes of this cluster that run. */
  readonly nodes: () => Promise<readonly Pick<NodeReport, "node">[]>;
  readonly newId: () => string;
}

export interface Agreement {
  /** To be called once other nodes can see this one: two that start together may not have seen each other before. */
  readonly confirm: () => Promise<void>;
}

const RECORDS = CLUSTER.of<SettingsRecord>();
const KEY = "settings";
const CLUSTER_NAME = "the cluster's name in TRAWL_BUS";

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export function agreedSettings(config: Config, cluster_name: string): AgreedSettings {
  const agreed = SETTINGS.filter((setting) => setting.agreed).map(
    ({ env, section, name }) => [env, String((config as unknown as Values)[section]![name])] as const,
  );
  return {
    ...Object.fromEntries(agreed),
    [CLUSTER_NAME]: cluster_name,
    "the data format": String(DATA_FORMAT),
  };
}

/** Throws an Error that names what differs. */
export async function agreeOnSettings(own: AgreedSettings, deps: AgreementDeps): Promise<Agreement> {
  const { documents, leases } = deps;
  const record = await agreeInDocuments(own, deps);
  const onBus = { documents: record.id, settings: digestOf(record.settings) };
  for (const [name, value] of Object.entries(onBus)) {
    const agreed = await leases.agreeOn(name, value);
    if (agreed === value) continue;
    await assertNoneRuns(
      deps,
      name === "documents"
        ? "TRAWL_DOCUMENTS names another database here than on them"
        : "their settings differ from those in the documents",
    );
    if (name === "documents")
      throw new Error(
        `Cannot join the cluster "${own[CLUSTER_NAME]}" of TRAWL_BUS: the bus and the documents do not belong together: ` +
          `the bus carries the id "${agreed}", the database that TRAWL_DOCUMENTS names "${value}". Check both settings. ` +
          "If the database was changed or restored on purpose, trawl stores adopt makes the bus that of these documents; " +
          "trawl cluster rebuild empties it",
      );
    await leases.overrule(name, value);
  }
  return {
    async confirm() {
      const stored = await RECORDS.get(documents, KEY);
      const differences = differencesOf(stored?.settings ?? own, own);
      if (differences.length > 0)
        throw new Error(
          `Cannot join this cluster: another node has started meanwhile, where ${differences.join(", and ")}`,
        );
    },
  };
}

/** Which database this is, if nodes have agreed on settings before. Throws Fault. */
export async function settingsId(documents: Pick<Documents, "get">): Promise<string | null> {
  return (await RECORDS.get(documents, KEY))?.id ?? null;
}

/** Forgets what was agreed on, for a cluster without running nodes; answers the cluster's name that stood there. */
export async function forgetSettings(documents: Documents): Promise<string | null> {
  const stored = await RECORDS.read(documents, KEY);
  if (!stored) return null;
  await RECORDS.remove(documents, KEY, stored.version);
  return stored.value.settings[CLUSTER_NAME] ?? null;
}

async function agreeInDocuments(own: AgreedSettings, deps: AgreementDeps): Promise<SettingsRecord> {
  const { documents, newId } = deps;
  const agreed = await RECORDS.update(documents, KEY, async (stored) => {
    const record = stored ?? { id: newId(), settings: own };
    const differences = differencesOf(record.settings, own);
    if (stored && differences.length === 0) return null;
    const name = record.settings[CLUSTER_NAME];
    // The nodes of another cluster cannot be seen from this one's bus.
    if (name !== own[CLUSTER_NAME])
      throw new Error(
        `Cannot join the cluster "${own[CLUSTER_NAME]}" of TRAWL_BUS: the documents belong to the cluster "${name}". ` +
          "Name another database in TRAWL_DOCUMENTS; or, to move the documents, stop all nodes and run trawl cluster rebuild " +
          "with this node's settings",
      );
    if (stored) await assertNoneRuns(deps, differences.join(", and "));
    return { value: { ...record, settings: own } };
  });
  return agreed!.value;
}

async function assertNoneRuns({ nodes }: AgreementDeps, difference: string): Promise<void> {
  const running = (await nodes()).map(({ node }) => node);
  if (running.length > 0)
    throw new Error(
      `Cannot join this cluster, whose nodes ${running.join(", ")} run: ${difference}. ` +
        "Give this node the same value; or, to change it, stop all nodes first",
    );
}

/** As sentences. A setting that only one of two versions knows is no difference. */
const differencesOf = (there: AgreedSettings, own: AgreedSettings): readonly string[] =>
  Object.entries(own)
    .filter(([name, value]) => there[name] !== undefined && there[name] !== value)
    .map(([name, value]) => `${name} is "${there[name]}" there and "${value}" here`);

function digestOf(settings: AgreedSettings): string {
  const sorted = Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("base64url");
}
