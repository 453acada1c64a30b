/**
 * Looks at this machine, the engines and the network as `trawl doctor` reports them. It creates no store, takes no lock, and
 * sends one HEAD request to the web, and asks for the list of models where a language model is set. findings.ts has the rules.
 */
import { X509Certificate } from "node:crypto";
import { access, constants, readFile, statfs } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import { configuredChromium } from "../actors/crawl/tiers/feature/browser.ts";
import { destination } from "../actors/lib/web/destination.ts";
import { findTesseract } from "../actors/reading/adapters/ocr.tesseract.ts";
import { sandboxed } from "../actors/crawl/tiers/adapters/sandbox.ts";
import { listOfModels } from "../actors/crawl/fetch/model/list-of-models.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../cluster/adapters/egress/upstream-proxy.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { NodeDirectory } from "../cluster/ports/node-directory.ts";
import { chooseHttp } from "../gateway/adapters/choose-http.ts";
import type { BuildInfo } from "./build-info.ts";
import { topologyOf, topologyProblem } from "../node/topology.ts";
import type { Config } from "./config.ts";
import {
  certificateFinding,
  clockFinding,
  diskFinding,
  type Finding,
  memoryFinding,
  modelNameFinding,
  nodeFinding,
  off,
  ok,
  openFilesFinding,
  warning,
} from "./findings.ts";
import { engineWarnings } from "./engine-warnings.ts";
import { ownEndpoints, ownUrl } from "./own-endpoints.ts";
import { inspectStores } from "./store-identity.ts";
import { dataPath, embeddedFiles, openBlobs, storePlaces } from "./stores.ts";
import { readTlsPair, tlsPaths } from "./tls-files.ts";

export interface DoctorDeps {
  readonly config: Config;
  readonly build: BuildInfo;
  /** Versions of Node that the project is tested with. */
  readonly tested_nodes: readonly string[];
  readonly openDocuments: (config: Config) => Promise<Documents>;
  readonly openNodeDirectory: (config: Config) => Promise<NodeDirectory>;
  readonly now_ms: () => number;
}

const PROBE_MS = 10_000;
/** A Date field counts whole seconds. */
const DATE_STEP_MS = 1_000;

export async function examine(deps: DoctorDeps): Promise<readonly Finding[]> {
  const { config, build } = deps;
  const problem = topologyProblem(topologyOf(config), config.storage);
  return [
    ok("Trawl", `${build.version}${build.commit === null ? "" : `, commit ${build.commit}`}`),
    nodeFinding(process.version, deps.tested_nodes),
    await httpFinding(config),
    tlsFinding(deps),
    problem === null
      ? ok("roles", config.cluster.roles.join(", "))
      : warning("roles", problem, "Change the setting that it names"),
    ...(await engineFindings(deps)),
    ...engineWarnings(config),
    ...(await webFindings(deps)),
    await modelFinding(config),
    ...(await browserFindings(config)),
    ocrFinding(config),
    ...identityFindings(config),
    ...(await machineFindings(config)),
  ];
}

async function httpFinding({ gateway }: Config): Promise<Finding> {
  const { sentence } = await chooseHttp({
    isTls: gateway.tls_cert !== undefined,
    isNode: gateway.http_server === "node",
  });
  // The other server is slower and has everything.
  return ok("HTTP", sentence);
}

function tlsFinding({ config, now_ms }: DoctorDeps): Finding {
  try {
    const paths = tlsPaths(config.gateway);
    if (paths === null)
      return off(
        "TLS",
        "The API is served by HTTP",
        "TRAWL_TLS_CERT and TRAWL_TLS_KEY turn TLS on; a proxy in front may end it instead",
      );
    const { subjectAltName, subject, validTo } = new X509Certificate(readTlsPair(paths).cert);
    return certificateFinding(subjectAltName ?? subject, Date.parse(validTo), now_ms());
  } catch (problem) {
    return warning(
      "TLS",
      messageOf(problem),
      "Check that the two files are a pair that the user of the service can read",
    );
  }
}

const messageOf = (problem: unknown): string =>
  problem instanceof Error ? problem.message : String(problem);

/** The finding of something that opens, answers and is closed. */
async function reached<T extends { readonly close: () => Promise<void> }>(
  check: string,
  { open, look, advice }: { open: () => Promise<T>; look: (opened: T) => Promise<Finding>; advice: string },
): Promise<Finding> {
  try {
    const opened = await open();
    try {
      return await look(opened);
    } finally {
      await opened.close();
    }
  } catch (problem) {
    const cause = problem instanceof Fault && problem.cause ? ` (${messageOf(problem.cause)})` : "";
    return warning(check, messageOf(problem) + cause, advice);
  }
}

async function engineFindings({
  config,
  openDocuments,
  openNodeDirectory,
}: DoctorDeps): Promise<readonly Finding[]> {
  const { storage, cluster } = config;
  const files = embeddedFiles(config);
  const isNew = files !== null && !existsSync(files.documents);
  const documents = isNew
    ? ok("documents", `"${files.documents}" is created at the first start`)
    : await reached("documents", {
        open: () => openDocuments(config),
        async look(opened) {
          await opened.ping();
          return ok("documents", files === null ? "MongoDB answers" : `"${files.documents}" answers`);
        },
        advice:
          files === null
            ? "Check TRAWL_DOCUMENTS, and that MongoDB runs and is reached from here"
            : "Check TRAWL_DATA_DIR and that the user of the service owns it",
      });
  const bodies =
    files?.bodies != null && !existsSync(files.bodies)
      ? ok("bodies", `"${files.bodies}" is created at the first start`)
      : await reached("bodies", {
          open: () => openBlobs(config),
          async look(opened) {
            await opened.ping();
            return ok(
              "bodies",
              files?.bodies == null ? `${storage.blobs} answers` : `"${files.bodies}" answers`,
            );
          },
          advice: "Check TRAWL_BLOBS, S3_ENDPOINT and the AWS_ variables, and that the bucket exists",
        });
  const stores =
    documents.state === "ok" && bodies.state === "ok" && !isNew && existsOrRemote(files?.bodies ?? null)
      ? [await identityFinding(config, openDocuments)]
      : [];
  if (cluster.bus === "memory")
    return [documents, bodies, ...stores, off("bus", "TRAWL_BUS is memory: one process")];
  const bus = await reached("bus", {
    open: () => openNodeDirectory(config),
    async look(directory) {
      const nodes = await directory.nodes();
      const late = nodes.filter(
        ({ clock_skew_ms }) => clockFinding("", clock_skew_ms ?? 0, 0).state !== "ok",
      );
      if (late.length > 0)
        return warning(
          "bus",
          `NATS answers; the clocks of ${late.map(({ node }) => node).join(", ")} are away from the cluster's`,
          "Start NTP there",
        );
      const builds = new Set(nodes.map(({ version, commit }) => `${version} ${commit ?? ""}`.trim()));
      return builds.size > 1
        ? warning(
            "bus",
            `NATS answers; nodes of ${builds.size} versions run: ${[...builds].join(", ")}`,
            "Finish the update: trawl nodes shows which node has which",
          )
        : ok("bus", `NATS answers; ${nodes.length} nodes run`);
    },
    advice: "Check TRAWL_BUS, and that NATS 2.12 or newer with JetStream runs and is reached from here",
  });
  return [documents, bodies, ...stores, bus];
}

const existsOrRemote = (folder: string | null): boolean => folder === null || existsSync(folder);

/** Whether the bodies belong to the documents. */
const identityFinding = (config: Config, openDocuments: DoctorDeps["openDocuments"]): Promise<Finding> =>
  reached("stores", {
    open: () => openDocuments(config),
    async look(documents) {
      const blobs = await openBlobs(config);
      try {
        const belonging = await inspectStores({ documents, blobs, places: storePlaces(config) });
        if (belonging === null) return ok("stores", "Documents and bodies get one id at the next start");
        return belonging.kind === "one"
          ? ok("stores", "Documents and bodies carry the same id")
          : warning(
              "stores",
              belonging.problem,
              "docs/operating/runbook.md: The stores do not belong together",
            );
      } finally {
        await blobs.close();
      }
    },
    advice: "Check TRAWL_DOCUMENTS and TRAWL_BLOBS",
  });

/** A request to the web says whether names are resolved, whether requests leave, and what time others have. */
async function webFindings({ config, now_ms }: DoctorDeps): Promise<readonly Finding[]> {
  const { dns_servers, ca_file, allow } = config.egress;
  const { archive_url } = config.tiers;
  const url = URL.canParse(archive_url) ? archive_url : config.companies.gleif_url;
  const { host } = new URL(url);
  const ca = ca_file === undefined ? [] : [readFileSync(ca_file, "utf8")];
  const egress = undiciEgress({ judge: destination({ allow, own: ownEndpoints(config) }), dns_servers, ca });
  try {
    const sent_ms = now_ms();
    const signal = AbortSignal.timeout(PROBE_MS);
    const answer = await egress.exchange({ url, method: "HEAD", headers: [], signal });
    if (answer.kind === "failed") {
      const isName = answer.problem === "dns_error" || answer.problem === "dns_nxdomain";
      const resolvers = dns_servers.length > 0 ? dns_servers.join(", ") : "the system's resolver";
      return [
        ...(isName
          ? [
              warning(
                "DNS",
                `"${host}" is not resolved by ${resolvers} (${answer.problem})`,
                "Check TRAWL_DNS_SERVERS or /etc/resolv.conf, and that port 53 is open",
              ),
              off("egress", "No request was sent: no name was resolved"),
            ]
          : [
              ok("DNS", `"${host}" is resolved by ${resolvers}`),
              warning(
                "egress",
                `No answer from ${host} (${answer.problem})`,
                "Check the firewall and routes for outgoing requests (443), and TRAWL_CA_FILE where TLS is intercepted",
              ),
            ]),
        off("clock", "The clock was compared with none: no answer from the web", "Check it with timedatectl"),
      ];
    }
    answer.cancel();
    const { dns_ms, connect_ms, first_byte_ms } = answer.timings;
    const date_ms = Date.parse(answer.headers.get("date")?.[0] ?? "");
    const round_trip_ms = now_ms() - sent_ms;
    return [
      ok("DNS", `"${host}" is resolved in ${Math.round(dns_ms)} ms`),
      ok(
        "egress",
        `${host} answers with ${answer.status}: ${Math.round(connect_ms)} ms to connect, ${Math.round(first_byte_ms)} ms to the first byte`,
      ),
      Number.isNaN(date_ms)
        ? off("clock", `${host} does not say what time it is`, "Check it with timedatectl")
        : clockFinding(
            host,
            sent_ms + round_trip_ms / 2 - (date_ms + DATE_STEP_MS / 2),
            round_trip_ms / 2 + DATE_STEP_MS / 2,
          ),
    ];
  } finally {
    await egress.close();
  }
}

/** The list of models costs nothing, and says whether the address, the key and the name are right. */
async function modelFinding({ model, egress: { dns_servers, ca_file } }: Config): Promise<Finding> {
  const { url, key = null, name = "" } = model;
  if (url === undefined)
    return off(
      "language model",
      "TRAWL_LLM_URL is not set: extract takes rules, and no schema",
      "docs/api/model.md says how one is set up",
    );
  const ca = ca_file === undefined ? [] : [readFileSync(ca_file, "utf8")];
  const egress = undiciEgress({ judge: onlyTo(new URL(url)), dns_servers, ca });
  try {
    const answer = await listOfModels(egress, { url, key });
    return typeof answer === "string"
      ? warning(
          "language model",
          `${new URL(url).host} does not list its models: ${answer}`,
          "Check TRAWL_LLM_URL, TRAWL_LLM_KEY, and that its server runs and is reached from here",
        )
      : modelNameFinding(new URL(url).host, name, answer);
  } finally {
    await egress.close();
  }
}

async function browserFindings({ tiers, storage, cluster }: Config): Promise<readonly Finding[]> {
  if (!cluster.roles.includes("browser")) return [off("browser", 'This node has no role "browser"')];
  const inData = (name: string): string => dataPath(storage.data_dir, name);
  const found = configuredChromium(tiers, inData);
  if (found === null)
    return [
      off(
        "browser",
        "There is no Chromium: the route browser is not configured",
        "Install Chromium (apt-get install chromium-headless-shell, or chromium), or set TRAWL_CHROMIUM_PATH",
      ),
    ];
  const chromium = sandboxed(found, { setting: tiers.chromium_sandbox, folder: inData("chromium") });
  try {
    const state = await chromium.sandbox();
    return [
      ok("browser", found.sentence),
      state.is_on
        ? ok("sandbox", "The browser runs in its sandbox")
        : warning(
            "sandbox",
            `The browser runs without it: ${state.why}`,
            "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or the container's seccomp profile)",
          ),
    ];
  } catch (problem) {
    return [
      warning(
        "browser",
        `The route browser is off: ${messageOf(problem)}`,
        "Install Chromium with its libraries and fonts, or set TRAWL_CHROMIUM_PATH",
      ),
    ];
  } finally {
    await chromium.close();
  }
}

function ocrFinding({ runtime: { ocr, ocr_languages } }: Config): Finding {
  if (ocr === "off")
    return off(
      "OCR",
      "The text of scanned pages is not recognised",
      "TRAWL_OCR=tesseract turns it on where Tesseract is installed (apt-get install tesseract-ocr)",
    );
  try {
    return ok("OCR", `Tesseract has the data of ${findTesseract(ocr_languages).languages}`);
  } catch (problem) {
    return warning(
      "OCR",
      messageOf(problem),
      "Install Tesseract and the data of these languages, or set TRAWL_OCR=off",
    );
  }
}

function identityFindings({ gateway, filings, crawler, cluster }: Config): readonly Finding[] {
  const url = ownUrl(gateway);
  const isOpen = !["127.0.0.1", "::1", "localhost"].includes(gateway.host);
  return [
    filings.identity === undefined
      ? off(
          "identity",
          `The crawler is "${crawler.name}"; the filing system is off`,
          "TRAWL_FILINGS_IDENTITY turns it on",
        )
      : ok("identity", `The crawler is "${crawler.name}"; the filing system is told TRAWL_FILINGS_IDENTITY`),
    isOpen && gateway.public_url === undefined && cluster.roles.includes("gateway")
      ? warning(
          "address",
          `Clients are told ${url} in answers and callbacks`,
          "Set TRAWL_PUBLIC_URL to the address that they use",
        )
      : ok("address", `Clients are told ${gateway.public_url ?? url}`),
  ];
}

async function machineFindings({ storage }: Config): Promise<readonly Finding[]> {
  const data = resolve(storage.data_dir);
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => null);
  const memory_bytes = Math.min(process.constrainedMemory() || Infinity, totalmem());
  return [
    memoryFinding(memory_bytes, availableParallelism()),
    await diskOf("disk", data),
    await diskOf("temporary files", tmpdir()),
    openFilesFinding(limits),
  ];
}

/** Measures the disk of the folder, or of the one in which it will be created. */
async function diskOf(check: string, folder: string): Promise<Finding> {
  let place = folder;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  try {
    await access(place, constants.W_OK);
  } catch {
    return warning(
      check,
      `"${place}" cannot be written by this user`,
      "Give the folder to the user of the service",
    );
  }
  const { bavail, blocks, bsize } = await statfs(place);
  return diskFinding(check, place, bavail * bsize, blocks * bsize);
}
