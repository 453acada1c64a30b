/** trawl monitors create, list, show, changes, run, pause, resume, delete: a client of /v1/monitors. */
import { Command } from "commander";
import { type Monitor, MonitorBody, type MonitorChange } from "../../schemas/monitors.ts";
import { type ClientOptions, clientCommand, errorOf, exchange, service, wholeNumber } from "./client.ts";
import { type Context, table } from "./context.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

interface ChangesOptions extends ClientOptions {
  readonly cursor?: string;
  readonly limit: number;
}
interface ChangePage {
  readonly items: readonly MonitorChange[];
  readonly next_cursor: string;
}

const FLAGS = fieldFlags(MonitorBody, ["url", "webhook"]);
const PATH = "/v1/monitors";

export function monitorsCommand(context: Context): Command {
  /** Sends a request; prints its JSON with --json, else what `linesOf` makes of it. */
  async function run(
    options: ClientOptions,
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    linesOf: (content: never) => readonly string[],
    body?: unknown,
  ): Promise<void> {
    const { base, key } = service(context, options);
    const { reply, content } = await exchange(method, `${base}${PATH}${path}`, key, body);
    if (!reply.ok) throw errorOf(reply, content);
    if (options.json && content !== null) return context.out(JSON.stringify(content, null, 2));
    for (const line of linesOf(content as never)) context.out(line);
  }
  const one = (name: string, description: string): Command =>
    clientCommand(name).description(description).argument("<id>", "the monitor, mon_…");

  const monitors = new Command("monitors").description("watch pages for changes through the service");
  monitors.addCommand(
    withFlags(clientCommand("create"), FLAGS)
      .description("watch a page; prints the monitor's id")
      .argument("<url>", "the page")
      .option("--webhook <url>", "an https address that changes are delivered to; its secret is printed once")
      .action((url: string, options: ClientOptions & { readonly webhook?: string }) => {
        const body: MonitorBody = {
          url,
          ...givenFields(FLAGS, options as unknown as Readonly<Record<string, unknown>>),
          ...(options.webhook !== undefined && { webhook: { url: options.webhook } }),
        };
        return run(
          options,
          "POST",
          "",
          (made: Monitor) => {
            if (made.secret !== null)
              context.err(`The secret of its webhook, which is not shown again: ${made.secret}`);
            return [made.id];
          },
          body,
        );
      }),
  );
  monitors.addCommand(
    clientCommand("list")
      .description("list the project's monitors")
      .action((options: ClientOptions) =>
        run(options, "GET", "", (content: { readonly monitors: readonly Monitor[] }) => [
          table(HEAD, content.monitors.map(row)),
        ]),
      ),
  );
  monitors.addCommand(
    one("show", "show a monitor and its last visit").action((id: string, options: ClientOptions) =>
      run(options, "GET", `/${id}`, describe),
    ),
  );
  monitors.addCommand(
    one("changes", "show what has changed on the page, oldest first")
      .option("--cursor <cursor>", "where the page before ended")
      .option("--limit <n>", "changes", wholeNumber, 100)
      .action((id: string, { cursor, limit, ...options }: ChangesOptions) => {
        const query = new URLSearchParams({
          limit: String(limit),
          ...(cursor !== undefined && { cursor }),
        });
        return run(
          options,
          "GET",
          `/${id}/changes?${query.toString()}`,
          ({ items, next_cursor }: ChangePage) => {
            context.err(`${items.length} changes; later ones: --cursor ${next_cursor}`);
            return items.flatMap(describeChange);
          },
        );
      }),
  );
  monitors.addCommand(
    one("run", "visit the page now").action((id: string, options: ClientOptions) =>
      run(options, "POST", `/${id}/run`, () => [`${id} is visited now`]),
    ),
  );
  for (const [name, paused] of [
    ["pause", true],
    ["resume", false],
  ] as const)
    monitors.addCommand(
      one(name, paused ? "stop its visits" : "visit it again; the key given pays").action(
        (id: string, options: ClientOptions) =>
          run(options, "PATCH", `/${id}`, () => [`${id} is ${name}d`], { paused }),
      ),
    );
  monitors.addCommand(
    one("delete", "end a monitor and forget its changes").action((id: string, options: ClientOptions) =>
      run(options, "DELETE", `/${id}`, () => [`${id} is gone`]),
    ),
  );
  return monitors;
}

const HEAD = ["ID", "VISITS", "WATCHES", "LAST VISIT", "AT", "CHANGES", "PAGE"] as const;

const whenOf = ({ every_s, cron, timezone, paused }: Monitor): string =>
  paused === null ? (cron === null ? `every ${every_s} s` : `${cron} ${timezone}`) : `paused: ${paused}`;

const row = (monitor: Monitor): string[] => {
  const { id, watch, last_check, changes, label, url } = monitor;
  return [
    id,
    whenOf(monitor),
    watch,
    last_check === null ? "none yet" : (last_check.error ?? last_check.outcome),
    last_check?.at ?? "",
    String(changes),
    label ?? url,
  ];
};

function describe(monitor: Monitor): string[] {
  const { url, label, watch, webhook, next_check_at, last_check, checks, changes, failures, current } =
    monitor;
  return [
    `${url}${label === null ? "" : `  (${label})`}`,
    `${whenOf(monitor)}, watches ${watch}; next visit ${next_check_at ?? "never"}`,
    `${checks} visits, ${changes} changes; ${failures === 0 ? "the last one did not fail" : `the last ${failures} failed`}`,
    ...(last_check === null
      ? []
      : [
          `last visit ${last_check.at}: ${last_check.error ?? last_check.outcome} (job ${last_check.job_id})`,
        ]),
    ...(current === null ? [] : [`retrieved ${current.retrieved_at}, ${current.sha256}`]),
    ...(webhook === null
      ? []
      : [
          `webhook ${webhook.url}: ${webhook.is_off ? "off" : (webhook.last_status ?? "nothing delivered yet")}`,
        ]),
  ];
}

const describeChange = ({ checked_at, id, delivery, diff, previous, current }: MonitorChange): string[] => [
  `${checked_at}  ${id}  ${delivery === null ? "not delivered" : (delivery.status ?? "waits for its delivery")}`,
  (diff ?? `${previous.sha256} -> ${current.sha256}, no diff\n`).trimEnd(),
];
