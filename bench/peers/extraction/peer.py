"""Reads pages as JSON lines ({id, url, html}), answers with what trafilatura makes of them and the CPU it took."""
import json
import sys
import time

from trafilatura import bare_extraction

for line in sys.stdin:
    page = json.loads(line)
    before = time.process_time()
    try:
        found = bare_extraction(page["html"], url=page["url"] or None, with_metadata=True, include_comments=True)
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
