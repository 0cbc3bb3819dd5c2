"""The Studio's pages of runs: the list, the page of one with its graph, and what a person does with it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from sessions_app.admin import (
    compare,
    modes,
    naming,
    naming_acts,
    pages,
    retention,
    run_lists,
    run_page,
    showing,
    stopping,
)
from sessions_app.admin.bundles import EXPORT_RUNS, EXPORT_SESSION
from sessions_app.admin.graph import MOST_LINES, View
from sessions_app.admin.models import ActivityAdmin
from sessions_app.admin.places import places_of
from sessions_app.engine.runs import COMPLETE
from sessions_app.selectors import records
from sessions_app.selectors.run_graph import Graph, read_graph
from sessions_app.selectors.runs import name_runs
from sessions_app.services.moves import runs
from sessions_app.services.moves.speech import house_speech
from sessions_app.services.people import forking, preferring
from teams_app import selectors
from teams_app.admin.pages import Act, ActLink, Done, Order, Refused, Secret, actor_of
from teams_app.admin.parts import Crumb, Tab
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import PageRequest
from workflows_app.engine.program import questions_for_people
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_revision_of_program

_SHOWN_EVENTS = 100


def _change_mode(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    reply = runs.change_preferences(
        actor=order.actor,
        run_id=row_id,
        change=modes.read_change(order.values),
        now=order.now,
        entropy=os.urandom,
        speech=house_speech(),
    )
    changed = modes.changed_by(reply)
    return Done(
        message=f"From this step on the mode is {changed.mode}.",
        warnings=changed.warnings,
        url=showing.run_url(row_id),
    )


MODE = Act(
    slug="mode",
    label="Change the mode",
    needs=Permission.STEER_RUNS,
    run=_change_mode,
    form=modes.PreferencesForm,
    asks=False,
)


class NodeForm(forms.Form):
    node = forms.CharField(max_length=64)


class NoteForm(NodeForm):
    notes = forms.CharField(max_length=20_000, error_messages={"required": "Write the note first."})


def _node_in(order: Order) -> UUID:
    node_id = from_text(Prefix.NODE, order.values["node"])
    if node_id is None:
        raise InvalidInputError("There is no such node.", suggestion="Open the run for its nodes.")
    return node_id


def _fork(order: Order) -> Done:
    row_id, node_id = pages.some(order.row_id), _node_in(order)
    token = forking.hand_out_node(actor=order.actor, node_id=node_id, now=order.now)
    return Done(
        message="A fork begins with this token",
        url=showing.node_url(row_id, node_id),
        secret=Secret(
            label="State token",
            text=token,
            hint="Give it to an agent and ask it to call continue_workflow with it as the stateToken. It is given the step "
            "as it was, and goes on from there on a branch of its own. The token is shown here once.",
        ),
    )


def _note(order: Order) -> Done:
    row_id, node_id = pages.some(order.row_id), _node_in(order)
    forking.add_note(actor=order.actor, node_id=node_id, notes=order.values["notes"], now=order.now, entropy=os.urandom)
    return Done(message="The note stands with the step.", url=showing.node_url(row_id, node_id))


FORK = Act(slug="fork", label="Fork here", needs=Permission.STEER_RUNS, run=_fork, form=NodeForm, asks=False)
NOTE = Act(slug="note", label="Add a note", needs=Permission.STEER_RUNS, run=_note, form=NoteForm, asks=False)


def _prefer(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    preferring.prefer_branch(
        actor=order.actor, run_id=row_id, node_id=_node_in(order), now=order.now, entropy=os.urandom
    )
    return Done(
        message="The run stands on this branch now. Agents that find it again go on here.", url=showing.run_url(row_id)
    )


PREFER = Act(slug="prefer", label="Prefer", needs=Permission.STEER_RUNS, run=_prefer, form=NodeForm, asks=False)


class RunAdmin(ActivityAdmin):
    acts: ClassVar[tuple[Act, ...]] = (
        stopping.PAUSE,
        stopping.RESUME,
        stopping.CANCEL,
        stopping.PAUSE_RUNS,
        stopping.CANCEL_RUNS,
        *run_lists.VIEW_ACTS.all,
        naming_acts.RENAME_RUN,
        retention.HOLD_RUNS,
        EXPORT_RUNS,
        MODE,
        FORK,
        NOTE,
        PREFER,
    )
    lookups: ClassVar[Mapping[str, Reader]] = {"session_id": UUID, "q": str, "kept": str, "after": str}

    def get_urls(self) -> list[URLPattern]:
        node = self.admin_site.admin_view(self.node_view)
        comparing = self.admin_site.admin_view(self.compare_view)
        return [
            path("compare/", self.admin_site.admin_view(self.choose_view), name="runs_compare"),
            path("<uuid:row_id>/nodes/<uuid:node_id>/", node, name="run_node"),
            path("<uuid:row_id>/compare/", comparing, name="run_compare"),
            *super().get_urls(),
        ]

    def list_crumb(self) -> Crumb:
        return Crumb(label="Runs", url=self.list_url())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002  Django's signature
        self.take_declared(request)
        named = from_text(Prefix.RUN, request.GET.get("q", "").strip())
        if named is not None:
            return HttpResponseRedirect(showing.run_url(named))
        actor = actor_of(request)
        session_id = pages.id_in(request, "session_id")
        return pages.page(
            self,
            request,
            "studio/runs.html",
            live_team=True,
            title="Runs",
            crumbs=[],
            of_session=session_id is not None,
            bulk_acts=[self._comparing(), *self.bulk_links(request)],
            **run_lists.context_of(request=request, actor=actor, session_id=session_id),
        )

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return naming.named_run(name_runs(actor=actor_of(request), ids=[row.pk])[row.pk])

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._run(request, row_id)

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:  # noqa: ARG002  it stands on one page, whichever it is
        return self._run(request, pages.some(row_id), refused=refused)

    def node_view(self, request: HttpRequest, row_id: UUID, node_id: UUID) -> HttpResponse:  # noqa: ARG002  Django's signature
        """The address that a node had before it became a drawer of its run."""
        return HttpResponseRedirect(showing.node_url(row_id, node_id))

    def _comparing(self) -> ActLink:
        return ActLink(label="Compare two", url=reverse("admin:runs_compare"), is_main=False, is_stop=False)

    def choose_view(self, request: HttpRequest) -> HttpResponse:
        """Two runs that were ticked in the list are compared."""
        rows = [pages.row_id_of(text) for text in request.GET.getlist("rows")[:3]]
        if len(rows) != 2:
            messages.warning(request, "Tick two runs to compare them.")
            return HttpResponseRedirect(self.list_url())
        other = to_text(Prefix.RUN, rows[1])
        return HttpResponseRedirect(f"{reverse('admin:run_compare', args=(rows[0],))}?{urlencode({'other': other})}")

    def compare_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        """Two branches by their ends, or the preferred ways of two runs."""
        actor = actor_of(request)
        pair = pages.found(lambda: compare.read_pair(actor=actor, run_id=row_id, asked=request.GET, now=timezone.now()))
        if pair is None:
            raise Http404
        name = pair["run_name"]
        crumbs = [self.list_crumb(), Crumb(label=name, url=showing.run_url(row_id))]
        prefer_url = self.act_url(PREFER, row_id) if actor.may(PREFER.needs) else ""
        return pages.page(
            self, request, "studio/compare.html", crumbs=crumbs, here="Compare", prefer_url=prefer_url, **pair
        )

    def _run(self, request: HttpRequest, run_id: UUID, *, refused: Refused | None = None) -> HttpResponse:
        actor = actor_of(request)
        now = timezone.now()
        view = run_page.view_of(request)
        # Drawn for several people at once: nobody in it is “you”.
        is_shared = request.headers.get("X-Workrail-Live") == "shared"
        graph = pages.found(lambda: read_graph(actor=actor, run_id=run_id, chosen=view.node))
        if view.node is not None and graph.chosen is None:
            raise Http404
        names = selectors.name_actors(actor=actor, ids=run_page.actor_ids(graph))
        tab = request.GET.get("tab", "")
        shown = run_page.context_of(
            actor=actor,
            graph=graph,
            view=view,
            part=request.GET.get("part", ""),
            names=names,
            now=now,
            reader_id="" if is_shared else actor.id,
        )
        may_steer = actor.may(Permission.STEER_RUNS) and graph.run.dialect in forking.FORKED_IN
        further = self.further_parts(actor)
        known = {"gaps", "events", *(slug for slug, _ in further)}
        here = tab if tab in known else "graph"
        return pages.page(
            self,
            request,
            "studio/run_live.html" if is_shared else "studio/run.html",
            live_run=run_id,
            status=400 if refused else 200,
            refusal=refused.words if refused else "",
            of_workflow=_workflow_of(actor, graph),
            acts=self._steering(actor, graph),
            more_acts=self._beside(actor, graph),
            fork_url=self.act_url(FORK, run_id) if may_steer else "",
            compare_url=reverse("admin:run_compare", args=(run_id,)) if len(compare.tips_of(graph)) > 1 else "",
            note_url=self.act_url(NOTE, run_id) if may_steer else "",
            typed=refused.typed if refused else {},
            mode=self._mode(actor, graph, is_open=bool(refused)),
            tab=here,
            tabs=run_page.tabs(graph, here, open_gaps=shown.pop("open_gaps"), further=further),
            gap_rows=run_page.gap_rows(graph) if tab == "gaps" else (),
            most_lines=MOST_LINES,
            **(self._events(request, actor, graph) if tab == "events" else {}),
            **(self.further_part(request, actor, graph, here) if here in dict(further) else {}),
            **self.beside_node(actor, graph, view, request.GET.get("part", "")),
            **{**shown, "title": shown["name"]},
        )

    def further_parts(self, actor: Actor) -> Sequence[tuple[str, str]]:  # noqa: ARG002  for whoever knows more of a run
        """Parts of the page that other apps know of: each with its word in the address and its title."""
        return ()

    def further_part(self, request: HttpRequest, actor: Actor, graph: Graph, part: str) -> Mapping[str, Any]:  # noqa: ARG002  as above
        """What such a part shows, with the template that prints it as `part_template`."""
        return {}

    def beside_node(self, actor: Actor, graph: Graph, view: View, part: str) -> Mapping[str, Any]:  # noqa: ARG002  as above
        """What the drawer of the chosen node shows besides."""
        return {}

    def _steering(self, actor: Actor, graph: Graph) -> list[ActLink]:
        """Buttons that would be refused are not shown."""
        return [
            ActLink(label=act.label, url=self.act_url(act, graph.run.id), is_main=False, is_stop=act.is_stop)
            for act in stopping.offered(graph.run.status)
            if actor.may(act.needs)
        ]

    def _beside(self, actor: Actor, graph: Graph) -> list[ActLink]:
        """What moves nothing. A run is held and exported with its session."""
        held = retention.LET_GO if graph.session.is_held else retention.HOLD_SESSION
        sessions = "admin:sessions_app_worksession_act_"
        places = [
            (naming_acts.RENAME_RUN, "Rename", self.act_url(naming_acts.RENAME_RUN, graph.run.id)),
            (held, f"{'Let go' if graph.session.is_held else 'Hold from expiry'}", ""),
            (EXPORT_SESSION, "Export", ""),
        ]
        return [
            ActLink(
                label=label,
                url=url or reverse(f"{sessions}{act.slug}", args=(graph.session.id,)),
                is_main=False,
                is_stop=False,
            )
            for act, label, url in places
            if actor.may(act.needs)
        ]

    def _events(self, request: HttpRequest, actor: Actor, graph: Graph) -> dict[str, Any]:
        found = pages.from_position(
            request,
            lambda after: records.list_run_events(
                actor=actor, run_id=graph.run.id, page=PageRequest(after=after, limit=_SHOWN_EVENTS)
            ),
        )
        places = places_of(program=load_program(graph.run.workflow_hash), state=None)
        return {
            "events": [showing.shown_event(event, places) for event in found.items],
            "following": pages.position_url(request, found.next_position),
        }

    def _mode(self, actor: Actor, graph: Graph, *, is_open: bool) -> modes.ModeForm | None:
        """What the page offers; the service decides."""
        if graph.run.status in COMPLETE or not actor.may(Permission.STEER_RUNS):
            return None
        tip = next(node for node in graph.nodes if node.id == graph.run.tip_node_id)
        return modes.mode_form(
            url=self.act_url(MODE, graph.run.id),
            title="Change the mode",
            says="It holds from the pending step on. Whoever works on the run goes on with the tokens they have.",
            preferences=modes.preferences_of(*tip.mode),
            is_open=is_open,
            waives=questions_for_people(load_program(graph.run.workflow_hash)),
        )


def _workflow_of(actor: Actor, graph: Graph) -> Tab | None:
    """The page of the workflow, at the revision that the run goes by."""
    if not actor.may(Permission.READ_WORKFLOWS):
        return None
    found = find_revision_of_program(
        actor=actor, workflow_id=graph.run.workflow_id, workflow_hash=graph.run.workflow_hash
    )
    if found is None:
        return None
    url = f"{reverse('admin:workflows_app_workflow_change', args=(found.workflow_row,))}?revision={found.number}"
    return Tab(label=f"{graph.run.workflow_title} r{found.number}", url=url)
