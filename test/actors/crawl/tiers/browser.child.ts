/** Starts the named browser with a script without end in it, says which, and waits to be killed. */
import { browsers, browserSetup } from "../../../harness/browser-harness.ts";

const [, chromium] = browsers.find(([name]) => name === process.argv[2])!;
const it = await browserSetup({ chromium });
const site = it.web.site({
  "/": { body: "<script>fetch('/up'); setTimeout(() => { for (;;); }, 50)</script>" },
});
void it.fetch(`${site.origin}/`);
await site.reached("/up");
await new Promise((resolve) => setTimeout(resolve, 200));
process.stdout.write(String(it.pool.stats().browsers[0]));
