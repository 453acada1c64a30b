"""Documents for LangChain. Needs trawl-client[langchain]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ._sync import Trawl
from .pages import Page, metadata_of, pages_of


class TrawlLoader(BaseLoader):
    """The text of pages as Markdown: of `urls`, or of the site below `crawl`. Pages that failed are left out."""

    def __init__(
        self, trawl: Trawl, *, urls: Sequence[str] = (), crawl: str | None = None, limit: int = 100
    ) -> None:
        self._trawl = trawl
        self._urls = urls
        self._crawl = crawl
        self._limit = limit

    def lazy_load(self) -> Iterator[Document]:
        for page in pages_of(self._trawl, self._urls, self._crawl, self._limit):
            yield _document(page)


class TrawlRetriever(BaseRetriever):
    """The pages that a search finds, read: the text of each as Markdown. A page that cannot be read is left out."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    trawl: Trawl
    max_results: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self.trawl.search(query, max_results=self.max_results)
        urls = [result.url for result in found.results]
        return [_document(page) for page in pages_of(self.trawl, urls, None, self.max_results)]


def _document(page: Page) -> Document:
    return Document(page_content=page.markdown or page.text, metadata=metadata_of(page))
