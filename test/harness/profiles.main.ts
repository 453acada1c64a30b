/**
 * node --disable-warning=ExperimentalWarning test/harness/profiles.main.ts: the invented profile site on loopback with a
 * forward proxy (tinyproxy) and a rendering service, for a service to be tried out on. It prints the settings that point a
 * service at it.
 */
import { profileSite } from "./profile-site.ts";
import { web } from "./web.ts";

const sites = await web();
const site = await profileSite(sites);
if (site === null) throw new Error("Cannot serve the profile site: tinyproxy is not installed");
const settings = { ...site.environment, TRAWL_DNS_SERVERS: sites.dns, TRAWL_EGRESS_ALLOW: "127.0.0.0/8" };
for (const [name, value] of Object.entries(settings)) console.log(`export ${name}='${value}'`);
console.error("Serving the invented profile site until it is stopped");
