/**
 * Lighthouse's scores of pages of a running service, its own settings for a phone: `main.mjs ROUNDS SERVICE KEY PATH…`, CHROMIUM in the
 * environment. A path behind `+` is opened signed in with the key. Prints one JSON line: the median of the performance, the least of
 * the other categories, and every audit that costs a category something.
 */
import lighthouse from "lighthouse";
import puppeteer from "puppeteer-core";

const [rounds, service, key, ...paths] = process.argv.slice(2);
const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];

async function signIn(page) {
  await page.goto(`${service}/console`);
  await page.waitForSelector("input[type=password]");
  await page.type("input[type=password]", key);
  await page.click("input[type=checkbox]");
  await page.click("form button");
  await page.waitForSelector('nav a[href="#/keys"]');
  // The scripts of the page are measured as those of a first visit.
  const devtools = await page.createCDPSession();
  await devtools.send("Network.clearBrowserCache");
  await page.goto("about:blank");
}

async function measured(path) {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--headless=new"],
  });
  try {
    const page = await browser.newPage();
    const isSignedIn = path.startsWith("+");
    if (isSignedIn) await signIn(page);
    const flags = { disableStorageReset: isSignedIn, logLevel: "error", onlyCategories: CATEGORIES };
    const { lhr } = await lighthouse(`${service}${path.replace("+", "")}`, flags, undefined, page);
    if (lhr.runtimeError) throw new Error(`Cannot measure "${path}": ${lhr.runtimeError.message}`);
    return lhr;
  } finally {
    await browser.close();
  }
}

const scoreOf = (lhr, category) => Math.round(lhr.categories[category].score * 100);
const failedOf = (lhr) =>
  Object.values(lhr.categories).flatMap(({ auditRefs }) =>
    auditRefs
      .filter(({ id, weight }) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 0.9)
      .map(({ id }) => `${id} ${lhr.audits[id].displayValue ?? lhr.audits[id].score}`),
  );
/** Of an even number the lower one. */
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)];

const pages = [];
for (const path of paths) {
  const runs = [];
  for (let round = 0; round < Number(rounds); round++) runs.push(await measured(path));
  const all = Object.fromEntries(CATEGORIES.map((name) => [name, runs.map((lhr) => scoreOf(lhr, name))]));
  pages.push({
    path,
    performance: median(all.performance),
    performance_least: Math.min(...all.performance),
    ...Object.fromEntries(CATEGORIES.slice(1).map((name) => [name, Math.min(...all[name])])),
    largest_paint_ms: Math.round(median(runs.map(({ audits }) => audits["largest-contentful-paint"].numericValue))),
    bytes: runs[0].audits["total-byte-weight"].numericValue,
    below_90: [...new Set(runs.flatMap(failedOf))],
  });
}
console.log(JSON.stringify({ lighthouse: (await import("lighthouse/package.json", { with: { type: "json" } })).default.version, pages }));
