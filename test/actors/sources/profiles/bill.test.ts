/** The ledger's bill of a profile call. */
import { expect, test } from "vitest";
import { billOf } from "../../../../actors/sources/profiles/feature/routes.ts";
import { page, profilesWorld, SITE } from "../../../harness/profiles-harness.ts";

test("the row of a call has its error, its status and every attempt of its routes", async () => {
  const { run } = profilesWorld({
    proxy: () => page("No", { status: 403 }),
    proxy_render: () => page("No", { status: 404 }),
  });
  const answer = await run("profile", { url: `${SITE}/Kranwerk,+Musterstadt/HRB+12345` });
  expect(billOf({ answer, bodies: [], cost_micros: 7_000 })).toMatchObject({
    category: "profiles",
    ok: false,
    paid: true,
    detail: {
      status: 404,
      error: "not_found",
      reason: "http_404",
      attempts: [
        { tier: "proxy", status: 403, reason: "http_403" },
        { tier: "proxy_render", status: 404, reason: "http_404" },
      ],
    },
  });
});
