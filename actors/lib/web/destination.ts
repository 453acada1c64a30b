/**
 * SSRF protection: which hosts, addresses and ports may be connected to. Every outgoing connection is checked here.
 *
 * A host that is an address is judged directly. A name is either refused without resolving it or must be resolved by the
 * caller, which then checks every address here again. Nothing is resolved or connected to in this file.
 */
import ipaddr from "ipaddr.js";

/** `resolve`: a name that the caller must resolve, and then check every address of it. */
export type Judgement = "allowed" | "blocked_destination" | "invalid_url" | "resolve";

export interface Endpoint {
  /**
   * An address, or a name as it stands in a URL. `0.0.0.0` and `::` stand for this machine's loopback; the
   * addresses of its interfaces, and those a name resolves to, must be listed one by one by the caller.
   */
  readonly host: string;
  readonly port: number;
}

/** CIDRs or single addresses. */
export type Networks = readonly string[];

/** The private networks that requests of a project may reach. */
export interface AllowedNetworks {
  readonly networks: Networks;
  /** Every project of this service may reach the same: what comes from there is no project's own. */
  readonly is_everyones: boolean;
}

/** Throws Fault. */
export type NetworksOf = (project: string) => Promise<AllowedNetworks>;

export interface DestinationOptions {
  /**
   * CIDRs (or single addresses) exempt from the refusal of private destinations, for requests that name no networks of their
   * own. They allow nothing else.
   */
  readonly allow?: readonly string[];
  /** Where this service listens and where its own engines are: refused whatever `allow` says. */
  readonly own?: readonly Endpoint[];
}

/** The judge that an adapter asks before it opens a connection. */
export interface Destination {
  /** Judges what can be judged before anything is resolved. `networks` stand for `allow`. */
  readonly url: (url: string, networks?: Networks) => Judgement;
  /** Judges one resolved address; called for every one, and once more for the connected socket. `networks` stand for `allow`. */
  readonly address: (address: string, port: number, networks?: Networks) => AddressJudgement;
}

/** `private`: allowed by an allowance only. */
export type AddressJudgement = "allowed" | "private" | "blocked_destination";

/**
 * Services that read what they are sent as commands, though it came as HTTP: the ports of the Fetch standard that
 * matter on the open internet, and those of stores, buses and schedulers. An allowance does not open them.
 */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 4222, 5060, 5061, 5432, 5672, 5900, 6000, 6222, 6379,
  6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 8222, 10080, 10250, 11211, 27017, 27018, 27019,
]);

/** Whether the host of a URL is an address that only an allowance opens. False for a name. */
export function isPrivateHost(judge: Destination, url: string, networks?: Networks): boolean {
  const parsed = new URL(url);
  return judge.address(bareHost(parsed.hostname), portOf(parsed), networks) === "private";
}

/** The port of an http(s) address if it is refused whatever the host is; else null. */
export function refusedPortOf(url: string): number | null {
  const port = portOf(new URL(url));
  return REFUSED_PORTS.has(port) ? port : null;
}

/** Refused without asking a resolver, with everything below them, while no allowance is given. */
const PRIVATE_NAMES = ["localhost", "local", "internal", "intranet", "lan", "home.arpa"] as const;

/**
 * The metadata services of clouds, which hand out the machine's credentials: refused with everything below them, whatever
 * is allowed. An allowance names networks of the operator, and a resolver inside a cloud may answer these with one of them.
 */
const METADATA_NAMES = [
  "metadata",
  "metadata.internal",
  "metadata.goog",
  "google.internal",
  "instance-data",
  "instance-data.ec2.internal",
] as const;

/**
 * Addresses of these services, refused as well: of AWS (EC2, ECS, EKS), Azure's host service, which is a public address, Alibaba Cloud, Oracle Cloud,
 * Google Cloud by IPv6, Scaleway and Tencent Cloud; most others use the first.
 */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
  "fd20:ce::254",
  "169.254.42.42",
  "fd00:42::42",
  "169.254.0.23",
]);

const isBelow = (name: string, names: readonly string[]): boolean =>
  names.some((parent) => name === parent || name.endsWith(`.${parent}`));

/** Ranges that ipaddr.js 2.5.0 calls unicast and that callers must not reach. */
const REFUSED_BESIDES = [
  // IPv4-compatible, deprecated; ipaddr.js reads ::8.8.8.8 and ::808:808 differently.
  "::/96",
].map((cidr) => ipaddr.parseCIDR(cidr));

/** Global unicast is 2000::/3; all other addresses are unassigned, local or translated. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

const within = (address: Address, [base, bits]: Range): boolean =>
  address.kind() === base.kind() && address.match(base, bits);

/** The canonical form of an address, with IPv4-mapped ones as IPv4; null when the text is no address. */
function readAddress(text: string): Address | null {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  // Scoped addresses (fe80::1%eth0) name an interface of this machine.
  if (bare.includes("%")) return null;
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  // ipaddr.js takes ::8.8.8.8 for a mapped address; the URL parser writes it as the ::808:808 it is.
  const written = bare.includes(":") ? URL.parse(`http://[${bare}]/`)?.hostname : undefined;
  if (written === undefined) return null;
  const address = ipaddr.IPv6.parse(written.slice(1, -1));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** The IPv4 address a NAT64 gateway would connect to, else the address itself. */
function translated(address: Address): Address {
  if (address.kind() !== "ipv6" || !within(address, NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

/** IPv6 ranges whose addresses carry an IPv4 address, and the byte it begins at (RFC 6052, 8215, 2765, 3056, 4291). */
const EMBEDDING = (
  [
    ["64:ff9b::/96", 12],
    ["64:ff9b:1::/48", 12],
    ["::ffff:0:0:0/96", 12],
    ["::/96", 12],
    ["2002::/16", 2],
  ] as const
).map(([cidr, at]) => ({ range: ipaddr.IPv6.parseCIDR(cidr), at }));

/** Whether it is the address of a metadata service, in any form that carries it. */
function isMetadata(address: Address): boolean {
  const carrier = EMBEDDING.find(({ range }) => within(address, range));
  const carried = carrier && new ipaddr.IPv4(address.toByteArray().slice(carrier.at, carrier.at + 4));
  return [address, carried].some((each) => each && METADATA_ADDRESSES.has(each.toString()));
}

function isGlobal(address: Address): boolean {
  const reached = translated(address);
  if (reached.range() !== "unicast") return false;
  if (REFUSED_BESIDES.some((range) => within(reached, range))) return false;
  return reached.kind() === "ipv4" || within(reached, GLOBAL_IPV6);
}

/** "10.0.0.0/8", "fd00::/8" or a single address. Throws on anything else: a mistake in the configuration. */
function readAllowance(text: string): Range {
  const cidr = text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`;
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr)) return ipaddr.IPv4.parseCIDR(cidr);
  const range = ipaddr.IPv6.isValidCIDR(cidr) ? ipaddr.IPv6.parseCIDR(cidr) : null;
  // Mapped addresses are judged as the IPv4 addresses they are: such a range would lift nothing.
  if (range && !range[0].isIPv4MappedAddress()) return range;
  throw new TypeError(`Cannot read the egress allowance "${text}": it is no address range in CIDR form`);
}

const MAX_READ_LISTS = 1_000;

/** Throws TypeError. */
export const checkNetwork = (text: string): void => void readAllowance(text);

/** Host name in lower case without the root's dot; an address without brackets. */
const bareHost = (hostname: string): string =>
  hostname
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");

/** A name a resolver can be asked: 253 characters at most, labels of 1 to 63 (RFC 1035, 2.3.4). */
const isAskable = (name: string): boolean =>
  name.length <= 253 && name.split(".").every((label) => label.length >= 1 && label.length <= 63);

export function destination({ allow = [], own = [] }: DestinationOptions = {}): Destination {
  const read = new Map<Networks, readonly Range[]>();
  /** Lists come from settings and projects, which are read once and given again; beyond so many all are read again. */
  const allowancesOf = (networks: Networks): readonly Range[] => {
    const known = read.get(networks);
    if (known) return known;
    if (read.size >= MAX_READ_LISTS) read.clear();
    const ranges = networks.map(readAllowance);
    read.set(networks, ranges);
    return ranges;
  };
  allowancesOf(allow);
  const ownEndpoints = own.map(({ host, port }) => {
    const name = bareHost(host);
    const address = readAddress(name)?.toString() ?? null;
    return { name, address, every: address === "0.0.0.0" || address === "::", port };
  });

  const address: Destination["address"] = (text, port, networks = allow) => {
    const parsed = readAddress(text);
    if (parsed === null || REFUSED_PORTS.has(port) || isMetadata(parsed)) return "blocked_destination";
    const isPublic = isGlobal(parsed);
    if (!isPublic && !allowancesOf(networks).some((range) => within(parsed, range)))
      return "blocked_destination";
    const isHere = parsed.range() === "loopback" || parsed.range() === "unspecified";
    const isOwn = ownEndpoints.some(
      (endpoint) =>
        endpoint.port === port && (endpoint.address === parsed.toString() || (endpoint.every && isHere)),
    );
    if (isOwn) return "blocked_destination";
    return isPublic ? "allowed" : "private";
  };

  return {
    address,
    url: (text, networks = allow) => {
      const url = URL.parse(text);
      if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) return "invalid_url";
      const name = bareHost(url.hostname);
      if (name === "") return "invalid_url";
      const port = portOf(url);
      if (url.hostname.startsWith("[") || ipaddr.IPv4.isValidFourPartDecimal(name))
        return address(name, port, networks) === "blocked_destination" ? "blocked_destination" : "allowed";
      if (!isAskable(name)) return "invalid_url";
      if (REFUSED_PORTS.has(port)) return "blocked_destination";
      if (ownEndpoints.some((endpoint) => endpoint.port === port && endpoint.name === name))
        return "blocked_destination";
      if (isBelow(name, METADATA_NAMES)) return "blocked_destination";
      return isBelow(name, PRIVATE_NAMES) && networks.length === 0 ? "blocked_destination" : "resolve";
    },
  };
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}
