"""Calls a running service with Firecrawl's own Python client, whose models are strict. Prints what it got as JSON.

usage: firecrawl-sdk.py SERVICE KEY SITE
"""

import json
import sys
import time

from typing import Optional

from firecrawl import Firecrawl
from firecrawl.v2.types import ScrapeOptions
from pydantic import BaseModel

service, key, site = sys.argv[1:]
client = Firecrawl(api_key=key, api_url=service)


class Home(BaseModel):
    title: Optional[str] = None


def failure(call):
    try:
        return {"answered": repr(call())}
    except Exception as problem:  # The test says which ones it expects.
        return {"type": type(problem).__name__, "status": getattr(problem, "status_code", None)}


def shown(document):
    metadata = document.metadata
    return {
        "markdown": document.markdown,
        "links": document.links,
        "html": document.raw_html,
        "title": metadata.title,
        "source": metadata.source_url,
        "status": metadata.status_code,
        "error": metadata.error,
        "proxy": metadata.proxy_used,
    }


def job(result):
    return {
        "status": result.status,
        "completed": result.completed,
        "total": result.total,
        "next": result.next,
        "sources": sorted(document.metadata.source_url for document in result.data),
    }


many = [f"{site}/many/{n}" for n in range(105)]
crawled = client.crawl(f"{site}/", limit=20, scrape_options=ScrapeOptions(formats=["markdown"]), poll_interval=1)
begun = client.start_crawl(f"{site}/slow", limit=5)
active = client.get_active_crawls()
batch = client.start_batch_scrape([f"{site}/a", f"{site}/private"], formats=["markdown"])
while client.get_batch_scrape_status(batch.id).status == "scraping":
    pass
usage = client.get_credit_usage()
concurrency = client.get_concurrency()
schema = Home.model_json_schema()
extracted = client.extract(urls=[f"{site}/"], schema=schema, prompt="The title", poll_interval=1)


def monitored():
    targets = [{"type": "scrape", "urls": [f"{site}/"], "scrapeOptions": {"formats": ["markdown"]}}]
    made = client.create_monitor(name="Home", schedule={"text": "daily"}, targets=targets)
    run = client.run_monitor(made.id)
    changed = client.update_monitor(made.id, name="Start")
    while not (checks := [each for each in client.list_monitor_checks(made.id) if each.status == "completed"]):
        time.sleep(0.1)
    page = client.get_monitor_check(made.id, checks[0].id).pages[0]
    return {
        "schedule": made.schedule.cron,
        "run": run.monitor_id == made.id,
        "names": [changed.name, client.get_monitor(made.id).name],
        "listed": made.id in [each.id for each in client.list_monitors(limit=5)],
        "page": [page.url, page.status_code],
        "deleted": client.delete_monitor(made.id),
    }


print(
    json.dumps(
        {
            "page": shown(client.scrape(f"{site}/", formats=["markdown", "links", "rawHtml"])),
            "gone": shown(client.scrape(f"{site}/gone")),
            "json": client.scrape(f"{site}/", formats=[{"type": "json", "schema": schema}]).json,
            "extracted": [extracted.status, extracted.data, extracted.sources, extracted.credits_used],
            "map": sorted(link.url for link in client.map(f"{site}/").links),
            "crawl": job(crawled),
            "batch": job(client.batch_scrape(many, formats=["markdown"], poll_interval=1)),
            "active": [crawl.id == begun.id for crawl in active.crawls],
            "cancelled": client.cancel_crawl(begun.id),
            "blocked": client.get_batch_scrape_errors(batch.id).robots_blocked,
            "monitor": monitored(),
            "queue": client.get_queue_status().max_concurrency,
            "usage": [type(usage.remaining_credits).__name__, usage.plan_credits],
            "concurrency": [type(concurrency.concurrency).__name__, type(concurrency.max_concurrency).__name__],
            "robots": failure(lambda: client.scrape(f"{site}/private")),
            "nowhere": failure(lambda: client.scrape("http://nowhere.invalid/")),
            "unserved": failure(lambda: client.scrape(f"{site}/", formats=["summary"])),
            "stranger": failure(lambda: Firecrawl(api_key="sk_unknown", api_url=service).scrape(f"{site}/")),
            "no_job": failure(lambda: client.get_crawl_status("none")),
        }
    )
)
