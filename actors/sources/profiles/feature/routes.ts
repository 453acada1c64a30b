/**
 * /v1/profiles: from a checked body to an operation of the service, and from its answer to JSON. A malformed url or
 * entity_id is part of the answer, with HTTP 200.
 */
import type { Node } from "../../../../cluster/node-record.ts";
import { type BatchKind, withoutDefaults } from "../../../../gateway/batch.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import { invalid, json, timedOut } from "../../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";
import { withDeadline, WAIT_MS } from "../../../../gateway/with-deadline.ts";
import { allowsPaid, type Bill } from "../../../../schemas/accounts.ts";
import {
  DiscoverAnswer,
  DiscoverBody,
  GraphAnswer,
  GraphBody,
  ProfileAnswer,
  ProfileBody,
  type ProfileFetch,
  type ProfileOp,
  type ProfilesAnswer,
  ProfilesItem,
  type StoredProfilesAnswer,
  SuggestAnswer,
  SuggestBody,
} from "../../../../schemas/profiles.ts";
import { CALL_MS } from "../limits.ts";
import type { ProfilesCall, ProfilesResult, ProfilesService } from "../service.ts";
import { PROFILE_ERRORS } from "../../../../schemas/errors.ts";
import { OneOf } from "../../../../schemas/common.ts";

const ERRORS =
  "Answers 200 also when there is no answer: read `error`, `error_detail` and `retry_after_s`. The site is asked over a " +
  "residential proxy or a rendering service only, at most two requests at once and one a second.";

export function profilesRoutes(
  deps: Pick<Node, "ask" | "clock" | "metrics" | "log"> & {
    readonly service: ProfilesService;
    readonly bodyGrants: BodyGrants;
  },
): readonly Route[] {
  const { service, ask, clock, log, bodyGrants, metrics } = deps;

  async function respond(call: Call, operation: ProfilesCall): Promise<Answer> {
    const { request_id, caller, signal, now_ms } = call;
    const { project, key, customer } = caller.grant;
    const profilesCaller = {
      project: project.name,
      key: key.prefix,
      lane: "sync",
      deadline_ms: now_ms + CALL_MS,
      id: request_id,
    } as const;
    const allowed = allowsPaid(key) ? operation : withoutPaid(operation);
    const result = await withDeadline({ clock, log }, { id: request_id, timeout_ms: WAIT_MS, signal }, () =>
      service(ask, allowed, profilesCaller),
    );
    if (result === null) return timedOut(request_id);
    // Granted before the answer names them.
    for (const body of result.bodies) await bodyGrants.record(project.name, body);
    const bill = billOf(result);
    metrics.count("trawl_profiles_answers_total", {
      operation: operation.op,
      outcome: result.answer.error ?? "ok",
      cached: String(bill.category === "profiles_cached"),
    });
    const shown = answerFor(result.answer, { request_id, external: customer.external });
    return { ...json(200, shown), bill };
  }

  const common = { tags: ["profiles"], category: "fetch", always_begins_work: true, method: "POST" } as const;
  return [
    route({
      ...common,
      path: "/v1/profiles/suggest",
      operationId: "suggestProfiles",
      summary: "Company names that the profile site suggests",
      description: `Companies only. ${ERRORS}`,
      body: SuggestBody,
      body_example: { query: "Kranwerk", country: "DE" },
      replies: {
        200: { description: "The companies, or in `error` why there are none", schema: SuggestAnswer },
      },
      handle: async (call) => respond(call, { op: "suggest", fields: call.body }),
    }),
    route({
      ...common,
      path: "/v1/profiles/discover",
      operationId: "discoverProfile",
      summary: "Find the profile of a company by its name",
      description:
        "The most similar suggestion, when it reaches min_similarity; otherwise the best address that up to four searches find. " +
        `A discovered profile can be a branch or a foreign registration: check its status and identifiers. ${ERRORS}`,
      body: DiscoverBody,
      body_example: { company_name: "Kranwerk Muster GmbH", headquarters: "Musterstadt", country: "DE" },
      replies: {
        200: { description: "The address, or in `error` why there is none", schema: DiscoverAnswer },
      },
      handle: async (call) => respond(call, { op: "discover", fields: call.body }),
    }),
    route({
      ...common,
      path: "/v1/profiles/profile",
      operationId: "getProfile",
      summary: "Read a company's profile and its network",
      description:
        "By `url`, or by `company_name` as discoverProfile finds it. A profile whose graph failed is answered all the same: read " +
        `\`graph_error\`. Pages are cached for a day, then confirmed by a conditional request. ${ERRORS}`,
      body: ProfileBody,
      body_example: { company_name: "Kranwerk Muster GmbH", country: "DE" },
      replies: {
        200: { description: "The profile, or in `error` why there is none", schema: ProfileAnswer },
      },
      handle: async (call) => {
        const { url, company_name } = call.body;
        if (url == null && company_name == null) return invalid([NO_SUBJECT]);
        return respond(call, { op: "profile", fields: call.body });
      },
    }),
    route({
      ...common,
      path: "/v1/profiles/graph",
      operationId: "getProfileGraph",
      summary: "Companies and persons connected with a company",
      description: `By the entity_id of a profile. ${ERRORS}`,
      body: GraphBody,
      body_example: { entity_id: "9000000001" },
      replies: {
        200: { description: "The connections, or in `error` why there are none", schema: GraphAnswer },
      },
      handle: async (call) => respond(call, { op: "graph", fields: call.body }),
    }),
  ];
}

const NO_SUBJECT = {
  loc: ["body"],
  msg: "Value error, url or company_name is needed",
  type: "value_error",
} as const;

/** The field that an operation needs. */
const NEEDED: Readonly<Record<ProfileOp, keyof ProfilesItem>> = {
  suggest: "query",
  discover: "company_name",
  profile: "url",
  graph: "entity_id",
};

export const opOf = ({ op = "profile" }: ProfilesItem): ProfileOp => op;

/** Null: the item can be run. */
export function checkProfilesItem(
  item: ProfilesItem,
): { readonly field: string; readonly message: string } | null {
  const op = opOf(item);
  const field = NEEDED[op];
  if (item[field] != null || (op === "profile" && item.company_name != null)) return null;
  const needed = op === "profile" ? "url or company_name" : field;
  return { field, message: `${op} needs ${needed}` };
}

export const profilesBatch = (): BatchKind => ({
  name: "profiles",
  item: ProfilesItem,
  item_example: { op: "profile", company_name: "Kranwerk Muster GmbH", country: "DE" },
  result: OneOf("ProfilesResult", "op", [SuggestAnswer, DiscoverAnswer, ProfileAnswer, GraphAnswer]),
  errors: { names: Object.keys(PROFILE_ERRORS) },
  category: "fetch",
  check: (item) => {
    const problem = checkProfilesItem(item as ProfilesItem);
    return problem && { ...problem, type: "invalid_item" };
  },
  normalize: (item, { grant: { key } }) => ({
    ...withoutDefaults(ProfilesItem, item),
    ...(!allowsPaid(key) && { allow_paid: false }),
  }),
  render: (_input, stored, reader) => answerFor(stored as StoredProfilesAnswer, reader),
});

const withoutPaid = (call: ProfilesCall): ProfilesCall =>
  ({ op: call.op, fields: { ...call.fields, allow_paid: false } }) as ProfilesCall;

const withoutCost = (fetch: ProfileFetch | null): ProfileFetch | null =>
  fetch && { ...fetch, cost_usd: null };

/** The answer to a client: an external customer sees no provider cost. */
export function answerFor(
  answer: StoredProfilesAnswer,
  { request_id, external }: { readonly request_id: string; readonly external: boolean },
): ProfilesAnswer {
  const shown = external ? priceless(answer) : answer;
  return { ...shown, request_id } as ProfilesAnswer;
}

function priceless(answer: StoredProfilesAnswer): StoredProfilesAnswer {
  switch (answer.op) {
    case "suggest":
    case "graph":
      return { ...answer, cost_usd: null, fetch: withoutCost(answer.fetch) };
    case "discover":
      return { ...answer, cost_usd: null, suggest_fetch: withoutCost(answer.suggest_fetch) };
    case "profile":
      return {
        ...answer,
        cost_usd: null,
        fetch: withoutCost(answer.fetch),
        graph_fetch: withoutCost(answer.graph_fetch),
      };
  }
}

export const billOf = ({ answer, cost_micros }: ProfilesResult): Bill => ({
  category: answer.billing_category,
  ok: answer.error === null,
  bytes: 0,
  paid: cost_micros > 0,
  cost_micros,
  detail: detailOf(answer),
});

/** The fetches that the answer names, in their order. */
function fetchesOf(answer: StoredProfilesAnswer): readonly (ProfileFetch | null)[] {
  switch (answer.op) {
    case "suggest":
    case "graph":
      return [answer.fetch];
    case "discover":
      return [answer.suggest_fetch];
    case "profile":
      return [answer.fetch, answer.graph_fetch];
  }
}

function detailOf(answer: StoredProfilesAnswer): NonNullable<Bill["detail"]> {
  const fetches = fetchesOf(answer);
  const attempts = fetches.flatMap((fetch) => (fetch && !fetch.cached ? fetch.attempts : []));
  return {
    status: fetches[0]?.status ?? null,
    error: answer.error,
    reason: attempts.at(-1)?.reason ?? null,
    attempts: attempts.map(({ tier, status, reason, ms }) => ({ tier, status, reason, ms })),
  };
}
