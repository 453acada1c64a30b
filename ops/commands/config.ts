/** trawl config: the effective settings, secrets masked. */
import { Command } from "commander";
import { settingRows } from "../config.ts";
import { type Context, type Json, table, withJson } from "./context.ts";

export const configCommand = (context: Context): Command =>
  withJson(new Command("config").description("print the effective settings, secrets masked")).action(
    async ({ json }: Json) => {
      const settings = settingRows(await context.config(), context.environment);
      if (json) return context.out(JSON.stringify(settings, null, 2));
      const rows = settings.map(({ variable, value, from, description }) => [
        variable,
        value ?? "-",
        from === "environment" ? "set" : "",
        description,
      ]);
      return context.out(table(["VARIABLE", "VALUE", "", "MEANING"], rows));
    },
  );
