/**
 * Opens connections with SSRF protection: resolves a name once, checks all of its addresses, connects to one of exactly
 * those, and checks the address of the connected socket before a byte is written. Protocols above TLS are not handled
 * here.
 */
import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, getCACertificates, type TLSSocket } from "node:tls";
import { EgressError, type EgressProblem } from "../../ports/egress.ts";
import { isLackOfDescriptors, lacksDescriptors, noDescriptors } from "./descriptors.ts";

/** The rule for destinations (actors/lib/web/destination.ts), passed in. */
export interface Judge {
  readonly url: (
    url: string,
    networks?: readonly string[],
  ) => "allowed" | "blocked_destination" | "invalid_url" | "resolve";
  /** `private`: allowed by an allowance only. */
  readonly address: (
    address: string,
    port: number,
    networks?: readonly string[],
  ) => "allowed" | "private" | "blocked_destination";
}

export interface OpenedConnection {
  readonly socket: Socket;
  /** The checked address of the connection. */
  readonly address: string;
  readonly is_private: boolean;
  readonly dns_ms: number;
  readonly connect_ms: number;
}

export interface Connector {
  /**
   * Connects to the host and port of an http(s) URL, or throws EgressError. When the signal is aborted, its reason,
   * which must be an EgressError, is thrown.
   */
  readonly open: (url: URL, signal: AbortSignal, options?: OpenOptions) => Promise<OpenedConnection>;
  readonly close: () => void;
}

export interface OpenOptions {
  /** Replaces the rule, for endpoints that an operator configured. */
  readonly judge?: Judge;
  /** As ExchangeRequest has it. */
  readonly networks?: readonly string[] | undefined;
  /** How a name is resolved; it is given the connector's own way. Default: that way. */
  readonly resolve?: (name: string, own: Resolve) => ReturnType<Resolve>;
}

/** Time-out of a DNS server, which gets two attempts; then the next server is asked. */
const DNS_TRY_MS = 2_500;
/** Time-out for each of several addresses, except the last, which gets the remaining time. */
const ADDRESS_TRY_MS = 500;

/**
 * The ciphers that browsers offer, in their order. OpenSSL's own list identifies the client as no browser, and it lacks
 * ciphers that a few old servers need.
 */
const CIPHERS = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-RSA-AES256-SHA",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA",
  "AES256-SHA",
].join(":");

export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** The operator's own names of this machine (RFC 6761 §6.3): that they exist is no secret. */
const LOCAL_NAME = /(?:^|\.)localhost$/;

export interface ConnectorOptions {
  readonly judge: Judge;
  /** ip[:port], asked for every name. Empty: the system's resolver with /etc/hosts. */
  readonly dns_servers?: readonly string[];
  /** Called with a name that is said not to exist because it leads to refused addresses only. */
  readonly onHiddenName?: (name: string) => void;
}

export function connector({
  judge: rule,
  dns_servers = [],
  onHiddenName = () => {},
}: ConnectorOptions): Connector {
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: 2 });
  if (dns_servers.length > 0) resolver.setServers(dns_servers);
  const resolve = dns_servers.length > 0 ? queryServers(resolver) : querySystem(resolver);

  return {
    async open(url, signal, { judge = rule, networks, resolve: resolveBy } = {}) {
      const verdict = judge.url(url.href, networks);
      if (verdict === "invalid_url") {
        throw new EgressError("invalid_url", `Cannot connect to "${url.host}": this is not an http(s) URL`);
      }
      if (verdict === "blocked_destination") throw blockedError(url);
      const host = hostOf(url);
      const port = portOf(url);
      const began = performance.now();
      const addresses: readonly LookupAddress[] =
        verdict === "resolve"
          ? await orAborted(resolveBy?.(host, resolve) ?? resolve(host), signal)
          : [{ address: host, family: isIP(host) }];
      const resolved = performance.now();
      const judgements = addresses.map(({ address }) => judge.address(address, port, networks));
      if (judgements.includes("blocked_destination")) {
        const isName = isIP(host) === 0 && !LOCAL_NAME.test(host);
        if (!isName || judgements.some((judged) => judged !== "blocked_destination")) throw blockedError(url);
        // Another answer would tell every caller which names exist inside.
        onHiddenName(host);
        throw resolveError(host, "ENOTFOUND");
      }
      // A name with addresses of both kinds is a private host: the address that answers first does not decide what it is.
      const is_private = judgements.includes("private");
      const expected = is_private ? "private" : "allowed";
      const asked = addresses.filter((_, at) => judgements[at] === expected);
      const socket = await dial(asked, host, port, signal);
      // The final check: the address to which bytes would be sent.
      const address = socket.remoteAddress;
      if (address === undefined || judge.address(address, port, networks) !== expected) {
        socket.destroy();
        throw address === undefined ? new EgressError("network_reset", closedEarly(host)) : blockedError(url);
      }
      return {
        socket,
        address,
        is_private,
        dns_ms: resolved - began,
        connect_ms: performance.now() - resolved,
      };
    },
    close: () => resolver.cancel(),
  };
}

/** The host without brackets and final dot, as it is resolved and as certificates name it. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** Does not tell which address the name has: the message reaches the client. */
const blockedError = (url: URL): EgressError =>
  new EgressError("blocked_destination", `Cannot connect to "${url.host}": it is not a public destination`);

const closedEarly = (host: string): string => `Cannot connect to "${host}": the connection was closed`;

function queryServers(resolver: Resolver): Resolve {
  return async (name) => {
    const [ipv6, ipv4] = await Promise.allSettled([resolver.resolve6(name), resolver.resolve4(name)]);
    const addresses = [
      ...(ipv6.status === "fulfilled" ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
      ...(ipv4.status === "fulfilled" ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
    ];
    if (addresses.length > 0) return addresses;
    const codes = [ipv6, ipv4].map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : ""));
    // ENOTFOUND is about the name, ENODATA only about one record type.
    const told = ["ENOTFOUND", "ENODATA"].find((dns_code) => codes.includes(dns_code));
    if (told === undefined && lacksDescriptors()) throw noDescriptors(name);
    throw resolveError(name, told ?? codes[1] ?? "");
  };
}

function querySystem(resolver: Resolver): Resolve {
  return async (name) => {
    try {
      return await lookup(name, { all: true, order: "verbatim" });
    } catch (problem) {
      const code = codeOf(problem);
      if (lacksDescriptors()) throw noDescriptors(name);
      // getaddrinfo has one error for a missing name and for a name without addresses; a query tells them apart.
      const nameExists =
        code === "ENOTFOUND" &&
        (await resolver.resolve4(name).then(
          () => true,
          (second: unknown) => codeOf(second) === "ENODATA",
        ));
      throw resolveError(name, nameExists ? "ENODATA" : code);
    }
  };
}

function resolveError(name: string, code: string): EgressError {
  if (code === "ENOTFOUND") {
    return new EgressError("dns_nxdomain", `Cannot resolve "${name}": there is no such name`);
  }
  const reason =
    code === "ENODATA" ? "the name has no address" : `the resolver answered ${code || "nothing"}`;
  return new EgressError("dns_error", `Cannot resolve "${name}": ${reason}`);
}

/** Connects to the first of the addresses that accepts. */
function dial(
  addresses: readonly LookupAddress[],
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    autoSelectFamily: addresses.length > 1,
    autoSelectFamilyAttemptTimeout: ADDRESS_TRY_MS,
    lookup: (_name, options, answer) => {
      if (options.all) answer(null, [...addresses]);
      else answer(null, addresses[0]!.address, addresses[0]!.family);
    },
  });
  return ready(socket, "connect", host, connectError, signal);
}

/**
 * Stays for a socket's whole life: an unhandled error event would end the process. Not a function within others: it would keep
 * their variables, the signal of the exchange that opened the connection among them, and with it 20 KB.
 */
const ignored = (): void => {};

/** Waits until a socket is ready; destroys it when that fails or the signal is aborted. */
function ready<S extends Socket>(
  socket: S,
  event: "connect" | "secureConnect",
  host: string,
  explained: (host: string, problem: unknown) => EgressError,
  signal: AbortSignal,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const stopListening = () => {
      signal.removeEventListener("abort", onAbort);
      socket.off(event, onReady).off("error", onError).off("close", onClose);
    };
    const fail = (error: EgressError) => {
      stopListening();
      socket.destroy();
      reject(error);
    };
    const onReady = () => {
      stopListening();
      resolve(socket);
    };
    const onError = (problem: unknown) => fail(explained(host, problem));
    const onClose = () => fail(new EgressError("network_reset", closedEarly(host)));
    const onAbort = () => fail(signal.reason as EgressError);
    socket.on("error", ignored);
    socket.on(event, onReady).on("error", onError).on("close", onClose);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}

const CONNECT_PROBLEMS: readonly (readonly [EgressProblem, readonly string[], string])[] = [
  ["network_refused", ["ECONNREFUSED"], "the connection was refused"],
  ["network_reset", ["ECONNRESET", "EPIPE"], "the connection was reset"],
  ["timeout", ["ETIMEDOUT"], "it does not answer"],
];

function connectError(host: string, problem: unknown): EgressError {
  const problems = problem instanceof AggregateError ? (problem.errors as unknown[]) : [problem];
  const codes = problems.map(codeOf);
  if (codes.some(isLackOfDescriptors)) return noDescriptors(host);
  const entry = CONNECT_PROBLEMS.find(([, meant]) => meant.some((code) => codes.includes(code)));
  const [kind, , reason] = entry ?? ["network_unreachable", [], "it cannot be reached"];
  // Without a cause, because the cause names addresses.
  return new EgressError(kind, `Cannot connect to "${host}": ${reason}`);
}

export interface TlsOptions {
  readonly protocols: readonly string[];
  /** Additional trusted roots, PEM: for a private authority in an intranet or a test. */
  readonly ca: readonly string[];
}

/** Starts TLS on a connection; the certificate must be valid for the host. Destroys the socket on failure. */
export async function secure(
  socket: Socket,
  host: string,
  { protocols, ca }: TlsOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  // The TLS socket reports errors of this socket; errors after its end are ignored.
  socket.on("error", ignored);
  const tls = connectTls({
    socket,
    host,
    // SNI does not allow addresses (RFC 6066 §3); the certificate is checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: [...protocols],
    ciphers: CIPHERS,
    ...(ca.length > 0 ? { ca: [...getCACertificates("default"), ...ca] } : {}),
  });
  try {
    return await ready(tls, "secureConnect", host, tlsError, signal);
  } catch (problem) {
    socket.destroy();
    throw problem;
  }
}

function tlsError(host: string, problem: unknown): EgressError {
  const code = codeOf(problem);
  if (code === "ECONNRESET" || code === "EPIPE") return new EgressError("network_reset", closedEarly(host));
  return new EgressError(
    "tls_error",
    `Cannot secure the connection to "${host}": ${code || "the handshake failed"}`,
  );
}

/** The code of a system, TLS or library error, or "". */
export function codeOf(problem: unknown): string {
  const code = problem instanceof Error ? (problem as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : "";
}

/** The result of the work, or the signal's reason as soon as it is aborted. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as EgressError);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
