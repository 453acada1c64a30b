/** /v1/sessions: a project's sessions, made, listed, given secrets and removed. Fetches use them by `session_id`. */
import { Type } from "typebox";
import { invalid, json, userAgentNotAllowed } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field } from "../../../../schemas/common.ts";
import {
  MAX_SECRETS,
  MAX_SESSIONS,
  SessionBody,
  SessionId,
  SessionPatch,
  SessionView,
} from "../../../../schemas/sessions.ts";
import { jarWith } from "../../../lib/web/session-jar.ts";
import {
  type GivenSecrets,
  NO_SECRETS,
  secretsMistake,
  withSecrets,
} from "../../../lib/web/session-secrets.ts";
import { type Sessions, sessionView } from "../sessions.ts";

const NotFound = Type.Object({ detail: Type.String() });
const NOT_FOUND = json(404, { detail: "session not found" });
const params = Type.Object({ session_id: Field(SessionId, "The id of a session", "ses_wyvsfbx2x89mpyyv") });
const tags = ["fetch"];
const NO_COOKIE = {
  msg: "No site may set this cookie: its domain is a public suffix or no domain, its time is over, or it has more than 4,096 bytes",
  type: "value_error",
};
const NO_EXIT = {
  msg: "Value error, this service has no proxy with exits by country",
  type: "country_not_available",
};

const TOO_MANY_SECRETS = invalid([
  { loc: ["body", "secrets"], msg: `At most ${MAX_SECRETS} secrets a session`, type: "too_long" },
]);

/** Null: they may be stored. */
function secretsRefusal(given: GivenSecrets): Reply | null {
  const mistake = secretsMistake(given);
  if (mistake === null) return null;
  const { loc, message } = mistake;
  return invalid([{ loc: ["body", "secrets", ...loc], msg: `Value error, ${message}`, type: "value_error" }]);
}

/** `hasExits`: whether the route proxy has exits by country. */
export const sessionRoutes = (
  sessions: Sessions,
  { now, hasExits }: { readonly now: () => number; readonly hasExits: boolean },
): readonly Route[] => [
  route({
    method: "POST",
    path: "/v1/sessions",
    operationId: "createSession",
    summary: "Begin a session, whose cookies several fetches share",
    description:
      "For `session_id` of fetches, batches and crawls, on the routes direct and browser; with `country` on the route proxy, at its price. Cookies go where RFC 6265 sends them, and are stored encrypted. A project has 500 sessions at most, a session 64 KB of cookies: the oldest go first. " +
      "`secrets` are what steps type without having it in their request: also stored encrypted, and answered nowhere.",
    tags,
    body: SessionBody,
    body_example: { ttl_s: 3_600, label: "Shop, logged in" },
    authorize_errors: ["user_agent_not_allowed"],
    authorize: ({ body, caller: { grant } }) =>
      body.user_agent == null || grant.project.user_agents.includes(body.user_agent)
        ? null
        : userAgentNotAllowed(body.user_agent),
    replies: { 201: { description: "The session", schema: SessionView } },
    async handle({ body, caller: { grant } }) {
      if (body.country != null && !hasExits) return invalid([{ loc: ["body", "country"], ...NO_EXIT }]);
      const jar = jarWith(body.cookies ?? [], now());
      if ("refused" in jar) return invalid([{ loc: ["body", "cookies", jar.refused], ...NO_COOKIE }]);
      const { secrets, ...more } = body;
      const refusal = secrets && secretsRefusal(secrets);
      if (refusal) return refusal;
      const written = secrets ? withSecrets(NO_SECRETS, secrets) : undefined;
      if (written === null) return TOO_MANY_SECRETS;
      const session = await sessions.create(grant.project.name, more, jar, written ?? null);
      if (session !== null) return json(201, sessionView(session));
      const msg = `At most ${MAX_SESSIONS} sessions a project; remove one, or wait until one ends`;
      return invalid([{ loc: ["body"], msg, type: "value_error" }]);
    },
  }),
  route({
    method: "GET",
    path: "/v1/sessions",
    operationId: "listSessions",
    summary: "The project's sessions, without what their cookies and secrets say",
    tags,
    replies: {
      200: {
        description: "The sessions whose time is not over",
        schema: Type.Object({ sessions: Field(Type.Array(SessionView), "The sessions of the project") }),
      },
    },
    handle: async ({ caller: { grant } }) =>
      json(200, { sessions: (await sessions.list(grant.project.name)).map(sessionView) }),
  }),
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}",
    operationId: "getSession",
    summary: "A session: its age, its last use, how many cookies it holds, the names of its secrets",
    tags,
    params,
    replies: {
      200: { description: "The session", schema: SessionView },
      404: { description: "The project has no such session", schema: NotFound },
    },
    async handle({ params: { session_id }, caller: { grant } }) {
      const session = await sessions.get(grant.project.name, session_id);
      return session === null ? NOT_FOUND : json(200, sessionView(session));
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/sessions/{session_id}",
    operationId: "changeSession",
    summary: "Add, replace and remove secrets of a session",
    description:
      "Secrets that are not named stay. A fetch that has begun types what the session had when it took its route.",
    tags,
    params,
    body: SessionPatch,
    body_example: { secrets: { password: { value: "correct horse" }, pin: null } },
    replies: {
      200: { description: "The session", schema: SessionView },
      404: { description: "The project has no such session", schema: NotFound },
    },
    async handle({ params: { session_id }, body: { secrets }, caller: { grant } }) {
      const refusal = secretsRefusal(secrets);
      if (refusal !== null) return refusal;
      const session = await sessions.change(grant.project.name, session_id, secrets);
      if (session === "too_many") return TOO_MANY_SECRETS;
      return session === null ? NOT_FOUND : json(200, sessionView(session));
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/sessions/{session_id}",
    operationId: "deleteSession",
    summary: "End a session and forget its cookies and secrets",
    tags,
    params,
    replies: {
      204: { description: "It is removed" },
      404: { description: "The project has no such session", schema: NotFound },
    },
    handle: async ({ params: { session_id }, caller: { grant } }) =>
      (await sessions.remove(grant.project.name, session_id)) ? { status: 204, headers: {} } : NOT_FOUND,
  }),
];
