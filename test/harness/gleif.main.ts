/**
 * node test/harness/gleif.main.ts: an invented GLEIF on loopback, for a service to be tried out on. It has one company, prints the
 * settings that point a service at it, and gives the company another name for each line of its input.
 */
import { createInterface } from "node:readline";
import { gleif, leiOf } from "./gleif.ts";

const LEI = leiOf("529900T8BM49AURSDO");
const { url, companies } = await gleif();
let name = "Alpina Maschinenbau AG";
companies.set(LEI, { lei: LEI, name });
for (const setting of [`TRAWL_GLEIF_URL='${url}'`, "TRAWL_EGRESS_ALLOW='127.0.0.0/8'"])
  console.log(`export ${setting}`);
console.error(`Serving lei:${LEI}, ${name}; a line of input is its next name`);
for await (const line of createInterface({ input: process.stdin })) {
  companies.set(LEI, { lei: LEI, name: line, former: [name] });
  name = line;
  console.error(`lei:${LEI} is ${name} now`);
}
