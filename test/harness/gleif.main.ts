/**
 * node test/harness/gleif.main.ts: an invented GLEIF on loopback, for a service to be tried out on, and an https endpoint for the
 * deliveries of a watch. GLEIF has one company and gives it another name for each line of input. The settings that point a service at
 * both are printed on standard output, each delivery on standard error.
 */
import { createInterface } from "node:readline";
import { gleif, leiOf } from "./gleif.ts";
import { RECEIVER_CERTIFICATE, webhookReceiver } from "./webhook-receiver.ts";

const LEI = leiOf("529900T8BM49AURSDO");
const { url, companies } = await gleif();
const { port } = await webhookReceiver(({ headers, body }) => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  console.error(`\nPOST /hook HTTP/1.1\n${lines.join("\n")}\n\n${body}\n`);
  return 204;
});
let name = "Alpina Maschinenbau AG";
companies.set(LEI, { lei: LEI, name });
const settings = {
  TRAWL_GLEIF_URL: url,
  TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
  TRAWL_CA_FILE: RECEIVER_CERTIFICATE,
  LEI,
  HOOK: `https://127.0.0.1:${port}/hook`,
};
for (const [setting, value] of Object.entries(settings)) console.log(`export ${setting}='${value}'`);
console.error(`Serving lei:${LEI}, ${name}; a line of input is its next name`);
for await (const line of createInterface({ input: process.stdin })) {
  companies.set(LEI, { lei: LEI, name: line, former: [name] });
  name = line;
  console.error(`lei:${LEI} is ${name} now`);
}
