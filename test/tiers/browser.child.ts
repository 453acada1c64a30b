/** Starts a browser with a script without end in it, says which, and waits to be killed. */
import { desk } from "../harness/browser-harness.ts";

const it = await desk();
const site = it.web.site({
  "/": { body: "<script>fetch('/up'); setTimeout(() => { for (;;); }, 50)</script>" },
});
void it.fetch(`${site.origin}/`);
await site.reached("/up");
await new Promise((resolve) => setTimeout(resolve, 200));
process.stdout.write(String(it.pool.now().browsers[0]));
