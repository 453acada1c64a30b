"""The pages that loaders of frameworks read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from . import models
from ._sync import Trawl

Page: TypeAlias = models.FetchResponse | models.CrawledPage


def pages_of(trawl: Trawl, urls: Sequence[str], crawl: str | None, limit: int) -> Iterator[Page]:
    """In the order of the addresses, then of the crawl; without those that failed."""
    if urls:
        batch = trawl.batch.fetch([{"url": url, "formats": ["markdown"]} for url in urls])
        for item in batch:
            if item.result is not None and item.error is None:
                yield item.result
    if crawl is not None:
        for found in trawl.crawl(crawl, limit=limit, fetch={"formats": ["markdown"]}):
            if found.result is not None and found.error is None:
                yield found.result


def metadata_of(page: Page) -> dict[str, str]:
    """Flat, as vector stores want it, without what is not known."""
    fields = {
        "source": page.final_url or page.url,
        "title": page.title,
        "retrieved_at": page.retrieved_at,
        "sha256": page.sha256,
    }
    return {name: value for name, value in fields.items() if value}
