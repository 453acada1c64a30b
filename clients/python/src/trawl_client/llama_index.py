"""Documents for LlamaIndex. Needs trawl-client[llama-index]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from ._sync import Trawl
from .pages import metadata_of, pages_of


class TrawlReader(BaseReader):
    """The text of pages as Markdown: of `urls`, or of the site below `crawl`. Pages that failed are left out."""

    def __init__(self, trawl: Trawl) -> None:
        self._trawl = trawl

    def lazy_load_data(
        self, urls: Sequence[str] = (), *, crawl: str | None = None, limit: int = 100, **_: Any
    ) -> Iterable[Document]:
        for page in pages_of(self._trawl, urls, crawl, limit):
            yield Document(text=page.markdown or page.text, metadata=metadata_of(page))
