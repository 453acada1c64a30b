/**
 * The settings of the service. Each section configures one module; each setting has a variable, a default and a description,
 * and `trawl config` and the README's table are generated from them. This file reads no environment and no file:
 * main.ts passes both in, once.
 */
import ipaddr from "ipaddr.js";
import { type Static, type TSchema, Type } from "typebox";
import { Default, Errors } from "typebox/value";
import { readPrice } from "../actors/fetch/prices.ts";
import { KEY_MARKS, KEY_SHAPE, toMicros } from "../schemas/accounts.ts";

const closed = { additionalProperties: false, default: {} } as const;

/** Rules that a pattern cannot express, with what is expected instead. */
interface Rule {
  readonly fits: (text: string) => boolean;
  readonly expected: string;
}

const isUrl = (text: string, ...protocols: string[]): boolean => {
  // Placeholders of the proxy address are filled in later.
  const url = URL.parse(text.replace(/\{(session|country)\}/g, "x"));
  return url !== null && protocols.includes(url.protocol.slice(0, -1));
};

const WEB: Rule = { fits: (text) => isUrl(text, "http", "https"), expected: "an http or https address" };
const WEB_OR_NONE: Rule = {
  fits: (text) => text === "none" || WEB.fits(text),
  expected: `${WEB.expected}, or none`,
};
const CIDR: Rule = {
  fits: (text) => ipaddr.isValidCIDR(text),
  expected: "networks as 10.0.0.0/8 or fd00::/8",
};
const RESOLVER: Rule = {
  fits: (text) => {
    const [, six, four, port = "53"] =
      /^(?:\[([0-9a-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::(\d+))?$/i.exec(text) ?? [];
    if (six === undefined && four === undefined) return ipaddr.IPv6.isValid(text);
    return Number(port) > 0 && Number(port) < 65_536 && ipaddr.isValid(six ?? four!);
  },
  expected: "addresses as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53",
};
const BUS: Rule = {
  fits: (text) =>
    text === "memory" ||
    text
      .split(",")
      .every(
        (part) =>
          isUrl(part.trim(), "nats", "tls") &&
          /^(\/[A-Za-z0-9_-]{0,40})?$/.test(new URL(part.trim()).pathname),
      ),
  expected: "memory, or nats://host:4222[/name], several with commas between",
};
const DOCUMENTS: Rule = {
  fits: (text) => text === "sqlite" || /^sqlite:./.test(text) || /^mongodb(\+srv)?:\/\/./.test(text),
  expected: "sqlite, sqlite:PATH or mongodb://host/database",
};
const BLOBS: Rule = {
  fits: (text) => text === "file" || /^file:./.test(text) || /^s3:\/\/[a-z0-9][a-z0-9.-]+(\/.*)?$/.test(text),
  expected: "file, file:PATH or s3://bucket/prefix",
};
const ADMIN_KEY: Rule = {
  fits: (text) => text.startsWith(KEY_MARKS.account_admin) && KEY_SHAPE.test(text),
  expected: `"${KEY_MARKS.account_admin}" and 17 to 200 letters, digits, "-" and "_"`,
};
const PRICE: Rule = {
  fits: (text) => readPrice(text) !== null,
  expected: "prices in US dollars as proxy=0.002, proxy_render=0.005 or proxy_render.high=0.02",
};
const AMOUNT: Rule = {
  fits: (raw) => toMicros(raw) !== null,
  expected: "an amount as 0.005, with at most six decimal places",
};
const CRAWLER: Rule = {
  fits: (text) => /^[A-Za-z_-]{1,64}$/.test(text),
  expected: "a robots.txt name: letters, - and _",
};
const HOST_NAME: Rule = { fits: (text) => /^[a-z0-9.-]+$/i.test(text), expected: "host names" };
/** The filing system rejects identities without an address, with several, with a URL or with characters beyond ASCII. */
const CONTACT: Rule = {
  fits: (text) =>
    /^[\u0020-\u007e]+$/.test(text) &&
    /^[^\s@][^@]* [^\s@<>()]+@[^\s@]+\.[a-z0-9-]{2,}$/i.test(text) &&
    !/http/i.test(text),
  expected:
    'who asks and an e-mail address, as "Company name contact@company.com": plain letters, one address, no URL',
};
const EGRESS_NAME: Rule = {
  fits: (text) => /^[a-z0-9][a-z0-9._-]{0,62}$/i.test(text),
  expected: 'a name of letters, digits, ".", "_" and "-"',
};

const EMAIL: Rule = {
  fits: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  expected: "an e-mail address",
};

interface SettingSpec {
  readonly env: string;
  readonly description: string;
  /** Masked in `trawl config`; may be given as a file with `<variable>_FILE`. */
  readonly secret?: boolean;
  /** Must be the same on all nodes of a cluster. */
  readonly shared?: boolean;
  readonly rule?: Rule;
  readonly default?: unknown;
}

const text = (spec: SettingSpec) => Type.String({ minLength: 1, ...spec });
const optionalText = (spec: SettingSpec) => Type.Optional(text(spec));
const list = (spec: SettingSpec) =>
  Type.Array(Type.String({ minLength: 1 }), { ...spec, default: spec.default ?? [] });

export const Config = Type.Object(
  {
    gateway: Type.Object(
      {
        port: Type.Integer({
          env: "PORT",
          default: 8080,
          minimum: 0,
          maximum: 65_535,
          description: "The port to listen on; 0 takes any free port.",
        }),
        host: text({ env: "HOST", default: "127.0.0.1", description: "The address to listen on." }),
        public_url: optionalText({
          env: "TRAWL_PUBLIC_URL",
          rule: WEB,
          description:
            "The service's address as clients see it, used in answers and callbacks; default from HOST and PORT.",
        }),
        admin_key: optionalText({
          env: "TRAWL_ADMIN_KEY",
          secret: true,
          rule: ADMIN_KEY,
          description: "An account admin key that is created at start if it does not exist.",
        }),
      },
      closed,
    ),
    storage: Type.Object(
      {
        data_dir: text({
          env: "TRAWL_DATA_DIR",
          default: "./data",
          description: "The folder of the embedded document and blob stores.",
        }),
        documents: text({
          env: "TRAWL_DOCUMENTS",
          default: "sqlite",
          shared: true,
          rule: DOCUMENTS,
          description: "Document store: sqlite in the data folder, sqlite:PATH, or mongodb://…",
        }),
        blobs: text({
          env: "TRAWL_BLOBS",
          default: "file",
          shared: true,
          rule: BLOBS,
          description: "Blob store: file in the data folder, file:PATH, or s3://bucket/prefix",
        }),
        s3_endpoint: optionalText({
          env: "S3_ENDPOINT",
          rule: WEB,
          description: "The endpoint of an S3 store other than Amazon's.",
        }),
        aws_region: optionalText({ env: "AWS_REGION", description: "Read by the AWS SDK." }),
        aws_access_key_id: optionalText({
          env: "AWS_ACCESS_KEY_ID",
          secret: true,
          description: "Read by the AWS SDK.",
        }),
        aws_secret_access_key: optionalText({
          env: "AWS_SECRET_ACCESS_KEY",
          secret: true,
          description: "Read by the AWS SDK.",
        }),
        aws_session_token: optionalText({
          env: "AWS_SESSION_TOKEN",
          secret: true,
          description: "Read by the AWS SDK.",
        }),
      },
      closed,
    ),
    cluster: Type.Object(
      {
        bus: text({
          env: "TRAWL_BUS",
          default: "memory",
          shared: true,
          rule: BUS,
          description:
            "Message bus: memory for one process, or nats://host:4222[,…][/name] for several nodes.",
        }),
        roles: Type.Array(Type.Enum(["gateway", "worker", "browser"]), {
          env: "TRAWL_ROLES",
          default: ["gateway", "worker", "browser"],
          minItems: 1,
          description: "What this node runs: the HTTP API (gateway), actors (worker), Chromium (browser).",
        }),
        status_port: Type.Integer({
          env: "TRAWL_STATUS_PORT",
          default: 0,
          minimum: 0,
          maximum: 65_535,
          description:
            "The port on which a node of a cluster answers /health, /ready and /metrics for itself; 0 takes any free port.",
        }),
      },
      closed,
    ),
    egress: Type.Object(
      {
        allow: list({
          env: "TRAWL_EGRESS_ALLOW",
          shared: true,
          rule: CIDR,
          description: "Networks that SSRF protection allows although they are private (intranets, tests).",
        }),
        dns_servers: list({
          env: "TRAWL_DNS_SERVERS",
          rule: RESOLVER,
          description: "DNS resolvers as ip[:port], used for every outgoing request; default: the system's.",
        }),
      },
      closed,
    ),
    politeness: Type.Object(
      {
        min_delay_ms: Type.Integer({
          env: "TRAWL_POLITE_DELAY_MS",
          default: 500,
          minimum: 0,
          maximum: 3_600_000,
          shared: true,
          description: "The least time between two requests to one domain.",
        }),
        max_concurrency: Type.Integer({
          env: "TRAWL_POLITE_CONCURRENCY",
          default: 2,
          minimum: 1,
          maximum: 1_000,
          shared: true,
          description: "The most concurrent requests to one domain.",
        }),
      },
      closed,
    ),
    audit: Type.Object(
      {
        requests: Type.Enum(["off", "on"], {
          env: "TRAWL_REQUEST_AUDIT",
          default: "off",
          description: "on: records when each request was sent, for trawl audit politeness; kept for 7 days.",
        }),
      },
      closed,
    ),
    crawler: Type.Object(
      {
        name: text({
          env: "TRAWL_CRAWLER_NAME",
          default: "trawl",
          shared: true,
          rule: CRAWLER,
          description: "The crawler's name in robots.txt and in the User-Agent where it declares itself.",
        }),
      },
      closed,
    ),
    search: Type.Object(
      {
        searxng_urls: list({
          env: "TRAWL_SEARXNG_URLS",
          shared: true,
          rule: WEB,
          description: "Metasearch instances (SearXNG JSON API); none: the built-in index over stored pages.",
        }),
        fallback_url: optionalText({
          env: "TRAWL_FALLBACK_SEARCH_URL",
          shared: true,
          rule: WEB,
          description: "Fallback search API with the format of Brave Web Search.",
        }),
        fallback_key: optionalText({
          env: "TRAWL_FALLBACK_SEARCH_KEY",
          secret: true,
          description: "The X-Subscription-Token of the fallback search API.",
        }),
        fallback_price: text({
          env: "TRAWL_FALLBACK_SEARCH_PRICE",
          default: "0.005",
          shared: true,
          rule: AMOUNT,
          description: "The price of one request to the fallback search API, in US dollars.",
        }),
      },
      closed,
    ),
    tiers: Type.Object(
      {
        archive_url: text({
          env: "TRAWL_ARCHIVE_URL",
          default: "https://web.archive.org",
          shared: true,
          rule: WEB_OR_NONE,
          description: "Wayback-compatible archive (CDX and id_ replay); none turns the route off.",
        }),
        proxy_url: optionalText({
          env: "TRAWL_PROXY_URL",
          shared: true,
          rule: WEB,
          description: "Residential HTTP(S) proxy; {session} and {country} are filled in.",
        }),
        render_url: optionalText({
          env: "TRAWL_RENDER_URL",
          shared: true,
          rule: WEB,
          description:
            "Rendering service: POST JSON {url, country, wait}, or one of those in actors/tiers/README.md.",
        }),
        render_key: optionalText({
          env: "TRAWL_RENDER_KEY",
          secret: true,
          description: "The key of the rendering service.",
        }),
        prices: list({
          env: "TRAWL_PRICES",
          default: ["proxy=0.002", "proxy_render=0.005"],
          shared: true,
          rule: PRICE,
          description:
            "The price of an attempt on a premium route in US dollars, optionally by difficulty (proxy_render.high=0.02).",
        }),
        chromium_path: optionalText({
          env: "TRAWL_CHROMIUM_PATH",
          description:
            "The browser to run; default: the system's Chromium or Chrome, else the one of npx playwright install, else the one from npm; none turns the route browser off.",
        }),
      },
      closed,
    ),
    alternates: Type.Object(
      {
        guardian_url: text({
          env: "TRAWL_GUARDIAN_URL",
          default: "https://content.guardianapis.com",
          shared: true,
          rule: WEB,
          description: "The Guardian's content API, used for its own articles that cannot be fetched.",
        }),
        guardian_key: optionalText({
          env: "TRAWL_GUARDIAN_KEY",
          secret: true,
          description: "The key of the Guardian's content API; without it the API is not used.",
        }),
        unpaywall_url: text({
          env: "TRAWL_UNPAYWALL_URL",
          default: "https://api.unpaywall.org/v2",
          shared: true,
          rule: WEB,
          description: "Register of open-access copies by DOI (Unpaywall format).",
        }),
        unpaywall_email: optionalText({
          env: "TRAWL_UNPAYWALL_EMAIL",
          shared: true,
          rule: EMAIL,
          description: "The e-mail address that the register requires; without it the register is not used.",
        }),
        common_crawl_url: text({
          env: "TRAWL_COMMON_CRAWL_URL",
          default: "none",
          shared: true,
          rule: WEB_OR_NONE,
          description:
            "Common Crawl's index (https://index.commoncrawl.org), for batch items; none: not used.",
        }),
        common_crawl_data_url: text({
          env: "TRAWL_COMMON_CRAWL_DATA_URL",
          default: "https://data.commoncrawl.org",
          shared: true,
          rule: WEB,
          description: "The address of Common Crawl's captures.",
        }),
      },
      closed,
    ),
    filings: Type.Object(
      {
        identity: optionalText({
          env: "TRAWL_FILINGS_IDENTITY",
          shared: true,
          rule: CONTACT,
          description:
            "Company name contact@example.com: the identity sent to the filing system; turns it on.",
        }),
        data_url: text({
          env: "TRAWL_FILINGS_DATA_URL",
          default: "https://data.sec.gov",
          shared: true,
          rule: WEB,
          description: "The filing system's structured data.",
        }),
        www_url: text({
          env: "TRAWL_FILINGS_WWW_URL",
          default: "https://www.sec.gov",
          shared: true,
          rule: WEB,
          description: "The filing system's documents.",
        }),
        search_url: text({
          env: "TRAWL_FILINGS_SEARCH_URL",
          default: "https://efts.sec.gov",
          shared: true,
          rule: WEB,
          description: "The filing system's full-text search.",
        }),
        requests_per_second: Type.Integer({
          env: "TRAWL_FILINGS_RPS",
          default: 8,
          minimum: 1,
          maximum: 10,
          shared: true,
          description:
            "Requests to the filing system per second and egress, 1 to 10; clusters behind one address must divide it.",
        }),
        egress: text({
          env: "TRAWL_FILINGS_EGRESS",
          default: "default",
          rule: EGRESS_NAME,
          description:
            "A name for the public address of this node's requests to the filing system; each name has one limiter.",
        }),
      },
      closed,
    ),
    profiles: Type.Object(
      {
        hosts: list({
          env: "TRAWL_PROFILES_HOSTS",
          default: ["northdata.com", "northdata.de"],
          shared: true,
          rule: HOST_NAME,
          description: "The domains of the profile site, the canonical one first.",
        }),
      },
      closed,
    ),
    companies: Type.Object(
      {
        gleif_url: text({
          env: "TRAWL_GLEIF_URL",
          default: "https://api.gleif.org/api/v1",
          shared: true,
          rule: WEB,
          description: "The register of legal entity identifiers (GLEIF).",
        }),
        zefix_url: text({
          env: "TRAWL_ZEFIX_URL",
          default: "https://www.zefix.admin.ch/ZefixPublicREST",
          shared: true,
          rule: WEB,
          description: "The Swiss commercial register (Zefix).",
        }),
        zefix_key: optionalText({
          env: "TRAWL_ZEFIX_KEY",
          secret: true,
          description: "user:password for Zefix; without it the source is inactive.",
        }),
        companies_house_url: text({
          env: "TRAWL_COMPANIES_HOUSE_URL",
          default: "https://api.company-information.service.gov.uk",
          shared: true,
          rule: WEB,
          description: "The British company register (Companies House).",
        }),
        companies_house_key: optionalText({
          env: "TRAWL_COMPANIES_HOUSE_KEY",
          secret: true,
          description: "The key of Companies House; without it the source is inactive.",
        }),
      },
      closed,
    ),
    log: Type.Object(
      {
        level: Type.Enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
          env: "TRAWL_LOG_LEVEL",
          default: "info",
          description: "The least severe level that is logged.",
        }),
      },
      closed,
    ),
    client: Type.Object(
      {
        url: optionalText({
          env: "TRAWL_URL",
          rule: WEB,
          description:
            "For client commands such as trawl fetch: the service's address; default from HOST and PORT.",
        }),
        key: optionalText({
          env: "TRAWL_KEY",
          secret: true,
          description: "For client commands such as trawl fetch: the API key.",
        }),
      },
      closed,
    ),
  },
  closed,
);

export type Config = Static<typeof Config>;

interface Setting extends SettingSpec {
  readonly section: string;
  readonly name: string;
  readonly type?: string;
}

/** Every setting beside its place. */
export const SETTINGS: readonly Setting[] = Object.entries(Config.properties).flatMap(
  ([section, { properties }]) =>
    Object.entries<TSchema>(properties).map(([name, schema]) => ({
      section,
      name,
      ...(schema as unknown as SettingSpec),
    })),
);

/** How a variable's text becomes a value. What does not fit stays text, so the schema can say what is wrong with it. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (raw) => (/^-?\d+$/.test(raw) ? Number(raw) : raw),
  array: (raw) =>
    raw
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** Several mistakes in one message, each naming its variable. */
export class ConfigError extends TypeError {
  override readonly name = "ConfigError";
}

/**
 * Throws one ConfigError that names every wrong variable, so that the operator can correct all at once. `readFile`
 * serves the `_FILE` variants of secrets.
 */
export function readConfig(environment: Environment, readFile: (path: string) => string = unread): Config {
  const mistakes: string[] = [];
  const values: Record<string, Record<string, unknown>> = {};
  for (const { section, name, env, type = "", secret, rule } of SETTINGS) {
    const raw = secret ? fromFile(env, environment, readFile, mistakes) : environment[env];
    if (raw === undefined || raw === "") continue;
    const value = READERS[type]?.(raw) ?? raw;
    (values[section] ??= {})[name] = value;
    const parts = Array.isArray(value) ? (value as string[]) : typeof value === "string" ? [value] : [];
    const wrongPart = rule && parts.find((part) => !rule.fits(part));
    if (wrongPart !== undefined)
      mistakes.push(`${env} must be ${rule!.expected}${quoted(wrongPart, secret)}`);
  }
  const config = Default(Config, values) as Config;
  for (const { instancePath, message } of Errors(Config, config)) {
    const setting = settingAt(instancePath);
    const value = setting && values[setting.section]?.[setting.name];
    mistakes.push(`${setting?.env ?? instancePath} ${message}${quoted(value, setting?.secret)}`);
  }
  if (isMadeUp(config)) {
    const { env } = SETTINGS.find(({ section, name }) => section === "filings" && name === "identity")!;
    mistakes.push(`${env} must be an e-mail address that is read: the filing system writes to it`);
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("TRAWL_") || isKnown(name)) continue;
    const near = nearest(name);
    mistakes.push(`${name} is not a setting${near ? `; did you mean ${near}?` : ""}`);
  }
  if (mistakes.length > 0)
    throw new ConfigError(`Cannot start with this configuration:\n${[...new Set(mistakes)].join("\n")}`);
  return frozen(config);
}

/** Whether a made-up address would be shown to the real filing system. */
function isMadeUp({ filings }: Config): boolean {
  const bases = [filings.data_url, filings.www_url, filings.search_url].map(
    (base) => URL.parse(base)?.hostname,
  );
  const isReal = bases.some((host) => host?.endsWith("sec.gov"));
  return isReal && /[@.](?:example(?:\.\w+)?|\w+\.(?:test|invalid|localhost))$/i.test(filings.identity ?? "");
}

function unread(path: string): string {
  throw new Error(`Cannot read "${path}": files are not read here`);
}

function fromFile(
  env: string,
  environment: Environment,
  readFile: (path: string) => string,
  mistakes: string[],
): string | undefined {
  const path = environment[`${env}_FILE`];
  if (path === undefined || path === "") return environment[env];
  if (environment[env]) mistakes.push(`${env} and ${env}_FILE are both given; one of them is enough`);
  try {
    return readFile(path).trim();
  } catch (problem) {
    const reason = (problem as NodeJS.ErrnoException).code ?? (problem as Error).message;
    mistakes.push(`${env}_FILE cannot be read from "${path}": ${reason}`);
    return undefined;
  }
}

const quoted = (value: unknown, secret: boolean | undefined): string =>
  typeof value !== "string" || secret ? "" : `, not "${masked(value)}"`;

function settingAt(path: string): Setting | undefined {
  const [, section, name] = path.split("/");
  return SETTINGS.find((setting) => setting.section === section && setting.name === name);
}

const isKnown = (name: string): boolean =>
  SETTINGS.some(({ env, secret }) => env === name || (secret && `${env}_FILE` === name));

/** The known name at the smallest edit distance, if it is small enough. */
function nearest(name: string): string | null {
  const near = SETTINGS.map(({ env }) => ({ env, far: distance(name, env) })).toSorted(
    (a, b) => a.far - b.far,
  )[0]!;
  return near.far <= Math.max(3, name.length / 4) ? near.env : null;
}

/** Levenshtein distance: insertions, deletions and replacements. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    above = row;
  }
  return above[b.length]!;
}

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === "object" && part !== null) frozen(part);
  return Object.freeze(value);
}

/**
 * Text with its secrets masked: user and password of an address, parameters named like secrets, and the local part of an
 * e-mail address.
 */
export const masked = (raw: string): string =>
  raw
    .replace(/(^|\s)([^\s@/:])[^\s@/:]*@/g, "$1$2***@")
    .replace(/:\/\/[^/\s]*@/g, "://***@")
    .replace(/([?&][^=&\s]*(?:key|token|secret|password|auth)[^=&\s]*=)[^&\s]*/gi, "$1***");

/** One line of `trawl config`. */
export interface SettingRow {
  readonly variable: string;
  /** As text; null: not set and without a default. */
  readonly value: string | null;
  readonly from: "environment" | "default";
  readonly description: string;
  readonly shared: boolean;
}

type Values = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** The effective values, secrets masked. */
export function settingRows(config: Config, environment: Environment): readonly SettingRow[] {
  return SETTINGS.map(({ section, name, env, secret = false, shared = false, description }) => {
    const value = (config as unknown as Record<string, Values>)[section]![name];
    const raw = value === undefined ? null : typeof value === "object" ? value.join(",") : String(value);
    return {
      variable: env,
      value: raw === null ? null : secret ? "***" : masked(raw),
      from: environment[env] || environment[`${env}_FILE`] ? "environment" : "default",
      description,
      shared,
    };
  });
}
