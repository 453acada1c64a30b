/** A deprecated operation says so in each of its answers and in the API document, and still works. */
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { type Deprecation, deprecationHeaders } from "../../gateway/deprecation.ts";
import { openapi } from "../../gateway/openapi/document.ts";
import { type Answer, openRoute, route } from "../../gateway/route.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const DEPRECATION: Deprecation = {
  since: "2026-11-26",
  sunset: "2027-05-27",
  page: "/docs/api/fetch",
  successor: "/v1/fetch",
};
const LINK =
  '</docs/api/fetch>; rel="deprecation"; type="text/html", </docs/api/fetch>; rel="sunset"; type="text/html", </v1/fetch>; rel="successor-version"';
const SAID = {
  deprecation: "@1795651200",
  sunset: "Thu, 27 May 2027 00:00:00 GMT",
  link: LINK,
};

const described = (path: string, deprecated?: Deprecation) => ({
  method: "GET" as const,
  path,
  operationId: path.slice(1),
  summary: "An operation",
  tags: ["pages"],
  replies: { 200: { description: "Done" } },
  ...(deprecated && { deprecated }),
});
const handle = (): Answer => ({ status: 200, headers: { "X-Own": "1" } });
const deprecated = openRoute({ ...described("/old", DEPRECATION), handle });
const endless = openRoute({
  ...described("/endless", { ...DEPRECATION, sunset: null, successor: null }),
  handle,
});
const current = openRoute({ ...described("/current"), handle });

const OLD_ROUTES = [
  deprecated,
  endless,
  current,
  route({ ...described("/keyed", DEPRECATION), handle }),
  openRoute({
    ...described("/linked", DEPRECATION),
    handle: () => ({ status: 200, headers: { Link: '</a>; rel="original"' } }),
  }),
  openRoute({
    ...described("/broken", DEPRECATION),
    handle: () => {
      throw new Error("A bug");
    },
  }),
];

describe("an answer of a deprecated operation", () => {
  test.each([
    ["/old", {}, 200, "1"],
    ["/keyed", {}, 200, "1"],
    ["/keyed", { key: null }, 401, undefined],
    ["/broken", {}, 500, undefined],
  ])("of %s with %j has the header fields beside its own", async (path, options, status, own) => {
    const { call } = await gatewayHarness({ more: OLD_ROUTES });
    const answer = await call("GET", path, options);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(SAID);
    expect(answer.headers["x-own"]).toBe(own);
  });

  test("keeps the links of the answer", async () => {
    const { call } = await gatewayHarness({ more: OLD_ROUTES });
    const { headers } = await call("GET", "/linked");
    expect(headers["link"]).toBe(`</a>; rel="original", ${LINK}`);
  });

  test("names no end where none is decided", async () => {
    const { call } = await gatewayHarness({ more: OLD_ROUTES });
    const { headers } = await call("GET", "/endless");
    expect(headers["deprecation"]).toBe(SAID.deprecation);
    expect(headers["link"]).toBe('</docs/api/fetch>; rel="deprecation"; type="text/html"');
    expect(headers).not.toHaveProperty("sunset");
  });

  test("is told from one of an operation that stays", async () => {
    const { call } = await gatewayHarness({ more: OLD_ROUTES });
    const { status, headers } = await call("GET", "/current");
    expect(status).toBe(200);
    for (const name of Object.keys(SAID)) expect(headers).not.toHaveProperty(name);
  });
});

test("the API document marks the operation, and says in a sentence what to do", () => {
  const { paths } = openapi({
    routes: [deprecated, endless, current],
    public_url: "https://trawl.example",
    audience: "clients",
    references: [],
  }) as { paths: Record<string, { get: Operation }> };
  const { get } = paths["/old"]!;
  expect(get.deprecated).toBe(true);
  expect(get.description).toBe(
    "Deprecated since 2026-11-26, and may be gone from 2027-05-27 on: [what to do](/docs/api/fetch). Use `/v1/fetch`.\n\nAn operation.",
  );
  expect(Object.keys(get.responses["200"]!.headers)).toEqual([
    "X-Request-Id",
    "Deprecation",
    "Sunset",
    "Link",
  ]);
  expect(Object.keys(paths["/endless"]!.get.responses["200"]!.headers)).not.toContain("Sunset");
  expect(paths["/current"]!.get).not.toHaveProperty("deprecated");
});

test("a field that goes away alone is marked in the API document", () => {
  const query = Type.Object({
    q: Type.Optional(Type.String({ deprecated: true })),
    r: Type.Optional(Type.String()),
  });
  const { paths } = openapi({
    routes: [openRoute({ ...described("/current"), query, handle })],
    public_url: "https://trawl.example",
    audience: "clients",
    references: [],
  }) as { paths: Record<string, { get: Operation }> };
  expect(paths["/current"]!.get.parameters).toMatchObject([
    { name: "q", schema: { deprecated: true } },
    { name: "r", schema: { type: "string" } },
  ]);
  expect(paths["/current"]!.get.parameters[1]!.schema).not.toHaveProperty("deprecated");
});

interface Operation {
  readonly deprecated?: boolean;
  readonly description: string;
  readonly parameters: readonly { readonly name: string; readonly schema: object }[];
  readonly responses: Readonly<Record<string, { readonly headers: Readonly<Record<string, object>> }>>;
}

test.each([
  [{ since: "26.11.2026" }, '"26.11.2026" is no day like 2026-11-26'],
  [{ since: "2026-13-01" }, '"2026-13-01" is no day like 2026-11-26'],
  [{ sunset: "soon" }, '"soon" is no day like 2026-11-26'],
  [{ sunset: "2026-11-25" }, "The sunset 2026-11-25 is before the deprecation 2026-11-26"],
])("refuses %j (RFC 9745 §4)", (wrong, message) => {
  expect(() => deprecationHeaders({ ...DEPRECATION, ...wrong })).toThrow(message);
});
