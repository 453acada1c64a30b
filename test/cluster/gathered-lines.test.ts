import { spawn, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { FULL_CHARS, gatheredLines } from "../../cluster/adapters/telemetry/gathered-lines.ts";

function gathering() {
  const written: string[] = [];
  const timers: (() => void)[] = [];
  const lines = gatheredLines(
    (text) => void written.push(text),
    (flush) => void timers.push(flush),
  );
  return { ...lines, written, timers };
}

test("lines of one moment are written together, in their order", () => {
  const { add, written, timers } = gathering();
  for (const line of ["a\n", "b\n", "c\n"]) add(line);
  expect([written, timers.length]).toEqual([[], 1]);
  timers.shift()!();
  expect(written).toEqual(["a\nb\nc\n"]);
  add("d\n");
  timers.shift()!();
  expect(written).toEqual(["a\nb\nc\n", "d\n"]);
});

test("a flush writes what waits at once, and the time that was set then writes nothing", () => {
  const { add, flush, written, timers } = gathering();
  add("a\n");
  flush();
  flush();
  timers.shift()!();
  expect(written).toEqual(["a\n"]);
});

test("no more than a full write waits", () => {
  const { add, written } = gathering();
  const line = `${"x".repeat(FULL_CHARS / 4)}\n`;
  for (let n = 0; n < 4; n++) add(line);
  expect(written).toEqual([line.repeat(4)]);
});

const scriptOf = (program: string): readonly string[] => {
  const log = new URL("../../cluster/adapters/telemetry/log.pino.ts", import.meta.url).href;
  const begin = `import { pinoLog } from ${JSON.stringify(log)}; const log = pinoLog({ level: "info" });`;
  return ["--input-type=module", "-e", `${begin} ${program}`];
};
const messagesOf = (stderr: string): unknown[] =>
  stderr
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => (JSON.parse(line) as { msg: unknown }).msg);

test.each(["", "process.exit(3);", 'throw new Error("broken");'])(
  "no line is lost at the end of a process: %j",
  (end) => {
    const { stderr } = spawnSync(process.execPath, scriptOf(`log.info("last"); ${end}`), {
      encoding: "utf8",
    });
    expect(messagesOf(stderr)).toEqual(["last"]);
  },
);

test("a warning is written at once, behind the lines that wait before it", async () => {
  // No timer of a thread that waits runs.
  const program = `log.info("before"); log.warn("urgent"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
  const child = spawn(process.execPath, scriptOf(program), { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  for await (const text of child.stderr) {
    stderr += String(text);
    if (messagesOf(stderr).includes("urgent")) break;
  }
  child.kill("SIGKILL");
  expect(messagesOf(stderr)).toEqual(["before", "urgent"]);
});
