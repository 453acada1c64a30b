"""Results of jobs as a table. Needs trawl-client[pandas]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas
from pydantic import BaseModel


def frame_of(items: Sequence[Any]) -> pandas.DataFrame:
    """A row for each item. Fields of the result stand beside those of the item; the input's begin with `input.`."""
    return pandas.DataFrame([_row(item) for item in items])


def _row(item: BaseModel) -> dict[str, Any]:
    fields = item.model_dump(mode="json", by_alias=True)
    result: dict[str, Any] = fields.pop("result") or {}
    sent: dict[str, Any] = fields.pop("input") or {}
    given = {f"input.{name}": value for name, value in sent.items()}
    return {**fields, **given, **{name: value for name, value in result.items() if name not in fields}}
