/** When the API's port shows no metrics (ops/http.ts). */
import { expect, test } from "vitest";
import { readConfig } from "../../ops/config.ts";
import { isPublished } from "../../ops/http.ts";

test.each([
  [{}, false],
  [{ HOST: "localhost" }, false],
  [{ HOST: "127.0.0.2" }, false],
  [{ HOST: "::1" }, false],
  [{ TRAWL_METRICS_ALLOW: "10.0.0.0/8" }, false],
  [{ HOST: "0.0.0.0" }, true],
  [{ HOST: "::" }, true],
  [{ HOST: "10.0.0.1" }, true],
  [{ HOST: "trawl.internal" }, true],
  [{ TRAWL_PUBLIC_URL: "https://trawl.example" }, true],
  // A proxy on this machine is a loopback peer.
  [{ TRAWL_TRUSTED_PROXIES: "127.0.0.1" }, true],
])("with %j the API is published: %j", (environment, expected) => {
  expect(isPublished(readConfig(environment).gateway)).toBe(expected);
});
