//! spider, 64 requests at once: title and links of every address on standard input. One JSON line.
//!
//! `Website::crawl` follows the links of one site, so a list of addresses goes through `Page` with the client of a `Website`.
use spider::page::{Page, get_page_selectors};
use spider::tokio;
use spider::website::Website;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// spider's README advises it for fetching and parsing.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn usage() -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which zero is a value; getrusage writes only to it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    }
}

fn seconds(of: libc::timeval) -> f64 {
    of.tv_sec as f64 + of.tv_usec as f64 / 1e6
}

#[tokio::main]
async fn main() {
    let addresses: Arc<[String]> = std::io::stdin()
        .lines()
        .map(|line| line.expect("standard input is text"))
        .filter(|line| !line.is_empty())
        .collect();
    // `Website::crawl` starts it, too: the client opens its connections there.
    spider::utils::connect::init_background_runtime();
    let client = Website::new(&addresses[0]).configure_http_client();
    let next = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let workers: Vec<_> = (0..64)
        .map(|_| {
            let (addresses, client) = (addresses.clone(), client.clone());
            let (next, done) = (next.clone(), done.clone());
            tokio::spawn(async move {
                while let Some(address) = addresses.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut page = Page::new_page(address, &client).await;
                    // Where no answer came, its status is one of a server's errors.
                    if page.status_code.is_server_error() {
                        continue;
                    }
                    // One pass over the page finds links and title.
                    black_box(page.links(&get_page_selectors(address, false, false), &None).await);
                    black_box(page.get_metadata());
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("a worker ends when no address is left");
    }
    let used = usage();
    println!(
        r#"{{"pages": {}, "cpu_s": {}, "wall_s": {}, "rss_mb": {}}}"#,
        done.load(Ordering::Relaxed),
        seconds(used.ru_utime) + seconds(used.ru_stime),
        began.elapsed().as_secs_f64(),
        used.ru_maxrss as f64 / 1024.0,
    );
}
