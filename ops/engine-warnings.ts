/**
 * Dangers in the addresses of the engines: a connection that leaves this machine without TLS, or without a password. Said
 * at start and by `trawl doctor`. Pure.
 */
import type { Config } from "./config.ts";
import { type Finding, warning } from "./findings.ts";

interface EngineAddress {
  readonly engine: string;
  readonly variable: string;
  readonly hosts: readonly string[];
  readonly has_tls: boolean;
  readonly has_login: boolean;
  readonly advice: string;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|\/.*)$/i;

export function engineWarnings({
  cluster,
  storage,
}: Pick<Config, "cluster" | "storage">): readonly Finding[] {
  const found = [natsAddress(cluster.bus), mongoAddress(storage.documents), s3Address(storage)];
  return found.flatMap((address) => {
    if (address === null || address.hosts.every((host) => LOOPBACK.test(host))) return [];
    const { engine, variable, hosts, has_tls, has_login, advice } = address;
    const lacks = [...(has_tls ? [] : ["TLS"]), ...(has_login ? [] : ["a password"])];
    if (lacks.length === 0) return [];
    return [
      warning(
        `${engine} security`,
        `${engine} at ${hosts.join(", ")} is used without ${lacks.join(" and ")}: who reaches it or listens reads and changes everything`,
        `Set it in ${variable}: ${advice}`,
      ),
    ];
  });
}

function natsAddress(bus: string): EngineAddress | null {
  if (bus === "memory") return null;
  const urls = bus.split(",").map((part) => new URL(part.trim()));
  return {
    engine: "NATS",
    variable: "TRAWL_BUS",
    hosts: urls.map(({ hostname }) => hostname),
    has_tls: urls.some(({ protocol, searchParams }) => protocol === "tls:" || searchParams.has("tls_ca")),
    has_login: urls.some(
      ({ username, searchParams }) =>
        username !== "" || ["nkey", "tls_cert"].some((name) => searchParams.has(name)),
    ),
    advice: "tls://user:password@host:4222, or ?nkey=FILE",
  };
}

function mongoAddress(documents: string): EngineAddress | null {
  // Several hosts stand in one address, which URL does not read.
  const [, srv, login, hosts, query] =
    /^mongodb(\+srv)?:\/\/(?:([^/?]*)@)?([^/?]*)[^?]*\??(.*)$/.exec(documents) ?? [];
  if (hosts === undefined) return null;
  const options = new URLSearchParams(query);
  const tls = options.get("tls") ?? options.get("ssl");
  return {
    engine: "MongoDB",
    variable: "TRAWL_DOCUMENTS",
    hosts: hosts.split(",").map((host) => host.replace(/:\d+$/, "")),
    has_tls: tls === null ? srv !== undefined : tls === "true",
    has_login: login !== undefined || options.get("authMechanism") === "MONGODB-X509",
    advice: "mongodb://user:password@host/database?tls=true",
  };
}

/** S3 always has a login: requests are signed. */
function s3Address({ blobs, s3_endpoint }: Config["storage"]): EngineAddress | null {
  if (!blobs.startsWith("s3:") || s3_endpoint === undefined) return null;
  const { hostname, protocol } = new URL(s3_endpoint);
  return {
    engine: "S3",
    variable: "S3_ENDPOINT",
    hosts: [hostname],
    has_tls: protocol === "https:",
    has_login: true,
    advice: "an https address (TRAWL_CA_FILE does not hold for it; NODE_EXTRA_CA_CERTS does)",
  };
}
