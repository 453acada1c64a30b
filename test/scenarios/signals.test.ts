/** How the program is asked to stop: by npm and by a whole process group; and that one process at a time uses its data. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { engines } from "../harness/engines.ts";
import { freePort } from "../harness/free-port.ts";
import { article, gate, web } from "../harness/web.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const KEY = "ak_scenarios_0123456789abcdef";
const cleaning: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleaning.splice(0).toReversed()) await clean();
});

interface Program {
  readonly child: ChildProcess;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  readonly said: () => string;
  readonly saying: (text: string) => Promise<void>;
}

/** Settings of the test run, like TRAWL_ENGINES, are none of the service's. */
const OWN_ENV = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("TRAWL_")),
) as Readonly<Record<string, string>>;

/** In a process group of its own, as a shell starts it. */
function launch(command: string, words: readonly string[], env: Readonly<Record<string, string>>): Program {
  const child = spawn(command, words, { cwd: ROOT, env: { ...OWN_ENV, ...env }, detached: true });
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  const ended = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  cleaning.push(() => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // The group has ended.
    }
  });
  const saying = async (text: string): Promise<void> => {
    await expect.poll(() => said.includes(text) || child.exitCode !== null, { timeout: 50_000 }).toBe(true);
    if (!said.includes(text)) throw new Error(`"${text}" was not said before the end:\n${said}`);
  };
  return { child, ended, said: () => said, saying };
}

async function situation() {
  const folder = mkdtempSync(join(tmpdir(), "trawl-signals-"));
  cleaning.push(() => rmSync(folder, { recursive: true, force: true }));
  const sites = await web();
  cleaning.push(() => sites.close());
  const port = await freePort();
  const door = gate();
  const site = sites.site({
    "/": async () => {
      await door.opened;
      return { body: article("The last one") };
    },
  });
  const env = {
    PORT: String(port),
    TRAWL_DATA_DIR: folder,
    TRAWL_ADMIN_KEY: KEY,
    TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
    TRAWL_DNS_SERVERS: sites.dns,
    TRAWL_ARCHIVE_URL: "none",
    TRAWL_CHROMIUM_PATH: "none",
    TRAWL_DEMO: "off",
  };
  const url = `http://127.0.0.1:${port}`;
  const fetchPage = () =>
    fetch(`${url}/v1/fetch`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ url: `${site.origin}/` }),
    }).then(async (answer) => (await answer.json()) as { title: string; error: string | null });
  const answers = () =>
    fetch(`${url}/health`).then(
      () => true,
      () => false,
    );
  return { folder, env, door, site, fetchPage, answers };
}

test("SIGTERM to npm start ends the service when its requests are answered, and npm with it", async () => {
  const { env, door, site, fetchPage, answers } = await situation();
  const npm = launch("npm", ["start"], env);
  await npm.saying("Trawl answers at");
  const last = fetchPage();
  await site.reached("/");
  npm.child.kill("SIGTERM");
  await npm.saying("waiting for requests in flight to end");
  door.open();
  expect(await last).toMatchObject({ title: "The last one", error: null });
  expect(await npm.ended).toBe(0);
  expect(await answers()).toBe(false);
});

test("five signals within a second to the whole group are one request to stop", async () => {
  const { env, door, site, fetchPage } = await situation();
  const program = launch(process.execPath, ["ops/trawl.mjs", "start"], env);
  await program.saying("Trawl answers at");
  const last = fetchPage();
  await site.reached("/");
  for (let n = 0; n < 5; n++) process.kill(-program.child.pid!, n % 2 === 0 ? "SIGINT" : "SIGTERM");
  await program.saying("waiting for requests in flight to end");
  door.open();
  expect(await last).toMatchObject({ title: "The last one", error: null });
  expect(await program.ended).toBe(0);
  expect(program.said().match(/waiting for requests/g)).toHaveLength(1);
});

test("a second process refuses the data of the first, which is readable for its owner only", async () => {
  const { env, folder, answers } = await situation();
  const first = launch(process.execPath, ["ops/trawl.mjs", "start"], env);
  await first.saying("Trawl answers at");
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })])
    expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0]);

  const second = launch(process.execPath, ["ops/trawl.mjs", "start"], { ...env, PORT: "0" });
  expect(await second.ended).toBe(1);
  expect(second.said()).toContain(
    `Cannot use the data in "${folder}": another process uses it. Stop that process, or set another TRAWL_DATA_DIR`,
  );
  expect(await answers()).toBe(true);

  // The lock ends with the process, however it ends.
  process.kill(-first.child.pid!, "SIGKILL");
  await first.ended;
  const third = launch(process.execPath, ["ops/trawl.mjs", "start"], env);
  await third.saying("Trawl answers at");
  expect(third.said()).toContain("Trawl answers at");
});

test("a second process refuses the data of the first also when every lock file was removed", async () => {
  const { env, folder, answers } = await situation();
  const first = launch(process.execPath, ["ops/trawl.mjs", "start"], env);
  await first.saying("Trawl answers at");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const locks = files.filter((name) => name.endsWith(".lock"));
  expect(locks).toContain("process.lock");
  for (const name of locks) rmSync(join(folder, name));

  const second = launch(process.execPath, ["ops/trawl.mjs", "start"], { ...env, PORT: "0" });
  expect(await second.ended).toBe(1);
  expect(second.said()).toContain(`Cannot use the data in "${folder}": another process uses it`);
  expect(await answers()).toBe(true);

  process.kill(-first.child.pid!, "SIGKILL");
  await first.ended;
  const third = launch(process.execPath, ["ops/trawl.mjs", "start"], env);
  await third.saying("Trawl answers at");
  expect(third.said()).toContain("Trawl answers at");
});

const { bus, documents, blobs } = await engines("bus", "documents", "blobs");
test.skipIf(!bus || !documents || !blobs)("SIGTERM to npm run engines ends all three", async () => {
  const npm = launch("npm", ["run", "engines"], {});
  await npm.saying("SIGTERM stops them");
  const [settings] = /^\{.*\}$/m.exec(npm.said())!;
  const ports = [...settings.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
  expect(ports).toHaveLength(3);
  npm.child.kill("SIGTERM");
  expect(await npm.ended).toBe(0);
  for (const port of ports) expect([port, await isListening(port)]).toEqual([port, false]);
});

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
