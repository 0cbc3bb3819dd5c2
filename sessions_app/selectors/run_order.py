"""By what lists of runs and sessions are sorted, and where the next page of each begins. Every order ends with the id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from sessions_app.engine.run_query import RunSort
from sessions_app.engine.runs import ACTIVITY_WINDOW

_SEPARATOR = " "
_Rows = TypeVar("_Rows", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    name: str
    read: Callable[[str], object]
    falls: bool = False
    # The indexed window that its values fall in: sorting by both is sorting by it.
    window: str = ""


_CALLED = _Column(name="last_activity_at", read=datetime.fromisoformat, falls=True, window="activity_window")
_ID = _Column(name="id", read=UUID)
# Ids are made in the order of time. A team with few runs has them sorted, one with many finds enough of them at the end of
# the key: either way few rows are read without an index of their own.
_ORDERS: Mapping[RunSort, tuple[_Column, ...]] = {
    RunSort.CALL: (_CALLED, _ID),
    RunSort.STARTED: (_Column(name="id", read=UUID, falls=True),),
    RunSort.WORKFLOW: (_Column(name="workflow_id", read=str), _CALLED, _ID),
    RunSort.STATUS: (_Column(name="status", read=str), _CALLED, _ID),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    sort: RunSort
    is_reversed: bool = False

    def position_of(self, row: Any) -> str:
        values = (getattr(row, column.name) for column in _ORDERS[self.sort])
        return _SEPARATOR.join(each.isoformat() if isinstance(each, datetime) else str(each) for each in values)

    def sorted(self, rows: QuerySet[_Rows], *, after: str | None) -> QuerySet[_Rows]:
        """The rows that come after a position. ValueError for one that this order did not give."""
        columns = _ORDERS[self.sort]
        names = (
            f"-{name}" if column.falls is not self.is_reversed else name
            for column in columns
            for name in (column.window, column.name)
            if name
        )
        return (rows if after is None else rows.filter(self._after(after))).order_by(*names)

    def _after(self, position: str) -> Q:
        columns = _ORDERS[self.sort]
        values = [column.read(text) for column, text in zip(columns, position.split(_SEPARATOR), strict=True)]
        later, same = Q(), Q()
        for column, value in zip(columns, values, strict=True):
            later |= same & Q(**{f"{column.name}__{self._beyond(column)}": value})
            same &= Q(**{column.name: value})
        return self._bound(columns[0], values[0]) & later

    def _bound(self, first: _Column, value: Any) -> Q:
        """What an index can begin with: the alternatives do not tell it."""
        if not first.window:
            return Q(**{f"{first.name}__{self._beyond(first)}e": value})
        return Q(activity_window__gt=value - ACTIVITY_WINDOW) if self.is_reversed else Q(activity_window__lte=value)

    def _beyond(self, column: _Column) -> str:
        return "lt" if column.falls is not self.is_reversed else "gt"
