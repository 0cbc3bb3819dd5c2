"""The filters of lists. What they offer costs the same however long the list is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib.admin import FieldListFilter
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList

# What the newest rows have is offered; Django would look for all values among all rows.
_NEWEST = 1_000


class ValuesFilter(FieldListFilter):
    """One value of a column: those that `filter_values` of the list names, else those of its newest rows."""

    def __init__(  # noqa: PLR0917  Django's signature
        self, field: Any, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.lookup_kwarg = f"{field_path}__exact"
        self.chosen = str((params.get(self.lookup_kwarg) or [""])[-1])
        known = getattr(model_admin, "filter_values", {}).get(field_path)
        if known is None:
            newest = model_admin.get_queryset(request).order_by("-pk")[:_NEWEST]
            known = sorted(set(newest.values_list(field_path, flat=True)))
        self.values = [str(value) for value in known]
        super().__init__(field, request, params, model, model_admin, field_path)

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup_kwarg]

    def has_output(self) -> bool:
        return len(self.values) > 1 or bool(self.chosen)

    def choices(self, changelist: "ChangeList") -> Iterator[Any]:
        yield {
            "selected": not self.chosen,
            "query_string": changelist.get_query_string(remove=[self.lookup_kwarg]),
            "display": "All",
        }
        for value in self.values:
            yield {
                "selected": self.chosen == value,
                "query_string": changelist.get_query_string({self.lookup_kwarg: value}),
                "display": value.replace("_", " "),
            }
