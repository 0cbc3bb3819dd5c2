"""What every Studio page of the house has in common.

A registered model is read-only and shows the rows of one team. Whatever changes something is an `Act`, and there is no
other way: a POST makes one call of a service with the signed-in person as the actor and leads on with a toast; a refusal
stands on the page in its own words, beside what was typed. docs/studio/building.md says how to write one.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar
from uuid import UUID

import structlog
from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth import get_user_model, update_session_auth_hash
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from teams_app import selectors
from teams_app.admin.filters import ValuesFilter
from teams_app.admin.parts import Crumb
from teams_app.admin.queries import MAX_VALUE_CHARACTERS, Reader, declared_lookups, declared_query
from teams_app.admin.snippets import snippets_of
from teams_app.engine.actors import Actor, Door, Permission
from teams_app.engine.errors import NotFoundError, WorkrailError
from teams_app.engine.values import TeamValue
from teams_app.services.row_scope import enter_scope_of, within_person

if TYPE_CHECKING:
    # Generic only for the type checker.
    _AnyModelAdmin = ModelAdmin[Any]
    _AnyPaginator = Paginator[Any]
else:
    _AnyModelAdmin = ModelAdmin
    _AnyPaginator = Paginator

T = TypeVar("T")

TEAM_IN_SESSION = "workrail_team"
_ACTOR = "workrail.actor"
REFUSED_BEFORE = "workrail.refused_before"
_MOST_COUNTED = 10_000
MAX_FILLED_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A text that is shown on the page that made it and never again."""

    label: str
    text: str
    hint: str
    is_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What the toast says, what else has to be known, and where to go on; without `url` it is the list.

    One that `renews_sign_in` keeps the browser signed in that would be signed out with all others.
    """

    message: str
    warnings: tuple[str, ...] = ()
    url: str = ""
    secret: Secret | None = None
    renews_sign_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What an act is told: who, on which row (none for an act of the list), with which values of its form, when."""

    actor: Actor
    row_id: UUID | None
    values: Mapping[str, Any]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """`slug` is its address below the row or the list; `needs` and `offered` only hide it, the service decides.

    `initial` fills the form from the row; `begins` that of an act of the list, as does its address for
    the fields of `from_address`. `details` is what the page shows beside the question, for a template of its own.
    One that does not `ask` has no page: its form stands on the page of its row, and a refusal is shown there. One `is_bulk`
    when it is of the rows that are ticked in the list, and `is_quiet` when no list has a button for it.
    """

    slug: str
    label: str
    needs: Permission
    run: Callable[[Order], Done]
    question: str = ""
    form: type[forms.Form] = forms.Form
    initial: Callable[[Any], Mapping[str, Any]] | None = None
    from_address: tuple[str, ...] = ()
    begins: Callable[[Actor], Mapping[str, Any]] | None = None
    details: Callable[[Actor, Any], Mapping[str, Any]] | None = None
    offered: Callable[[Actor, Any], bool] | None = None
    template: str = "admin/studio_act.html"
    submit: str = ""
    not_now: str = "Not now"
    on_row: bool = True
    asks: bool = True
    is_bulk: bool = False
    is_quiet: bool = False
    is_main: bool = False
    is_stop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActLink:
    label: str
    url: str
    is_main: bool
    is_stop: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An act that was not done: why, and what was typed, which is shown again."""

    slug: str
    words: str
    typed: Mapping[str, str]


class BoundedPaginator(_AnyPaginator):
    """Counts no further than anybody pages: counting a long log for a list of fifty rows is slow."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        return rows.order_by()[:_MOST_COUNTED].count() if isinstance(rows, QuerySet) else len(rows)


def actor_of(request: HttpRequest) -> Actor:
    """The signed-in person in the team that they chose, or their first one. PermissionDenied for anybody else."""
    actor = find_actor(request)
    if actor is None:
        raise PermissionDenied
    return actor


def find_actor(request: HttpRequest) -> Actor | None:
    """As `actor_of`, for pages that strangers see too."""
    found = _who_asks(request)
    return None if found is None else found[0]


def own_teams_of(request: HttpRequest) -> list[TeamValue]:
    found = _who_asks(request)
    return [] if found is None else found[1]


def _who_asks(request: HttpRequest) -> tuple[Actor, list[TeamValue]] | None:
    """Asked of the database once in a request."""
    if _ACTOR not in request.META:
        request.META[_ACTOR] = _read_actor(request)
    found: tuple[Actor, list[TeamValue]] | None = request.META[_ACTOR]
    return found


def _read_actor(request: HttpRequest) -> tuple[Actor, list[TeamValue]] | None:
    if not request.user.is_authenticated:
        return None
    with within_person(request.user.pk):
        found = selectors.person_teams(person_id=request.user.pk, team_id=_chosen_team(request), door=Door.STUDIO)
    if found is not None:
        enter_scope_of(found[0])
        structlog.contextvars.bind_contextvars(actor=found[0].id, door=found[0].door.value)
    return found


def choose_team(*, request: HttpRequest, team_id: UUID) -> None:
    """From the next request on. Whether the person is in that team is asked on every request."""
    request.session[TEAM_IN_SESSION] = str(team_id)


def _chosen_team(request: HttpRequest) -> UUID | None:
    text = request.session.get(TEAM_IN_SESSION)
    return UUID(text) if isinstance(text, str) else None


class StudioAdmin(_AnyModelAdmin):
    """Read-only; subclasses name the permission to look, the field that holds the team, and their acts."""

    needs: ClassVar[Permission]
    team_field: ClassVar[str] = "team_id"
    acts: ClassVar[Sequence[Act]] = ()
    # What an address of the list may ask for beside its search and its filters, each with what reads it.
    lookups: ClassVar[Mapping[str, Reader]] = {}
    # What the list is called, and what it says as long as it is empty; Django's names where there are none.
    heading: ClassVar[str] = ""
    empty: ClassVar[tuple[str, str]] = ("Nothing here", "")
    # Lists that are reached from the settings of the team.
    is_setting: ClassVar[bool] = False
    # The values that a filter offers, where they are known: otherwise those of the newest rows.
    filter_values: ClassVar[Mapping[str, Iterable[str]]] = {}

    actions = None
    ordering = ("-id",)
    list_per_page = 50
    show_full_result_count = False
    paginator = BoundedPaginator
    view_on_site = False
    change_form_template = "admin/studio_row.html"
    change_list_template = "admin/studio_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(**{self.team_field: actor_of(request).team_id})

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """None for what cannot be the name of a row: Django asks the database, or overflows, over some of that."""
        if len(object_id) > MAX_VALUE_CHARACTERS or "\x00" in object_id:
            return None
        return super().get_object(request, object_id, from_field)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002  Django's signature
        actor = find_actor(request)
        return actor is not None and actor.may(self.needs)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002  Django's signature
        return False

    def get_urls(self) -> list[URLPattern]:
        """The acts come first: Django's own patterns would take an act's address for a row's."""
        return [self._act_path(act) for act in self.acts] + super().get_urls()

    def get_list_filter(self, request: HttpRequest) -> Any:
        """A plain name is a filter by the values of that column."""
        declared = super().get_list_filter(request)
        return [(given, ValuesFilter) if isinstance(given, str) else given for given in declared]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return lookup in declared_lookups(self)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        shown = {
            "title": self._heading(),
            "acts": self.links(request),
            "crumbs": [_settings_crumb()] if self.is_setting else [],
            "empty_heading": self.empty[0],
            "empty_says": self.empty[1],
        }
        return super().changelist_view(request, {**shown, **(extra_context or {})})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        acts = [] if row is None else self.links(request, row)
        above = [_settings_crumb()] if self.is_setting else []
        # Django would say its name a second time, below.
        named = {"title": "" if row is None else self.row_name(request, row), "subtitle": ""}
        shown = {**named, "acts": acts, "crumbs": [*above, self.list_crumb()]}
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    def _get_obj_does_not_exist_redirect(self, *_given: Any) -> NoReturn:
        """Django would lead to Home, and say there what is missing."""
        raise Http404

    def admit(self, request: HttpRequest) -> None:
        """For pages of one's own in the place of Django's: who may not look is refused, and nothing is changed there."""
        if not self.has_view_permission(request) or request.method not in {"GET", "HEAD"}:
            raise PermissionDenied

    def take_declared(self, request: HttpRequest) -> None:
        """What a list does not declare never reaches it, and is said aloud."""
        request.GET, left_out = declared_query(request, admin=self)  # type: ignore[assignment]  # a QueryDict like any other
        if left_out:
            messages.warning(request, f"The list cannot be asked that; it was left out: {', '.join(left_out)}.")

    def list_crumb(self) -> Crumb:
        return Crumb(label=self._heading(), url=self.list_url())

    def _heading(self) -> str:
        return self.heading or titled(str(self.opts.verbose_name_plural))

    def row_name(self, request: HttpRequest, row: Model) -> str:  # noqa: ARG002  for those who ask who looks
        """What people know it by."""
        return str(row)

    def list_url(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def act_url(self, act: Act, row_id: object = None) -> str:
        return reverse(f"admin:{self._act_name(act)}", args=() if row_id is None else (row_id,))

    def links(self, request: HttpRequest, row: Model | None = None) -> list[ActLink]:
        """The acts with a page, of the list or of a row, as far as this person may and the row allows."""
        actor = actor_of(request)
        return [
            ActLink(
                label=act.label,
                url=self.act_url(act, None if row is None else row.pk),
                is_main=act.is_main,
                is_stop=act.is_stop,
            )
            for act in self.acts
            if act.asks and not act.is_quiet and act.on_row is (row is not None) and offers(actor, act, row)
        ]

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:
        """For acts that do not ask: the page on which their form stands, with the refusal."""
        raise NotImplementedError(f"{act.slug} has no page that could show: {refused.words} ({request.path}, {row_id})")

    def _act_path(self, act: Act) -> URLPattern:
        route = f"<uuid:row_id>/{act.slug}/" if act.on_row else f"{act.slug}/"
        view = self.admin_site.admin_view(shows_refusals(partial(self._act_view, act=act)))
        return path(route, view, name=self._act_name(act))

    def _act_name(self, act: Act) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_act_{act.slug}"

    def do_act(self, request: HttpRequest, act: Act) -> HttpResponse:
        """For an act of the list that has an address of its own besides."""
        return self._act_view(request, act=act)

    def _act_view(self, request: HttpRequest, *, act: Act, row_id: UUID | None = None) -> HttpResponse:
        actor = actor_of(request)
        if not actor.may(act.needs):
            raise PermissionDenied
        row = None if row_id is None else self._row(request, row_id)
        if request.method != "POST" and not act.asks:
            return HttpResponseNotAllowed(["POST"])
        form = (
            act.form(request.POST, request.FILES)
            if request.method == "POST"
            else act.form(initial=_initial(act, row, request))
        )
        if request.method == "POST" and not refused_before(request, form) and form.is_valid():
            order = Order(actor=actor, row_id=row_id, values=form.cleaned_data, now=timezone.now())
            done = _run(act, order, form)
            if done is not None:
                return self._after(request, done)
        if act.asks:
            return self._page(request, act, form, row)
        return self.refused(request, act, row_id, _refused(act, form))

    def _row(self, request: HttpRequest, row_id: UUID) -> Model:
        row = self.get_queryset(request).filter(pk=row_id).first()
        if isinstance(row, Model):
            return row
        raise Http404

    def _after(self, request: HttpRequest, done: Done) -> HttpResponse:
        if done.renews_sign_in:
            update_session_auth_hash(request, get_user_model().objects.get(username=request.user.get_username()))
        for warning in done.warnings:
            messages.warning(request, warning)
        if done.secret is None:
            messages.success(request, done.message)
            return HttpResponseRedirect(done.url or self.list_url())
        shown = {
            **self.admin_site.each_context(request),
            "title": done.message,
            "secret": done.secret,
            "snippets": snippets_of(request, key=done.secret.text) if done.secret.is_key else (),
            "crumbs": [self.list_crumb()],
            "back": done.url or self.list_url(),
            "back_label": "Go on" if done.url else "Back to the list",
        }
        return TemplateResponse(request, "admin/studio_secret.html", shown)

    def _page(self, request: HttpRequest, act: Act, form: forms.Form, row: Model | None) -> HttpResponse:
        shown = {
            **self.admin_site.each_context(request),
            "title": act.label,
            "act": act,
            "form": form,
            "row": row,
            "opts": self.opts,
            "back": self.list_url(),
            "crumbs": [self.list_crumb()],
            "subtitle": self.row_name(request, row) if row is not None else "",
            **({} if act.details is None else act.details(actor_of(request), row)),
        }
        status = 400 if form.errors else 200
        return TemplateResponse(request, act.template, shown, status=status)


class RowPages(StudioAdmin):
    """Each row has a page of our own in the place of Django's form."""

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002  Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002  as above
    ) -> HttpResponse:
        self.admit(request)
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return self.show(request, row)

    @abstractmethod
    def show(self, request: HttpRequest, row: Any) -> HttpResponse: ...


def _initial(act: Act, row: Model | None, request: HttpRequest) -> dict[str, Any]:
    """An act of the list begins with the rows that were ticked there, and with what it takes from its address."""
    if row is None:
        asked = {name: request.GET.get(name, "")[:MAX_FILLED_CHARACTERS] for name in act.from_address}
        begun = {} if act.begins is None else act.begins(actor_of(request))
        return {"rows": request.GET.getlist("rows"), **asked, **begun}
    return {} if act.initial is None else dict(act.initial(row))


def _run(act: Act, order: Order, form: forms.Form) -> Done | None:
    """What is not there has no page."""

    def done() -> Done:
        try:
            return act.run(order)
        except NotFoundError:
            raise Http404 from None

    return attempt(form, done)


def attempt(form: forms.Form, call: Callable[[], T]) -> T | None:
    """A refusal goes back to the form in its own words."""
    try:
        return call()
    except WorkrailError as refusal:
        form.add_error(None, words_of(refusal))
        return None


def shows_refusals(view: Callable[..., T]) -> Callable[..., T]:
    """Such a view is told under `REFUSED_BEFORE` what was refused before it was called, and shows its form with that
    (`refused_before`), so that what was typed is not lost.
    """
    view.__dict__[REFUSED_BEFORE] = True
    return view


def refused_before(request: HttpRequest, form: forms.Form) -> bool:
    refusal = request.META.get(REFUSED_BEFORE)
    if refusal is None:
        return False
    form.full_clean()
    form.add_error(None, words_of(refusal))
    return True


def words_of(refusal: WorkrailError) -> str:
    return " ".join(filter(None, [refusal.message, refusal.suggestion]))


def words_of_form(form: forms.Form) -> str:
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


def offers(actor: Actor, act: Act, row: Model | None) -> bool:
    return actor.may(act.needs) and (act.offered is None or row is None or act.offered(actor, row))


def _refused(act: Act, form: forms.Form) -> Refused:
    typed = {name: str(form[name].data or "") for name in form.fields}
    return Refused(slug=act.slug, words=words_of_form(form), typed=typed)


def _settings_crumb() -> Crumb:
    return Crumb(label="Settings", url=reverse("admin:teams_app_team_changelist"))


def titled(words: str) -> str:
    return words[:1].upper() + words[1:]
