/** trawl backup and trawl restore: the embedded stores into a folder, while the service runs, and back into an empty one. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { readBuildInfo } from "../build-info.ts";
import type { Config } from "../config.ts";
import { secretsPath } from "../secrets.ts";
import { claimData, embeddedFiles } from "../stores.ts";
import { CommandError, type Context, EXIT, type Json, withJson } from "./context.ts";

const HOW_ELSEWHERE = "docs/operating/backup.md says how MongoDB and S3 are backed up";

export const backupCommand = (context: Context): Command =>
  withJson(new Command("backup").description("copy the embedded stores into a folder while the service runs"))
    .argument("<folder>", "new or empty")
    .option("--with-key", "copy the key of stored secrets, too: then who has the backup can read them")
    .action(async (folder: string, { json, withKey = false }: Json & { readonly withKey?: boolean }) => {
      const config = await context.config();
      const files = filesOf(config);
      const key_file = secretsPath(config);
      const { backup } = await import("../backup.ts");
      const build = readBuildInfo(fileURLToPath(new URL("../..", import.meta.url)));
      const { manifest, damaged } = await orSentence(() =>
        backup(files, resolve(folder), {
          build,
          now_ms: context.now,
          secrets_key: withKey ? key_file : null,
        }),
      );
      if (damaged.length > 0) context.exit(EXIT.some_failed);
      if (json) return context.out(JSON.stringify({ ...manifest, damaged }));
      const { bodies } = manifest;
      context.err(
        `Backed up ${manifest.files.map(({ name, bytes }) => `${name} (${bytes} bytes)`).join(", ")}` +
          (bodies ? ` and ${bodies.count} bodies (${bodies.bytes} bytes), each proved by its digest` : ""),
      );
      if (bodies === null) context.err(`The bodies are in another store (TRAWL_BLOBS): ${HOW_ELSEWHERE}`);
      context.err(
        manifest.secrets_key === "included"
          ? "The key of stored secrets is in the backup: who has it can read them"
          : `The key of stored secrets is not in the backup: keep a copy of "${key_file}" apart from it`,
      );
      for (const sha256 of damaged) context.err(`Not in the backup, because it is damaged: body ${sha256}`);
    });

export const restoreCommand = (context: Context): Command =>
  withJson(new Command("restore").description("restore a backup into a data directory without documents"))
    .argument("<folder>", "as trawl backup made it")
    .action(async (folder: string, { json }: Json) => {
      const config = await context.config();
      const files = filesOf(config);
      const { restore } = await import("../backup.ts");
      // No service starts on half of the data.
      const lock = await orSentence(async () => claimData(config));
      try {
        const manifest = await orSentence(() => restore(files, resolve(folder), secretsPath(config)));
        if (json) return context.out(JSON.stringify(manifest));
        context.err(`Restored the backup of ${manifest.created_at}, data format ${manifest.data_format}`);
        if (!existsSync(secretsPath(config)))
          context.err(
            `Put the key of stored secrets back to "${secretsPath(config)}" before the service starts`,
          );
        return;
      } finally {
        lock[Symbol.dispose]();
      }
    });

function filesOf(config: Config) {
  const files = embeddedFiles(config);
  if (files === null)
    throw new CommandError(
      `TRAWL_DOCUMENTS is no SQLite file, so its own tools back it up: ${HOW_ELSEWHERE}`,
    );
  return files;
}

async function orSentence<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (problem) {
    throw new CommandError((problem as Error).message);
  }
}
