/** trawl company show, history, merge, undo, forget-person: one company of the register, and what only the operator may do to it. */
import { Command } from "commander";
import {
  type ClientOptions,
  clientCommand,
  errorOf,
  exchange,
  operatedService,
  operatorCommand,
  service,
  wholeNumber,
} from "./client.ts";
import { type Context, table } from "./context.ts";

interface HistoryShown {
  readonly items: readonly {
    readonly field: string;
    readonly key: string | null;
    readonly value: unknown;
    readonly source: string;
    readonly observed_at: string;
    readonly valid_to: string | null;
    readonly current: boolean;
  }[];
  readonly next_cursor: string | null;
}

interface ShowOptions extends ClientOptions {
  readonly include?: string;
  readonly refresh?: boolean;
}
interface HistoryOptions extends ClientOptions {
  readonly field?: string;
  readonly limit: number;
  readonly cursor?: string;
}

const MAX_VALUE_CHARS = 80;

export function companyCommand(context: Context): Command {
  /** Sends a request; prints its JSON with --json, else what `describe` makes of it. */
  async function run(
    options: ClientOptions,
    method: "GET" | "POST" | "DELETE",
    path: string,
    describe: (content: never) => readonly string[],
    body?: unknown,
  ): Promise<void> {
    const isForOperators = path.startsWith("/v1/ops/");
    const { base, key } = (isForOperators ? operatedService : service)(context, options);
    const { reply, content } = await exchange(method, `${base}${path}`, key, body);
    if (!reply.ok) throw errorOf(reply, content);
    if (options.json) return context.out(JSON.stringify(content, null, 2));
    for (const line of describe(content as never)) context.out(line);
  }
  const of = (reference: string): string => `/v1/companies/${encodeURIComponent(reference)}`;
  const reference = "a company's id, or scheme:value as lei:529900GRZ2BQY5ZM9N49";

  const company = new Command("company").description("look at companies of the register, and correct them");
  company.addCommand(
    clientCommand("show")
      .description("show a company; one that is not in the register is fetched")
      .argument("<reference>", reference)
      .option(
        "--include <parts>",
        "people, ownership, filings, financials, events, claims, with commas between",
      )
      .option("--refresh", "ask every source now")
      .action((text: string, { include, refresh, ...options }: ShowOptions) => {
        const query = new URLSearchParams({
          ...(include !== undefined && { include }),
          ...(refresh && { refresh: "true" }),
        });
        return run(options, "GET", `${of(text)}?${query.toString()}`, describeRecord);
      }),
  );
  company.addCommand(
    clientCommand("history")
      .description("show the claims of a company, newest observation first")
      .argument("<reference>", reference)
      .option("--field <field>", "a field, for example names.legal")
      .option("--limit <n>", "claims", wholeNumber, 50)
      .option("--cursor <cursor>", "where the page before ended")
      .action((text: string, { field, limit, cursor, ...options }: HistoryOptions) => {
        const query = new URLSearchParams({
          limit: String(limit),
          ...(field !== undefined && { field }),
          ...(cursor !== undefined && { cursor }),
        });
        return run(options, "GET", `${of(text)}/history?${query.toString()}`, describeHistory);
      }),
  );
  company.addCommand(
    operatorCommand("merge")
      .description("merge a company into another, whatever their identifiers")
      .argument("<id>", "the company that will redirect, cmp_…")
      .requiredOption("--into <id>", "the company that remains, cmp_…")
      .action((id: string, { into, ...options }: ClientOptions & { readonly into: string }) =>
        run(
          options,
          "POST",
          "/v1/ops/companies/merges",
          ({ survivor }: Survivor) => [
            survivor === null
              ? "Nothing was merged: one of them is not in the register, or they are one already"
              : `${id} is merged into ${survivor}`,
          ],
          { company_id: id, into },
        ),
      ),
  );
  company.addCommand(
    operatorCommand("undo")
      .description("undo the merge of a company; the two are never merged by their identifiers again")
      .argument("<id>", "the company that redirects, cmp_…")
      .action((id: string, options: ClientOptions) =>
        run(
          options,
          "DELETE",
          `/v1/ops/companies/merges/${encodeURIComponent(id)}`,
          ({ survivor }: Survivor) => [
            survivor === null ? `${id} was not merged` : `${id} and ${survivor} are two companies again`,
          ],
        ),
      ),
  );
  company.addCommand(
    operatorCommand("forget-person")
      .description(
        "remove every claim about a person, for good; later refreshes do not store the person again",
      )
      .argument("<name>", "the full name, in any order of its words")
      .action((name: string, options: ClientOptions) =>
        run(
          options,
          "DELETE",
          `/v1/ops/companies/people/${encodeURIComponent(name)}`,
          ({ companies, claims }: { readonly companies: number; readonly claims: number }) => [
            `${claims} claims of ${companies} companies are removed`,
          ],
        ),
      ),
  );
  return company;
}

interface Survivor {
  readonly survivor: string | null;
}

interface RecordShown {
  readonly id: string;
  readonly names: { readonly legal: string; readonly former: readonly { readonly name: string }[] };
  readonly status: string;
  readonly jurisdiction: string | null;
  readonly legal_form: { readonly label?: string | null; readonly abbreviation?: string | null } | null;
  readonly identifiers: readonly { readonly scheme: string; readonly value: string }[];
  readonly addresses: readonly { readonly type: string; readonly formatted?: string | null }[];
  readonly quality: {
    readonly completeness: number;
    readonly conflicts: readonly { readonly field: string }[];
  };
  readonly redirected_from: string | null;
  readonly refresh: readonly {
    readonly source: string;
    readonly group: string;
    readonly result: string;
    readonly error: string | null;
    readonly confirmed_at: string | null;
  }[];
}

function describeRecord(record: RecordShown): string[] {
  const { id, names, status, jurisdiction, legal_form, identifiers, addresses, quality, refresh } = record;
  const registered = addresses.find(({ type }) => type === "registered") ?? addresses[0];
  const form = legal_form?.abbreviation ?? legal_form?.label;
  return [
    `${names.legal} (${id})`,
    [status, jurisdiction, form].filter((part) => part != null).join(", "),
    ...(record.redirected_from === null ? [] : [`merged: ${record.redirected_from} redirects here`]),
    ...(names.former.length === 0 ? [] : [`formerly ${names.former.map(({ name }) => name).join("; ")}`]),
    ...(registered?.formatted == null ? [] : [registered.formatted.replaceAll("\n", ", ")]),
    identifiers.map(({ scheme, value }) => `${scheme}:${value}`).join("  "),
    `completeness ${quality.completeness}, ${quality.conflicts.length} conflicts`,
    "",
    table(
      ["SOURCE", "GROUP", "RESULT", "CONFIRMED"],
      refresh.map(({ source, group, result, error, confirmed_at }) => [
        source,
        group,
        error === null ? result : `${result}: ${error}`,
        confirmed_at ?? "-",
      ]),
    ),
  ];
}

const describeHistory = ({ items, next_cursor }: HistoryShown): string[] => [
  table(
    ["OBSERVED", "UNTIL", "SOURCE", "FIELD", "VALUE"],
    items.map(({ field, key, value, source, observed_at, valid_to }) => [
      observed_at,
      valid_to ?? "current",
      source,
      key === null ? field : `${field}[${key}]`,
      (typeof value === "string" ? value : JSON.stringify(value)).slice(0, MAX_VALUE_CHARS),
    ]),
  ),
  ...(next_cursor === null ? [] : [`more: --cursor ${next_cursor}`]),
];
