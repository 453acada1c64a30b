/** Mistakes in a caller's steps beyond their schema: fields of another type of step, scripts that are none. */
import { Script } from "node:vm";
import { type Action, STEPS } from "../../../schemas/actions.ts";

const OF_EVERY_STEP: ReadonlySet<string> = new Set(["type", "timeout_ms", "optional"]);

/** A sentence that names the step and the field; null: nothing is wrong. */
export function actionsMistake(actions: readonly Action[]): string | null {
  for (const [at, action] of actions.entries()) {
    const mistake = stepMistake(action);
    if (mistake !== null) return `actions[${at}] (${action.type}) ${mistake}`;
  }
  return null;
}

function stepMistake(action: Action): string | null {
  const { needs = [], may = [], one = [] } = STEPS[action.type];
  const given = (Object.keys(action) as (keyof Action)[]).filter((name) => action[name] !== undefined);
  const missing = needs.find((name) => !given.includes(name));
  if (missing !== undefined) return `needs "${missing}"`;
  if (one.length > 0 && given.filter((name) => one.includes(name)).length !== 1)
    return `needs one of ${one.map((name) => `"${name}"`).join(", ")}, and no other`;
  const known = new Set<string>([...OF_EVERY_STEP, ...needs, ...may, ...one]);
  const foreign = given.find((name) => !known.has(name));
  if (foreign !== undefined) return `has no "${foreign}"`;
  return action.script === undefined ? null : scriptMistake(action.script);
}

const asExpression = (script: string): string =>
  `(async () => (\n${script.trim().replace(/(?<!;);+$/, "")}\n))`;
const asBody = (script: string): string => `(async () => {\n${script}\n})`;

/** Null: it compiles. It is not run. */
function compileProblem(source: string): string | null {
  try {
    void new Script(source);
    return null;
  } catch (problem) {
    return problem instanceof Error ? problem.message : String(problem);
  }
}

function scriptMistake(script: string): string | null {
  if (compileProblem(asExpression(script)) === null) return null;
  const problem = compileProblem(asBody(script));
  return problem && `has a "script" that is neither an expression nor the body of a function: ${problem}`;
}

/** The script as a function without parameters: an expression is its value. */
export const scriptFunction = (script: string): string =>
  compileProblem(asExpression(script)) === null ? asExpression(script) : asBody(script);
