"""Runs the table of scenarios (scenarios.jsonl) with trawl-client, all at once: first with the client that waits, in threads, then with the one for asyncio.

Arguments: the address of the server of the scenarios. Prints a line of JSON for each of the two: what each call gave, or failed with, by the name of its scenario;
then by how many KiB the process has grown.
"""

import asyncio
import inspect
import json
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from trawl_client import AsyncTrawl, Trawl, TrawlError

server = sys.argv[1]
lines = (Path(__file__).parent / "scenarios.jsonl").read_text("utf-8").split("\n")
scenarios = [json.loads(line) for line in lines if line]


def options_of(run, at, scenario):
    client = scenario.get("client", {})
    options = {"url": client.get("url", f"{server}/{run}/{at}{client.get('url_ending', '')}"), "key": "sk_scenario"}
    if "retries" in client:
        options["retries"] = client["retries"]
    if "timeout_ms" in client:
        options["timeout_s"] = client["timeout_ms"] / 1000
    return options


def named(function, name):
    if name == "from":
        return "start" if function == "results" else "from_"
    return "range_" if name == "range" else name


def called(trawl, call):
    """One step after another: a name is a part of the client or a function with its arguments."""
    subject = trawl
    for name, *words in call:
        member = getattr(subject, name)
        if not callable(member):
            subject = member
            continue
        options = words.pop() if words and isinstance(words[-1], dict) else {}
        subject = member(*words, **{named(name, field): value for field, value in options.items()})
    return subject


def shown(scenario, entry):
    def field_of(path):
        field = entry
        for name in path.split("."):
            if isinstance(field, list):
                field = field[int(name)]
            elif isinstance(field, dict):
                field = field.get(name)
            else:
                field = getattr(field, name, None)
        return field

    return [field_of(path) for path in scenario.get("show", [])]


def failure_of(error):
    return {
        "code": error.code,
        "status": error.status,
        "has_request_id": error.request_id is not None,
        "server_code": error.server_code,
        "retry_after_s": error.retry_after_s,
        "places": [".".join(map(str, each["loc"])) for each in error.mistakes],
    }


class Iteration:
    """What a loop has been given so far."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.count = 0
        self.items = []

    def takes(self, entry):
        """Whether it goes on."""
        self.count += 1
        if self.scenario["how"] == "iterate":
            self.items.append(shown(self.scenario, entry))
        elif entry.index != self.count - 1:
            raise AssertionError(f"the result {entry.index} came as number {self.count}")
        return self.count != self.scenario.get("take")

    def given(self):
        return {"items": self.items} if self.scenario.get("how") == "iterate" else {}

    def outcome(self):
        return self.given() or {"count": self.count}


def waiting(at, scenario, client):
    how = scenario.get("how", "await")
    iteration = Iteration(scenario)
    try:
        answer = called(Trawl(**options_of("python-sync", at, scenario), client=client), scenario["call"])
        if how == "await":
            value = answer.page() if hasattr(answer, "page") else answer
            return {"value": None if value is None else shown(scenario, value)}
        if how == "bytes":
            return {"bytes": sum(len(piece) for piece in answer)}
        for entry in answer:
            if not iteration.takes(entry):
                break
        return iteration.outcome()
    except TrawlError as error:
        return {**iteration.given(), "error": failure_of(error)}


async def with_asyncio(at, scenario, client):
    how = scenario.get("how", "await")
    iteration = Iteration(scenario)
    try:
        answer = called(AsyncTrawl(**options_of("python-async", at, scenario), client=client), scenario["call"])
        if inspect.isawaitable(answer):
            answer = await answer
        if how == "await":
            value = await answer.page() if hasattr(answer, "page") else answer
            return {"value": None if value is None else shown(scenario, value)}
        if how == "bytes":
            return {"bytes": sum([len(piece) async for piece in answer])}
        async for entry in answer:
            if not iteration.takes(entry):
                break
        return iteration.outcome()
    except TrawlError as error:
        return {**iteration.given(), "error": failure_of(error)}


def mine():
    return [(at, scenario) for at, scenario in enumerate(scenarios) if scenario.get("only", "python") == "python"]


def memory_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def all_waiting():
    with httpx.Client() as client, ThreadPoolExecutor(16) as pool:
        outcomes = pool.map(lambda pair: (pair[1]["name"], waiting(*pair, client)), mine())
        return dict(outcomes)


async def all_with_asyncio():
    async with httpx.AsyncClient() as client:
        names = [scenario["name"] for _, scenario in mine()]
        return dict(zip(names, await asyncio.gather(*(with_asyncio(*pair, client) for pair in mine())), strict=True))


before_kib = memory_kib()
print(json.dumps(all_waiting()), flush=True)
print(json.dumps(asyncio.run(all_with_asyncio())), flush=True)
print(memory_kib() - before_kib)
