/**
 * Setup of a scenario: sites on loopback, and the program in one of its shapes over them, as a child process
 * that is spoken to over HTTP.
 *
 *   describe.each(SETUPS)("robots.txt, $setup", ({ start }) => {
 *     const { sites, service } = scenario(start);
 *
 *     test("is obeyed", async () => {
 *       const site = sites.site({ "/": { body: article("Home") } });
 *       expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ error: null });
 *     });
 *   });
 *
 * Both start before the first test of the describe block and end after its last one. They can be used in tests and
 * hooks, not while the block is described.
 */
import { afterAll, beforeAll } from "vitest";
import type { Environment, Service, Start } from "./service.ts";
import { type Web, web } from "./web.ts";

export interface Scenario {
  readonly sites: Web;
  readonly service: Service;
}

/** `environment`: settings beside the sites' name server; what they point to is started in it, before the service. */
export function scenario(
  start: Start,
  environment: (sites: Web) => Environment | Promise<Environment> = () => ({}),
): Scenario {
  let sites: Web | null = null;
  let service: Service | null = null;
  beforeAll(async () => {
    sites = await web();
    service = await start({ TRAWL_DNS_SERVERS: sites.dns, ...(await environment(sites)) });
  });
  afterAll(async () => {
    await service?.close();
    await sites?.close();
  });
  return { sites: onceStarted("sites", () => sites), service: onceStarted("service", () => service) };
}

/** A proxy for an object that is created later: each property is looked up when it is used. */
function onceStarted<T extends object>(name: string, find: () => T | null): T {
  return new Proxy({} as T, {
    get(_, key) {
      const started = find();
      if (started === null) throw new Error(`Cannot use "${name}": it starts with the first test`);
      return Reflect.get(started, key) as unknown;
    },
  });
}
