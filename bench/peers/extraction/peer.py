"""Reads pages as JSON lines ({id, url, html}), answers with what trafilatura makes of them and the CPU it took.

--markdown: `text` is Markdown, with links, tables and formatting; nothing else is answered.
"""
import json
import sys
import time

from trafilatura import bare_extraction, extract

MARKDOWN = "--markdown" in sys.argv


def read(page):
    url = page["url"] or None
    if not MARKDOWN:
        return bare_extraction(page["html"], url=url, with_metadata=True, include_comments=True)
    options = dict(include_comments=True, include_links=True, include_tables=True, include_formatting=True)
    return {"text": extract(page["html"], url=url, output_format="markdown", **options)}


for line in sys.stdin:
    page = json.loads(line)
    before = time.process_time()
    try:
        found = read(page)
    except Exception as error:  # a page it cannot read scores nothing
        print(f"{page['id']}: {error}", file=sys.stderr)
        found = None
    spent = (time.process_time() - before) * 1000
    got = found.as_dict() if hasattr(found, "as_dict") else (found or {})
    text = "\n".join(part for part in (got.get("text"), got.get("comments")) if part)
    print(
        json.dumps(
            {
                "id": page["id"],
                "text": text,
                "title": got.get("title"),
                "author": got.get("author"),
                "date": got.get("date"),
                "cpu_ms": spent,
            }
        ),
        flush=True,
    )
