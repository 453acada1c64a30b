/** What the register says about itself: its sources with their health, and the schema of its records. */
import { type TSchema, Type } from "typebox";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Caller } from "../../../gateway/authenticate.ts";
import { invalid, json, OPERATOR_ONLY } from "../../../gateway/http-errors.ts";
import { type Route, route } from "../../../gateway/route.ts";
import { Nullable } from "../../../schemas/common.ts";
import { Company, COMPANY_ID } from "../../../schemas/companies.ts";
import { COMPANY_JSON_SCHEMA } from "../../../schemas/company-record.ts";
import { MAX_AGE_S } from "../freshness.ts";
import type { PeopleStore } from "../people.ts";
import type { HealthBook } from "../source-health.ts";
import type { Source } from "../source.ts";

interface RegisterRouteDeps {
  readonly sources: readonly Source[];
  readonly health: HealthBook;
  readonly people: PeopleStore;
  readonly ask: ActorClient;
}

const SourceView: TSchema = Type.Object({
  name: Type.String(),
  title: Type.String(),
  active: Type.Boolean(),
  inactive_because: Nullable(Type.String()),
  countries: Type.Array(Type.String()),
  schemes: Type.Object({ lookup: Type.Array(Type.String()), yields: Type.Array(Type.String()) }),
  capabilities: Type.Array(Type.String()),
  /** By field group. */
  groups: Type.Record(
    Type.String(),
    Type.Object({ precedence: Type.Integer(), freshness: Type.String(), max_age_s: Type.Integer() }),
  ),
  licence: Type.Object({
    id: Type.String(),
    url: Type.String(),
    attribution: Nullable(Type.String()),
    redistribution: Type.Enum(["open", "display", "internal"]),
  }),
  terms_url: Nullable(Type.String()),
  parser_version: Type.String(),
  health: Type.Object({
    state: Type.Enum(["operational", "degraded", "partial", "major"]),
    success_rate: Nullable(Type.Number()),
    requests: Type.Integer(),
    last_success_at: Nullable(Type.String()),
    last_error: Nullable(Type.String()),
    last_error_at: Nullable(Type.String()),
  }),
});

const OPERATORS_ONLY = {
  description: "The key is not an account admin key of the operator",
  schema: Type.Object({
    detail: Type.Object({ error: Type.Literal("operator_only"), message: Type.String() }),
  }),
};
const SPLIT_TIMEOUT_MS = 20_000;

/** The operator's account admin; an external customer's admin is not an operator. */
const isOperator = ({ grant: { key, customer } }: Caller): boolean =>
  key.role === "account_admin" && !customer.external;

export function registerRoutes({ sources, health, people, ask }: RegisterRouteDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/companies/sources",
      operationId: "listCompanySources",
      summary: "The sources of the register, their licences and how they are",
      tags: ["companies"],
      replies: {
        200: { description: "The sources", schema: Type.Object({ sources: Type.Array(SourceView) }) },
      },
      handle: async () => {
        const states = await health.read(sources.map(({ description }) => description.name));
        return json(200, {
          sources: sources.map(({ description, inactive_because }) => ({
            name: description.name,
            title: description.title,
            active: inactive_because === null,
            inactive_because,
            countries: description.countries,
            schemes: description.schemes,
            capabilities: description.capabilities,
            groups: Object.fromEntries(
              Object.entries(description.groups).map(([group, { precedence, freshness }]) => [
                group,
                { precedence, freshness, max_age_s: MAX_AGE_S[freshness] },
              ]),
            ),
            licence: description.licence,
            terms_url: description.terms_url,
            parser_version: description.parser_version,
            health: states.get(description.name),
          })),
        });
      },
    }),
    route({
      method: "GET",
      path: "/v1/schemas/company",
      operationId: "getCompanySchema",
      summary: "The JSON Schema of a company record",
      description:
        "JSON Schema 2020-12 of company/v1, with the identifier schemes in `x-identifier-schemes`.",
      tags: ["companies"],
      replies: { 200: { description: "The schema", schema: Type.Object({}) } },
      handle: () => SCHEMA,
    }),
    route({
      method: "DELETE",
      path: "/v1/ops/companies/merges/{company_id}",
      operationId: "splitCompany",
      summary:
        "Undoes the merge of a company, which is then never merged into the other again; for the operator",
      tags: ["internal"],
      params: Type.Object({ company_id: Type.String({ pattern: COMPANY_ID }) }),
      replies: {
        200: {
          description: "The company that it was merged into; null: it was not merged",
          schema: Type.Object({ survivor: Nullable(Type.String()) }),
        },
        403: OPERATORS_ONLY,
      },
      handle: async ({ params, caller }) => {
        if (!isOperator(caller)) return OPERATOR_ONLY;
        return json(
          200,
          await ask(Company, params.company_id, "split", null, { timeout_ms: SPLIT_TIMEOUT_MS }),
        );
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/ops/companies/people/{name}",
      operationId: "removePerson",
      summary: "Removes every claim about a person, and does not store new ones; for the operator",
      tags: ["internal"],
      params: Type.Object({ name: Type.String({ minLength: 3, maxLength: 200 }) }),
      replies: {
        200: {
          description: "What was removed",
          schema: Type.Object({ companies: Type.Integer(), claims: Type.Integer() }),
        },
        403: OPERATORS_ONLY,
      },
      handle: async ({ params, caller }) => {
        if (!isOperator(caller)) return OPERATOR_ONLY;
        if (params.name.trim().length < 3)
          return invalid([
            { loc: ["path", "name"], msg: "Input should be a full name", type: "value_error" },
          ]);
        return json(200, await people.remove(params.name));
      },
    }),
  ];
}

const SCHEMA = json(200, COMPANY_JSON_SCHEMA);
