/** Bugs of quotas and spending, and of refusals. */
import type { Mutant } from "./mutant.ts";

const quota = (name: string, find: string, replace: string): Mutant => ({
  name,
  file: "actors/business/accounts/quota.ts",
  find,
  replace,
  tests: ["test/actors/business/accounts", "test/sim/accounts.test.ts"],
});

export const ACCOUNTS: readonly Mutant[] = [
  quota(
    "gives the units of a dead holder back",
    "dead.reduce((sum, [, { units }]) => sum + units[category], quota.settled[category]),",
    "quota.settled[category],",
  ),
  quota("takes a slow holder for dead", "HOLDER_TTL_MS = 200_000", "HOLDER_TTL_MS = 2_000"),
  quota(
    "counts a repeated report twice",
    "const isRepeated = holder !== undefined && request.sequence <= holder.sequence;",
    "const isRepeated = false;",
  ),
  quota("grants what others hold", "- reserved[category] - held[category]);", "- held[category]);"),
  quota("grants more than is free", "return Math.min(free, requested + ahead);", "return requested + ahead;"),
  quota(
    "grants without a limit of holders",
    "const isRefused = holder === undefined &&",
    "const isRefused = false &&",
  ),
  {
    name: "refuses without saying when to ask again",
    file: "gateway/http-errors.ts",
    find: 'detail(503, message, { "Retry-After": String(retry_after_s) });',
    replace: "detail(503, message);",
    tests: ["test/gateway/server.test.ts"],
  },
];
