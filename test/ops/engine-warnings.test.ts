/** Addresses of engines that are reached over a network without TLS or without a password. */
import { expect, test } from "vitest";
import { readConfig } from "../../ops/config.ts";
import { engineWarnings } from "../../ops/engine-warnings.ts";

const lacks = (environment: Record<string, string>): readonly string[] =>
  engineWarnings(readConfig(environment)).map(
    ({ check, detail }) => `${check}: ${/without (.*?):/.exec(detail)![1]!}`,
  );

test.each<readonly [string, Record<string, string>, readonly string[]]>([
  ["the embedded engines", {}, []],
  [
    "loopback",
    { TRAWL_BUS: "nats://127.0.0.1:4222", TRAWL_DOCUMENTS: "mongodb://localhost:27017,[::1]:27018/t" },
    [],
  ],
  ["NATS without both", { TRAWL_BUS: "nats://nats:4222" }, ["NATS security: TLS and a password"]],
  ["NATS with a password", { TRAWL_BUS: "nats://u:p@nats:4222" }, ["NATS security: TLS"]],
  ["NATS with a token", { TRAWL_BUS: "tls://token@nats:4222/name" }, []],
  ["NATS with TLS", { TRAWL_BUS: "tls://10.0.0.1:4222" }, ["NATS security: a password"]],
  ["NATS with a key", { TRAWL_BUS: "tls://nats:4222/name?nkey=/etc/trawl.nk" }, []],
  [
    "one of several",
    { TRAWL_BUS: "nats://127.0.0.1:4222,nats://10.0.0.1:4222" },
    ["NATS security: TLS and a password"],
  ],
  [
    "MongoDB without both",
    { TRAWL_DOCUMENTS: "mongodb://mongodb:27017/trawl" },
    ["MongoDB security: TLS and a password"],
  ],
  [
    "MongoDB with a password",
    { TRAWL_DOCUMENTS: "mongodb://u:p@m:27017/t?retryWrites=false" },
    ["MongoDB security: TLS"],
  ],
  ["MongoDB with both", { TRAWL_DOCUMENTS: "mongodb://u:p@m:27017/t?tls=true" }, []],
  ["MongoDB by SRV", { TRAWL_DOCUMENTS: "mongodb+srv://u:p@m.example/t" }, []],
  ["S3 over http", { TRAWL_BLOBS: "s3://bucket/p", S3_ENDPOINT: "http://s3:7070" }, ["S3 security: TLS"]],
  ["S3 over https", { TRAWL_BLOBS: "s3://bucket/p", S3_ENDPOINT: "https://s3:7070" }, []],
  ["Amazon's S3", { TRAWL_BLOBS: "s3://bucket/p" }, []],
])("%s", (_, environment, expected) => {
  expect(lacks(environment)).toEqual(expected);
});

test("what is said names the variable and shows no password", () => {
  const [{ detail, advice } = { detail: "", advice: "" }] = engineWarnings(
    readConfig({ TRAWL_BUS: "nats://someone:hidden@nats:4222" }),
  );
  expect(advice).toContain("TRAWL_BUS");
  expect(detail + advice).not.toContain("hidden");
});
