/**
 * Which browser the route `browser` runs: the operator's setting, else the system's Chromium or Chrome (its headless shell where there
 * is one), else the Chromium that `npx playwright install` put there, else the one from npm (headless shell for Linux on x64), which is unpacked
 * when it is first needed. This file finds the browser; it starts it only to ask for its version.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, createReadStream, createWriteStream, existsSync, statSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { extract } from "tar-fs";

export interface Executable {
  readonly path: string;
  /** Its whole environment; nothing of ours is passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether Chromium starts in its sandbox. Default: unless this process is root, as which it has none. */
  readonly sandbox?: boolean;
}

export interface Chromium {
  readonly from: "setting" | "system" | "playwright" | "npm";
  /** For log lines and reports. */
  readonly sentence: string;
  /** Throws when the archive from npm cannot be unpacked or does not run here. */
  readonly ready: () => Promise<Executable>;
}

export interface ChromiumOptions {
  /** TRAWL_CHROMIUM_PATH; null: not set. Any value that is no program (the word "none") means no browser. */
  readonly path: string | null;
  /** Where the browser from npm is unpacked (190 MB); also the home directory of every browser. */
  readonly folder: string;
  /** Default: the paths of this platform's packages. The program itself, not a wrapper script that adds flags. */
  readonly system?: readonly string[];
  /** Where Playwright's own installer puts Chromium; asked when no other is found. Default: not looked for. */
  readonly playwright?: () => string | null;
  /** The folder of the archives from npm; null: there are none. Default: that of the installed package. */
  readonly archives?: string | null;
}

/** The first that is there counts. */
export const SYSTEM: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: [
    // The headless shell opens no window for a context: half of a page's CPU time (decision 0236).
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/chromium.org/chromium/chromium",
    "/usr/bin/chromium",
  ],
  darwin: [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ],
  win32: [
    String.raw`C:\Program Files\Google\Chrome\Application\chrome.exe`,
    String.raw`C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
    String.raw`C:\Program Files\Chromium\Application\chrome.exe`,
  ],
};

/** Null: there is no browser, and the route is not configured. */
export function findChromium({
  path,
  folder,
  system = SYSTEM[process.platform] ?? [],
  playwright = () => null,
  archives = npmArchives(),
}: ChromiumOptions): Chromium | null {
  const home = { HOME: folder, LANG: "C.UTF-8" };
  const chromiumAt = (at: string, from: "setting" | "system" | "playwright"): Chromium => ({
    from,
    sentence: `Chromium at ${at}`,
    ready: async () => {
      await mkdir(folder, { recursive: true });
      return { path: at, env: home };
    },
  });
  // A setting that names no program disables the browser: falling back to another one would surprise the operator.
  if (path !== null) return isProgram(path) ? chromiumAt(path, "setting") : null;
  const installed = system.find(isProgram);
  if (installed !== undefined) return chromiumAt(installed, "system");
  const downloaded = playwright();
  if (downloaded !== null && isProgram(downloaded)) return chromiumAt(downloaded, "playwright");
  if (archives === null) return null;
  let unpacking: Promise<Executable> | undefined;
  return {
    from: "npm",
    sentence: "Chromium from npm",
    ready: () =>
      (unpacking ??= unpackFromNpm(archives, folder, home).catch((problem: unknown) => {
        unpacking = undefined;
        throw problem;
      })),
  };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The archives of @sparticuz/chromium, which are for Linux on x64. */
function npmArchives(): string | null {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  try {
    const module = createRequire(import.meta.url).resolve("@sparticuz/chromium");
    const folder = join(dirname(module), "..", "bin");
    return existsSync(join(folder, "chromium.br")) ? folder : null;
  } catch {
    return null;
  }
}

/**
 * The package's own unpacking uses fixed names in the shared temporary folder, where another user may have put a
 * program before, and accepts a half-written file. This one uses the data folder and renames the finished folder into
 * place.
 */
async function unpackFromNpm(
  archives: string,
  folder: string,
  home: Readonly<Record<string, string>>,
): Promise<Executable> {
  const target = join(folder, `npm-${statSync(join(archives, "chromium.br")).size}`);
  if (!existsSync(target)) {
    const temporary = `${target}.${process.pid}`;
    await mkdir(temporary, { recursive: true });
    try {
      await inflate(join(archives, "chromium.br"), createWriteStream(join(temporary, "chromium")));
      for (const [archive, into] of [
        ["swiftshader.tar.br", "."],
        ["al2023.tar.br", "."],
        ["fonts.tar.br", "fonts"],
      ] as const) {
        await inflate(join(archives, archive), extract(join(temporary, into), { readable: true }));
      }
      await rename(temporary, target);
    } catch (problem) {
      await rm(temporary, { recursive: true, force: true });
      // Another process may have unpacked it meanwhile.
      if (!existsSync(target)) throw problem;
    }
  }
  const path = join(target, "chromium");
  // The browser may run as another user than this process (sandbox.ts), whose umask may be closed.
  for (const each of [folder, target, path]) await chmod(each, 0o755);
  const fonts = existsSync("/etc/fonts/fonts.conf") ? {} : { FONTCONFIG_PATH: join(target, "fonts") };
  const plain_env = { ...home, ...fonts };
  // A minimal system lacks NSS and other libraries. The package includes them, but installed ones are newer.
  const bundled_libraries_env = { ...plain_env, LD_LIBRARY_PATH: join(target, "lib") };
  const working_env = [plain_env, bundled_libraries_env].find((env) => tryRun(path, env).status === 0);
  if (!working_env)
    throw new Error(
      `Cannot run "${path}": ${tryRun(path, bundled_libraries_env).stderr.trim().slice(0, 300)}`,
    );
  return { path, env: working_env };
}

const inflate = (archive: string, into: NodeJS.WritableStream): Promise<void> =>
  pipeline(createReadStream(archive), createBrotliDecompress({ chunkSize: 2 ** 20 }), into);

const tryRun = (path: string, env: Readonly<Record<string, string>>) =>
  spawnSync(path, ["--version"], { env, encoding: "utf8", timeout: 20_000 });
