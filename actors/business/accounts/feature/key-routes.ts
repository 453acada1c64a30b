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
  isVisibleTo,
  type Key,
  KEY_PREFIX,
  KeyBody,
  KeyChange,
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
import { adminOnly } from "./admin-only.ts";

const Params = Type.Object({
  prefix: Field(Type.String({ pattern: KEY_PREFIX }), "The first characters of the key", "sk_abcdefg"),
});
const NotFound = Type.Object({ detail: Type.String() });
const NO_SUCH_KEY = json(404, { detail: "key not found" });
const ABSENT = { description: "The account has no such key", schema: NotFound };
const common = {
  tags: ["account"],
  authorize: adminOnly,
  authorize_errors: ["admin_key_required"],
} as const;

export function keyRoutes({ documents, clock }: Pick<Node, "documents" | "clock">): readonly Route[] {
  const keyNamed = async (prefix: string, { key: own, customer }: Grant): Promise<Key | null> => {
    const key = await findKeyOf(documents, customer.name, prefix);
    return key && isVisibleTo(key, own) ? key : null;
  };

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
          mistakes.push(mistake("project", `A project has at most ${MAX_LIST} keys, revoked ones included`));
        if (mistakes.length > 0) return invalid(mistakes);
        const options = { ...limitsOf(body), project, role: body.role ?? "standard" };
        const { key, record } = await createKey(documents, options, clock.now());
        return json(201, { ...keyView(record), key });
      },
    }),
    route({
      ...common,
      method: "PATCH",
      path: "/v1/keys/{prefix}",
      operationId: "changeKey",
      summary: "Change what a key of the account may use",
      description:
        "What is left out stays; null takes a limit away. It holds on all gateways within five seconds. A quota counts requests that begin after it was set.",
      params: Params,
      body: KeyChange,
      body_example: { rate_limit_rps: 5, spend_cap: null },
      replies: { 200: { description: "The key as it is now", schema: AccountKey }, 404: ABSENT },
      handle: async ({ params: { prefix }, body, caller: { grant } }) => {
        if ((await keyNamed(prefix, grant)) === null) return NO_SUCH_KEY;
        const mistakes = beyond(body, grant.key);
        if (mistakes.length > 0) return invalid(mistakes);
        return json(200, keyView(await limitKey(documents, prefix, limitsOf(body))));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/keys/{prefix}",
      operationId: "revokeKey",
      summary: "Revoke a key of the account",
      description:
        "Gateways refuse it within five seconds. Its jobs end what is in flight and cancel the rest. It stays in the list. An admin key may revoke itself.",
      params: Params,
      replies: { 204: { description: "It is revoked" }, 404: ABSENT },
      handle: async ({ params: { prefix }, caller: { grant } }) => {
        if ((await keyNamed(prefix, grant)) === null) return NO_SUCH_KEY;
        await revokeKey(documents, prefix, clock.now());
        return { status: 204, headers: {} };
      },
    }),
  ];
}

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
}: KeyChange): KeyLimits => ({
  ...(label !== undefined && { label }),
  ...(categories !== undefined && { categories: categories && [...new Set(categories)] }),
  ...(rate_limit_rps !== undefined && { rate_limit_rps }),
  ...(quotas !== undefined && { quotas }),
  ...(spend_cap !== undefined && { spend_cap_micros: spend_cap === null ? null : toMicros(spend_cap) }),
  ...(paid_fetches !== undefined && { paid_fetches }),
  ...(debug !== undefined && { debug }),
});

const keyView = ({ spend_cap_micros, ...key }: Key) => ({
  ...key,
  paid_fetches: allowsPaid(key),
  debug: key.debug === true,
  spend_cap: spend_cap_micros === null ? null : fromMicros(spend_cap_micros),
});
