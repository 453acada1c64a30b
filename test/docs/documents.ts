/** The documents whose commands are run, and the blocks that no test can run, each with the reason. */

export interface Document {
  readonly file: string;
  /** World that its commands run against (test/scenarios/docs.test.ts). */
  readonly world: "plain" | "pages" | "model" | "filings" | "companies" | "profiles" | "nothing";
}

export const DOCUMENTS: readonly Document[] = [
  { file: "README.md", world: "pages" },
  { file: "docs/api/README.md", world: "plain" },
  { file: "docs/api/fetch.md", world: "pages" },
  { file: "docs/api/console.md", world: "plain" },
  { file: "docs/api/content.md", world: "pages" },
  { file: "docs/api/model.md", world: "model" },
  { file: "docs/api/search.md", world: "plain" },
  { file: "docs/api/sites.md", world: "pages" },
  { file: "docs/api/monitors.md", world: "pages" },
  { file: "docs/api/archives.md", world: "pages" },
  { file: "docs/api/jobs.md", world: "pages" },
  { file: "docs/api/filings.md", world: "filings" },
  { file: "docs/api/companies.md", world: "companies" },
  { file: "docs/api/profiles.md", world: "profiles" },
  { file: "docs/api/accounts.md", world: "plain" },
  { file: "docs/api/status.md", world: "plain" },
  { file: "docs/api/agents.md", world: "pages" },
  { file: "docs/api/firecrawl.md", world: "pages" },
  { file: "docs/commands.md", world: "pages" },
  { file: "docs/operating/README.md", world: "plain" },
  { file: "docs/operating/backup.md", world: "plain" },
  { file: "docs/operating/several-nodes.md", world: "nothing" },
  { file: "docs/operating/observing.md", world: "plain" },
  { file: "docs/operating/security.md", world: "plain" },
];

/** The first line of each block that says `not-run`, and why. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "npm start": "begins a service that ends with the terminal: test/scenarios/life.test.ts",
  'claude mcp add --transport http trawl https://trawl.example/mcp --header "Authorization: Bearer $TRAWL_KEY"':
    "a program that is not in the package registries",
  "pip install warcio": "a program that a checkout has not: test/scenarios/archives.test.ts",
  "trawl archive import intranet-2019.warc.gz":
    "a file of the reader: test/scenarios/archive-imports.test.ts",
  'curl http://127.0.0.1:8080/v1/jobs/01a1fed4-907e-7b74-91d6-4c82af9314ba/sinks -H "Authorization: Bearer $TRAWL_KEY" -d \'{':
    "a bucket, which is tried at once: test/scenarios/sinks.test.ts",
  "TRAWL_WACZ_CERT=/etc/trawl/chain.pem": "files of the operator: test/scenarios/archives.test.ts",
  "npm run docs": "starts a node of its own: test/scenarios/pages.test.ts",
  "pip install wacz authsign": "programs that a checkout has not: test/scenarios/archives.test.ts",
  "pip install wacz": "a program that a checkout has not: test/scenarios/archives.test.ts",
  "npm run check": "what CI runs (.ci/run)",
  "openapi-typescript http://127.0.0.1:8080/openapi.json --default-non-nullable=false":
    "programs that a checkout has not: test/scenarios/openapi.test.ts, where they are installed",
  "node ops/node.mjs --disable-warning=ExperimentalWarning test/harness/edgar.main.ts > edgar.env":
    "two terminals; the test starts the same simulator and the service",
  "node ops/node.mjs --disable-warning=ExperimentalWarning test/harness/profiles.main.ts > profiles.env":
    "two terminals; the test starts the same site and the service",
  "mkfifo names": "three terminals; the test runs the same program on such a pipe",
  "trawl login --url https://trawl.example --profile work":
    "asks for a key on a terminal: test/ops/cli.test.ts",
  "aws s3 sync s3://bucket/prefix s3://backup/monday":
    "tools of MongoDB and Amazon, which cannot be had from the package registries",
};
