/**
 * trawl completion SHELL: a script that completes words in a shell, made from the commands themselves. The shell reads it once and starts
 * no program when a word is completed.
 */
import { Command } from "commander";
import { type Context, CommandError, EXIT } from "./context.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

const USE = `
In ~/.bashrc:                     source <(trawl completion bash)
In ~/.zshrc, behind compinit:     source <(trawl completion zsh)
In ~/.config/fish/config.fish:    trawl completion fish | source`;

export function completionCommand(context: Context): Command {
  return new Command("completion")
    .description("print a script that completes commands and options in a shell")
    .argument("<shell>", SHELLS.join(", "))
    .addHelpText("after", USE)
    .action((shell: string, _options: unknown, command: Command) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as (typeof SHELLS)[number]] : null;
      if (script === null)
        throw new CommandError(`shell: "${shell}" should be one of ${SHELLS.join(", ")}`, EXIT.usage);
      context.out(script(placesOf(command.parent!)));
    });
}

interface Word {
  readonly word: string;
  readonly description: string;
}

/** Commands and options that may follow the words of a command. */
interface Place {
  /** Words of the command, each with a space before it; "" of the program. */
  readonly at: string;
  readonly commands: readonly Word[];
  readonly options: readonly (Word & { readonly hasValue: boolean; readonly choices: readonly string[] })[];
}

function placesOf(command: Command, at = ""): readonly Place[] {
  const help = command.createHelp();
  const own: Place = {
    at,
    commands: help
      .visibleCommands(command)
      .map((each) => ({ word: each.name(), description: each.summary() || each.description() })),
    options: help
      .visibleOptions(command)
      .flatMap(({ long, description, required, optional, argChoices = [] }) =>
        long == null
          ? []
          : [{ word: long, description, hasValue: required || optional, choices: argChoices }],
      ),
  };
  return [own, ...command.commands.flatMap((child) => placesOf(child, `${at} ${child.name()}`))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const wordsOf = (words: readonly Word[]): string => words.map(({ word }) => word).join(" ");

/** The words of a command line that are commands, so far. */
const paths = (places: readonly Place[]): string =>
  places
    .filter(({ at }) => at !== "")
    .map(({ at }) => quoted(at))
    .join(" | ");

function bashScript(places: readonly Place[]): string {
  const values = places.flatMap(({ at, options }) =>
    options
      .filter(({ hasValue }) => hasValue)
      .map(({ word, choices }) => `    ${quoted(`${at} ${word}`)}) words=${quoted(choices.join(" "))} ;;`),
  );
  const words = places.map(
    ({ at, commands, options }) =>
      `      ${quoted(at)}) words=${quoted(wordsOf([...commands, ...options]))} ;;`,
  );
  return `_trawl() {
  local at='' words='' word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$at $word" in ${paths(places)}) at="$at $word" ;; esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join("\n")}
    *) case "$at" in
${words.join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _trawl trawl`;
}

const zshScript = (places: readonly Place[]): string =>
  `autoload -U +X bashcompinit && bashcompinit\n${bashScript(places)}`;

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ at, commands, options }) => {
    const here = `complete -c trawl -n ${fishQuoted(`__trawl_at ${fishQuoted(at)}`)}`;
    return [
      ...commands.map(({ word, description }) => `${here} -f -a ${word} -d ${fishQuoted(description)}`),
      ...options.map(
        ({ word, description, hasValue, choices }) =>
          `${here} -l ${word.slice(2)} -d ${fishQuoted(description)}${hasValue ? " -r" : ""}${choices.length > 0 ? ` -f -a ${fishQuoted(choices.join(" "))}` : ""}`,
      ),
    ];
  });
  return `function __trawl_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${places
        .filter(({ at }) => at !== "")
        .map(({ at }) => fishQuoted(at))
        .join(" ")}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join("\n")}`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
