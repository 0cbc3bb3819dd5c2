"""The Studio's pages of sessions, runs and nodes. They show; the one thing that is changed here is the mode."""

import os
from collections.abc import Collection, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from sessions_app.admin import modes, pages, run_lists, session_lists, showing, states, team_modes
from sessions_app.admin.bundles import EXPORT_SESSION, EXPORT_SESSIONS
from sessions_app.admin.naming_acts import RENAME_SESSION
from sessions_app.admin.places import ShownPlaces
from sessions_app.admin.retention import DELETE_SESSION, HOLD_SESSION, HOLD_SESSIONS, LET_GO
from sessions_app.engine.run_query import RunQuery
from sessions_app.engine.values import SessionValue
from sessions_app.selectors import (
    preferences as preferences_read,
    records,
    sessions as sessions_read,
)
from sessions_app.selectors.activity import NEWEST_FIRST
from sessions_app.selectors.retention import find_hold
from sessions_app.selectors.run_list import list_run_rows
from sessions_app.services.people import preferences
from teams_app import selectors
from teams_app.admin.pages import Act, ActLink, Done, Order, Refused, actor_of
from teams_app.admin.parts import Crumb
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import PageRequest

_SHOWN = 50
_SHOWN_EVENTS = 100
_MOST_EVENT_INDEX = 2**31 - 1
_ROW = "<uuid:row_id>"


def _change_session_mode(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    changed = preferences.set_session_preferences(
        actor=order.actor,
        session_id=row_id,
        change=modes.read_change(order.values),
        now=order.now,
        entropy=os.urandom,
    )
    mode = modes.changed_to(changed).mode
    return Done(message=f"The next runs of the session begin {mode}.", url=showing.session_url(row_id))


def _change_team_mode(order: Order) -> Done:
    changed = preferences.set_team_preferences(actor=order.actor, change=modes.read_change(order.values), now=order.now)
    return Done(message=f"New sessions begin {modes.changed_to(changed).mode}.", url=reverse("admin:team_mode"))


SESSION_MODE = Act(
    slug="mode",
    label="Change how its next runs begin",
    needs=Permission.STEER_RUNS,
    run=_change_session_mode,
    form=modes.PreferencesForm,
    asks=False,
)
TEAM_MODE = Act(
    slug="defaults/mode",
    label="Change how new sessions begin",
    needs=Permission.MANAGE_TEAM,
    run=_change_team_mode,
    form=modes.PreferencesForm,
    on_row=False,
    asks=False,
)


class ActivityAdmin(pages.RowStudio):
    """The latest activity first, which is the order of the index that serves the list."""

    needs = Permission.READ_RUNS

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["runs.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002  Django's signature
        return NEWEST_FIRST

    def bulk_links(self, request: HttpRequest) -> list[ActLink]:
        """The acts on ticked rows, as far as this person may."""
        actor = actor_of(request)
        return [
            ActLink(label=act.label, url=self.act_url(act), is_main=act.is_main, is_stop=act.is_stop)
            for act in self.acts
            if act.is_bulk and actor.may(act.needs)
        ]

    def row_links(self, request: HttpRequest, row_id: UUID, *, but: Collection[Act] = ()) -> list[ActLink]:
        """The acts with a page of one row, which the page has read by itself, but for those that would be refused to it."""
        actor = actor_of(request)
        return [
            ActLink(label=act.label, url=self.act_url(act, row_id), is_main=act.is_main, is_stop=act.is_stop)
            for act in self.acts
            if act.asks and act.on_row and actor.may(act.needs) and act not in but
        ]


class WorkSessionAdmin(ActivityAdmin):
    acts: ClassVar[tuple[Act, ...]] = (
        RENAME_SESSION,
        EXPORT_SESSION,
        HOLD_SESSION,
        LET_GO,
        DELETE_SESSION,
        HOLD_SESSIONS,
        EXPORT_SESSIONS,
        SESSION_MODE,
        TEAM_MODE,
        *session_lists.VIEW_ACTS.all,
    )
    lookups: ClassVar[Mapping[str, Reader]] = {"q": str, "kept": str, "after": str}

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        own = [
            path("defaults/", guard(self.team_view), name="team_mode"),
            path(f"{_ROW}/log/", guard(self.log_view), name="session_log"),
        ]
        return [*own, *super().get_urls()]

    def list_crumb(self) -> Crumb:
        return Crumb(label="Sessions", url=self.list_url())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002  Django's signature
        self.take_declared(request)
        named = from_text(Prefix.SESSION, request.GET.get("q", "").strip())
        if named is not None:
            return HttpResponseRedirect(showing.session_url(named))
        return pages.page(
            self,
            request,
            "studio/sessions.html",
            title="Sessions",
            crumbs=[],
            bulk_acts=self.bulk_links(request),
            **session_lists.context_of(request=request, actor=actor_of(request)),
        )

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._session(request, row_id)

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:
        if act.on_row:
            return self._session(request, pages.some(row_id), refusal=refused.words)
        return self._team(request, refusal=refused.words)

    def team_view(self, request: HttpRequest) -> HttpResponse:
        return self._team(request)

    def _team(self, request: HttpRequest, *, refusal: str = "") -> HttpResponse:
        actor = actor_of(request)
        mode = pages.found(lambda: preferences_read.read_team_mode(actor=actor))
        return pages.page(
            self,
            request,
            "admin/runs_defaults.html",
            title="How new sessions begin",
            status=400 if refusal else 200,
            refusal=refusal,
            **team_modes.mode_of_team(actor, mode),
            mode=modes.mode_form(
                url=self.act_url(TEAM_MODE),
                title="Change it",
                says="It holds for the sessions that are begun from now on. Those that are there keep what they have.",
                preferences=mode.preferences,
                is_open=True,
            )
            if actor.may(Permission.MANAGE_TEAM)
            else None,
        )

    def _session(self, request: HttpRequest, session_id: UUID, *, refusal: str = "") -> HttpResponse:
        actor = actor_of(request)
        session = pages.found(lambda: sessions_read.read_session(actor=actor, session_id=session_id))
        page = PageRequest(limit=_SHOWN)
        now = timezone.now()
        runs = list_run_rows(
            actor=actor, query=RunQuery(), page=page, now=now, idle_after=states.IDLE_AFTER, session_id=session_id
        )
        notes = records.list_session_outputs(actor=actor, session_id=session_id, page=page)
        hold = find_hold(actor=actor, session_id=session_id)
        ids = [session.created_by, *([hold.held_by] if hold else [])]
        names = selectors.name_actors(actor=actor, ids=ids)
        return pages.page(
            self,
            request,
            "studio/session.html",
            title=session.title or session.ticket or "A session without a name",
            acts=self.row_links(request, session_id, but=(HOLD_SESSION, DELETE_SESSION) if hold else (LET_GO,)),
            status=400 if refusal else 200,
            refusal=refusal,
            mode=self._mode(actor, session, is_open=bool(refusal)),
            session=session,
            public_id=to_text(Prefix.SESSION, session.id),
            facts=showing.session_facts(session, names=names, hold=hold),
            runs=run_lists.shown_rows(actor, runs.items, now),
            more_runs=f"{reverse('admin:sessions_app_run_changelist')}?session_id={session.id}"
            if runs.next_position
            else "",
            outputs=[showing.shown_output(output) for output in notes.items],
            log=reverse("admin:session_log", args=(session.id,)),
        )

    def _mode(self, actor: Actor, session: SessionValue, *, is_open: bool) -> modes.ModeForm | None:
        """What the page offers; the service decides."""
        if not actor.may(Permission.STEER_RUNS):
            return None
        return modes.mode_form(
            url=self.act_url(SESSION_MODE, session.id),
            title="Change how its next runs begin",
            says="It holds for the runs of this session that are begun from now on. Those that are there keep what they have.",
            preferences=session.preferences,
            is_open=is_open,
        )

    def log_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        session = pages.found(lambda: sessions_read.read_session(actor=actor, session_id=row_id))
        page = PageRequest(after=_after(request), limit=_SHOWN_EVENTS)
        events = records.list_events(actor=actor, session_id=row_id, page=page)
        return pages.page(
            self,
            request,
            "admin/runs_log.html",
            title="Log",
            back=showing.session_url(session.id),
            back_title=session.title or to_text(Prefix.SESSION, session.id),
            count=session.event_count,
            events=[showing.shown_event(event, ShownPlaces()) for event in events.items],
            following=events.next_position,
        )


def _after(request: HttpRequest) -> str | None:
    text = request.GET.get("after", "")
    is_index = text.isascii() and text.isdigit() and len(text) <= 10
    return str(min(int(text), _MOST_EVENT_INDEX)) if is_index else None
