/**
 * The stored state of a domain, for the operator: GET shows it, DELETE clears it, POST sets its delay, slots and pause. Not a part of the public API; its
 * client is the command `trawl domain`. Pages and bodies are not touched.
 */
import { Field } from "../../../../schemas/common.ts";
import { Type } from "typebox";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { Domain, type DomainSettings } from "../../../../schemas/domain.ts";
import { DomainChange, DomainMemory, HostProfile } from "../../../../schemas/fetch.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";

export interface DomainRoutesDeps {
  readonly ask: ActorClient;
  /** The site that a host belongs to; null for a text that is no host name. */
  readonly siteOf: (host: string) => string | null;
  /** Hosts of a site that have a profile, at most `limit`. Throws Fault. */
  readonly hostsOf: (site: string, limit: number) => Promise<readonly string[]>;
}

const MAX_HOSTS = 200;
const WAIT_MS = 10_000;

const Params = Type.Object({
  domain: Field(Type.String({ minLength: 1, maxLength: 253 }), "A domain or one of its hosts", "example.org"),
});

export function domainRoutes({ ask, siteOf, hostsOf }: DomainRoutesDeps): readonly Route[] {
  const options = { timeout_ms: WAIT_MS };
  const reply =
    (
      operation: "view" | "clear",
      change: (call: Call<{ domain: string }>) => DomainSettings | null = () => null,
    ) =>
    async (call: Call<{ domain: string }>): Promise<Answer> => {
      const { params } = call;
      const site = siteOf(params.domain);
      if (site === null) return invalid([NO_HOST]);
      const settings = change(call);
      const [domain, hosts] = await Promise.all([
        settings === null
          ? ask(Domain, site, operation, null, options)
          : ask(Domain, site, "configure", settings, options),
        hostsOf(site, MAX_HOSTS),
      ]);
      const profiles = await Promise.all(
        hosts.map(async (host) => ({
          host,
          ...(await ask(HostProfile, `${site} ${host}`, operation, null, options)),
        })),
      );
      const notable = profiles.filter(
        (host) => host.premium_only + host.premium_blocked > 0 || host.until !== null,
      );
      return json(200, { ...domain, hosts: notable } satisfies DomainMemory);
    };

  const common = {
    path: "/v1/ops/domains/{domain}",
    tags: ["internal"],
    params: Params,
    replies: {
      200: { description: "What is stored of the domain", schema: DomainMemory },
    },
  };
  return [
    route({
      ...common,
      method: "GET",
      operationId: "viewDomain",
      summary:
        "What is stored of a domain: limits, failures and skips of its origins, slow origins, dead hosts, profiles of its hosts",
      handle: reply("view"),
    }),
    route({
      ...common,
      method: "DELETE",
      operationId: "clearDomain",
      summary:
        "Clears failures, skips, dead hosts and host profiles of a domain, and answers what is still stored",
      description:
        "Crawl-delay and Retry-After, which the site asked for, are kept, and so are the configured delay and concurrency.",
      handle: reply("clear"),
    }),
    route({
      ...common,
      method: "POST",
      operationId: "configureDomain",
      summary:
        "Sets delay, concurrent requests and pause of a domain on all nodes, and answers what is stored of it",
      description:
        "It holds at once and after a restart, until it is taken back with null. While a domain is paused no request is sent to it: callers get " +
        "`domain_busy`, and items of jobs wait. Crawl-delay and back-off may still make the delay of an origin longer.",
      body: DomainChange,
      body_example: { min_delay_ms: 2_000 },
      handle: (call) => reply("view", () => settingsOf(call.body, call.now_ms))(call),
    }),
  ];
}

function settingsOf({ pause_s, ...limits }: DomainChange, now_ms: number): DomainSettings {
  if (pause_s === undefined) return limits;
  return { ...limits, paused_until_ms: pause_s === null ? null : now_ms + pause_s * 1_000 };
}

const NO_HOST = { loc: ["path", "domain"], msg: "not a host name or an address", type: "value_error" };
