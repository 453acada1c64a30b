/** Words that do not belong, each with what to write instead. Lint sees most of them; this sees the rest. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { expect, test } from "vitest";

const BANNED: readonly { word: RegExp; instead: string; except: RegExp }[] = [
  {
    word: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    instead: "turn.now_ms, or Clock.now()",
    except: /\/adapters\/|^bench\//,
  },
  {
    word: /\bset(Timeout|Interval|Immediate)\(/,
    instead: "turn.setTimer, or Clock.at()",
    // main.ts: a timer that does not keep the process alive.
    except: /\/adapters\/|^bench\/|^ops\/main\.ts$/,
  },
  { word: /\bMath\.random\(|\brandomUUID\(/, instead: "turn.random, or Random.id()", except: /\/adapters\// },
  {
    word: /\bprocess\.env\b/,
    instead: "a setting in ops/config.ts",
    // client-samples.ts: in the text of programs for clients.
    except:
      /^ops\/(check|main|engines\/main|release\/main)\.ts$|^bench\/|^gateway\/(adapters\/http\.uws|openapi\/client-samples)\.ts$/,
  },
  {
    word: /^\s*(await )?using\s+\w+\s*=/m,
    instead: "try and finally: Node 22 cannot parse `using`",
    except: /^$/,
  },
  {
    word: /\bconsole\.(log|error|warn)\(/,
    instead: "the Log port",
    except: /^cluster\/examples\/|^ops\/|^bench\/|^gateway\/openapi\/client-samples\.ts$/,
  },
  {
    word: /^\s*(?:\/\*\*|\*|\/\/) (?:What|One(?! algorithm)|Of|The same|Those)\b/m,
    instead: "comments that begin with their subject",
    except: /^$/,
  },
];

const tops = ["schemas", "records", "cluster", "actors", "gateway", "node", "ops", "bench"];
const found = await Array.fromAsync(glob(tops.map((top) => `${top}/**/*.ts`)));
// Peers in bench/ are other people's programs with packages of their own.
const files = found.filter((file) => !file.startsWith("bench/peers/"));

test.each(BANNED)("says $instead, never $word", ({ word, except }) => {
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !except.test(file) && word.test(readFileSync(file, "utf8")))).toEqual([]);
});

/** Names this project once had of its own, and the field's word for each. A word stands here once no file has it. */
const RETIRED: Readonly<Record<string, string>> = {
  "climb|climbs|climbing|climbed": "run, runFetch",
  "journey|journeys": "document fetch",
  "errand|errands": "remote task",
  roster: "node directory",
  farewell: "stop reason",
  "breathe|breath": "yieldToEventLoop",
  "handed|handOver|handedOver": "handed off is handoff; of hosts: reserved",
  travelled: "over the wire",
  untold: "error result",
  oblige: "schedule a reminder",
  "furnish|renounce|estate": "partition",
  "janitor|Retrievals": "expire-documents, collect-bodies, body grants",
  "impatient|patiently|patience": "deadline",
  "mayStart|parked": "ownsKey, deferred",
  "rulebook|seeker|sought|quest": "robots, find-alternate",
  "Surroundings|mayRest": "deps, canPassivate",
  "KeptJob|try_id|tryItem|named_by": "JobRecord, attempt_id, runAttempt, idempotency_doc",
  "gap_ms|slow_gap_ms|leaves_ms": "min_delay_ms, backoff_ms, deadline_ms",
  "Transported|vouched": "TransportResult, trusted",
  "asker|askOf|ownedAsk|toldBy|lookAt": "caller, parse-request, reserved hosts, classify, lookup",
  "filingSend|withoutFilings|is_noting|is_looking": "sendWithSlot, hostOwners, recording, is_refilling",
  "takeImpatient|firstToLeave|firstLeaves|mayRead": "takeExpired, nextDeadline, isReserved",
};
/** The changelog tells operators what the old names became. Fixtures and published lists are other people's words. */
const MAY_NAME_THEM =
  /^test\/tidy\.test\.ts$|^CHANGELOG\.md$|\/fixtures\/|\/schemes\/lists\/|^bench\/peers\/|package-lock/;

test("retired words do not come back", () => {
  const retired = new RegExp(`\\b(?:${Object.keys(RETIRED).join("|")})\\b`, "gi");
  const texts = execFileSync("git", ["ls-files", "*.ts", "*.mjs", "*.md", "*.json"], { encoding: "utf8" })
    .trim()
    .split("\n")
    .filter((file) => !MAY_NAME_THEM.test(file));
  expect(texts.length).toBeGreaterThan(300);
  const places = texts.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(retired)].map(([word]) => `${file}: ${word}`),
  );
  expect(places).toEqual([]);
});

const MAX_SUBJECT = 72;
const tooLong = (subjects: string): readonly string[] =>
  subjects.split("\n").filter((subject) => subject.length > MAX_SUBJECT);

test("subjects of commits that main does not have yet fit a line", () => {
  const git = (...words: string[]) => spawnSync("git", words, { encoding: "utf8" });
  const main = ["main", "origin/main"].find((name) => git("rev-parse", "--verify", "-q", name).status === 0);
  // An export without history, or a clone without main, has nothing to compare with.
  const subjects = main === undefined ? "" : git("log", "--format=%s", `${main}..HEAD`).stdout;
  expect(tooLong(subjects)).toEqual([]);
  expect(tooLong(`${"x".repeat(72)}\n${"y".repeat(73)}`)).toEqual(["y".repeat(73)]);
});
