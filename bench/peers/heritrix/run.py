"""
Heritrix crawls a site with the profile that it brings: run.py FOLDER ADDRESS LIMIT. FOLDER is its distribution. One JSON line.

Changed of the profile: no delays, 64 threads, HTTP/1.1, the limit of documents, no pause at the start, rel=nofollow obeyed, and 64 queues for the one host (by
default a host has one queue and one request at a time). All else is its own: trap rules (20 hops, 20 segments, repeated segments), robots.txt, sitemaps, WARC files.
"""
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

home, address, limit = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
NAME = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
OVERRIDES = f"""
metadata.operatorContactUrl=http://127.0.0.1/
disposition.delayFactor=0
disposition.minDelayMs=0
disposition.maxDelayMs=0
crawlController.maxToeThreads=64
crawlController.pauseAtStart=false
crawlLimiter.maxDocumentsDownload={limit}
fetchHttp.useHTTP11=true
extractorHtml.obeyRelNofollow=true
"""
QUEUES = """<bean id="queueAssignmentPolicy" class="org.archive.crawler.frontier.SurtAuthorityQueueAssignmentPolicy">
<property name="parallelQueues" value="64" /></bean>
</beans>"""

with zipfile.ZipFile(next((home / "lib").glob("heritrix-engine-*.jar"))) as engine:
    profile = engine.read(NAME).decode()
profile = re.sub(r"metadata\.operatorContactUrl=.*\n", OVERRIDES.strip() + "\n", profile, count=1)
profile = profile.replace("http://example.example/example", address).replace("</beans>", QUEUES)
with tempfile.TemporaryDirectory() as made:
    job = pathlib.Path(made) / "jobs" / "site"
    job.mkdir(parents=True)
    (job / "crawler-beans.cxml").write_text(profile)
    began = time.monotonic()
    words = ["java", "-Xmx1g", "-cp", f"{home}/lib/*", f"-Dheritrix.home={home}", "org.archive.crawler.Heritrix"]
    words += ["-a", "bench:bench", "-p", "18345", "-j", str(job.parent), "-r", "site"]
    subprocess.run(words, cwd=made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    wall_s = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"pages": 0, "cpu_s": used.ru_utime + used.ru_stime, "wall_s": wall_s, "rss_mb": used.ru_maxrss / 1024}))
