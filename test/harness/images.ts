/**
 * The images of ops/deploy/Containerfile, built where no image can be pulled and no container runs: the base is made of Debian's packages with
 * mmdebstrap, the builder is the base with Node and npm of this machine, and buildah builds in a chroot, as root. An image is entered by chroot,
 * on a read-only root file system and as its own user, started and asked.
 */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeBuild } from "../../ops/release/image-id.ts";
import { npmFolder, packDebianRoot } from "../../ops/release/debian-root.ts";

export interface BuiltImage {
  /** That of equal builds is equal: ops/release/image-id.ts. */
  readonly id: string;
  /** Unpacked, as `docker images` counts. */
  readonly bytes: number;
  /** Digests. */
  readonly layers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly user: string;
  readonly health_check: readonly string[];
}

export interface ImageBuilder {
  /** Without the layers of earlier builds. */
  readonly build: (stage: string) => BuiltImage;
  /** Rejects with its output when it does not start. `environment`: beside that of the image. */
  readonly ask: (image: BuiltImage, environment: Readonly<Record<string, string>>) => Promise<ImageAnswer>;
}

export interface ImageAnswer {
  /** The status of GET /health. */
  readonly health: number;
  /** GET /ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Exit code of the program of its health check. */
  readonly check_code: number | null;
  /** After SIGTERM. */
  readonly exit_code: number | null;
}

interface Inspected {
  readonly OCIv1: { readonly rootfs: { readonly diff_ids: readonly string[] } };
  readonly Docker: {
    readonly config: {
      readonly User: string;
      readonly Env: readonly string[];
      readonly Entrypoint: readonly string[];
      readonly Cmd: readonly string[];
      readonly Labels: Readonly<Record<string, string>>;
      readonly Healthcheck?: { readonly Test: readonly string[] };
    };
  };
}

/** Stages that IMAGES names, `gateway,worker`; none: no image is built. */
export const stagesToBuild = (): readonly string[] =>
  (process.env["IMAGES"] ?? "").split(",").filter((stage) => stage !== "");

const START_MS = 60_000;
const LOOK_EVERY_MS = 200;

/** `root`: a checkout. `folder` keeps bases and images between runs. `debian`: bookworm or trixie. */
export function imageBuilder(
  root: string,
  { folder, debian, commit, version }: { folder: string; debian: string; commit: string; version: string },
): ImageBuilder {
  mkdirSync(folder, { recursive: true });
  const buildah = (...words: readonly string[]): string => {
    const [command, ...rest] = words;
    const storage = [
      "--storage-driver",
      "overlay",
      "--root",
      join(folder, "storage"),
      "--runroot",
      join(folder, "run"),
    ];
    return execFileSync("buildah", [...storage, command!, ...rest], {
      encoding: "utf8",
      maxBuffer: 1e8,
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  const base = `localhost/trawl-base:${debian}`;
  const builder = `localhost/trawl-builder:${debian}`;

  function makeBases(): void {
    if (buildah("images", "--filter", `reference=${builder}`, "--quiet").trim() !== "") return;
    const tar = join(folder, `${debian}.tar`);
    if (!existsSync(tar)) packDebianRoot(debian, tar);
    fromTree(base, (container) => buildah("add", container, tar, "/"));
    const npm = npmFolder();
    fromTree(
      builder,
      (container) => {
        buildah("copy", container, process.execPath, "/usr/local/bin/node");
        buildah("copy", container, npm, "/usr/local/lib/node_modules/npm");
        // Whom this machine trusts on the way to the registry of packages, the builder trusts, too; no image has it.
        const trusted = process.env["NODE_EXTRA_CA_CERTS"];
        if (trusted !== undefined) {
          buildah("copy", container, trusted, "/etc/ssl/builder.crt");
          buildah("config", "--env", "NODE_EXTRA_CA_CERTS=/etc/ssl/builder.crt", container);
        }
        buildah(
          "run",
          "--isolation",
          "chroot",
          container,
          "--",
          "ln",
          "-s",
          "/usr/local/lib/node_modules/npm/bin/npm-cli.js",
          "/usr/local/bin/npm",
        );
      },
      base,
    );
  }

  function fromTree(name: string, fill: (container: string) => void, from = "scratch"): void {
    const container = buildah("from", from).trim();
    fill(container);
    buildah("commit", "--rm", "--quiet", container, name);
  }

  /** Gives the image this name and an id that does not tell in which container it was built. */
  function withoutContainer(built: string, name: string): string {
    const copy = join(folder, "copy");
    rmSync(copy, { recursive: true, force: true });
    buildah("push", "--quiet", built, `dir:${copy}`);
    const id = removeBuild(copy);
    const pulled = buildah("pull", "--quiet", `dir:${copy}`).trim();
    if (`sha256:${pulled}` !== id) throw new Error(`The image ${id} was read as ${pulled}`);
    buildah("tag", pulled, name);
    rmSync(copy, { recursive: true });
    return pulled;
  }

  const inspect = (id: string): Inspected =>
    JSON.parse(buildah("inspect", "--type", "image", id)) as Inspected;

  /** Its files, in a folder of their own until the work is done. */
  async function mounted<T>(id: string, use: (mountpoint: string) => Promise<T>): Promise<T> {
    const container = buildah("from", id).trim();
    try {
      return await use(buildah("mount", container).trim());
    } finally {
      buildah("rm", container);
    }
  }

  return {
    build(stage) {
      makeBases();
      const values = { BASE: base, BUILDER: builder, COMMIT: commit, VERSION: version };
      const words = Object.entries(values).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
      const id_file = join(folder, `${stage}.id`);
      const name = `localhost/trawl-${stage}:${debian}`;
      buildah(
        "bud",
        "--isolation",
        "chroot",
        "--format",
        "docker",
        "--timestamp",
        "0",
        "--target",
        stage,
        "--quiet",
        "--pull-never",
        "--no-cache",
        ...words,
        "--iidfile",
        id_file,
        "-f",
        join(root, "ops/deploy/Containerfile"),
        root,
      );
      const id = withoutContainer(readFileSync(id_file, "utf8").trim(), name);
      const { config } = inspect(id).Docker;
      const [listed] = JSON.parse(buildah("images", "--json", name)) as [{ size: string }];
      return {
        id,
        bytes: bytesOf(listed.size),
        layers: inspect(id).OCIv1.rootfs.diff_ids,
        labels: config.Labels,
        user: config.User,
        health_check: config.Healthcheck?.Test ?? [],
      };
    },
    ask: ({ id }, environment) =>
      mounted(id, async (mountpoint) => {
        const { Env, Entrypoint, Cmd, User } = inspect(id).Docker.config;
        return enter(mountpoint, {
          words: [...Entrypoint, ...Cmd],
          user: User,
          health_check: inspect(id).Docker.config.Healthcheck?.Test.slice(1) ?? [],
          environment: {
            ...Object.fromEntries(Env.map((each) => each.split(/=(.*)/s).slice(0, 2))),
            ...environment,
          },
        });
      }),
  };
}

/** "234 MB", as buildah prints it. */
function bytesOf(size: string): number {
  const [amount, unit] = size.split(" ");
  return Number(amount) * ({ KB: 1e3, MB: 1e6, GB: 1e9 }[unit!] ?? 1);
}

interface Entry {
  readonly words: readonly string[];
  readonly health_check: readonly string[];
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Secret that all images of a run are given: they share the engines. */
const SECRET = randomBytes(32).toString("base64");

/** Script that lays out what a container would have, in a mount namespace: the root read-only, /data and /tmp in memory, the image's user. */
const ENTER = `
  set -e
  root=$1; user=$2; shift 2
  umask 022
  mount --bind "$root" "$root"
  mount -t tmpfs -o mode=0700,uid="\${user%:*}",gid="\${user#*:}" tmpfs "$root/data"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  printf '%s\n' "$IMAGE_SECRET" > "$root/tmp/secrets.key"
  unset IMAGE_SECRET
  chown "$user" "$root/tmp/secrets.key"
  chmod 0400 "$root/tmp/secrets.key"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -o remount,bind,ro "$root"
  exec chroot --userspec="$user" "$root" "$@"`;

async function enter(
  root: string,
  { words, health_check, user, environment: given }: Entry,
): Promise<ImageAnswer> {
  const [port, status_port] = [await freePort(), await freePort()];
  const environment: Readonly<Record<string, string>> = {
    ...given,
    HOST: "127.0.0.1",
    PORT: String(port),
    TRAWL_STATUS_PORT: String(status_port),
    TRAWL_SECRETS_KEY_FILE: "/tmp/secrets.key",
  };
  const service = spawn(
    "unshare",
    ["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", root, user, ...words],
    {
      env: { ...environment, IMAGE_SECRET: SECRET },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [service.stdout, service.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  const ended = once(service, "exit");
  const status = `http://127.0.0.1:${environment["TRAWL_BUS"] === undefined ? port : status_port}`;
  try {
    const ends_ms = Date.now() + START_MS;
    for (;;) {
      const health = await fetch(`${status}/health`).then(
        ({ status: code }) => code,
        () => null,
      );
      if (health !== null) {
        const ready = (await (await fetch(`${status}/ready`)).json()) as ImageAnswer["ready"];
        const check = spawn("chroot", [`--userspec=${user}`, root, ...health_check], {
          env: environment,
          stdio: "ignore",
        });
        const [check_code] = (await once(check, "exit")) as [number | null];
        service.kill("SIGTERM");
        await ended;
        return { health, ready, check_code, exit_code: service.exitCode };
      }
      if (service.exitCode !== null || Date.now() > ends_ms)
        throw new Error(`The image does not start:\n${output}`);
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    if (service.exitCode === null && service.kill("SIGKILL")) await ended;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
