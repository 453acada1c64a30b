/** Words for machines: the guides as Markdown, their lists, and the samples of the API documents. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { PROVOKED } from "../../gateway/documentation/errors.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const run = promisify(execFile);
const KINDS = ["openapi", "openapi-operator", "openapi-pages"];
/** The batches of the samples have one key, which names the first of them. */
const CONFLICTS = /^batch/;

interface Sampled {
  readonly operationId: string;
  readonly responses: object;
  readonly "x-codeSamples": readonly {
    readonly lang: string;
    readonly label: string;
    readonly source: string;
  }[];
}

describe.each(SETUPS)("words for machines, $setup", ({ start }) => {
  const { service } = scenario(start);
  const get = async (path: string) => service.call("GET", path, { key: null });

  test("every guide that is listed is there, as it stands in docs/", async () => {
    const { status, headers, bytes } = await get("/llms.txt");
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
    const text = bytes.toString();
    expect(text).toMatch(/^# Trawl\n\n> /);
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => new URL(url!));
    expect(links.every(({ origin }) => origin === service.url)).toBe(true);
    const guides = links.map(({ pathname }) => pathname).filter((path) => path.endsWith(".md"));
    expect(guides.slice(0, 2)).toEqual(["/docs/api/README.md", "/docs/api/accounts.md"]);
    expect(guides).toEqual(expect.arrayContaining(["/docs/api/firecrawl.md", "/docs/concepts.md"]));
    for (const path of guides) {
      const guide = await get(path);
      expect([guide.status, guide.headers["content-type"]]).toEqual([200, "text/markdown; charset=utf-8"]);
      expect(guide.bytes.toString()).toBe(readFileSync(path.slice(1), "utf8"));
    }
    expect(text).toMatch(/- \[[^\]]+\]\(\S+\/docs\/api\/firecrawl\.md\): `\/v2` is the API/);
    const whole = (await get("/llms-full.txt")).bytes.toString();
    for (const path of guides)
      expect([path, whole.includes(readFileSync(path.slice(1), "utf8").trim())]).toEqual([
        path,
        path.startsWith("/docs/api/"),
      ]);
  });

  test.each([
    "/docs/nothing.md",
    "/docs/api/nothing.md",
    "/docs/%2e%2e/README.md",
    "/docs/api/..%2f..%2fREADME.md",
  ])("%s is no guide", async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  test.each(Object.entries(PROVOKED))(
    "the page of %s shows a request that ends with it",
    async (code, [path, body]) => {
      const page = (await get(`/docs/errors/${code}.md`)).bytes.toString();
      expect(page).toContain(`curl ${service.url}${path} `);
      expect((await service.call("POST", path, { body })).json.error).toBe(code);
    },
  );

  test("each sample is a request that its operation takes", async () => {
    const documents = await Promise.all(KINDS.map(async (name) => (await get(`/${name}.json`)).json));
    const operations: Sampled[] = documents.flatMap(({ paths }) =>
      Object.values<object>(paths).flatMap((methods) => Object.values(methods) as Sampled[]),
    );
    const env = { PATH: process.env["PATH"]!, TRAWL_KEY: service.key };
    const odd: unknown[] = [];
    for (const { operationId, responses, "x-codeSamples": samples } of operations) {
      const [sample] = samples;
      expect([operationId, sample!.lang, sample!.label]).toEqual([operationId, "Shell", "curl"]);
      const command = `${sample!.source} -s -m 60 -o /dev/null -w '%{http_code}'`;
      const { stdout } = await run("sh", ["-c", command], { env });
      const status = Number(stdout);
      const isTaken =
        status < 300 ||
        [403, 404, 503].includes(status) ||
        (status === 409 && CONFLICTS.test(operationId)) ||
        // It wants the key in the browser's own way.
        (status === 401 && operationId === "debugRecord");
      if (!isTaken || !(String(status) in responses)) odd.push([operationId, status, sample!.source]);
    }
    expect(odd).toEqual([]);
  });
});
