/** The settings of the service. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Config, readConfig, SETTINGS, settingRows } from "../../ops/config.ts";
import { masked } from "../../ops/settings-reader.ts";

/** Every mistake the configuration makes, without its first line. */
function mistakes(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
    return [];
  } catch (problem) {
    return (problem as Error).message.split("\n").slice(1);
  }
}

describe("an empty environment", () => {
  test("is the embedded default", () => {
    expect(readConfig({})).toEqual({
      gateway: { port: 8080, http_server: "auto", host: "127.0.0.1", metrics_allow: [], trusted_proxies: [] },
      storage: {
        data_dir: "./data",
        documents: "sqlite",
        blobs: "file",
        durability: "power",
        s3_small_bodies: "single",
      },
      memory: { limit_mb: 0, cache_mb: 64 },
      cluster: {
        bus: "memory",
        roles: ["gateway", "worker", "browser"],
        partitions: 64,
        status_port: 0,
        start_wait_s: 30,
      },
      egress: { allow: [], allow_projects: [], dns_servers: [] },
      politeness: { min_delay_ms: 500, max_concurrency: 2 },
      audit: { requests: "off" },
      crawler: { name: "trawl", max_pages: 100_000, page_robots: "obey" },
      search: { searxng_urls: [], local_index: "project", fallback_price: "0.005" },
      tiers: {
        archive_url: "https://web.archive.org",
        prices: ["proxy=0.002", "proxy_render=0.005"],
        capacities: [],
      },
      alternates: {
        guardian_url: "https://content.guardianapis.com",
        unpaywall_url: "https://api.unpaywall.org/v2",
        common_crawl_url: "none",
        common_crawl_data_url: "https://data.commoncrawl.org",
      },
      model: { concurrency: 4 },
      filings: {
        data_url: "https://data.sec.gov",
        www_url: "https://www.sec.gov",
        search_url: "https://efts.sec.gov",
        requests_per_second: 8,
        egress: "default",
      },
      profiles: { hosts: ["northdata.com", "northdata.de"] },
      profile_site: { enabled: "off" },
      companies: {
        gleif_url: "https://api.gleif.org/api/v1",
        zefix_url: "https://www.zefix.admin.ch/ZefixPublicREST",
        companies_house_url: "https://api.company-information.service.gov.uk",
        brreg_url: "https://data.brreg.no/enhetsregisteret/api",
        prh_url: "https://avoindata.prh.fi/opendata-ytj-api/v3",
        recherche_entreprises_url: "https://recherche-entreprises.api.gouv.fr",
        krs_url: "https://api-krs.ms.gov.pl/api/krs",
        openfigi_url: "https://api.openfigi.com/v3",
        profiles: "off",
        import_schedule: "",
        people_retention_days: 30,
      },
      demo: { pages: "on" },
      status: { period_s: 15 },
      log: { level: "info" },
      runtime: { node: "pinned", warm_readers: "on", ocr: "off", ocr_languages: "eng" },
      tracing: { service_name: "trawl", sampled_share: "1" },
      invoices: { seller_address: [], tax_name: "VAT", due_days: 30 },
      client: {},
      wacz: {},
    } satisfies Config);
  });

  test("is frozen all the way down", () => {
    const config = readConfig({});
    expect([config, config.gateway, config.cluster.roles].every(Object.isFrozen)).toBe(true);
  });

  test("counts a variable that is empty as not there, and others' variables as none of ours", () => {
    expect(readConfig({ PORT: "", TRAWL_BUS: "", HOME: "/root", NODE_ENV: "x" })).toEqual(readConfig({}));
  });
});

describe("a variable", () => {
  test.each([
    [{ PORT: "0" }, (config: Config) => config.gateway.port, 0],
    [{ TRAWL_ROLES: "worker, browser" }, (config: Config) => config.cluster.roles, ["worker", "browser"]],
    [
      { TRAWL_EGRESS_ALLOW: "10.0.0.0/8,fd00::/8,192.168.1.7,fd00::7" },
      (config: Config) => config.egress.allow,
      ["10.0.0.0/8", "fd00::/8", "192.168.1.7", "fd00::7"],
    ],
    [
      { TRAWL_DNS_SERVERS: "192.0.2.1:5353,[2001:db8::1]:53,2001:db8::2" },
      (config: Config) => config.egress.dns_servers,
      ["192.0.2.1:5353", "[2001:db8::1]:53", "2001:db8::2"],
    ],
    [
      { TRAWL_BUS: "nats://a:4222,nats://b:4222" },
      (config: Config) => config.cluster.bus,
      "nats://a:4222,nats://b:4222",
    ],
    [{ TRAWL_ARCHIVE_URL: "none" }, (config: Config) => config.tiers.archive_url, "none"],
    [{ TRAWL_ARCHIVE_URL: "imports" }, (config: Config) => config.tiers.archive_url, "imports"],
    [
      { TRAWL_PROXY_URL: "http://user-{session}-{country}:pw@proxy.example:8000" },
      (config: Config) => config.tiers.proxy_url,
      "http://user-{session}-{country}:pw@proxy.example:8000",
    ],
    [{ TRAWL_LOG_LEVEL: "silent" }, (config: Config) => config.log.level, "silent"],
    [
      { TRAWL_FILINGS_IDENTITY: "Company & Sons, Ltd. contact@mail.company.co.uk" },
      (config: Config) => config.filings.identity,
      "Company & Sons, Ltd. contact@mail.company.co.uk",
    ],
    [
      {
        TRAWL_FILINGS_IDENTITY: "Tests tests@example.com",
        TRAWL_FILINGS_DATA_URL: "http://127.0.0.1:1",
        TRAWL_FILINGS_WWW_URL: "http://127.0.0.1:2",
        TRAWL_FILINGS_SEARCH_URL: "http://127.0.0.1:3",
      },
      (config: Config) => config.filings.identity,
      "Tests tests@example.com",
    ],
    [
      { TRAWL_DOCUMENTS: "mongodb://h/trawl" },
      (config: Config) => config.storage.documents,
      "mongodb://h/trawl",
    ],
  ] as const)("%j is read", (environment, of, value) => {
    expect(of(readConfig(environment))).toEqual(value);
  });

  test.each([
    [{ PORT: "http" }, 'PORT must be integer, not "http"'],
    [{ PORT: "65536" }, "PORT must be <= 65535"],
    [{ TRAWL_POLITE_CONCURRENCY: "0" }, "TRAWL_POLITE_CONCURRENCY must be >= 1"],
    [{ TRAWL_ROLES: "worker,cook" }, "TRAWL_ROLES must be equal to one of the allowed values"],
    [{ TRAWL_ROLES: "," }, "TRAWL_ROLES must not have fewer than 1 items"],
    [
      { TRAWL_EGRESS_ALLOW: "10.0.0" },
      'TRAWL_EGRESS_ALLOW must be networks as 10.0.0.0/8 or fd00::/8, or single addresses, not "10.0.0"',
    ],
    [{ TRAWL_DNS_SERVERS: "dns.example" }, "TRAWL_DNS_SERVERS must be addresses"],
    [{ TRAWL_DNS_SERVERS: "192.0.2.1:0" }, "TRAWL_DNS_SERVERS must be addresses"],
    [
      { TRAWL_BUS: "redis://h" },
      'TRAWL_BUS must be memory, or nats://host:4222[/name], several with commas between, not "redis://h"',
    ],
    [{ TRAWL_BLOBS: "s3:bucket" }, "TRAWL_BLOBS must be file, file:PATH or s3://bucket/prefix"],
    [{ TRAWL_CRAWLER_NAME: "trawl/1.0" }, "TRAWL_CRAWLER_NAME must be a robots.txt name"],
    [{ TRAWL_CRAWLER_URL: "example.org/crawler" }, "TRAWL_CRAWLER_URL must be an http or https address"],
    ...[
      "me",
      "contact@company.com",
      "Company name",
      "Company http://company.com contact@company.com",
      "Company contact@company.com other@company.com",
      "Company contact@company",
      "Company\u0007 contact@company.com",
      "Größe contact@company.com",
    ].map((identity): [Record<string, string>, string] => [
      { TRAWL_FILINGS_IDENTITY: identity },
      'TRAWL_FILINGS_IDENTITY must be a company name and an e-mail address, as "Company name contact@company.com"',
    ]),
    [
      { TRAWL_FILINGS_IDENTITY: "Company name contact@company.example" },
      "TRAWL_FILINGS_IDENTITY must be an e-mail address that is read",
    ],
    [
      { TRAWL_FILINGS_IDENTITY: "Company name contact@example.com" },
      "TRAWL_FILINGS_IDENTITY must be an e-mail address that is read",
    ],
    [
      { TRAWL_LLM_URL: "http://h/v1", TRAWL_LLM_PRICE_IN: "0", TRAWL_LLM_PRICE_OUT: "0" },
      "TRAWL_LLM_MODEL is needed with TRAWL_LLM_URL: the model's name",
    ],
    [
      { TRAWL_LLM_URL: "http://h/v1", TRAWL_LLM_MODEL: "m", TRAWL_LLM_PRICE_OUT: "1.60" },
      "TRAWL_LLM_PRICE_IN is needed with TRAWL_LLM_URL: US dollars for a million tokens, or 0",
    ],
    [
      { TRAWL_LLM_URL: "http://h/v1", TRAWL_LLM_MODEL: "m", TRAWL_LLM_PRICE_IN: "0.40" },
      "TRAWL_LLM_PRICE_OUT is needed with TRAWL_LLM_URL",
    ],
    [{ TRAWL_LLM_PRICE_IN: "cheap" }, "TRAWL_LLM_PRICE_IN must be an amount as 0.40"],
    [{ TRAWL_FILINGS_RPS: "0" }, "TRAWL_FILINGS_RPS must be >= 1"],
    [{ TRAWL_FILINGS_RPS: "11" }, "TRAWL_FILINGS_RPS must be <= 10"],
    [{ TRAWL_FILINGS_EGRESS: "two words" }, "TRAWL_FILINGS_EGRESS must be a name of letters"],
    [{ TRAWL_PUBLIC_URL: "ftp://x" }, "TRAWL_PUBLIC_URL must be an http or https address"],
    [{ TRAWL_ADMIN_KEY: "sk_0123456789abcdefghijk" }, 'TRAWL_ADMIN_KEY must be "ak_" and 17 to 200'],
    [{ TRAWL_FOO: "1" }, "TRAWL_FOO is not a setting"],
    [{ TRAWL_POLITE_DELAY: "1" }, "TRAWL_POLITE_DELAY is not a setting; did you mean TRAWL_POLITE_DELAY_MS?"],
    [{ TRAWL_DATADIR: "x" }, "TRAWL_DATADIR is not a setting; did you mean TRAWL_DATA_DIR?"],
    [{ TRAWL_DOCUMENT: "x" }, "TRAWL_DOCUMENT is not a setting; did you mean TRAWL_DOCUMENTS?"],
  ])("%j is refused", (environment, sentence) => {
    const [first, ...others] = mistakes(environment);
    expect(first).toContain(sentence);
    expect(others).toEqual([]);
  });

  test("several mistakes are reported at once", () => {
    const wrong = { PORT: "x", TRAWL_ROLES: "cook", TRAWL_BUS: "redis://h", TRAWL_FOO: "1" };
    expect(
      mistakes(wrong)
        .map((line) => line.split(" ")[0]!)
        .toSorted(),
    ).toEqual(Object.keys(wrong).toSorted());
  });
});

describe("a secret", () => {
  const files: Record<string, string> = { "/run/key": "ak_0123456789abcdefghijk\n" };
  const readFile = (path: string): string => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    return content;
  };

  test("may come as a file", () => {
    expect(readConfig({ TRAWL_ADMIN_KEY_FILE: "/run/key" }, readFile).gateway.admin_key).toBe(
      "ak_0123456789abcdefghijk",
    );
    expect(() => readConfig({ TRAWL_ADMIN_KEY_FILE: "/run/none" }, readFile)).toThrow(
      'TRAWL_ADMIN_KEY_FILE cannot be read from "/run/none": ENOENT',
    );
    expect(() =>
      readConfig({ TRAWL_ADMIN_KEY_FILE: "/run/key", TRAWL_ADMIN_KEY: files["/run/key"] }, readFile),
    ).toThrow("both given");
  });

  test("that is no secret may not", () => {
    expect(mistakes({ TRAWL_BUS_FILE: "/run/bus" })[0]).toContain("TRAWL_BUS_FILE is not a setting");
  });

  test("is never shown, neither as a setting nor in an address nor in a mistake", () => {
    const environment = {
      TRAWL_ADMIN_KEY: "ak_verysecretverysecret",
      TRAWL_RENDER_KEY: "verysecret",
      TRAWL_PROXY_URL: "http://user:verysecret@proxy.example:8000/?token=verysecret&a=1",
      TRAWL_DOCUMENTS: "mongodb://u:verysecret@h1,h2/db?authSource=admin&tlsKeyPassword=verysecret",
      TRAWL_BUS: "nats://u:verysecret@h1,nats://u:verysecret@h2",
      AWS_SECRET_ACCESS_KEY: "verysecret",
    };
    const text = JSON.stringify(settingRows(readConfig(environment), environment));
    expect(text).not.toContain("verysecret");
    expect(text).toContain("h1,nats://***@h2");
    const wrong = mistakes({
      TRAWL_ADMIN_KEY: "verysecret",
      TRAWL_DOCUMENTS: "mysql://u:verysecret@h",
      TRAWL_BUS: "amqp://u:verysecret@h",
    });
    expect([wrong.length, JSON.stringify(wrong).includes("verysecret")]).toEqual([3, false]);
    expect(masked("http://a.example/@b")).toBe("http://a.example/@b");
  });
});

test("an e-mail address is shown with its name masked", () => {
  const environment = { TRAWL_FILINGS_IDENTITY: "Company name contact@company.com" };
  const line = settingRows(readConfig(environment), environment).find(
    ({ variable }) => variable === "TRAWL_FILINGS_IDENTITY",
  );
  expect(line?.value).toBe("Company name c***@company.com");
});

test("marks the values that were set", () => {
  const environment = { PORT: "81" };
  const lines = settingRows(readConfig(environment), environment);
  expect(
    lines.filter(({ from }) => from === "environment").map(({ variable, value }) => [variable, value]),
  ).toEqual([["PORT", "81"]]);
  expect(lines).toHaveLength(SETTINGS.length);
});

const SPECIFICATION = "../shared/spec";
test.skipIf(!existsSync(SPECIFICATION))(
  `knows every variable of the specification (${SPECIFICATION})`,
  () => {
    const files = readdirSync(SPECIFICATION).filter((file) => file.endsWith(".md"));
    const text = files.map((file) => readFileSync(join(SPECIFICATION, file), "utf8")).join("\n");
    const rows = text.split("\n").filter((line) => line.startsWith("| `"));
    const variables = rows
      .flatMap((row) => row.split("|")[1]!.match(/[A-Z][A-Z0-9_]*/g) ?? [])
      .filter((name) => /^(TRAWL_|S3_)|^(PORT|HOST)$/.test(name));
    expect(variables.length).toBeGreaterThan(25);
    const known = new Set(SETTINGS.map(({ env }) => env));
    expect(variables.filter((name) => !known.has(name))).toEqual([]);
  },
);
