/** trawl login, logout, profiles: services with their keys, kept for later commands (profiles.ts). A key is stored after the service has taken it. */
import { Command, InvalidArgumentError } from "commander";
import {
  NO_PROFILES,
  PROFILE_NAME,
  profileNamed,
  type Profiles,
  profilesPath,
  readProfiles,
  writeProfiles,
} from "../profiles.ts";
import { systemTerminal } from "../terminal.ts";
import { baseOf, errorOf, exchange } from "./client.ts";
import { CommandError, type Context, EXIT, type Json, table, withJson } from "./context.ts";

const DEFAULT_NAME = "default";

export const loginCommand = (context: Context): Command =>
  withJson(new Command("login"))
    .description("keep a service's address and key as a profile, which later commands take")
    .option("--url <address>", "the service's address; default: TRAWL_URL, else HOST and PORT", addressOf)
    .option("--profile <name>", "the name of the profile", nameOf, DEFAULT_NAME)
    .addHelpText("after", "\nThe key is asked for, or the first line of standard input: never an argument.")
    .action(async ({ url, profile, json }: Json & { readonly url?: string; readonly profile: string }) => {
      const base = baseOf(context.clientConfig(), url);
      const key = await (context.terminal?.() ?? systemTerminal()).readSecret(`Key for ${base}: `);
      if (key === "") throw new CommandError("No key was given", EXIT.key);
      const { reply, content } = await exchange("GET", `${base}/v1/usage`, key);
      // Keys of operators have no usage of their own; the service knows them all the same.
      if (!reply.ok && reply.status !== 403) throw errorOf(reply, content);
      const path = profilesPath(context.environment);
      const { profiles } = readProfiles(path);
      writeProfiles(path, { current: profile, profiles: { ...profiles, [profile]: { url: base, key } } });
      if (json) return context.out(JSON.stringify({ profile, url: base, file: path }));
      return context.err(
        `Profile "${profile}" is ${base}; commands take it from now on. Its key is in ${path}`,
      );
    });

export const logoutCommand = (context: Context): Command =>
  withJson(new Command("logout"))
    .description("forget a profile; its key goes on working until it is revoked")
    .argument("[profile]", "its name; default: the current one")
    .action((name: string | undefined, { json }: Json) => {
      const path = profilesPath(context.environment);
      const before = readProfiles(path);
      const gone = name ?? before.current;
      if (gone === null) throw new CommandError("There is no current profile", EXIT.usage);
      profileNamed(before, gone);
      const { [gone]: _, ...profiles } = before.profiles;
      const current = before.current === gone ? null : before.current;
      writeProfiles(path, { ...NO_PROFILES, current, profiles });
      if (json) return context.out(JSON.stringify({ profile: gone }));
      return context.err(`Profile "${gone}" is forgotten`);
    });

export function profilesCommand(context: Context): Command {
  const profiles = new Command("profiles").description("manage the services that commands ask");
  withJson(profiles.command("list"))
    .description("list the profiles; * is the current one")
    .action(({ json }: Json) => {
      const read = readProfiles(profilesPath(context.environment));
      const shown = rowsOf(read);
      if (json) return context.out(JSON.stringify(shown, null, 2));
      const rows = shown.map(({ profile, url, key, is_current }) => [
        is_current ? "*" : "",
        profile,
        url,
        key,
      ]);
      return context.out(table(["", "PROFILE", "ADDRESS", "KEY"], rows));
    });
  withJson(profiles.command("use"))
    .description("take a profile from now on")
    .argument("<profile>", "its name")
    .action((name: string, { json }: Json) => {
      const path = profilesPath(context.environment);
      const before = readProfiles(path);
      const { url } = profileNamed(before, name);
      writeProfiles(path, { ...before, current: name });
      if (json) return context.out(JSON.stringify({ profile: name, url }));
      return context.err(`Commands ask ${url} from now on`);
    });
  return profiles;
}

const SHOWN_OF_KEY = 10;

const rowsOf = ({ current, profiles }: Profiles) =>
  Object.entries(profiles).map(([profile, { url, key }]) => ({
    profile,
    url,
    key: `${key.slice(0, SHOWN_OF_KEY)}…`,
    is_current: profile === current,
  }));

function nameOf(text: string): string {
  if (!PROFILE_NAME.test(text)) throw new InvalidArgumentError("Up to 40 of a-z, 0-9, - and _.");
  return text;
}

function addressOf(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ""))
    throw new InvalidArgumentError("Not an http address.");
  return text;
}
