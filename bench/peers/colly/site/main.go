// Colly crawls a site by its sitemaps and links: site ADDRESS LIMIT. It keeps to robots.txt and stores nothing. One JSON line.
package main

import (
	"encoding/json"
	"log"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gocolly/colly/v2"
)

func seconds(of syscall.Timeval) float64 {
	return float64(of.Sec) + float64(of.Usec)/1e6
}

func main() {
	address := os.Args[1]
	limit, err := strconv.ParseUint(os.Args[2], 10, 32)
	if err != nil {
		log.Fatal(err)
	}
	site, err := url.Parse(address)
	if err != nil {
		log.Fatal(err)
	}

	var pages atomic.Int64
	crawler := colly.NewCollector(
		colly.Async(true),
		colly.AllowedDomains(site.Hostname()),
		colly.MaxRequests(uint32(limit)),
	)
	crawler.IgnoreRobotsTxt = false
	if err := crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64}); err != nil {
		log.Fatal(err)
	}
	// It has no part that finds sitemaps: the lines of robots.txt, then indexes and files by their XML.
	robots := crawler.Clone()
	robots.IgnoreRobotsTxt = true
	robots.OnResponse(func(answer *colly.Response) {
		for _, line := range strings.Split(string(answer.Body), "\n") {
			if name, value, found := strings.Cut(line, ":"); found && strings.EqualFold(name, "sitemap") {
				_ = crawler.Visit(strings.TrimSpace(value))
			}
		}
	})
	crawler.OnXML("//sitemapindex/sitemap/loc", func(loc *colly.XMLElement) { _ = loc.Request.Visit(loc.Text) })
	crawler.OnXML("//urlset/url/loc", func(loc *colly.XMLElement) { _ = loc.Request.Visit(loc.Text) })
	crawler.OnHTML("a[href]", func(link *colly.HTMLElement) {
		if !strings.Contains(link.Attr("rel"), "nofollow") {
			_ = link.Request.Visit(link.Attr("href"))
		}
	})
	crawler.OnHTML("link[rel=alternate][href]", func(link *colly.HTMLElement) { _ = link.Request.Visit(link.Attr("href")) })
	crawler.OnHTML("title", func(title *colly.HTMLElement) { pages.Add(1) })

	began := time.Now()
	_ = robots.Visit(address + "robots.txt")
	robots.Wait()
	_ = crawler.Visit(address)
	crawler.Wait()

	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"pages":  pages.Load(),
		"cpu_s":  seconds(used.Utime) + seconds(used.Stime),
		"wall_s": time.Since(began).Seconds(),
		"rss_mb": float64(used.Maxrss) / 1024,
	}); err != nil {
		log.Fatal(err)
	}
}
