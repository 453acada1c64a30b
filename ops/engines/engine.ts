/**
 * The words of this folder: what an engine is before it runs (Program) and while it runs (Engine).
 *
 * An engine stands in for NATS JetStream, MongoDB or S3 on one machine, for development and tests. Nothing here is
 * part of the service, and no data in here is meant to outlive a run.
 */
export const ENGINES = ["bus", "documents", "blobs"] as const;
export type EngineName = (typeof ENGINES)[number];

/** Environment variables to give the service, so that it uses an engine. */
export type Settings = Readonly<Record<string, string>>;

/** Names and ports of a server in its cluster. */
export interface ClusterMember {
  readonly server: string;
  readonly cluster: string;
  /** For other servers. */
  readonly listens_at: number;
  /** Where others are told to reach it: its own port, or that of a link before it. */
  readonly reached_at: number;
  /** Ports of the servers that it connects to. */
  readonly routes: readonly number[];
}

/** How to run an engine, known before there is a port and a folder. */
export interface Program {
  readonly name: EngineName;
  /** Name and version, for people: "nats-server 2.15.2". */
  readonly title: string;
  /** Makes the empty data folder ready; once, before the first start. */
  readonly prepare?: (data: string) => Promise<void>;
  /** Program and arguments. */
  readonly command: (data: string, port: number) => readonly string[];
  /** True when it answers as it should on that loopback port; false or a throw: not yet. */
  readonly answers: (port: number) => Promise<boolean>;
  readonly settings: (port: number) => Settings;
  /** The program as one server of a cluster; absent: it has none. */
  readonly inCluster?: (member: ClusterMember) => Program;
}

/** An engine that answers. */
export interface Engine {
  readonly name: EngineName;
  readonly title: string;
  readonly port: number;
  readonly settings: Settings;
  /** Its output goes here; the folder is removed by `stop`. */
  readonly log: string;
  /** Resolves when it has ended for a reason of its own, not by `kill` or `stop`. */
  readonly failed: Promise<void>;
  /** As kill -9, of everything it started; the data stays. */
  kill(): Promise<void>;
  /** After `kill`: the same data on the same port. */
  restart(): Promise<void>;
  /** Stands still, as a machine that hangs: connections stay open and nothing answers. */
  pause(): Promise<void>;
  resume(): void;
  /** Kills it and removes its data; harmless when repeated. */
  stop(): Promise<void>;
}
