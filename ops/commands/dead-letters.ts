/** trawl dead-letters: messages that the service gave up, to be read, sent again or deleted. */
import { Command, InvalidArgumentError } from "commander";
import {
  type DeadLetter,
  listDeadLetters,
  readDeadLetter,
  removeDeadLetter,
  requestRetry,
} from "../../cluster/dead-letters.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { CommandError, type Context, type Json, table, withDocuments, withJson } from "./context.ts";

const MAX_PROBLEM_CHARS = 80;

export function deadLettersCommand(context: Context): Command {
  const command = new Command("dead-letters").description(
    "list, show, retry or delete messages that the service gave up because a bug broke their turn five times",
  );
  withJson(command.command("list", { isDefault: true }))
    .description("list them, newest first, without their contents")
    .option("--actor <name>", "only those to this actor, for example domain")
    .action(async ({ json, actor }: Json & { readonly actor?: string }) => {
      const all = await withDocuments(context, listDeadLetters);
      const deadLetters = all.filter((deadLetter) => actor === undefined || deadLetter.actor === actor);
      if (json) return context.out(JSON.stringify(deadLetters.map(withoutMessage), null, 2));
      if (deadLetters.length === 0) return context.err("There are no dead letters");
      return context.out(
        table(["ID", "GIVEN UP", "TO", "OPERATION", "STATE", "PROBLEM"], deadLetters.map(cells)),
      );
    });
  withJson(command.command("show"))
    .description("print one with its message")
    .argument("<id>", "its number", whole)
    .action(async (id: number, { json }: Json) => {
      const deadLetter = await withDocuments(
        context,
        async (documents) => (await found(documents, id)).deadLetter,
      );
      const { message } = deadLetter;
      const shown = {
        ...view(deadLetter),
        message: message === null ? null : (JSON.parse(message) as unknown),
      };
      if (json) return context.out(JSON.stringify(shown, null, 2));
      for (const [name, value] of Object.entries(shown))
        context.out(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
      return undefined;
    });
  withJson(command.command("retry"))
    .description("have a running node send one again, within a minute")
    .argument("<id>", "its number", whole)
    .action(async (id: number, { json }: Json) => {
      await withDocuments(context, async (documents) => {
        const stored = await found(documents, id);
        if (stored.deadLetter.message === null)
          throw new CommandError(
            `Dead letter ${id} cannot be sent again: its ${stored.deadLetter.bytes} bytes were not kept`,
          );
        if (!(await requestRetry(documents, stored))) throw changed(id);
      });
      if (json) context.out(JSON.stringify({ id, state: "retry" }));
      else
        context.err(`Dead letter ${id} is sent again within a minute; it leaves the list when it was taken`);
    });
  withJson(command.command("delete"))
    .description("delete one for good")
    .argument("<id>", "its number", whole)
    .action(async (id: number, { json }: Json) => {
      await withDocuments(context, async (documents) => {
        if (!(await removeDeadLetter(documents, await found(documents, id)))) throw changed(id);
      });
      if (json) context.out(JSON.stringify({ id, deleted: true }));
      else context.err(`Dead letter ${id} is deleted`);
    });
  return command;
}

async function found(documents: Documents, id: number) {
  const stored = await readDeadLetter(documents, id);
  if (!stored) throw new CommandError(`There is no dead letter ${id}`);
  return stored;
}

const changed = (id: number): CommandError =>
  new CommandError(`Dead letter ${id} changed meanwhile: look at it again`);

const view = ({ id, at_ms, ...deadLetter }: DeadLetter) => ({
  id,
  given_up_at: new Date(at_ms).toISOString(),
  ...deadLetter,
});

function withoutMessage(deadLetter: DeadLetter): Omit<ReturnType<typeof view>, "message"> {
  const { message: _, ...rest } = view(deadLetter);
  return rest;
}

const cells = ({ id, at_ms, actor, key, operation, state, problem }: DeadLetter): string[] => [
  String(id),
  new Date(at_ms).toISOString(),
  `${actor}/${key}`,
  operation,
  state,
  problem.split("\n")[0]!.slice(0, MAX_PROBLEM_CHARS),
];

function whole(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new InvalidArgumentError("It is the number that trawl dead-letters prints.");
  return Number(text);
}
