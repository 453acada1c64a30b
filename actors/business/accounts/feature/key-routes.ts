/** /v1/keys: the keys of a customer, for its account admins. Operator keys are not among them, and other customers' keys do not exist. */
import type { Node } from "../../../../cluster/node-record.ts";
import { Field } from "../../../../schemas/common.ts";
import { Type } from "typebox";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import {
  AccountKey,
  AccountKeyCreated,
  AccountKeys,
  allowsPaid,
  fromMicros,
  type Grant,
  isOperatorKey,
  isUsable,
  isVisibleTo,
  type Key,
  KEY_PREFIX,
  KeyBody,
  KeyChange,
  type KeyEvent,
  KeyEvents,
  KeyRotation,
  QUOTA_CATEGORIES,
  toMicros,
} from "../../../../schemas/accounts.ts";
import {
  createKey,
  findKeyOf,
  type KeyLimits,
  limitKey,
  listKeys,
  MAX_LIST,
  oldestFirst,
  projectsOf,
  revokeKey,
} from "../keys.ts";
import { iso } from "../../../lib/iso.ts";
import { isLastAdmin, keyEventsOf, recordKeyEvent } from "../key-events.ts";
import { adminOnly } from "./admin-only.ts";

const MAX_EVENTS = 1_000;

const Params = Type.Object({
  prefix: Field(Type.String({ pattern: KEY_PREFIX }), "The first characters of the key", "sk_abcdefg"),
});
const NotFound = Type.Object({ detail: Type.String() });
const NO_SUCH_KEY = json(404, { detail: "key not found" });
const NO_MORE_KEYS = `A project has at most ${MAX_LIST} keys, revoked ones included`;
const LAST_ADMIN = json(409, {
  detail:
    "This is the last account admin key that works; without one the account cannot manage its keys. Ask again with last_admin=true to do it",
});
const KEPT = { description: "It is the last account admin key of the account", schema: NotFound };
const Confirmation = Type.Object({
  last_admin: Field(
    Type.Boolean({ default: false }),
    "Do it although no other account admin key of the account works",
  ),
});
const ABSENT = { description: "The account has no such key", schema: NotFound };
const common = {
  tags: ["account"],
  authorize: adminOnly,
  authorize_errors: ["admin_key_required"],
} as const;

type KeysNode = Pick<Node, "documents" | "clock">;

export const keyRoutes = (node: KeysNode): readonly Route[] => [
  ...listingRoutes(node),
  ...makingRoutes(node),
  ...changingRoutes(node),
];

async function keyNamed(
  { documents }: KeysNode,
  prefix: string,
  { key: own, customer }: Grant,
): Promise<Key | null> {
  const key = await findKeyOf(documents, customer.name, prefix);
  return key && isVisibleTo(key, own) ? key : null;
}

const record = (
  { documents, clock }: KeysNode,
  { customer, key: own }: Grant,
  event: Pick<KeyEvent, "action" | "key"> & Partial<KeyEvent>,
): Promise<void> =>
  recordKeyEvent(
    documents,
    customer.name,
    { by: own.prefix, fields: [], replaced_by: null, ...event },
    clock.now(),
  );

function listingRoutes({ documents }: KeysNode): readonly Route[] {
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/keys",
      operationId: "listKeys",
      summary: "The keys of an admin key's account, revoked ones too",
      description: "Keys are shown by prefix and label only. At most 1,000 of each project.",
      replies: { 200: { description: "The keys, oldest first", schema: AccountKeys } },
      handle: async ({ caller: { grant } }) => {
        const projects = await projectsOf(documents, grant.customer.name);
        const keys = (await Promise.all(projects.map(({ name }) => listKeys(documents, name)))).flat();
        const visible = oldestFirst(keys).filter((key) => isVisibleTo(key, grant.key));
        return json(200, { keys: visible.map(keyView) });
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/keys/events",
      operationId: "listKeyEvents",
      summary: "Who made, changed, rotated and revoked keys of the account",
      description:
        "What was done over HTTP, also from the console, in the last 400 days; at most 1,000 events.",
      replies: { 200: { description: "The events, newest first", schema: KeyEvents } },
      handle: async ({ caller: { grant } }) =>
        json(200, { events: await keyEventsOf(documents, grant.customer.name, MAX_EVENTS) }),
    }),
  ];
}

function makingRoutes(node: KeysNode): readonly Route[] {
  const { documents, clock } = node;
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/keys",
      operationId: "createKey",
      summary: "Create a key of the account",
      description:
        "The key is in this answer only: afterwards it is known by its prefix. It works on all gateways within two seconds. A key cannot be given " +
        "what the calling key does not have: categories, routes that cost money, debug pages. Budgets of projects and of the customer hold for all " +
        "keys together, whatever these may spend. At most 1,000 keys a project, revoked ones included.",
      body: KeyBody,
      body_example: { label: "nightly crawl", categories: ["fetch"], quotas: { fetch: 10_000 } },
      replies: { 201: { description: "The key", schema: AccountKeyCreated } },
      handle: async ({ body, caller: { grant } }) => {
        const project = body.project ?? grant.project.name;
        const projects = await projectsOf(documents, grant.customer.name);
        const { categories = null, paid_fetches = true, debug = false } = body;
        const mistakes = beyond({ categories, paid_fetches, debug }, grant.key);
        if (!projects.some(({ name }) => name === project))
          mistakes.push(mistake("project", `The account has no project "${project}"`));
        else if ((await listKeys(documents, project)).length >= MAX_LIST)
          mistakes.push(mistake("project", NO_MORE_KEYS));
        mistakes.push(...expiryMistakes(body, clock.now()));
        if (mistakes.length > 0) return invalid(mistakes);
        const options = { ...limitsOf(body), project, role: body.role ?? "standard" };
        const { key, record: made } = await createKey(documents, options, clock.now());
        await record(node, grant, { action: "created", key: made.prefix, fields: Object.keys(body) });
        return json(201, { ...keyView(made), key });
      },
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/keys/{prefix}/rotate",
      operationId: "rotateKey",
      summary: "Replace a key of the account by a new one with the same limits",
      description:
        "The new key is in this answer only. The old one is revoked, or works for `grace_s` more seconds; gateways follow within five seconds. The new key has " +
        "the label, project, role and limits of the old one, and its monthly counts begin at zero. Jobs of the old key end with it.",
      params: Params,
      body: KeyRotation,
      body_example: { grace_s: 3600 },
      replies: {
        201: { description: "The new key", schema: AccountKeyCreated },
        404: ABSENT,
        409: { description: "The key is revoked or has expired", schema: NotFound },
      },
      handle: async ({ params: { prefix }, body, caller: { grant } }) => {
        const old = await keyNamed(node, prefix, grant);
        if (old === null) return NO_SUCH_KEY;
        const now_ms = clock.now();
        if (!isUsable(old, now_ms))
          return json(409, { detail: `The key "${prefix}" does not work any more` });
        const mistakes = expiryMistakes(body, now_ms);
        // The new key is shown to the caller, with all that the old one may do.
        if (isOperatorKey(old) || beyond(rightsOf(old), grant.key).length > 0)
          mistakes.push(prefixMistake("The calling key can give no more than its own, and no operator key"));
        if ((await listKeys(documents, old.project)).length >= MAX_LIST)
          mistakes.push(prefixMistake(NO_MORE_KEYS));
        if (mistakes.length > 0) return invalid(mistakes);
        const options = { ...old, expires_at: expiryOf(body) };
        const { key, record: made } = await createKey(documents, options, now_ms);
        await endKey(documents, old, now_ms, body.grace_s ?? 0);
        await record(node, grant, { action: "rotated", key: prefix, replaced_by: made.prefix });
        return json(201, { ...keyView(made), key });
      },
    }),
  ];
}

function changingRoutes(node: KeysNode): readonly Route[] {
  const { documents, clock } = node;
  return [
    route({
      ...common,
      method: "PATCH",
      path: "/v1/keys/{prefix}",
      operationId: "changeKey",
      summary: "Change what a key of the account may use",
      description:
        "What is left out stays; null takes a limit away. It holds on all gateways within five seconds. A quota counts requests that begin after it was set.",
      params: Params,
      query: Confirmation,
      body: KeyChange,
      body_example: { rate_limit_rps: 5, spend_cap: null },
      replies: { 200: { description: "The key as it is now", schema: AccountKey }, 404: ABSENT, 409: KEPT },
      handle: async ({ params: { prefix }, query, body, caller: { grant } }) => {
        const key = await keyNamed(node, prefix, grant);
        if (key === null) return NO_SUCH_KEY;
        const now_ms = clock.now();
        const mistakes = [...beyond(body, grant.key), ...expiryMistakes(body, now_ms)];
        if (mistakes.length > 0) return invalid(mistakes);
        const ends = body.expires_at != null && !query.last_admin;
        if (ends && (await isLastAdmin(documents, grant.customer.name, key, now_ms))) return LAST_ADMIN;
        const changed = await limitKey(documents, prefix, limitsOf(body));
        await record(node, grant, { action: "changed", key: prefix, fields: Object.keys(body) });
        return json(200, keyView(changed));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/keys/{prefix}",
      operationId: "revokeKey",
      summary: "Revoke a key of the account",
      description:
        "Gateways refuse it within five seconds. Its jobs end what is in flight and cancel the rest. It stays in the list. An admin key may revoke itself; the last one that works " +
        "only with `last_admin=true`.",
      params: Params,
      query: Confirmation,
      replies: { 204: { description: "It is revoked" }, 404: ABSENT, 409: KEPT },
      handle: async ({ params: { prefix }, query, caller: { grant } }) => {
        const key = await keyNamed(node, prefix, grant);
        if (key === null) return NO_SUCH_KEY;
        const now_ms = clock.now();
        if (!query.last_admin && (await isLastAdmin(documents, grant.customer.name, key, now_ms)))
          return LAST_ADMIN;
        await revokeKey(documents, prefix, now_ms);
        if (key.status === "active") await record(node, grant, { action: "revoked", key: prefix });
        return { status: 204, headers: {} };
      },
    }),
  ];
}

/** Revoked, or let expire after a time of grace if it would not expire before. */
async function endKey(
  documents: Node["documents"],
  key: Key,
  now_ms: number,
  grace_s: number,
): Promise<void> {
  if (grace_s === 0) await revokeKey(documents, key.prefix, now_ms);
  else {
    const ends_ms = now_ms + grace_s * 1000;
    const own_ms = key.expires_at == null ? Infinity : Date.parse(key.expires_at);
    await limitKey(documents, key.prefix, { expires_at: iso(Math.min(ends_ms, own_ms)) });
  }
}

const rightsOf = (key: Key) => ({
  categories: key.categories,
  paid_fetches: allowsPaid(key),
  debug: key.debug === true,
});

const expiryMistakes = ({ expires_at }: Pick<KeyChange, "expires_at">, now_ms: number): Mistake[] =>
  expires_at == null || Date.parse(expires_at) > now_ms
    ? []
    : [mistake("expires_at", "Input should be a moment in the future")];

const expiryOf = ({ expires_at }: Pick<KeyChange, "expires_at">): string | null =>
  expires_at == null ? null : iso(Date.parse(expires_at));

const prefixMistake = (msg: string): Mistake => ({ loc: ["path", "prefix"], msg, type: "value_error" });
const mistake = (field: string, msg: string): Mistake => ({ loc: ["body", field], msg, type: "value_error" });

/** A restricted admin key must not make itself, or another key, an unrestricted one. */
function beyond(
  { categories, paid_fetches, debug }: Pick<KeyChange, "categories" | "paid_fetches" | "debug">,
  own: Key,
): Mistake[] {
  const mistakes: Mistake[] = [];
  const allowed = own.categories;
  const wanted = categories === undefined ? [] : (categories ?? QUOTA_CATEGORIES);
  if (allowed !== null && !wanted.every((category) => allowed.includes(category)))
    mistakes.push(
      mistake("categories", `The calling key can give no more than its own: ${allowed.join(", ")}`),
    );
  if (paid_fetches === true && !allowsPaid(own))
    mistakes.push(mistake("paid_fetches", "The calling key may take no routes that cost money itself"));
  if (debug === true && own.debug !== true)
    mistakes.push(mistake("debug", "The calling key gets no debug pages itself"));
  return mistakes;
}

const limitsOf = ({
  label,
  categories,
  rate_limit_rps,
  quotas,
  spend_cap,
  paid_fetches,
  debug,
  expires_at,
}: KeyChange): KeyLimits => ({
  ...(label !== undefined && { label }),
  ...(categories !== undefined && { categories: categories && [...new Set(categories)] }),
  ...(rate_limit_rps !== undefined && { rate_limit_rps }),
  ...(quotas !== undefined && { quotas }),
  ...(spend_cap !== undefined && { spend_cap_micros: spend_cap === null ? null : toMicros(spend_cap) }),
  ...(paid_fetches !== undefined && { paid_fetches }),
  ...(debug !== undefined && { debug }),
  ...(expires_at !== undefined && { expires_at: expiryOf({ expires_at }) }),
});

const keyView = ({ spend_cap_micros, ...key }: Key) => ({
  ...key,
  expires_at: key.expires_at ?? null,
  paid_fetches: allowsPaid(key),
  debug: key.debug === true,
  spend_cap: spend_cap_micros === null ? null : fromMicros(spend_cap_micros),
});
