/** The documentation as pages: every link leads somewhere, nothing of a text becomes markup, requests are shown in the clients' languages. */
import { describe, expect, test } from "vitest";
import type { ApiDocument } from "../../gateway/documentation/api-document.ts";
import { renderMarkdown } from "../../gateway/documentation/markdown.ts";
import { documentation } from "../../gateway/documentation/pages.ts";
import { samplesIn } from "../../gateway/documentation/samples.ts";
import { searchIndex } from "../../gateway/documentation/search-index.ts";
import { apiDocument } from "../../ops/clients/api-document.ts";
import { guideFiles } from "../../ops/guide-files.ts";

const API = (await apiDocument()) as unknown as ApiDocument;
const documents = documentation({
  guides: guideFiles(),
  documents: () => [API],
  publicUrl: () => "https://trawl.example",
});
/** Pages of this service that are not of the documentation. */
const ELSEWHERE = new Set([
  "/changelog",
  "/llms.txt",
  "/llms-full.txt",
  "/openapi.json",
  "/openapi-operator.json",
]);
const nothing = { linkTo: () => null, samplesOf: () => [] };

const wayOf = (href: string): readonly [page: string, anchor: string | undefined] => {
  const [page = "", anchor] = href.split("#");
  return [page, anchor];
};

describe("the documentation", () => {
  test("has no link that leads nowhere", () => {
    const broken = documents.all.flatMap((page) => {
      const links = [...page.rendered().html.matchAll(/<a (?:class="anchor" )?href="([^"]*)"/g)].map(
        ([, href]) => href!,
      );
      return links
        .filter((href) => {
          if (/^(https?|mailto):/.test(href)) return false;
          const [path, anchor] = wayOf(href);
          if (ELSEWHERE.has(path)) return false;
          const target = path === "" ? page : documents.page(path.replace(/^\/docs\/?/, ""));
          if (!target) return true;
          return anchor !== undefined && !target.rendered().headings.some(({ id }) => id === anchor);
        })
        .map((href) => `${page.path}: ${href}`);
    });
    expect(broken).toEqual([]);
  });

  test("has a page for each operation with all fields of its body", () => {
    for (const [path, methods] of Object.entries(API.paths))
      for (const { operationId, requestBody } of Object.values(methods)) {
        const page = documents.page(`reference/${operationId}`);
        expect([operationId, page?.markdown.includes(path)]).toEqual([operationId, true]);
        for (const { schema } of Object.values(requestBody?.content ?? {})) {
          const shape = API.components.schemas[schema?.$ref?.split("/").at(-1) ?? ""] ?? schema;
          for (const name of Object.keys(shape?.properties ?? {}))
            expect(page!.markdown).toContain(`\`${name}\``);
        }
      }
  });

  test("names each page once in its menu and finds words by its index", async () => {
    const paths = documents.menu.flatMap(({ entries }) => entries.map(({ path }) => path));
    expect(new Set(paths).size).toBe(paths.length);
    expect(paths).toEqual(expect.arrayContaining(["api/fetch", "operating/backup", "reference", "errors"]));
    const text = JSON.stringify(await searchIndex(documents, async () => {}));
    expect(text).toContain("/docs/api/fetch#forms-of-a-page");
    expect(text).toContain("/docs/errors/politeness_timeout");
  });

  test("shows markup of its texts as text, and links to scripts not at all", () => {
    const { html } = renderMarkdown(
      "# <b>A</b>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) `<i>` ![<p>](y)\n\n```sh\n<u>\n```\n",
      nothing,
    );
    expect(html).not.toMatch(/<(script|b|i|u|p)>[^<]*(alert|A<)|javascript/);
    expect(html).toContain("&lt;script&gt;");
    expect(html).toContain("&lt;u&gt;");
  });

  test("blocks that follow each other in several languages are one with tabs", () => {
    const { html } = renderMarkdown(
      "```sh\ncurl x\n```\n\n```ts\nawait x;\n```\n\ntext\n\n```sh\nls\n```\n",
      nothing,
    );
    expect(html.match(/class="tabs"/g)).toHaveLength(1);
    expect([...html.matchAll(/data-label="(\w+)"/g)].map(([, label]) => label)).toEqual([
      "curl",
      "TypeScript",
    ]);
  });
});

describe("a curl command of a guide", () => {
  const samples = samplesIn(
    Object.entries(API.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        path,
        method: method.toUpperCase(),
      })),
    ),
    "https://trawl.example",
  );
  const HEAD = '-H "Authorization: Bearer $TRAWL_KEY"';

  test.each([
    [
      `curl http://127.0.0.1:8080/v1/fetch ${HEAD} -d '{"url": "https://a.example/", "render": "never"}'`,
      'trawl.fetch("https://a.example/", render="never")',
    ],
    [`curl ${HEAD} http://127.0.0.1:8080/v1/jobs/job_1`, 'trawl.job("job_1").status()'],
    [`curl -X DELETE ${HEAD} http://127.0.0.1:8080/v1/monitors/mon_1`, 'trawl.monitors.delete("mon_1")'],
    [`curl "http://127.0.0.1:8080/v1/companies/search?q=acme" ${HEAD}`, 'trawl.companies.search(q="acme")'],
  ])("%s", (command, python) => {
    const all = samples(command, "sh");
    expect(all.map(({ label }) => label)).toEqual(["curl", "TypeScript", "Python"]);
    expect(all[2]!.source).toContain(python);
  });

  test.each([
    ["./trawl fetch https://example.org/"],
    [`curl http://127.0.0.1:8080/v1/fetch ${HEAD} -d @body.json`],
    [`curl http://127.0.0.1:8080/v1/fetch ${HEAD} -d '{"url": }'`],
    [`curl -s http://127.0.0.1:8080/v1/quota ${HEAD} | jq .`],
  ])("%s has no other form", (command) => {
    expect(samples(command, "sh")).toEqual([]);
  });
});
