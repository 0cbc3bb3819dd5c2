"""Acts on the rows that were ticked in a list: the same call of a service for each, and one refusal keeps no other back."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms

from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS
from teams_app.admin.pages import Done, Order, words_of
from teams_app.engine.counting import counted
from teams_app.engine.errors import WorkrailError

MOST_ROWS = 50


class RowsField(forms.Field):
    """The rows that were ticked in the list."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[UUID]:
        try:
            rows = [UUID(str(each)) for each in value or ()]
        except ValueError:
            raise forms.ValidationError("Tick rows of the list.") from None
        if not rows:
            raise forms.ValidationError("Tick at least one row in the list.")
        return rows[:MOST_ROWS]


class RowsForm(forms.Form):
    rows = RowsField(required=False)


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The agent is told it at its next call, and the log keeps it.",
        error_messages={"required": "Say in a sentence why."},
    )


class RowsReasonForm(ReasonForm):
    rows = RowsField(required=False)


def each_row(order: Order, act: Callable[[UUID], None], *, noun: str, done: str) -> Done:
    refused: list[str] = []
    for row_id in order.values["rows"]:
        try:
            act(row_id)
        except WorkrailError as refusal:
            refused.append(words_of(refusal))
    count = len(order.values["rows"]) - len(refused)
    return Done(message=f"{counted(count, noun)} {done}.", warnings=tuple(dict.fromkeys(refused)))
