/** The pages of the status for people, its feeds and badges: without a key, under the limits of all of the status. */
import { type TObject, Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { NOT_FOUND } from "../../../../gateway/http-errors.ts";
import { SCRIPTED_PAGE_HEADERS } from "../../../../gateway/page-policy.ts";
import { openRoute, type ReplyShape, type Route } from "../../../../gateway/route.ts";
import { Field } from "../../../../schemas/common.ts";
import {
  MAX_HISTORY_HOURS,
  type StatusIncident,
  type StatusMaintenance,
} from "../../../../schemas/status.ts";
import { windowAt } from "../evaluate.ts";
import type { StatusWatch } from "../watch-status.ts";
import { badge } from "./badge.ts";
import { atomFeed, rssFeed } from "./feeds.ts";
import { noticePage, noticesPage } from "./notice-pages.ts";
import { componentPage, statusPage } from "./page.ts";
import type { PublicAnswers } from "./public-answers.ts";

export interface StatusPageRoutesDeps {
  readonly watch: Pick<StatusWatch, "current" | "history" | "notices">;
  readonly clock: Pick<Clock, "now">;
  readonly answers: PublicAnswers;
  readonly shapes: Readonly<Record<304 | 429, ReplyShape>>;
  /** The program that runs, in words. */
  readonly build: string;
  /** The address at which clients see the service. */
  readonly base: () => string;
}

const HTML = { ...SCRIPTED_PAGE_HEADERS, "Content-Type": "text/html; charset=utf-8" };
/** A picture may be shown by pages of other origins, and executes nothing when it is opened by itself. */
const SVG = {
  "Content-Type": "image/svg+xml; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "X-Content-Type-Options": "nosniff",
};
const ATOM = { "Content-Type": "application/atom+xml; charset=utf-8", "X-Content-Type-Options": "nosniff" };
const RSS = { "Content-Type": "application/rss+xml; charset=utf-8", "X-Content-Type-Options": "nosniff" };

const Id = (description: string, example: string) =>
  Type.Object({ id: Field(Type.String({ maxLength: 100 }), description, example) });
const ComponentId = Id("The id of the component", "fetch");
const NO_PARAMS = Type.Object({});

export function statusPageRoutes(deps: StatusPageRoutesDeps): readonly Route[] {
  const { watch, clock, answers, shapes, build, base } = deps;

  /** Everything that is kept, newest first. */
  function notices(): readonly (StatusIncident | StatusMaintenance)[] {
    const { incidents, maintenance } = watch.notices();
    const windows = maintenance.map((window) => windowAt(window, clock.now()));
    return [...incidents, ...windows].toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  }
  const componentOf = (id: string) => watch.current().components.find((each) => each.id === id);
  const week = () => watch.history(MAX_HISTORY_HOURS);

  /** `content`: null is 404. */
  const page = (
    path: string,
    operationId: string,
    summary: string,
    params: TObject,
    headers: Readonly<Record<string, string>>,
    content: (params: { readonly id: string }) => Promise<string | null> | string | null,
  ): Route =>
    openRoute({
      method: "GET",
      path,
      operationId,
      audience: "people",
      summary,
      tags: ["about"],
      params,
      replies: {
        200: {
          description: summary,
          // Generators of clients know no types of feeds and pictures.
          content_type: headers === HTML ? "text/html" : "application/octet-stream",
          ...(headers !== HTML && { also: ["*/*"] }),
          schema: Type.String(),
        },
        304: shapes[304],
        ...(path.includes("{") && {
          404: { description: "There is none", schema: Type.Object({ detail: Type.String() }) },
        }),
        429: shapes[429],
      },
      async handle({ head, params: given }) {
        const refusal = answers.limited(head);
        if (refusal) return refusal;
        const text = await content(given as { readonly id: string });
        return text === null ? NOT_FOUND : answers.cacheable(head, headers, Buffer.from(text));
      },
    });

  const noticeRoute = (kind: "incidents" | "maintenance", operationId: string, summary: string): Route =>
    page(
      `/status/${kind}/{id}`,
      operationId,
      summary,
      Id("The id of the notice", kind === "incidents" ? "inc_mf3k2x9q01ab" : "mnt_mf3k2x9q01ab"),
      HTML,
      ({ id }) => {
        const prefix = kind === "incidents" ? "inc_" : "mnt_";
        const notice = id.startsWith(prefix) ? notices().find((each) => each.id === id) : undefined;
        return notice === undefined ? null : noticePage(notice, build);
      },
    );

  return [
    page("/status", "statusPage", "The status of the service, for people", NO_PARAMS, HTML, async () =>
      statusPage(watch.current(), await week(), build),
    ),
    page(
      "/status/components/{id}",
      "statusComponentPage",
      "What one component is like, for people",
      ComponentId,
      HTML,
      async ({ id }) => {
        const component = componentOf(id);
        return component === undefined
          ? null
          : componentPage(component, watch.current(), await week(), build);
      },
    ),
    page(
      "/status/components/{id}/badge.svg",
      "statusComponentBadge",
      "The state of one component as a picture",
      ComponentId,
      SVG,
      ({ id }) => {
        const component = componentOf(id);
        return component === undefined ? null : badge(component.name, component.status);
      },
    ),
    page("/status/badge.svg", "statusBadge", "The state of the service as a picture", NO_PARAMS, SVG, () =>
      badge("Service", watch.current().status),
    ),
    page(
      "/status/incidents",
      "statusIncidentsPage",
      "Incidents and maintenance that are kept, for people",
      NO_PARAMS,
      HTML,
      () => noticesPage(notices(), build),
    ),
    noticeRoute("incidents", "statusIncidentPage", "One incident, for people"),
    noticeRoute("maintenance", "statusMaintenancePage", "One maintenance window, for people"),
    page("/status/atom.xml", "statusAtom", "Incidents and maintenance as an Atom feed", NO_PARAMS, ATOM, () =>
      atomFeed(notices(), base(), new Date(0).toISOString()),
    ),
    page("/status/rss.xml", "statusRss", "Incidents and maintenance as an RSS feed", NO_PARAMS, RSS, () =>
      rssFeed(notices(), base()),
    ),
  ];
}
