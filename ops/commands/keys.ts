/** trawl keys list, create, change, rotate, revoke, events: a client of /v1/keys, for account admins. trawl key works on the stores instead. */
import { Command, Option } from "commander";
import {
  type AccountKey,
  type AccountKeyCreated,
  KeyBody,
  KeyChange,
  type KeyEvent,
  QUOTA_CATEGORIES,
} from "../../schemas/accounts.ts";
import type { Static } from "typebox";
import { type ClientOptions, clientCommand, errorOf, exchange, service, wholeNumber } from "./client.ts";
import { type Context, table } from "./context.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

type Shown = Static<typeof AccountKey>;

interface LimitOptions extends ClientOptions {
  readonly paid?: boolean;
  readonly clear?: readonly string[];
}
interface LastAdmin extends ClientOptions {
  readonly lastAdmin?: boolean;
}

const PATH = "/v1/keys";
const CREATE = fieldFlags(KeyBody, ["paid_fetches"]);
const CHANGE = fieldFlags(KeyChange, ["paid_fetches"]);
const CLEARED = ["label", "categories", "rate_limit_rps", "spend_cap", "expires_at", "quotas"] as const;

export function keysCommand(context: Context): Command {
  /** Sends a request; prints its JSON with --json, else what `print` makes of it. */
  async function run(
    options: ClientOptions,
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    print: (content: never) => void,
    body?: unknown,
  ): Promise<void> {
    const { base, key } = service(context, options);
    const { reply, content } = await exchange(method, `${base}${PATH}${path}`, key, body);
    if (!reply.ok) throw errorOf(reply, content);
    if (options.json) context.out(JSON.stringify(content ?? {}, null, 2));
    else print(content as never);
  }
  const one = (name: string, description: string): Command =>
    clientCommand(name).description(description).argument("<prefix>", "the first 10 characters of the key");
  const printNew = ({ key, prefix, project, role }: Static<typeof AccountKeyCreated>): void => {
    context.out(key);
    context.err(`Key ${prefix} (${role}) of project "${project}". It is not shown again: save it now.`);
  };
  const lastAdminOf = ({ lastAdmin }: LastAdmin): string => (lastAdmin ? "?last_admin=true" : "");

  const keys = new Command("keys").description("manage the keys of the account through the service");
  keys.addCommand(
    clientCommand("list")
      .description("list the account's keys by prefix")
      .action((options: ClientOptions) =>
        run(options, "GET", "", (content: { readonly keys: readonly Shown[] }) =>
          context.out(table(HEAD, content.keys.map(row))),
        ),
      ),
  );
  keys.addCommand(
    withFlags(clientCommand("create"), CREATE)
      .description("create a key and print it; it cannot be shown again")
      .option("--no-paid", "routes that cost money are never taken for the key")
      .action((options: LimitOptions) =>
        run(options, "POST", "", printNew, {
          ...givenFields(CREATE, { ...options }),
          ...(options.paid === false && { paid_fetches: false }),
        }),
      ),
  );
  keys.addCommand(
    withFlags(one("change", "change what a key may use; what is not named stays"), CHANGE)
      .addOption(new Option("--paid", "routes that cost money may be taken for the key"))
      .addOption(new Option("--no-paid", "they are never taken"))
      .addOption(new Option("--clear <field...>", "take a label, limit or end away").choices([...CLEARED]))
      .option("--last-admin", "do it although no other account admin key works")
      .action((prefix: string, options: LimitOptions & LastAdmin) =>
        run(
          options,
          "PATCH",
          `/${prefix}${lastAdminOf(options)}`,
          ({ project }: Shown) => context.err(`Key ${prefix} of project "${project}" is changed.`),
          {
            ...Object.fromEntries((options.clear ?? []).map((field) => [field, clearedOf(field)])),
            ...givenFields(CHANGE, { ...options }),
            ...(options.paid !== undefined && { paid_fetches: options.paid }),
          },
        ),
      ),
  );
  keys.addCommand(
    one("rotate", "replace a key by a new one with the same limits, and print it")
      .option("--grace-s <seconds>", "how long the old key still works", wholeNumber, 0)
      .action((prefix: string, options: ClientOptions & { readonly graceS: number }) =>
        run(options, "POST", `/${prefix}/rotate`, printNew, { grace_s: options.graceS }),
      ),
  );
  keys.addCommand(
    one("revoke", "revoke a key")
      .option("--last-admin", "do it although no other account admin key works")
      .action((prefix: string, options: LastAdmin) =>
        run(options, "DELETE", `/${prefix}${lastAdminOf(options)}`, () =>
          context.err(`Key ${prefix} is revoked.`),
        ),
      ),
  );
  keys.addCommand(
    clientCommand("events")
      .description("show who made, changed, rotated and revoked keys")
      .action((options: ClientOptions) =>
        run(options, "GET", "/events", ({ events }: { readonly events: readonly KeyEvent[] }) =>
          context.out(table(["AT", "BY", "ACTION", "KEY", "SET"], events.map(eventRow))),
        ),
      ),
  );
  return keys;
}

const clearedOf = (field: string): unknown =>
  field === "quotas" ? Object.fromEntries(QUOTA_CATEGORIES.map((name) => [name, null])) : null;

const HEAD = ["PREFIX", "PROJECT", "ROLE", "STATUS", "CREATED", "EXPIRES", "LABEL"] as const;
const row = ({ prefix, project, role, status, created_at, expires_at, label }: Shown): string[] => [
  prefix,
  project,
  role,
  status,
  created_at,
  expires_at ?? "",
  label ?? "",
];
const eventRow = ({ at, by, action, key, fields, replaced_by }: KeyEvent): string[] => [
  at,
  by,
  action,
  key,
  replaced_by === null ? fields.join(", ") : `by ${replaced_by}`,
];
