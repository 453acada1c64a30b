// Colly, 64 requests at once: title and links of every address on standard input. One JSON line.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gocolly/colly/v2"
)

func seconds(of syscall.Timeval) float64 {
	return float64(of.Sec) + float64(of.Usec)/1e6
}

func main() {
	var addresses []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() != "" {
			addresses = append(addresses, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}

	var done atomic.Int64
	// A collector reads no robots.txt unless IgnoreRobotsTxt is set to false.
	crawler := colly.NewCollector(colly.Async(true))
	crawler.ParseHTTPErrorResponse = true
	if err := crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64}); err != nil {
		log.Fatal(err)
	}
	crawler.OnHTML("title", func(title *colly.HTMLElement) { _ = title.Text })
	crawler.OnHTML("a[href]", func(link *colly.HTMLElement) { _ = link.Attr("href") })
	crawler.OnScraped(func(*colly.Response) { done.Add(1) })

	began := time.Now()
	for _, address := range addresses {
		if err := crawler.Visit(address); err != nil {
			log.Fatal(err)
		}
	}
	crawler.Wait()

	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"pages":  done.Load(),
		"cpu_s":  seconds(used.Utime) + seconds(used.Stime),
		"wall_s": time.Since(began).Seconds(),
		"rss_mb": float64(used.Maxrss) / 1024,
	}); err != nil {
		log.Fatal(err)
	}
}
