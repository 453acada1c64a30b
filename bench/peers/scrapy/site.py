"""
Scrapy crawls a site by its sitemaps, its links and rel=canonical: site.py ADDRESS LIMIT. It keeps to robots.txt and rel=nofollow and stores nothing.

A page that names another address as its own is not followed; the named address is asked for. One JSON line.
"""
import json
import resource
import sys
import time

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

address, limit = sys.argv[1], int(sys.argv[2])
host = address.split("/")[2]
pages = 0


class Site(SitemapSpider, CrawlSpider):
    name = "site"
    allowed_domains = [host.split(":")[0]]
    sitemap_urls = [f"{address}robots.txt"]
    sitemap_alternate_links = True
    sitemap_rules = [("", "from_sitemap")]
    rules = [
        Rule(
            LinkExtractor(canonicalize=True, unique=True, tags=("a", "area", "link"), attrs=("href",)),
            process_links="plain",
            process_request="of_page",
        )
    ]

    async def start(self):
        async for request in super().start():
            yield request
        yield Request(address, callback=self.from_sitemap)

    def plain(self, links):
        return [link for link in links if not link.nofollow]

    def of_page(self, request, response):
        return request

    def from_sitemap(self, response):
        return self.parse_with_rules(response, None, {}, True)

    async def parse_with_rules(self, response, callback, cb_kwargs, follow=True):
        global pages
        pages += 1
        named = response.xpath('//link[@rel="canonical"]/@href').get() if hasattr(response, "text") else None
        if named is not None and named != response.url:
            yield Request(response.urljoin(named), callback=self.from_sitemap)
            return
        async for each in super().parse_with_rules(response, callback, cb_kwargs, follow):
            yield each


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        # In the order in which addresses were found, as its documentation says.
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "CLOSESPIDER_PAGECOUNT": limit,
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
            "pages": pages,
            "cpu_s": used.ru_utime + used.ru_stime,
            "wall_s": time.monotonic() - began,
            "rss_mb": used.ru_maxrss / 1024,
        }
    )
)
