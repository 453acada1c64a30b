/** The register described: its sources with their health, and the schema of its records. */
import { type TSchema, Type } from "typebox";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field, Component, Nullable, Timestamp } from "../../../../schemas/common.ts";
import { COMPANY_JSON_SCHEMA } from "../../../../schemas/company-record.ts";
import { MAX_AGE_S } from "../freshness.ts";
import type { HealthBook } from "../source-health.ts";
import type { Source } from "../source.ts";

interface RegisterRouteDeps {
  readonly sources: readonly Source[];
  readonly health: HealthBook;
}

export const CanaryView = Component("CompanySourceCanary", {
  at: Field(Timestamp, "When the source was asked for the companies that it must know"),
  problem: Field(Nullable(Type.String()), "What was wrong; null: nothing", "the LEI is not known"),
});

export const SourceView: TSchema = Component("CompanySource", {
  name: Field(Type.String(), "Its name", "gleif"),
  title: Field(Type.String(), "Its name for people", "GLEIF"),
  active: Field(Type.Boolean(), "Whether it is asked"),
  inactive_because: Field(Nullable(Type.String()), "Why it is not; null: it is", "no account"),
  countries: Field(Type.Array(Type.String()), "The countries it covers, empty: all", ["DE", "CH"]),
  schemes: Field(
    Type.Object({
      lookup: Field(Type.Array(Type.String()), "Schemes it can be asked by", ["lei"]),
      yields: Field(Type.Array(Type.String()), "Schemes of its answers", ["lei", "de_hrb"]),
    }),
    "The identifiers it is asked by and those it answers",
  ),
  capabilities: Field(Type.Array(Type.String()), "What it can do", ["lookup", "search"]),
  /** By field group. */
  groups: Field(
    Type.Record(
      Type.String(),
      Type.Object({
        precedence: Field(Type.Integer(), "Whose value wins: the larger number", 80),
        freshness: Field(Type.String(), "Its freshness class", "registry_core"),
        max_age_s: Field(Type.Integer(), "How long its data is fresh, in seconds", 86400),
      }),
    ),
    "By field group: how far it is believed and how long its data is fresh",
  ),
  licence: Field(
    Type.Object({
      id: Field(Type.String(), "Its SPDX name or another", "CC0-1.0"),
      url: Field(Type.String(), "Its text", "https://creativecommons.org/publicdomain/zero/1.0/"),
      attribution: Field(
        Nullable(Type.String()),
        "What to write where the data is shown; null: nothing is asked for",
        "Source: GLEIF",
      ),
      redistribution: Field(
        Type.Enum(["open", "display", "internal"]),
        "Whether the data may be passed on, shown, or only used",
      ),
    }),
    "The licence of its data",
  ),
  terms_url: Field(
    Nullable(Type.String()),
    "Its terms of use",
    "https://www.gleif.org/en/meta/lei-data-terms-of-use",
  ),
  parser_version: Field(Type.String(), "Of the program that reads its documents", "1"),
  health: Field(
    Type.Object({
      state: Field(Type.Enum(["operational", "degraded", "partial", "major"]), "Summed up"),
      success_rate: Field(
        Nullable(Type.Number()),
        "Of the last requests, 0 to 1; null: there were none",
        0.99,
      ),
      requests: Field(Type.Integer(), "How many those were", 120),
      last_success_at: Field(Nullable(Timestamp), "When it last answered"),
      last_error: Field(Nullable(Type.String()), "Its last error", "http_503"),
      last_error_at: Field(Nullable(Timestamp), "When that was"),
      canary: Field(
        Nullable(CanaryView),
        "The last request for a company that the source must know; null: there was none",
      ),
      drift: Field(Type.Array(Type.String()), "Fields of its documents that are new or gone", [
        "entity.newField",
      ]),
    }),
    "How its last requests went",
  ),
});

export function registerRoutes({ sources, health }: RegisterRouteDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/companies/sources",
      operationId: "listCompanySources",
      summary: "The sources of the register, their licences and how they are",
      tags: ["companies"],
      replies: {
        200: {
          description: "The sources",
          schema: Type.Object({ sources: Field(Type.Array(SourceView), "The sources, also inactive ones") }),
        },
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
      replies: { 200: { description: "The schema", schema: Type.Record(Type.String(), Type.Unknown()) } },
      handle: () => SCHEMA,
    }),
  ];
}

const SCHEMA = json(200, COMPANY_JSON_SCHEMA);
