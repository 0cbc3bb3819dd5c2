"""A team with a row of every kind that a page or an address may name."""

from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from sessions_app.models import BundleJob, Gap, Node, Retention
from teams_app.engine.actors import Role
from teams_app.models import AuditEntry, Endpoint, Membership, NoticeDelivery
from teams_app.services.invitations import invite
from teams_app.services.tokens import issue_token
from tests import run_cast
from tests.cast import issue
from tests.checkpoint_cast import at_question, only_row, publish_folder
from tests.handover_play import plan_files
from tests.run_cast import run_id, session_id
from tests.run_doors import enrol
from tests.trace_calls import made, write
from traces_app.models import TraceEvent
from workflows_app.models import Alias, Binding, Content, Revision, TeamContract, Workflow

_CONTRACT = b'{"artifact_kind":"other.kind","example":{},"schema":{},"summary":""}'


@dataclass(frozen=True, kw_only=True)
class Furnished:
    """`rows` by the names that addresses of REST give them, and by the models of the Studio."""

    desk: run_cast.Desk
    rows: dict[str, UUID]


def furnish(person="their-person"):
    desk = run_cast.make_desk()
    asked = at_question(desk, authority="human")
    enrol(replace(desk.person, name=person))
    rows = _of_runs(desk, asked) | _of_people(desk, person) | _of_notices(desk) | _of_workflows(desk)
    return Furnished(desk=desk, rows=rows)


def _of_runs(desk, asked):
    now = timezone.now()
    team = {"team_id": desk.team_id}
    run, session = run_id(asked), session_id(asked)
    node = Node.objects.filter(run_id=run).first().pk
    gap = Gap.objects.create(
        id=uuid4(), **team, session_id=session, run_id=run, node_id=node, severity="critical", category="unexpected",
        detail="needs_user_choice", summary="", event_index=1, created_at=now,
    )  # fmt: skip
    job = BundleJob.objects.create(
        id=uuid4(), **team, kind="export", state="waiting", session_id=session, actor_kind="person", actor_id="x",
        actor_name="x", created_at=now, touched_at=now, expires_at=now + timedelta(days=1),
    )  # fmt: skip
    rule = Retention.objects.create(id=uuid4(), **team, idle_days=30, changed_by="x", changed_at=now)
    write(made(desk.agent, tool="list_workflows", arguments={}))
    return {
        "run": run,
        "session": session,
        "node": node,
        "checkpoint": only_row(asked).id,
        "gap": gap.pk,
        "job": job.pk,
        "retention": rule.pk,
        "traceevent": TraceEvent.objects.filter(**team).first().pk,
    }


def _of_people(desk, person):
    now = timezone.now()
    token = issue_token(
        actor=desk.person, name="laptop", scopes=frozenset(), expires_at=now + timedelta(days=9), now=now
    )
    key = issue(desk.owner).key
    return {
        "team": desk.team_id,
        "member": Membership.objects.filter(team_id=desk.team_id).first().pk,
        "invitation": invite(actor=desk.owner, username=f"dora-{person}", role=Role.VIEWER, now=now).invitation.id,
        "key": key.id,
        "token": token.token.id,
        "auditentry": AuditEntry.objects.filter(team_id=desk.team_id).first().pk,
    }


def _of_notices(desk):
    now = timezone.now()
    team = {"team_id": desk.team_id}
    endpoint = Endpoint.objects.create(
        id=uuid4(), **team, url="https://x.example", kinds=["run_started"], secret="x", set_at=now
    )
    delivery = NoticeDelivery.objects.create(
        id=uuid4(), **team, endpoint=endpoint, notice_id=uuid4(), kind="run_started", body=b"{}", state="delivered",
        created_at=now,
    )  # fmt: skip
    return {"endpoint": endpoint.pk, "delivery": delivery.pk}


def _of_workflows(desk):
    """The contents are this team's alone: they name it."""
    now = timezone.now()
    name = f"team.of-{desk.team_id.hex}"
    files = plan_files(**{"templates__01-report.md": b"# Report\n"})
    publish_folder(desk, {each: _of_team(each, text, name) for each, text in files.items()}, name)
    team = {"team_id": desk.team_id}
    workflow = Workflow.objects.get(**team, workflow_id=name)
    revision = Revision.objects.get(**team, workflow=workflow)
    contract = TeamContract.objects.create(
        id=uuid4(), **team, contract_id="other.contracts.y", definition=_CONTRACT, created_at=now, updated_at=now
    )
    own = Content.objects.filter(programs=revision.program_id, text__contains=name)
    kinds = {kind: own.filter(kind=kind).first().pk for kind in ("skill", "resource", "template")}
    return {
        "workflow": workflow.pk,
        "revision": revision.pk,
        "alias": Alias.objects.create(id=uuid4(), **team, alias="other.name", workflow=workflow, created_at=now).pk,
        "binding": Binding.objects.create(id=uuid4(), **team, slot="a-slot", routine="x", updated_at=now).pk,
        "teamcontract": contract.pk,
        **kinds,
    }


def _of_team(file, text, name):
    """With the team in it: what has the same words is kept once for all teams."""
    said = text.replace(b"team.plan", name.encode()).replace(b"As this workflow", f"As {name}".encode())
    return said + f"\nOf {name}.\n".encode() if file.endswith(".md") else said
