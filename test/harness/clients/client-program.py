"""What a program does with trawl-client, one scenario a run: it prints a line of JSON for each thing that a test waits for.

Arguments: the scenario, the address of the service, the key, and what the scenario takes.
"""

import asyncio
import json
import sys

from trawl_client import AsyncTrawl, Trawl, TrawlError, verify_webhook

name, url, key, *given = sys.argv[1:]


def say(value):
    print(json.dumps(value), flush=True)


def failure_of(call):
    try:
        call()
    except TrawlError as problem:
        places = [".".join(map(str, each["loc"])) for each in problem.mistakes]
        return {
            "code": problem.code,
            "status": problem.status,
            "hasRequestId": problem.request_id is not None,
            "places": places,
        }
    return None


def calls(origin):
    """Every kind of call once."""
    with Trawl(url=url, key=key) as trawl:
        page = trawl.fetch(f"{origin}/", formats=["links"], include_html=False)
        say({"title": page.title, "error": page.error, "links": len(page.links or [])})
        site = trawl.map(f"{origin}/")
        say({"total": site.total, "links": sorted(link.url for link in site.links)})
        say(sorted([item.kind, item.input.depth, item.error] for item in trawl.crawl(f"{origin}/", limit=10)))
        job = trawl.batch.fetch([f"{origin}/", {"url": f"{origin}/b", "include_html": False}])
        status = job.wait()
        say({"created": job.created, "done": status.counts.done, "finished": status.finished_at is not None})
        say([item.index for item in job.results(start=1)])
        listed = [each.job_id for each in trawl.jobs(limit=1)]
        say({"listed": job.id in listed, "jobs": len(listed) > 1})
        say(len(b"".join(trawl.body(page.sha256 or "", range_="bytes=0-3"))))
        rows = list(trawl.requests(limit=2))
        say({"rows": len(rows) > 2, "usage": len(trawl.usage().rows) > 0, "quota": trawl.quota() is not None})
        say(trawl.search("harbour", max_results=5).error)
        monitor = trawl.monitors.create(f"{origin}/b", every_s=86_400)
        changed = trawl.monitors.change(monitor.id, label="b")
        known = [each.id for each in trawl.monitors.list().monitors]
        trawl.monitors.delete(monitor.id)
        say({"label": changed.label, "listed": monitor.id in known})
        pin = {"value": "4711"}
        session_id = trawl.sessions.create(label="Shop", secrets={"word": pin}).session_id
        entered = trawl.fetch(f"{origin}/enter", session_id=session_id, include_html=False)
        session = trawl.sessions.get(session_id)
        changed_session = trawl.sessions.change(session_id, secrets={"word": None, "pin": pin})
        secrets = [each.name for each in changed_session.secrets]
        trawl.sessions.delete(session_id)
        sessions = len(trawl.sessions.list().sessions)
        say(
            {
                "entered": entered.error,
                "label": session.label,
                "cookies": session.cookies,
                "secrets": secrets,
                "sessions": sessions,
            }
        )
        say(list(trawl.companies.search(q="nobody")))
        made = trawl.keys.create(label="client", spend_cap="5")
        limited = trawl.keys.change(made.prefix, rate_limit_rps=5, spend_cap=None)
        rotated = trawl.keys.rotate(made.prefix)
        trawl.keys.revoke(rotated.prefix)
        actions = [event.action for event in trawl.keys.events().events[:4]]
        say(
            {
                "rate": limited.rate_limit_rps,
                "cap": limited.spend_cap,
                "rotated": rotated.key != made.key,
                "actions": actions,
            }
        )


def imports(path):
    """An archive file in two parts, and once more, until its captures are there; then it is removed."""
    with Trawl(url=url, key=key) as trawl:
        begun = trawl.archive.imports.upload(path)
        again = trawl.archive.imports.upload(path, name="town.warc")
        say([begun.received_bytes == begun.bytes, again.id == begun.id])
        told = again
        while told.state == "importing":
            told = trawl.archive.imports.get(told.id)
        say([told.state, told.captures])
        say(len(b"".join(trawl.archive.imports.warc(told.id))) > 0)
        trawl.archive.imports.delete(told.id)
        say(told.id in [each.id for each in trawl.archive.imports.list().archives])


def async_calls(origin):
    async def main():
        async with AsyncTrawl(url=url, key=key) as trawl:
            pages = await asyncio.gather(*(trawl.fetch(f"{origin}/{n}") for n in range(3)))
            say([page.title for page in pages])
            items = [item async for item in await trawl.crawl(f"{origin}/", limit=10)]
            say(sorted([item.kind, item.input.depth, item.error] for item in items))
            say(len([each async for each in trawl.jobs(limit=1)]) > 0)

    asyncio.run(main())


def errors(refused):
    """Errors, each with its code."""
    trawl = Trawl(url=url, key=key)
    say(failure_of(lambda: Trawl(url=url, key="sk_nobody").quota()))
    say(failure_of(lambda: trawl.job("01a1fed4-907e-7b74-91d6-4c82af9314ba").status()))
    say(failure_of(lambda: trawl.fetch("https://a.test/", max_bytes="many")))
    say(failure_of(lambda: trawl.batch.fetch(["https://a.test/"], idempotency_key="x" * 1000)))
    say(failure_of(lambda: Trawl(url=refused, key=key, retries=1).quota()))


def follow(job_id):
    for item in Trawl(url=url, key=key).job(job_id):
        say([item.index, item.error])


def async_follow(job_id):
    async def main():
        async with AsyncTrawl(url=url, key=key) as trawl:
            async for item in trawl.job(job_id):
                say([item.index, item.error])

    asyncio.run(main())


def limited(count):
    """More calls at once than the key may make in a second."""

    async def main():
        async with AsyncTrawl(url=url, key=key) as trawl:
            say(len(await asyncio.gather(*(trawl.quota() for _ in range(int(count))))))

    asyncio.run(main())


def frames(origin):
    job = Trawl(url=url, key=key).batch.fetch([f"{origin}/1", f"{origin}/2"])
    frame = job.results().to_pandas()
    say([list(frame["index"]), list(frame["title"]), list(frame["input.url"])])


def frameworks(origin):
    from trawl_client.langchain import TrawlLoader, TrawlRetriever
    from trawl_client.llama_index import TrawlReader

    trawl = Trawl(url=url, key=key)
    [document] = TrawlLoader(trawl, urls=[f"{origin}/1", "http://10.0.0.1/"]).load()
    say([document.page_content.split("\n")[0], document.metadata["source"], document.metadata["title"]])
    say(len(TrawlLoader(trawl, crawl=f"{origin}/", limit=2).load()))
    say(len(TrawlRetriever(trawl=trawl).invoke("nobody knows this")))
    [read] = TrawlReader(trawl).load_data([f"{origin}/2"])
    say([read.text.split("\n")[0], read.metadata["title"]])


def webhook(headers, body, secret, old, other):
    headers, old = json.loads(headers), json.loads(old)
    say(verify_webhook(headers, body.encode(), secret)["id"])
    say(verify_webhook({each.lower(): value for each, value in headers.items()}, body, [other, secret])["id"])
    say(failure_of(lambda: verify_webhook(headers, body, other)))
    say(failure_of(lambda: verify_webhook(headers, body + " ", secret)))
    say(failure_of(lambda: verify_webhook(old, body, secret)))
    say(failure_of(lambda: verify_webhook({}, body, secret)))


globals()[name](*given)
