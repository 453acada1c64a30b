/**
 * trawl demo: a service of its own in a folder of its own, the demo site beside it, and commands that search, fetch, crawl and ask the register of
 * companies. Both listen on this machine alone, no other address is asked, and nothing is left.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { demoSite } from "../demo-site.ts";
import { systemTerminal } from "../terminal.ts";
import { CommandError, type Context } from "./context.ts";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const COMPANIES = fileURLToPath(new URL("../demo/companies.csv", import.meta.url));
/** Variables of the user's environment that are passed on; a setting of theirs would make it another service. */
const PASSED = [
  "PATH",
  "HOME",
  "TMPDIR",
  "XDG_CACHE_HOME",
  "LANG",
  "TERM",
  "NO_COLOR",
  "SystemRoot",
] as const;

export const demoCommand = (context: Context): Command =>
  new Command("demo")
    .description("show search, fetch, crawl and companies in a minute, without a network or a service")
    .action(async () => {
      const folder = mkdtempSync(join(tmpdir(), "trawl-demo-"));
      const site = await demoSite();
      const environment = {
        ...Object.fromEntries(PASSED.map((name) => [name, context.environment[name]])),
        XDG_CONFIG_HOME: folder,
        HOST: "127.0.0.1",
        PORT: "0",
        TRAWL_DATA_DIR: join(folder, "data"),
        TRAWL_EGRESS_ALLOW: "127.0.0.1/32",
        TRAWL_LOG_LEVEL: "error",
      };
      const run = (words: readonly string[], env: NodeJS.ProcessEnv, stdio: "inherit" | "pipe") =>
        spawn(process.execPath, [...process.execArgv, MAIN, ...words], {
          env,
          stdio: ["ignore", stdio, "inherit"],
        });
      const service = run(["start", "--json"], environment, "pipe");
      const ended = once(service, "exit");
      // The terminal interrupts all of them; what was made is removed below.
      const interrupt = (context.terminal?.() ?? systemTerminal()).onInterrupt(() => {});
      try {
        const [line] = (await Promise.race([
          once(createInterface({ input: service.stdout! }), "line"),
          ended.then(() => []),
        ])) as [string?];
        if (line === undefined) throw new CommandError("The service of the demo does not start");
        const { address, first_key } = JSON.parse(line) as { address: string; first_key: string };
        context.err(
          `A service at ${address}, the demo site at ${site.url}; its data is in ${folder} until the end`,
        );
        for (const { told, words } of stepsOn(site.url)) {
          context.out(
            `\n${context.paint("bold", `# ${told}`)}\n${context.paint("cyan", `$ trawl ${shown(words)}`)}`,
          );
          const isOperators = words[0] === "companies" || words[0] === "company";
          const keys = isOperators ? {} : { TRAWL_KEY: first_key };
          const [code] = (await once(
            run(
              words,
              { ...environment, ...keys, TRAWL_URL: address, PORT: new URL(address).port },
              "inherit",
            ),
            "exit",
          )) as [number | null];
          if (code !== 0) throw new CommandError(`The step "${told}" ended with ${code}`);
        }
        context.out(`\nYour own service: npm start, or npx @trawl/server. Its console is at /console.`);
      } finally {
        interrupt[Symbol.dispose]();
        service.kill("SIGTERM");
        await ended;
        await site.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });

const stepsOn = (site: string): readonly { readonly told: string; readonly words: readonly string[] }[] => [
  { told: "Search the built-in index", words: ["search", "when was the lighthouse lit", "--max", "2"] },
  { told: "Fetch a page as Markdown", words: ["fetch", `${site}/lighthouse`, "--markdown"] },
  { told: "Its links", words: ["fetch", `${site}/lighthouse`, "--links"] },
  { told: "Crawl the site", words: ["crawl", `${site}/oskerry`, "--limit", "4"] },
  { told: "Import companies into the register", words: ["companies", "import", "gleif-lei", COMPANIES] },
  { told: "A company of the register", words: ["company", "show", "lei:OSKERRYFERRY00000122"] },
];

const shown = (words: readonly string[]): string =>
  words.map((word) => (/^[\w:/.-]+$/.test(word) ? word : `"${word}"`)).join(" ");
