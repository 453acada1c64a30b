"""Scrapy with the settings of notes/peers.md 7.4: title and links of every address on standard input. One JSON line."""
import json
import resource
import sys
import time

from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.spiders import Spider

addresses = [line.strip() for line in sys.stdin if line.strip()]
done = 0


class Titles(Spider):
    name = "titles"
    start_urls = addresses

    def parse(self, response: HtmlResponse):
        global done
        response.css("title::text").get()
        response.css("a::attr(href)").getall()
        done += 1


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }
)
began = time.monotonic()
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
