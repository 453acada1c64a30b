/** trawl key create, list, limit, revoke: changes the document store; a running service follows within 5 seconds. */
import { Command, InvalidArgumentError, Option } from "commander";
import {
  createKey,
  FIRST_NAME,
  type KeyLimits,
  limitKey,
  listKeys,
  projectNamed,
  revokeKey,
} from "../../actors/business/accounts/keys.ts";
import {
  allowsPaid,
  fromMicros,
  type Key,
  QUOTA_CATEGORIES,
  type QuotaCategory,
  toMicros,
} from "../../schemas/accounts.ts";
import { CommandError, type Context, EXIT, type Json, table, withDocuments, withJson } from "./context.ts";

interface KeyOptions extends Json {
  readonly project?: string;
  readonly label?: string;
  readonly admin?: boolean;
  readonly operator?: boolean;
  readonly category?: readonly QuotaCategory[];
  readonly rps?: number;
  readonly quota?: { search?: number; fetch?: number };
  readonly spendCap?: number;
  readonly paid: boolean;
  readonly debug?: boolean;
}

const KINDS = {
  standard: "A standard",
  account_admin: "An account admin",
  operator: "An operator",
} as const satisfies Record<Key["role"], string>;

type Categories = readonly QuotaCategory[];

interface LimitOptions extends Json {
  readonly label?: string;
  /** Empty: all. */
  readonly category?: Categories;
  readonly rps?: OrNone;
  readonly quota?: { search?: number | null; fetch?: number | null };
  readonly spendCap?: OrNone;
  readonly paid?: "on" | "off";
  readonly debug?: "on" | "off";
}

export function keyCommand(context: Context): Command {
  const key = new Command("key").description("manage API keys");

  withJson(key.command("create"))
    .description("create a key and print it; it cannot be shown again")
    .option("--project <name>", `the project of the key; an operator key's default: ${FIRST_NAME}`)
    .option("--label <text>", "a label, shown beside the prefix")
    .option("--admin", "an account admin key, which also sees the other projects of its customer")
    .addOption(
      new Option("--operator", "an operator key, for all customers and /v1/ops").conflicts(["admin"]),
    )
    .addOption(
      new Option("--category <name>", "restrict the key to a category; may be repeated")
        .choices([...QUOTA_CATEGORIES])
        .argParser(category),
    )
    .option("--rps <number>", "a rate limit of its own, in requests per second", wholeNumber)
    .option("--quota <category=requests>", "monthly requests of a category; may be repeated", quota)
    .option("--spend-cap <amount>", "monthly spend, in the customer's currency", amount)
    .option("--no-paid", "routes that cost money are never taken for the key")
    .option("--debug", "X-Service-Debug: 1 gets a debug_url")
    .action(
      async ({
        project: named_project,
        label,
        admin,
        operator,
        category: categories,
        rps,
        quota: quotas,
        spendCap,
        paid,
        debug,
        json,
      }: KeyOptions) => {
        const project = named_project ?? (operator ? FIRST_NAME : null);
        if (project === null)
          throw new CommandError("Name the project of the key: --project default", EXIT.usage);
        const { key: secret, record } = await withDocuments(context, (documents) =>
          createKey(
            documents,
            {
              project,
              role: operator ? "operator" : admin ? "account_admin" : "standard",
              label: label ?? null,
              categories: categories ?? null,
              rate_limit_rps: rps ?? null,
              quotas: quotas ?? {},
              spend_cap_micros: spendCap ?? null,
              paid_fetches: paid,
              debug: debug ?? false,
            },
            context.now(),
          ),
        );
        const { prefix, role } = record;
        if (json) return context.out(JSON.stringify({ key: secret, prefix, project, role }));
        context.out(secret);
        return context.err(`${KINDS[role]} key of project "${project}". It is not shown again: save it now.`);
      },
    );

  withJson(key.command("list"))
    .description("list keys by prefix")
    .option("--project <name>", "only the keys of this project")
    .action(async ({ project, json }: Json & { project?: string }) => {
      const keys = await withDocuments(context, async (documents) => {
        if (project !== undefined) await projectNamed(documents, project);
        return listKeys(documents, project);
      });
      if (json) return context.out(JSON.stringify(keys, null, 2));
      const head = ["PREFIX", "PROJECT", "ROLE", "STATUS", "CREATED", "LIMITS", "LABEL"];
      return context.out(table(head, keys.map(row)));
    });

  withJson(key.command("limit"))
    .description("change what a key may use; what is not named stays")
    .argument("<prefix>", "the first 10 characters of the key")
    .option("--label <text>", "a label, shown beside the prefix")
    .addOption(
      new Option("--category <name>", "restrict the key to a category, or none; may be repeated")
        .choices([...QUOTA_CATEGORIES, "none"])
        .argParser((name: string, previous?: Categories) =>
          name === "none" ? [] : category(name, previous),
        ),
    )
    .option("--rps <number>", "a rate limit of its own, in requests per second, or none", orNone(wholeNumber))
    .option(
      "--quota <category=requests>",
      "monthly requests of a category, or category=none; may be repeated",
      quotaOrNone,
    )
    .option("--spend-cap <amount>", "monthly spend, in the customer's currency, or none", orNone(amount))
    .addOption(
      new Option("--paid <on|off>", "whether routes that cost money may be taken").choices(["on", "off"]),
    )
    .addOption(
      new Option("--debug <on|off>", "whether X-Service-Debug: 1 gets a debug_url").choices(["on", "off"]),
    )
    .action(
      async (
        prefix: string,
        { label, category: categories, rps, quota: quotas, spendCap, paid, debug, json }: LimitOptions,
      ) => {
        const limits: KeyLimits = {
          ...(label !== undefined && { label }),
          ...(categories !== undefined && { categories: categories.length > 0 ? [...categories] : null }),
          ...(rps !== undefined && { rate_limit_rps: limitOf(rps) }),
          ...(quotas !== undefined && { quotas }),
          ...(spendCap !== undefined && { spend_cap_micros: limitOf(spendCap) }),
          ...(paid !== undefined && { paid_fetches: paid === "on" }),
          ...(debug !== undefined && { debug: debug === "on" }),
        };
        if (Object.keys(limits).length === 0)
          throw new CommandError(
            "Name what to change, for example --rps 5; see trawl key limit --help",
            EXIT.usage,
          );
        const changed = await withDocuments(context, (documents) => limitKey(documents, prefix, limits));
        if (json) return context.out(JSON.stringify(changed));
        return context.err(`Key ${changed.prefix} of project "${changed.project}" is changed.`);
      },
    );

  withJson(key.command("revoke"))
    .description("revoke a key")
    .argument("<prefix>", "the first 10 characters of the key")
    .action(async (prefix: string, { json }: Json) => {
      const revoked = await withDocuments(context, (documents) =>
        revokeKey(documents, prefix, context.now()),
      );
      if (json) return context.out(JSON.stringify(revoked));
      return context.err(`Key ${revoked.prefix} of project "${revoked.project}" is revoked.`);
    });

  return key;
}

const row = (key: Key): string[] => [
  key.prefix,
  key.project,
  key.role,
  key.status,
  key.created_at,
  limitsOf(key),
  key.label ?? "",
];

/** As the options of `key limit` name them. */
const limitsOf = ({ categories, rate_limit_rps, quotas, spend_cap_micros, ...key }: Key): string =>
  [
    ...(categories ?? []).map((name) => `only ${name}`),
    rate_limit_rps !== null && `rps ${rate_limit_rps}`,
    ...QUOTA_CATEGORIES.map((name) => quotas[name] !== null && `${name}=${quotas[name]}`),
    spend_cap_micros !== null && `spend-cap ${fromMicros(spend_cap_micros)}`,
    !allowsPaid(key) && "paid off",
    key.debug === true && "debug on",
  ]
    .filter((limit) => limit !== false)
    .join(", ");

function category(name: string, previous: Categories = []): Categories {
  const known = QUOTA_CATEGORIES.find((one) => one === name);
  if (known === undefined)
    throw new InvalidArgumentError(`Allowed choices are ${QUOTA_CATEGORIES.join(", ")}.`);
  return previous.includes(known) ? previous : [...previous, known];
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Not a whole number above 0.");
  return Number(text);
}

export function amount(text: string): number {
  const micros = toMicros(text);
  if (micros === null) throw new InvalidArgumentError("Not an amount as 25 or 25.50.");
  return micros;
}

type OrNone = number | "none";

const orNone =
  (read: (text: string) => number) =>
  (text: string): OrNone =>
    text === "none" ? "none" : read(text);
/** Commander takes null for an option without a value. */
const limitOf = (given: OrNone): number | null => (given === "none" ? null : given);

function quotaOrNone(text: string, previous: LimitOptions["quota"] = {}): NonNullable<LimitOptions["quota"]> {
  const [, unlimited] = /^(search|fetch)=none$/.exec(text) ?? [];
  return unlimited === undefined
    ? { ...previous, ...quota(text) }
    : { ...previous, [unlimited as QuotaCategory]: null };
}

function quota(text: string, previous: KeyOptions["quota"] = {}): NonNullable<KeyOptions["quota"]> {
  const [, limited, requests] = /^(search|fetch)=(\d{1,12})$/.exec(text) ?? [];
  if (limited === undefined) throw new InvalidArgumentError("Not a quota as fetch=1000 or search=1000.");
  return { ...previous, [limited]: Number(requests) };
}
