"""
Scrapy follows the links of a site below its first address: crawl.py ADDRESS CONCURRENCY. It keeps to robots.txt and stores nothing.
One JSON line.
"""
import json
import resource
import sys
import time

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

address, concurrency = sys.argv[1], int(sys.argv[2])
folder = "/".join(address.split("/")[3:-1])
seen = []


class Site(CrawlSpider):
    name = "site"
    start_urls = [address]
    rules = [Rule(LinkExtractor(allow=f"/{folder}/"), callback="page", follow=True)]

    def parse_start_url(self, response):
        return self.page(response)

    def page(self, response):
        seen.append(response.url)
        response.css("title::text").get()


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }
)
began = time.monotonic()
process.crawl(Site)
process.start()
used = resource.getrusage(resource.RUSAGE_SELF)
print(
    json.dumps(
        {
            "pages": len(set(seen)),
            "requests": len(seen),
            "cpu_s": used.ru_utime + used.ru_stime,
            "wall_s": time.monotonic() - began,
            "rss_mb": used.ru_maxrss / 1024,
        }
    )
)
