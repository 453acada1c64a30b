/**
 * node --disable-warning=ExperimentalWarning test/harness/edgar.main.ts [folder …]: the filing system on loopback, for a service
 * to be tried out on. It serves the folders given, else the recorded answers where they are, else the made-up ones, and
 * prints the settings that point a service at it.
 */
import { edgar, hasSharedEdgar, SHARED_EDGAR } from "./edgar.ts";

const MADE_UP = new URL("../fixtures/edgar", import.meta.url).pathname;
const named = process.argv.slice(2);
const folders = named.length > 0 ? named : hasSharedEdgar ? [SHARED_EDGAR, MADE_UP] : [MADE_UP];
const { environment } = await edgar({ folders });
const settings = {
  ...environment,
  TRAWL_FILINGS_IDENTITY: "Company name contact@company.com",
  TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
};
for (const [name, value] of Object.entries(settings)) console.log(`export ${name}='${value}'`);
console.error(`Serving ${folders.join(", ")} until it is stopped`);
