/** trawl doctor: each finding's rule, and a whole examination of a machine with a name server and a site of the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../cluster/ports/fault.ts";
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import {
  certificateFinding,
  clockFinding,
  diskFinding,
  memoryFinding,
  fewFilesWarning,
  type Finding,
  nodeFinding,
  openFilesFinding,
} from "../../ops/findings.ts";
import { openDocuments } from "../../ops/stores.ts";
import { modelServer } from "../harness/model-server.ts";
import { type Web, web } from "../harness/web.ts";

const GIB = 2 ** 30;
const DAY_MS = 86_400_000;
const CERTIFICATE = new URL("../fixtures/egress/site.cert.pem", import.meta.url).pathname;
const ITS_KEY = new URL("../fixtures/egress/site.key.pem", import.meta.url).pathname;
const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}    20000  files\n`;

test("a node that may open fewer than 1,024 files warns at its start", () => {
  expect(fewFilesWarning(limits("1023"))).toContain("This process may open 1023 files only");
  expect(["1024", "unlimited"].map((soft) => fewFilesWarning(limits(soft)))).toEqual([null, null]);
});

describe("a finding", () => {
  test.each<[string, Finding, Finding["state"], string]>([
    [
      "a disk with room",
      diskFinding("disk", "/d", 50 * GIB, 100 * GIB),
      "ok",
      '"/d" has 50.0 GiB free (50 %)',
    ],
    ["a disk with little", diskFinding("disk", "/d", GIB, 10 * GIB), "warning", "1.0 GiB free"],
    ["a large disk nearly full", diskFinding("disk", "/d", 40 * GIB, 1_000 * GIB), "warning", "(4 %)"],
    ["a small machine", memoryFinding(GIB, 1), "warning", "1.0 GiB of memory, 1 core"],
    ["a laptop", memoryFinding(16 * GIB, 8), "ok", "8 cores"],
    ["few files", openFilesFinding(limits("1024")), "warning", "1024 files"],
    ["enough files", openFilesFinding(limits("65536")), "ok", "65536 files"],
    ["no limit of files", openFilesFinding(limits("unlimited")), "ok", "unlimited"],
    ["another system", openFilesFinding(null), "ok", "not known"],
    ["a clock that agrees", clockFinding("ntp", -300, 510), "ok", "agrees with ntp within 510 ms"],
    ["a clock a little away", clockFinding("ntp", 700, 510), "ok", "700 ms ahead of ntp"],
    ["a clock that is late", clockFinding("ntp", -3_000, 510), "warning", "3000 ms behind ntp"],
    [
      "a new certificate",
      certificateFinding("DNS:a.test", 90 * DAY_MS, 0),
      "ok",
      "DNS:a.test ends in 90 days",
    ],
    [
      "a certificate of last month",
      certificateFinding("DNS:a.test", 13 * DAY_MS, 0),
      "warning",
      "in 13 days",
    ],
    [
      "a certificate that is over",
      certificateFinding("DNS:a.test", 0, DAY_MS),
      "warning",
      "ended at 1970-01-01",
    ],
    ["the pinned Node", nodeFinding("v22.23.1", ["22.23.3"]), "ok", "v22.23.1"],
    [
      "another Node",
      nodeFinding("v23.1.0", ["22.23.3", "24.21.0"]),
      "warning",
      "tested with 22.23.3, 24.21.0",
    ],
  ])("%s", (_, { state, detail, advice }, expected, words) => {
    expect([state, detail]).toEqual([expected, expect.stringContaining(words)]);
    expect(advice === null).toBe(expected === "ok");
  });
});

describe("trawl doctor", () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-doctor-"));
  let sites: Web;
  let origin: string;
  beforeAll(async () => {
    sites = await web();
    origin = sites.site({ "/": { body: "home" } }).origin;
  });
  afterAll(async () => {
    await sites.close();
    rmSync(folder, { recursive: true });
  });

  /** `nodes`: the nodes of a cluster; null: NATS does not answer. */
  async function doctor(
    more: Record<string, string> = {},
    { ahead_ms = 0, nodes = null as readonly Partial<NodeReport>[] | null } = {},
  ) {
    const environment = {
      TRAWL_DATA_DIR: join(folder, "data"),
      TRAWL_DNS_SERVERS: sites.dns,
      TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
      TRAWL_ARCHIVE_URL: origin,
      TRAWL_CHROMIUM_PATH: "none",
      ...more,
    };
    const output = { out: "", err: "" };
    const code = await trawl(["doctor", "--json"], {
      environment,
      config: () => readConfig(environment),
      openDocuments,
      openNodeDirectory: async () => {
        if (nodes === null) throw new Fault("bus_unreachable", "Cannot connect to NATS");
        return { nodes: async () => nodes, close: async () => {} } as never;
      },
      now: () => Date.now() + ahead_ms,
      out: (line) => void (output.out += line),
      err: (line) => void (output.err += line),
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
    });
    const findings = JSON.parse(output.out) as Finding[];
    return { code, of: (check: string) => findings.find((finding) => finding.check === check), findings };
  }

  test("on a machine that has everything: one sentence each, exit code 0", async () => {
    const { code, of, findings } = await doctor();
    expect(findings.filter(({ state }) => state === "warning")).toEqual([]);
    expect(code).toBe(0);
    expect(of("documents")!.detail).toContain("is created at the first start");
    expect(of("egress")!.detail).toContain("answers with 200");
    expect(of("clock")!.detail).toContain("agrees with");
    expect(of("bus")).toMatchObject({ state: "off" });
    expect(of("browser")).toMatchObject({
      state: "off",
      advice: expect.stringContaining("Install Chromium"),
    });
    for (const { detail } of findings) expect(detail).not.toMatch(/\.$|\n/);
  });

  test("says what is wrong and what to do, exit code 1", async () => {
    const { code, of } = await doctor(
      { HOST: "0.0.0.0", TRAWL_ROLES: "worker", TRAWL_BUS: "memory" },
      { ahead_ms: 60_000 },
    );
    expect(code).toBe(1);
    expect(of("clock")).toMatchObject({ state: "warning", advice: expect.stringContaining("NTP") });
    expect(of("roles")).toMatchObject({ state: "warning", detail: expect.stringContaining("gateway") });
    const open = await doctor({ HOST: "0.0.0.0" });
    expect(open.of("address")).toMatchObject({
      state: "warning",
      advice: expect.stringContaining("TRAWL_PUBLIC_URL"),
    });
  });

  test("looks at the certificate of the API, and knows by which server and address it is served", async () => {
    const served = await doctor({ TRAWL_TLS_CERT: CERTIFICATE, TRAWL_TLS_KEY: ITS_KEY });
    expect(served.of("TLS")).toMatchObject({ state: "ok", detail: expect.stringContaining("DNS:site.test") });
    expect(served.of("HTTP")!.detail).toBe("HTTPS by node:http");
    expect(served.of("address")!.detail).toContain("https://127.0.0.1:");
    const other = await doctor({ TRAWL_TLS_CERT: CERTIFICATE, TRAWL_TLS_KEY: CERTIFICATE });
    expect([other.code, other.of("TLS")]).toMatchObject([
      1,
      { state: "warning", detail: expect.stringMatching(/^Cannot use the certificate ".*" with the key /) },
    ]);
    const half = await doctor({ TRAWL_TLS_CERT: CERTIFICATE });
    expect(half.of("TLS")).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("TRAWL_TLS_KEY"),
    });
    expect((await doctor()).of("TLS")).toMatchObject({ state: "off" });
  });

  test("asks the language model's server for its models, with the key that it needs", async () => {
    const model = await modelServer();
    const settings = {
      TRAWL_LLM_URL: model.url,
      TRAWL_LLM_KEY: "sk-canary",
      TRAWL_LLM_MODEL: "small",
      TRAWL_LLM_PRICE_IN: "0",
      TRAWL_LLM_PRICE_OUT: "0",
    };
    const finding = async (more: Record<string, string> = {}) => {
      const { findings, of } = await doctor({ ...settings, ...more });
      expect(JSON.stringify(findings)).not.toContain("sk-canary");
      return of("language model");
    };
    expect(await finding()).toMatchObject({
      state: "ok",
      detail: expect.stringMatching(/answers and has "small"$/),
    });
    expect(model.listed).toEqual(["Bearer sk-canary"]);
    expect(await finding({ TRAWL_LLM_MODEL: "large" })).toMatchObject({
      state: "warning",
      detail: expect.stringContaining('has no "large"'),
      advice: "Set TRAWL_LLM_MODEL to one of its models: small",
    });
    model.models.names = ["large:latest"];
    expect(await finding({ TRAWL_LLM_MODEL: "large" })).toMatchObject({ state: "ok" });
    model.models.status = 401;
    expect(await finding()).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("HTTP 401"),
      advice: expect.stringContaining("TRAWL_LLM_KEY"),
    });
    model.models.status = 404;
    expect(await finding()).toMatchObject({ state: "ok", detail: expect.stringContaining("no list") });
    await model.close();
    expect(await finding()).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("network_refused"),
    });
    expect((await doctor()).of("language model")).toMatchObject({ state: "off" });
    expect(model.requests).toEqual([]);
  });

  test("tells a name server that does not answer from a site that does not", async () => {
    const nameless = await doctor({ TRAWL_ARCHIVE_URL: "http://no.such.test" });
    expect(nameless.of("DNS")).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("no.such.test"),
    });
    expect(nameless.of("egress")).toMatchObject({ state: "off" });
    const refused = await doctor({ TRAWL_ARCHIVE_URL: "http://127.0.0.1:9" });
    expect(refused.of("DNS")).toMatchObject({ state: "ok" });
    expect(refused.of("egress")).toMatchObject({ state: "warning" });
    expect(refused.of("clock")).toMatchObject({ state: "off" });
  });

  test("reports engines that do not answer, late clocks and mixed versions of a cluster", async () => {
    const cluster = {
      TRAWL_BUS: "nats://127.0.0.1:4222",
      TRAWL_DOCUMENTS: "mongodb://127.0.0.1:9/x?serverSelectionTimeoutMS=200",
      TRAWL_BLOBS: "s3://bucket/prefix",
      S3_ENDPOINT: "http://127.0.0.1:9",
      AWS_REGION: "x",
      AWS_ACCESS_KEY_ID: "x",
      AWS_SECRET_ACCESS_KEY: "x",
    };
    const dead = await doctor(cluster);
    for (const check of ["documents", "bodies", "bus"])
      expect(dead.of(check)).toMatchObject({
        state: "warning",
        advice: expect.stringContaining("Check TRAWL_"),
      });
    const mixed = await doctor(cluster, {
      nodes: [
        { node: "a", version: "1", commit: "aa", clock_skew_ms: 3 },
        { node: "b", version: "2", commit: "bb", clock_skew_ms: null },
      ],
    });
    expect(mixed.of("bus")).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("2 versions"),
    });
    const late = await doctor(cluster, { nodes: [{ node: "a", version: "1", clock_skew_ms: -900 }] });
    expect(late.of("bus")).toMatchObject({
      state: "warning",
      detail: expect.stringContaining("the clocks of a are"),
    });
  });
});
