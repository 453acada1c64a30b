/**
 * What an operator may set (3-decisions.md, Running it). A section is the argument of the module it configures; a
 * setting carries its variable, its default and a sentence, and `trawl config` is drawn from here. It reads no
 * environment and no file by itself: main.ts hands both in, once.
 */
import ipaddr from "ipaddr.js";
import { type Static, type TSchema, Type } from "typebox";
import { Default, Errors } from "typebox/value";
import { readPrice } from "../actors/fetch/prices.ts";
import { KEY_MARKS, KEY_SHAPE, toMicros } from "../schemas/accounts.ts";

const closed = { additionalProperties: false, default: {} } as const;

/** Rules a pattern cannot say, with what to write instead when one is broken. */
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
/** What the filing system turns away (notes/filings.md, section 2): no address, several, a URL, odd characters. */
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
          description: "Port listened on; 0 takes any free one.",
        }),
        host: text({ env: "HOST", default: "127.0.0.1", description: "Address listened on." }),
        public_url: optionalText({
          env: "TRAWL_PUBLIC_URL",
          rule: WEB,
          description: "The address clients see, in answers and webhooks; default from HOST and PORT.",
        }),
        admin_key: optionalText({
          env: "TRAWL_ADMIN_KEY",
          secret: true,
          rule: ADMIN_KEY,
          description: "An account admin key to create at start when it does not exist.",
        }),
      },
      closed,
    ),
    storage: Type.Object(
      {
        data_dir: text({
          env: "TRAWL_DATA_DIR",
          default: "./data",
          description: "Where embedded documents and bodies are.",
        }),
        documents: text({
          env: "TRAWL_DOCUMENTS",
          default: "sqlite",
          shared: true,
          rule: DOCUMENTS,
          description: "sqlite in the data directory, sqlite:PATH, or mongodb://…",
        }),
        blobs: text({
          env: "TRAWL_BLOBS",
          default: "file",
          shared: true,
          rule: BLOBS,
          description: "file in the data directory, file:PATH, or s3://bucket/prefix",
        }),
        s3_endpoint: optionalText({
          env: "S3_ENDPOINT",
          rule: WEB,
          description: "An S3 that is not Amazon's.",
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
          description: "memory for one process, or nats://host:4222[,…][/name]",
        }),
        roles: Type.Array(Type.Enum(["gateway", "worker", "browser"]), {
          env: "TRAWL_ROLES",
          default: ["gateway", "worker", "browser"],
          minItems: 1,
          description: "What this node runs.",
        }),
        status_port: Type.Integer({
          env: "TRAWL_STATUS_PORT",
          default: 0,
          minimum: 0,
          maximum: 65_535,
          description:
            "Where a node of a cluster answers /health, /ready and /metrics for itself; 0 takes any free port.",
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
          description: "Networks exempt from the refusal of private destinations (intranets, tests).",
        }),
        dns_servers: list({
          env: "TRAWL_DNS_SERVERS",
          rule: RESOLVER,
          description: "Resolvers as ip[:port], used for every outgoing request; default the system's.",
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
          description: "Least time between two starts on one domain.",
        }),
        max_concurrency: Type.Integer({
          env: "TRAWL_POLITE_CONCURRENCY",
          default: 2,
          minimum: 1,
          maximum: 1_000,
          shared: true,
          description: "Requests in flight on one domain.",
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
          description: "The name looked for in robots.txt, and the declared agent where one is declared.",
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
          description: "Metasearch instances (SearXNG JSON API); none: a built-in one over the stored pages.",
        }),
        fallback_url: optionalText({
          env: "TRAWL_FALLBACK_SEARCH_URL",
          shared: true,
          rule: WEB,
          description: "Fallback search API of the Brave Web Search shape.",
        }),
        fallback_key: optionalText({
          env: "TRAWL_FALLBACK_SEARCH_KEY",
          secret: true,
          description: "Its X-Subscription-Token.",
        }),
        fallback_price: text({
          env: "TRAWL_FALLBACK_SEARCH_PRICE",
          default: "0.005",
          shared: true,
          rule: AMOUNT,
          description: "What one request to it costs, in US dollars.",
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
          description: "Wayback-compatible archive (CDX and id_ replay); none turns it off.",
        }),
        proxy_url: optionalText({
          env: "TRAWL_PROXY_URL",
          shared: true,
          rule: WEB,
          description: "Residential network, an HTTP(S) proxy; {session} and {country} are filled in.",
        }),
        render_url: optionalText({
          env: "TRAWL_RENDER_URL",
          shared: true,
          rule: WEB,
          description:
            "Rendering service: POST JSON {url, country, wait}, or a known one (actors/tiers/README.md).",
        }),
        render_key: optionalText({ env: "TRAWL_RENDER_KEY", secret: true, description: "Its key." }),
        prices: list({
          env: "TRAWL_PRICES",
          default: ["proxy=0.002", "proxy_render=0.005"],
          shared: true,
          rule: PRICE,
          description:
            "What an attempt on a premium route costs in US dollars, also by difficulty (proxy_render.high=0.02).",
        }),
        chromium_path: optionalText({
          env: "TRAWL_CHROMIUM_PATH",
          description:
            "The browser to run; default the system's Chromium or Chrome, else the one from npm; none: no route browser.",
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
          description: "The Guardian's content API, asked for its own articles where they cannot be read.",
        }),
        guardian_key: optionalText({
          env: "TRAWL_GUARDIAN_KEY",
          secret: true,
          description: "Its key; without it that API is not asked.",
        }),
        unpaywall_url: text({
          env: "TRAWL_UNPAYWALL_URL",
          default: "https://api.unpaywall.org/v2",
          shared: true,
          rule: WEB,
          description: "Register of open-access copies by DOI (Unpaywall shape).",
        }),
        unpaywall_email: optionalText({
          env: "TRAWL_UNPAYWALL_EMAIL",
          shared: true,
          rule: EMAIL,
          description: "The address that register wants to know; without it, it is not asked.",
        }),
        common_crawl_url: text({
          env: "TRAWL_COMMON_CRAWL_URL",
          default: "none",
          shared: true,
          rule: WEB_OR_NONE,
          description:
            "Common Crawl's index (https://index.commoncrawl.org), for batch items; none: not asked.",
        }),
        common_crawl_data_url: text({
          env: "TRAWL_COMMON_CRAWL_DATA_URL",
          default: "https://data.commoncrawl.org",
          shared: true,
          rule: WEB,
          description: "Where its captures are.",
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
          description: "Company name contact@example.com: turns the filing system on.",
        }),
        data_url: text({
          env: "TRAWL_FILINGS_DATA_URL",
          default: "https://data.sec.gov",
          shared: true,
          rule: WEB,
          description: "Its structured data.",
        }),
        www_url: text({
          env: "TRAWL_FILINGS_WWW_URL",
          default: "https://www.sec.gov",
          shared: true,
          rule: WEB,
          description: "Its documents.",
        }),
        search_url: text({
          env: "TRAWL_FILINGS_SEARCH_URL",
          default: "https://efts.sec.gov",
          shared: true,
          rule: WEB,
          description: "Its full-text search.",
        }),
        requests_per_second: Type.Integer({
          env: "TRAWL_FILINGS_RPS",
          default: 8,
          minimum: 1,
          maximum: 10,
          shared: true,
          description:
            "Requests to it per second and egress, 1 to 10; clusters behind one address must share it out.",
        }),
        egress: text({
          env: "TRAWL_FILINGS_EGRESS",
          default: "default",
          rule: EGRESS_NAME,
          description: "A name for the address this node's requests to it come from; one limiter for each.",
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
          description: "The profile site's domains, canonical first.",
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
          description: "Legal entity identifiers.",
        }),
        zefix_url: text({
          env: "TRAWL_ZEFIX_URL",
          default: "https://www.zefix.admin.ch/ZefixPublicREST",
          shared: true,
          rule: WEB,
          description: "Swiss commercial register.",
        }),
        zefix_key: optionalText({
          env: "TRAWL_ZEFIX_KEY",
          secret: true,
          description: "Its user:password; without it the source is inactive.",
        }),
        companies_house_url: text({
          env: "TRAWL_COMPANIES_HOUSE_URL",
          default: "https://api.company-information.service.gov.uk",
          shared: true,
          rule: WEB,
          description: "British register.",
        }),
        companies_house_key: optionalText({
          env: "TRAWL_COMPANIES_HOUSE_KEY",
          secret: true,
          description: "Its key; without it the source is inactive.",
        }),
      },
      closed,
    ),
    log: Type.Object(
      {
        level: Type.Enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
          env: "TRAWL_LOG_LEVEL",
          default: "info",
          description: "Less important lines are left out.",
        }),
      },
      closed,
    ),
    client: Type.Object(
      {
        url: optionalText({
          env: "TRAWL_URL",
          rule: WEB,
          description: "For trawl fetch and its like: the service to ask; default from HOST and PORT.",
        }),
        key: optionalText({
          env: "TRAWL_KEY",
          secret: true,
          description: "For trawl fetch and its like: the key to ask with.",
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
 * Throws one ConfigError that names every variable that is wrong, so an operator mends them in one go. `readFile`
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
    mistakes.push(
      `${env} must be an address that somebody reads: the filing system is told it, and writes to it`,
    );
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

/** An address of nobody, shown to the filing system itself. */
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

/** The known name with the fewest letters to change, when few enough are. */
function nearest(name: string): string | null {
  const near = SETTINGS.map(({ env }) => ({ env, far: distance(name, env) })).toSorted(
    (a, b) => a.far - b.far,
  )[0]!;
  return near.far <= Math.max(3, name.length / 4) ? near.env : null;
}

/** Levenshtein's: insertions, deletions and replacements from one to the other. */
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
 * A text without the secrets an address can carry: its user and password, and parameters named like secrets; and
 * without whose e-mail address it is.
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
