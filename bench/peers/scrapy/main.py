"""
Scrapy, 64 requests at once: title and links of every address on standard input. One JSON line.

--store: the body as a file, and main text and metadata by trafilatura as a line of JSON.
"""
import json
import pathlib
import resource
import sys
import tempfile
import time

from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.spiders import Spider

STORE = "--store" in sys.argv
if STORE:
    from trafilatura import bare_extraction
addresses = [line.strip() for line in sys.stdin if line.strip()]
done = 0


class Titles(Spider):
    name = "titles"
    start_urls = addresses

    def parse(self, response: HtmlResponse):
        global done
        done += 1
        if STORE:
            return self.store(response)
        response.css("title::text").get()
        response.css("a::attr(href)").getall()

    def store(self, response):
        (folder / f"{done}.html").write_bytes(response.body)
        page = bare_extraction(response.text, url=response.url, with_metadata=True, include_comments=True)
        found = page.as_dict() if page else {}
        row = {name: found.get(name) for name in ("title", "author", "date", "sitename", "language", "text", "comments")}
        with open(folder / "pages.jsonl", "a") as rows:
            rows.write(json.dumps({"url": response.url, **row}) + "\n")


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "HTTPERROR_ALLOW_ALL": True,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }
)
began = time.monotonic()
with tempfile.TemporaryDirectory() as made:
    folder = pathlib.Path(made)
    process.crawl(Titles)
    process.start()
used = resource.getrusage(resource.RUSAGE_SELF)
print(
    json.dumps(
        {
            "pages": done,
            "cpu_s": used.ru_utime + used.ru_stime,
            "wall_s": time.monotonic() - began,
            "rss_mb": used.ru_maxrss / 1024,
        }
    )
)
