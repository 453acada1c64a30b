"""Loads pages of a running service with LangChain's loader for Firecrawl, in each of its modes. Prints what it got as JSON.

usage: firecrawl-langchain.py SERVICE KEY SITE
"""

import json
import sys

from langchain_firecrawl import FirecrawlLoader

service, key, site = sys.argv[1:]
schema = {"type": "object", "properties": {"title": {"type": "string"}}}


def loaded(mode, params=None, **where):
    loader = FirecrawlLoader(mode=mode, params=params, api_key=key, api_url=service, **where)
    return [[document.page_content, document.metadata] for document in loader.lazy_load()]


[[text, about]] = loaded("scrape", url=f"{site}/a")
[[values, sources]] = loaded("extract", {"schema": schema, "prompt": "The title", "poll_interval": 1}, url=f"{site}/")
[[passage, result]] = loaded("search", query="lamps")
print(
    json.dumps(
        {
            "scrape": ["# A" in text, about["title"]],
            "crawl": sorted(each["source_url"] for _, each in loaded("crawl", {"limit": 3, "poll_interval": 1}, url=f"{site}/")),
            "map": f"{site}/a" in [link for link, _ in loaded("map", url=f"{site}/")],
            "extract": [json.loads(values), sources["sources"]],
            "search": [passage, result["url"]],
        }
    )
)
