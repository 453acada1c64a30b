/** The settings of a node and of what all slices share. A slice's own settings are in its feature.ts. */
import ipaddr from "ipaddr.js";
import { type Static, Type } from "typebox";
import { isPartitionCount, MIN_PARTITIONS } from "../cluster/placement.ts";
import { MAX_PARTITIONS } from "../cluster/ports/bus.ts";
import { TIERS } from "../schemas/tier-table.ts";
import { MAX_GROWN_ITEMS } from "../schemas/jobs.ts";
import { KEY_MARKS, KEY_SHAPE } from "../schemas/accounts.ts";
import { closed, isUrl, listSetting, optionalSetting, type Rule, textSetting, WEB } from "./settings.ts";

const NETWORK: Rule = {
  fits: (text) =>
    ipaddr.isValidCIDR(text) ||
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    (ipaddr.IPv6.isValid(text) && !text.includes("%")),
  expected: "networks as 10.0.0.0/8 or fd00::/8, or single addresses",
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
const keyOf = (role: keyof typeof KEY_MARKS): Rule => ({
  fits: (text) => text.startsWith(KEY_MARKS[role]) && KEY_SHAPE.test(text),
  expected: `"${KEY_MARKS[role]}" and 17 to 200 letters, digits, "-" and "_"`,
});
const CRAWLER: Rule = {
  fits: (text) => /^[A-Za-z_-]{1,64}$/.test(text),
  expected: "a robots.txt name: letters, - and _",
};
const PARTITIONS: Rule = {
  fits: (text) => isPartitionCount(Number(text)),
  expected: `a power of two from ${MIN_PARTITIONS} to ${MAX_PARTITIONS}`,
};
const HOST_AND_PORT: Rule = {
  fits: (text) => {
    const port = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):(\d{1,5})$/i.exec(text)?.[1];
    return port !== undefined && Number(port) < 65_536;
  },
  expected: "host:port as 0.0.0.0:9100 or [::]:9100",
};
const SHARE: Rule = {
  fits: (text) => /^(?:0|1|0?\.\d+|1\.0+)$/.test(text),
  expected: "a number from 0 to 1",
};
const PROFILE: Rule = {
  fits: (text) => /^[a-z0-9][a-z0-9_-]{0,39}$/.test(text),
  expected: "up to 40 of a-z, 0-9, - and _",
};
const HOST_NAME: Rule = { fits: (text) => /^[a-z0-9.-]+$/i.test(text), expected: "host names" };

export const NODE_SECTIONS = {
  gateway: Type.Object(
    {
      port: Type.Integer({
        env: "PORT",
        default: 8080,
        minimum: 0,
        maximum: 65_535,
        description: "The port to listen on; 0 takes any free port.",
      }),
      http_server: Type.Enum(["auto", "node"], {
        env: "TRAWL_HTTP_SERVER",
        default: "auto",
        description:
          "auto: uWebSockets.js where it loads; node: node:http, which also answers HTTP/1.0 and requests with trailers, at half the requests a CPU second.",
      }),
      host: textSetting({ env: "HOST", default: "127.0.0.1", description: "The address to listen on." }),
      metrics_allow: listSetting({
        env: "TRAWL_METRICS_ALLOW",
        rule: NETWORK,
        description:
          "Networks or single addresses that may read /metrics beside this machine: on TRAWL_STATUS_PORT, and on PORT while HOST is this machine's own and neither TRAWL_PUBLIC_URL nor TRAWL_TRUSTED_PROXIES is set.",
      }),
      metrics_address: optionalSetting({
        env: "TRAWL_METRICS_ADDRESS",
        rule: HOST_AND_PORT,
        description:
          "host:port at which /metrics alone is served to everyone who reaches it; default: nowhere.",
      }),
      public_url: optionalSetting({
        env: "TRAWL_PUBLIC_URL",
        rule: WEB,
        description:
          "The service's address as clients see it, used in answers and callbacks; default from HOST and PORT.",
      }),
      tls_cert: optionalSetting({
        env: "TRAWL_TLS_CERT",
        description:
          "A file with the certificate and its chain (PEM): the API is served over HTTPS. Read again when it changes.",
      }),
      tls_key: optionalSetting({
        env: "TRAWL_TLS_KEY",
        description: "A file with the key of TRAWL_TLS_CERT (PEM).",
      }),
      trusted_proxies: listSetting({
        env: "TRAWL_TRUSTED_PROXIES",
        rule: NETWORK,
        description:
          "Networks or single addresses of reverse proxies whose X-Forwarded-For is believed; from others it is ignored.",
      }),
      admin_key: optionalSetting({
        env: "TRAWL_ADMIN_KEY",
        secret: true,
        rule: keyOf("account_admin"),
        description: "An account admin key that is created at start if it does not exist.",
      }),
      operator_key: optionalSetting({
        env: "TRAWL_OPERATOR_KEY",
        secret: true,
        rule: keyOf("operator"),
        description:
          "An operator key that is created at start if it does not exist; default: one is drawn and kept in the data folder.",
      }),
    },
    closed,
  ),
  storage: Type.Object(
    {
      data_dir: textSetting({
        env: "TRAWL_DATA_DIR",
        default: "./data",
        description: "The folder of the embedded document and blob stores.",
      }),
      documents: textSetting({
        env: "TRAWL_DOCUMENTS",
        default: "sqlite",
        shared: true,
        rule: DOCUMENTS,
        description: "Document store: sqlite in the data folder, sqlite:PATH, or mongodb://…",
      }),
      blobs: textSetting({
        env: "TRAWL_BLOBS",
        default: "file",
        shared: true,
        agreed: true,
        rule: BLOBS,
        description: "Blob store: file in the data folder, file:PATH, or s3://bucket/prefix",
      }),
      durability: Type.Enum(["power", "process"], {
        env: "TRAWL_DURABILITY",
        default: "power",
        description:
          "What acknowledged writes to SQLite and files survive: power: also a power cut; process: only the end of the process (kill -9), with less waiting for the disk.",
      }),
      secrets_key_file: optionalSetting({
        env: "TRAWL_SECRETS_KEY_FILE",
        description:
          "A file with the key that encrypts stored secrets (openssl rand -base64 32), the same on every node of a cluster; default: secrets.key in the data folder, made at the first start.",
      }),
      s3_small_bodies: Type.Enum(["single", "shared"], {
        env: "TRAWL_S3_SMALL_BODIES",
        default: "single",
        shared: true,
        description:
          "Whether bodies of at most 128 KiB that are stored at the same time share an object of S3: about a tenth of the uploads under load, each of which then waits up to 100 ms. What is shared is read with either value, but not by version 0.2.0.",
      }),
      s3_endpoint: optionalSetting({
        env: "S3_ENDPOINT",
        rule: WEB,
        description: "The endpoint of an S3 store other than Amazon's.",
      }),
      aws_region: optionalSetting({ env: "AWS_REGION", description: "Read by the AWS SDK." }),
      aws_access_key_id: optionalSetting({
        env: "AWS_ACCESS_KEY_ID",
        secret: true,
        description: "Read by the AWS SDK.",
      }),
      aws_secret_access_key: optionalSetting({
        env: "AWS_SECRET_ACCESS_KEY",
        secret: true,
        description: "Read by the AWS SDK.",
      }),
      aws_session_token: optionalSetting({
        env: "AWS_SESSION_TOKEN",
        secret: true,
        description: "Read by the AWS SDK.",
      }),
    },
    closed,
  ),
  runtime: Type.Object(
    {
      node: Type.Enum(["pinned", "system"], {
        env: "TRAWL_NODE",
        default: "pinned",
        description:
          "Which Node runs the program: pinned is the one that comes as a package, with which uWebSockets.js runs; system the one that starts the command, from 22.",
      }),
      warm_readers: Type.Enum(["on", "off"], {
        env: "TRAWL_WARM_READERS",
        default: "on",
        description:
          "Whether a new process that reads documents reads pages of the program first, 1.2 s of CPU time, the first one at the start: the first page of a client then takes a third of the CPU time.",
      }),
      ocr: Type.Enum(["off", "tesseract"], {
        env: "TRAWL_OCR",
        default: "off",
        description:
          "Whether the text of scanned pages of PDFs is recognised, by the program tesseract, which must be installed: at most 30 pages and 20 s a document, on workers.",
      }),
      ocr_languages: textSetting({
        env: "TRAWL_OCR_LANGUAGES",
        default: "eng",
        rule: {
          fits: (text) => /^\w+(?:\+\w+){0,9}$/.test(text),
          expected: "at most ten names of Tesseract's languages, as eng+deu",
        },
        description: "The languages that Tesseract looks for, each of which it needs data of: as eng+deu.",
      }),
    },
    closed,
  ),
  memory: Type.Object(
    {
      limit_mb: Type.Integer({
        env: "TRAWL_MEMORY_MB",
        default: 0,
        minimum: 0,
        maximum: 1_048_576,
        description:
          "Megabytes of bodies that this node holds in memory at once; at the limit work waits, then is refused with domain_busy. At least 64; 0: a quarter of the heap limit, at most an eighth of the memory.",
      }),
      cache_mb: Type.Integer({
        env: "TRAWL_CACHE_MB",
        default: 64,
        minimum: 16,
        maximum: 65_536,
        description:
          "Megabytes of the caches in this node's memory together: responses, records of pages, answers of actors, feeds and lists of filings.",
      }),
    },
    closed,
  ),
  cluster: Type.Object(
    {
      bus: textSetting({
        env: "TRAWL_BUS",
        default: "memory",
        shared: true,
        rule: BUS,
        description: "Message bus: memory for one process, or nats://host:4222[,…][/name] for several nodes.",
      }),
      roles: Type.Array(Type.Enum(["gateway", "worker", ...TIERS]), {
        env: "TRAWL_ROLES",
        default: ["gateway", "worker", "browser"],
        minItems: 1,
        description:
          "What this node runs: the HTTP API (gateway), actors and every configured tier but the browser (worker), Chromium (browser); direct, archive, proxy and proxy_render alone make a node that only sends for workers.",
      }),
      partitions: Type.Integer({
        env: "TRAWL_PARTITIONS",
        default: MIN_PARTITIONS,
        rule: PARTITIONS,
        description:
          "Into how many partitions a new cluster is divided, each of which one worker owns: more workers than that have no site. A cluster keeps its number; `trawl cluster rebuild --partitions` changes it. Each partition costs two consumers of NATS: use up to 1,024.",
      }),
      status_port: Type.Integer({
        env: "TRAWL_STATUS_PORT",
        default: 0,
        minimum: 0,
        maximum: 65_535,
        description:
          "The port on which a node of a cluster answers /health, /ready and /metrics for itself; 0 takes any free port.",
      }),
      start_wait_s: Type.Integer({
        env: "TRAWL_START_WAIT_S",
        default: 30,
        minimum: 0,
        maximum: 3_600,
        description:
          "Seconds for which a node that starts tries to reach NATS and its stores; then it ends with an error. An engine that refuses ends it at once.",
      }),
    },
    closed,
  ),
  egress: Type.Object(
    {
      allow: listSetting({
        env: "TRAWL_EGRESS_ALLOW",
        shared: true,
        rule: NETWORK,
        description:
          "Networks or single addresses that SSRF protection allows although they are private (intranets, tests): to all projects while there is one customer, else to those of TRAWL_EGRESS_ALLOW_PROJECTS. Metadata services of clouds stay refused.",
      }),
      allow_projects: listSetting({
        env: "TRAWL_EGRESS_ALLOW_PROJECTS",
        shared: true,
        description:
          "Projects that may reach TRAWL_EGRESS_ALLOW although there are several customers; * for all. `trawl project allow-network` gives a project networks of its own.",
      }),
      dns_servers: listSetting({
        env: "TRAWL_DNS_SERVERS",
        rule: RESOLVER,
        description: "DNS resolvers as ip[:port], used for every outgoing request; default: the system's.",
      }),
      ca_file: optionalSetting({
        env: "TRAWL_CA_FILE",
        description:
          "A file of certificates (PEM) that outgoing requests trust beside the public authorities (intranets, tests).",
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
      name: textSetting({
        env: "TRAWL_CRAWLER_NAME",
        default: "trawl",
        shared: true,
        rule: CRAWLER,
        description: "The crawler's name in robots.txt and in the User-Agent where it declares itself.",
      }),
      url: optionalSetting({
        env: "TRAWL_CRAWLER_URL",
        shared: true,
        rule: WEB,
        description:
          "Where the crawler is explained to owners of sites, for example this service's /crawler: named in the User-Agent where it declares itself, which pages of crawls do then as well.",
      }),
      contact: optionalSetting({
        env: "TRAWL_CRAWLER_CONTACT",
        shared: true,
        description:
          "How owners of sites reach the operator, shown at /crawler: an e-mail address for example.",
      }),
      max_pages: Type.Integer({
        env: "TRAWL_CRAWL_MAX_PAGES",
        default: 100_000,
        // The default of Firecrawl's API.
        minimum: 10_000,
        maximum: MAX_GROWN_ITEMS,
        shared: true,
        description:
          "The largest `limit` of a crawl. A crawl lists ten times its limit of addresses, 2,000,000 at most; each takes up to 24 bytes of memory on the node of the crawl.",
      }),
      page_robots: Type.Enum(["obey", "ignore"], {
        env: "TRAWL_PAGE_ROBOTS",
        default: "obey",
        shared: true,
        description:
          "obey: crawls follow no link of a page whose robots element or X-Robots-Tag says nofollow, and the built-in search finds no page with noindex; ignore: what pages say is only told.",
      }),
    },
    closed,
  ),
  profiles: Type.Object(
    {
      hosts: listSetting({
        env: "TRAWL_PROFILES_HOSTS",
        default: ["northdata.com", "northdata.de"],
        shared: true,
        agreed: true,
        rule: HOST_NAME,
        description: "The domains of the profile site, the canonical one first.",
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
  tracing: Type.Object(
    {
      endpoint: optionalSetting({
        env: "OTEL_EXPORTER_OTLP_ENDPOINT",
        rule: WEB,
        description:
          "The OpenTelemetry collector that gets traces (OTLP over HTTP, protobuf), without /v1/traces; its other OTEL_EXPORTER_OTLP_* variables hold as well.",
      }),
      service_name: textSetting({
        env: "OTEL_SERVICE_NAME",
        default: "trawl",
        description: "The name of the service in traces.",
      }),
      sampled_share: textSetting({
        env: "OTEL_TRACES_SAMPLER_ARG",
        default: "1",
        rule: SHARE,
        description:
          "The share of traces that is sent, from 0 to 1; a caller that sends a traceparent decides for its own.",
      }),
    },
    closed,
  ),
  client: Type.Object(
    {
      url: optionalSetting({
        env: "TRAWL_URL",
        rule: WEB,
        description:
          "For client commands such as trawl fetch: the service's address; default from HOST and PORT.",
      }),
      key: optionalSetting({
        env: "TRAWL_KEY",
        secret: true,
        description: "For client commands such as trawl fetch: the API key.",
      }),
      profile: optionalSetting({
        env: "TRAWL_PROFILE",
        rule: PROFILE,
        description: "For client commands: the profile of trawl login whose address and key they take.",
      }),
    },
    closed,
  ),
};

export type NodeConfig = { readonly [S in keyof typeof NODE_SECTIONS]: Static<(typeof NODE_SECTIONS)[S]> };
