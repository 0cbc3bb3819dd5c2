"""Saved views of the lists: their tabs, and the acts by which people save, share and forget them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.urls import reverse

from sessions_app.engine.run_query import MAX_QUERY_CHARACTERS, MAX_VIEW_NAME_CHARACTERS, ViewedList
from sessions_app.selectors.saved_views import SavedViewValue, list_views
from sessions_app.services.people import saved_views
from teams_app.admin.pages import Act, Done, Order
from teams_app.admin.parts import Tab
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, from_text, to_text

_MODELS = {ViewedList.RUNS: "run", ViewedList.SESSIONS: "worksession"}


class ViewForm(forms.Form):
    name = forms.CharField(max_length=MAX_VIEW_NAME_CHARACTERS, error_messages={"required": "Give it a short name."})
    q = forms.CharField(max_length=MAX_QUERY_CHARACTERS, label="Query", required=False)


class ForgetForm(forms.Form):
    view = forms.CharField(max_length=64, widget=forms.HiddenInput)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewActs:
    """The acts of one list."""

    save: Act
    share: Act
    forget: Act

    @property
    def all(self) -> tuple[Act, ...]:
        return self.save, self.share, self.forget


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownViews:
    """Tabs after the list's own; where what is shown is saved, and where the view that is open is forgotten."""

    tabs: tuple[Tab, ...]
    save_url: str
    share_url: str
    forget_url: str


def acts_of(viewed: ViewedList) -> ViewActs:
    return ViewActs(
        save=_saving(
            viewed, "save-view", "Save this view", "It becomes a tab of the list, for you alone.", is_shared=False
        ),
        share=_saving(
            viewed,
            "share-view",
            "Save for the team",
            "It becomes a tab of the list for everybody in the team.",
            is_shared=True,
        ),
        forget=Act(
            slug="forget-view",
            label="Forget this view",
            question="The tab goes. Runs and sessions stay as they are.",
            needs=Permission.READ_RUNS,
            run=_forgetting(viewed),
            form=ForgetForm,
            on_row=False,
            from_address=("view",),
        ),
    )


def shown_views(*, actor: Actor, viewed: ViewedList, acts: ViewActs, text: str, known: Sequence[str]) -> ShownViews:
    """`known` are the queries that have a tab already. What one could not do is not offered."""
    views = list_views(actor=actor, viewed=viewed)
    here = next((view for view in views if view.query == text), None)
    asked = urlencode({"q": text})
    is_new = bool(text) and here is None and text not in known
    return ShownViews(
        tabs=tuple(_tab(view, is_here=view is here) for view in views if view.query not in known),
        save_url=f"{_address(viewed, acts.save)}?{asked}" if is_new else "",
        share_url=f"{_address(viewed, acts.share)}?{asked}" if is_new and actor.may(Permission.STEER_RUNS) else "",
        forget_url=_forget_url(actor, viewed, acts, here),
    )


def _forget_url(actor: Actor, viewed: ViewedList, acts: ViewActs, here: SavedViewValue | None) -> str:
    if here is None or not (here.is_own or actor.may(Permission.MANAGE_TEAM)):
        return ""
    return f"{_address(viewed, acts.forget)}?{urlencode({'view': to_text(Prefix.VIEW, here.id)})}"


def _tab(view: SavedViewValue, *, is_here: bool) -> Tab:
    return Tab(label=view.name, url=f"?{urlencode({'q': view.query})}", is_here=is_here)


def _saving(viewed: ViewedList, slug: str, label: str, question: str, *, is_shared: bool) -> Act:
    def save(order: Order) -> Done:
        saved_views.save_view(
            actor=order.actor,
            viewed=viewed,
            name=order.values["name"],
            query=order.values["q"],
            is_shared=is_shared,
            now=order.now,
        )
        url = f"{_list_url(viewed)}?{urlencode({'q': ' '.join(order.values['q'].split())})}"
        return Done(message="The view is saved as a tab.", url=url)

    return Act(
        slug=slug,
        label=label,
        question=question,
        needs=Permission.STEER_RUNS if is_shared else Permission.READ_RUNS,
        run=save,
        form=ViewForm,
        on_row=False,
        from_address=("q",),
    )


def _forgetting(viewed: ViewedList) -> Callable[[Order], Done]:
    def forget(order: Order) -> Done:
        view_id = from_text(Prefix.VIEW, order.values["view"]) or UUID(int=0)
        saved_views.forget_view(actor=order.actor, view_id=view_id, now=order.now)
        return Done(message="The view is forgotten.", url=_list_url(viewed))

    return forget


def _list_url(viewed: ViewedList) -> str:
    return reverse(f"admin:sessions_app_{_MODELS[viewed]}_changelist")


def _address(viewed: ViewedList, act: Act) -> str:
    return reverse(f"admin:sessions_app_{_MODELS[viewed]}_act_{act.slug}")
