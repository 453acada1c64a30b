/**
 * Which browser the route `browser` runs: the one the operator named, else Chromium or Chrome of the system, else the
 * one that came with npm (headless shell for Linux on x64), which is unpacked when it is first needed. It is found
 * here and never started but to ask its version.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, createReadStream, createWriteStream, existsSync, statSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { extract } from "tar-fs";

export interface Executable {
  readonly path: string;
  /** All it needs in its environment; it gets nothing of ours. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Chromium {
  readonly from: "setting" | "system" | "npm";
  /** For a log line or a report. */
  readonly sentence: string;
  /** Throws when what npm brought cannot be unpacked or does not run here. */
  readonly ready: () => Promise<Executable>;
}

export interface ChromiumOptions {
  /** TRAWL_CHROMIUM_PATH; null: whichever there is. What is no program (the word "none") means no browser at all. */
  readonly path: string | null;
  /** Where the one from npm is unpacked (190 MB), and what every browser has for a home. */
  readonly folder: string;
  /** Default: where the packages of this platform put it. The real program, not a script that adds flags. */
  readonly system?: readonly string[];
  /** The folder of the archives from npm; null: there are none. Default: of the installed package. */
  readonly archives?: string | null;
}

const SYSTEM: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: [
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

/** Null: there is none, and the route is not configured. */
export function findChromium({
  path,
  folder,
  system = SYSTEM[process.platform] ?? [],
  archives = npmArchives(),
}: ChromiumOptions): Chromium | null {
  const home = { HOME: folder, LANG: "C.UTF-8" };
  const chromiumAt = (at: string, from: "setting" | "system"): Chromium => ({
    from,
    sentence: `Chromium at ${at}`,
    ready: async () => {
      await mkdir(folder, { recursive: true });
      return { path: at, env: home };
    },
  });
  // Who names a browser gets that one or none: another would be a surprise, and a way to be rid of all was wanted.
  if (path !== null) return isProgram(path) ? chromiumAt(path, "setting") : null;
  const installed = system.find(isProgram);
  if (installed !== undefined) return chromiumAt(installed, "system");
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

/** The archives of @sparticuz/chromium, which are of Linux on x64. */
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
 * The package's own unpacking goes to fixed names in the shared temporary folder, where anybody may have put a program
 * before, and takes a half-written one for whole. Here it goes to a folder of ours, and appears there all at once.
 */
async function unpackFromNpm(
  archives: string,
  folder: string,
  home: Readonly<Record<string, string>>,
): Promise<Executable> {
  const target = join(folder, `npm-${statSync(join(archives, "chromium.br")).size}`);
  if (!existsSync(target)) {
    const temporary = `${target}.${process.pid}`;
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    try {
      await inflate(
        join(archives, "chromium.br"),
        createWriteStream(join(temporary, "chromium"), { mode: 0o700 }),
      );
      for (const [archive, into] of [
        ["swiftshader.tar.br", "."],
        ["al2023.tar.br", "."],
        ["fonts.tar.br", "fonts"],
      ] as const) {
        await inflate(join(archives, archive), extract(join(temporary, into)));
      }
      await rename(temporary, target);
    } catch (problem) {
      await rm(temporary, { recursive: true, force: true });
      // Another process may have been first.
      if (!existsSync(target)) throw problem;
    }
  }
  const path = join(target, "chromium");
  const fonts = existsSync("/etc/fonts/fonts.conf") ? {} : { FONTCONFIG_PATH: join(target, "fonts") };
  const plain_env = { ...home, ...fonts };
  // A bare system lacks NSS and a few more: the package brings them, but where they are installed those are newer.
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
