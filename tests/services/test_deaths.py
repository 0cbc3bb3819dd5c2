"""The worker, the broker or the database dies anywhere: nothing is lost, doubled or half-written, and the store is sound.

Each piece of work is a process of its own on a PostgreSQL and a broker of their own. What dies, dies by SIGKILL; then it is
there again, the schedule goes on, and what was in the broker is gone.
"""

import gzip
import random
import re
from dataclasses import replace
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from unittest import mock
from uuid import UUID

import psycopg
import pytest
from django.core.management import call_command

from sessions_app import jobs as sessions_jobs
from sessions_app.engine.actions import CompleteStep
from sessions_app.engine.bundles import BundleJobState
from sessions_app.engine.expiry import ExpiryRule
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.models import (
    Announcement,
    BundleJob,
    BundlePart,
    LedgerEntry,
    Run,
    WorkSession,
)
from sessions_app.selectors.bundle_jobs import stored_pieces
from sessions_app.selectors.standings import read_tip
from sessions_app.services.bundles import bundle_jobs
from sessions_app.services.bundles.files import open_bundle, verify_bundle
from sessions_app.services.expiry import expiring, retention
from sessions_app.services.expiry.ended_teams import SETTLED, empty_ended_teams, end_team
from sessions_app.services.people import notices
from sessions_app.services.upkeep import anchors, ledger
from sessions_app.services.upkeep.verification import verify_all
from teams_app import jobs as teams_jobs
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.webhooks import NoticeKind
from teams_app.models import AuditEntry, NoticeDelivery, Team
from teams_app.services import webhooks
from teams_app.services.row_scope import within_team
from tests import logs, run_cast, trigger_play
from tests.bundle_play import examine, export
from tests.checkpoint_cast import at_question
from tests.clusters import used_by_django
from tests.deaths import VICTIMS, lived_on, mortal_site
from tests.notice_board import OK, NoticeBoard, deliver_all
from tests.run_cast import NOW, advanced, begin, plain_steps, session_id
from workrail_site.local.postgres_server import APP_ROLE, UPKEEP_ROLE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # Of Python 3.12 and later: what is forked has one thread, and uses nothing of the others.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
SEEDS = 20
# Longer than a worker may say nothing, and than a delivery is taken for.
A_TURN = timedelta(minutes=6)
MOST_TURNS = 30
LATE = NOW + timedelta(days=61)


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock(), mortal_site(tmp_path_factory.mktemp("site")) as made:
        with used_by_django(made.server):
            call_command("grant_roles", verbosity=0, stdout=StringIO())
        yield made


@pytest.fixture
def place(tmp_path, monkeypatch, settings):
    """What is outside of the servers: an address that takes notices, and a folder."""
    settings.PUBLIC_URL = "https://rails.example.com"
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    opened = NoticeBoard(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(opened.certificate))
    settings.ANCHOR_DIR, settings.ANCHOR_URL = tmp_path / "anchors", opened.url
    yield opened
    opened.close()


def sound():
    return [str(finding) for finding in verify_all(actor=SYSTEM)]


class Scene:
    """`beat` is what the schedule asks for at each turn, `do` what the broker was asked for; `marks` are where they may die."""

    role = UPKEEP_ROLE
    from_time = NOW
    # A death is drawn from so many marks; who passes fewer of them lives.
    marks_ahead = 9

    def __init__(self, desk, place, settings, seed):
        self.desk, self.place, self.settings, self.seed = desk, place, settings, seed

    def beat(self, now):
        return []


class ExportScene(Scene):
    marks = frozenset({"under way", "written"})

    def arrange(self):
        self.session = session_id(advanced(self.desk.agent, begin(self.desk, *plain_steps(3))))
        self.job = bundle_jobs.ask_to_export(actor=self.desk.person, session_id=self.session, now=NOW).id

    def beat(self, now):
        return [lambda _fail: bundle_jobs.ask_again(actor=SYSTEM, now=now)]

    def do(self, task, arguments, now):
        assert task == sessions_jobs.RUN_BUNDLE_JOB
        job_id = UUID(arguments[0])
        return lambda fail: bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=now, fail=fail)

    def is_done(self):
        return BundleJob.objects.get().state == BundleJobState.DONE.value

    def check(self):
        job = BundleJob.objects.get()
        data = b"".join(stored_pieces(job.pk))
        assert (len(data), BundlePart.objects.count()) == (job.size_bytes, 1)
        with open_bundle(BytesIO(data)) as source:
            assert verify_bundle(source=source).event_count == logs.count_events()


class ImportScene(ExportScene):
    marks = frozenset({"under way", "fetched", "imported", "committed"})

    def arrange(self):
        data = export(self.desk.person, session_id(advanced(self.desk.agent, begin(self.desk, *plain_steps(3)))))
        self.events = logs.count_events()
        bundle_jobs.ask_to_import(actor=self.desk.person, pieces=[data], now=NOW, max_bytes=10**6)

    def check(self):
        assert (WorkSession.objects.count(), logs.count_events()) == (2, 2 * self.events)
        assert AuditEntry.objects.filter(action="session.imported").count() == 1
        assert BundleJob.objects.get().result["events"] == self.events


class ExpiryScene(Scene):
    marks = frozenset({"warned", "archive written", "archived", "judged again", "deleted", "committed"})
    from_time = LATE
    marks_ahead = 13

    def arrange(self):
        archives = ExpiryRule(idle_days=60, archives=True)
        retention.set_retention(actor=self.desk.owner, workflow_id="", rule=archives, now=NOW)
        for number in range(2):
            advanced(self.desk.agent, begin(self.desk, *plain_steps(1), workflow_id=f"team.w{number}"))
        self.unfinished = session_id(begin(self.desk, *plain_steps(2), workflow_id="team.open"))
        ledger.enter_sessions(actor=SYSTEM, now=NOW)

    def beat(self, now):
        return [lambda fail: expiring.expire_sessions(actor=SYSTEM, now=now, most=100, fail=fail)]

    def is_done(self):
        return WorkSession.objects.count() == 1 and Announcement.objects.filter(kind="session_expiring").exists()

    def check(self):
        assert WorkSession.objects.get().pk == self.unfinished
        assert Announcement.objects.filter(kind="session_expiring").count() == 1
        archives = BundleJob.objects.filter(state="done")
        assert len({each.session_id for each in archives}) == archives.count() == 2
        for each in archives:
            examine(gzip.decompress(b"".join(stored_pieces(each.pk))))
        assert LedgerEntry.objects.filter(kind="deleted").count() == 2
        assert AuditEntry.objects.filter(action="session.expired").count() == 2


class EndingScene(Scene):
    """A team has ended; another one stays."""

    marks = frozenset({"deleted", "emptied", "committed"})
    from_time = NOW + SETTLED
    marks_ahead = 5

    def arrange(self):
        elsewhere = replace(self.desk.person, team_id=self.desk.stranger.team_id)
        other = replace(self.desk, agent=self.desk.stranger, person=elsewhere)
        self.stays = session_id(begin(other, *plain_steps(2)))
        for number in range(3):
            advanced(self.desk.agent, begin(self.desk, *plain_steps(1), workflow_id=f"team.w{number}"))
        ledger.enter_sessions(actor=SYSTEM, now=NOW)
        end_team(actor=replace(self.desk.owner, door=Door.STUDIO), name="Alice's team", now=NOW)

    def beat(self, now):
        return [lambda fail: empty_ended_teams(actor=SYSTEM, now=now, most=9, fail=fail)]

    def is_done(self):
        return Team.objects.filter(emptied_at__isnull=False).exists()

    def check(self):
        assert WorkSession.objects.get().pk == self.stays
        assert LedgerEntry.objects.filter(kind="deleted").count() == 3
        emptied = AuditEntry.objects.get(action="team.emptied")
        assert (emptied.team_id, emptied.details["sessions"]) == (self.desk.team_id, 3)


class DeliveryScene(Scene):
    """Of every second one the address takes nothing at first."""

    marks = frozenset({"taken", "queued", "taken out", "announced", "sent", "refused", "recorded"})

    def arrange(self):
        self.place.received.clear()
        self.place.reply = b"HTTP/1.1 503 Busy\r\n\r\n" if self.seed % 2 else OK
        webhooks.set_webhook(actor=self.desk.owner, url=self.place.url, now=NOW)
        endpoint = self.desk.team_id
        webhooks.choose_notices(actor=self.desk.owner, endpoint_id=endpoint, kinds=list(NoticeKind), now=NOW)
        at_question(self.desk, human=True)
        self.wanted = {str(each) for each in Announcement.objects.values_list("id", flat=True)}
        assert len(self.wanted) >= 2

    def beat(self, now):
        if now > NOW + 3 * A_TURN:
            self.place.reply = OK
        return [
            lambda fail: notices.announce(actor=SYSTEM, now=now, fail=fail),
            lambda fail: deliver_all(clock=lambda: now, fail=fail),
        ]

    def do(self, task, arguments, now):
        return dict(zip((sessions_jobs.ANNOUNCE, teams_jobs.DELIVER_NOTICES), self.beat(now), strict=True))[task]

    def is_done(self):
        waits = NoticeDelivery.objects.filter(state="waiting").exists()
        return not waits and not Announcement.objects.exists()

    def check(self):
        told = list(NoticeDelivery.objects.values_list("notice_id", flat=True))
        assert sorted(map(str, told)) == sorted(self.wanted)
        # Whoever is told twice knows it by the id.
        assert {body["id"] for body in self.place.bodies} == self.wanted


class AnchorScene(Scene):
    marks = frozenset({"reading", "written", "in its place", "sent", "told"})

    def arrange(self):
        self.place.received.clear()
        self.settings.ANCHOR_DIR = self.settings.ANCHOR_DIR.with_name(f"anchors-{self.seed}")
        advanced(self.desk.agent, begin(self.desk, *plain_steps(3)))
        ledger.enter_sessions(actor=SYSTEM, now=NOW)

    def beat(self, now):
        return [lambda fail: anchors.keep_anchor(actor=SYSTEM, now=NOW, fail=fail)]

    def is_done(self):
        return any(self.settings.ANCHOR_DIR.glob("*.told"))

    def check(self):
        (path,) = self.settings.ANCHOR_DIR.glob("*.jsonl")
        with path.open("rb") as source:
            assert list(anchors.verify_anchor(actor=SYSTEM, source=source)) == []
        assert {body for _, _, body in self.place.received} == {path.read_bytes()}


class TriggerScene(Scene):
    """Its marks are all exchanges with the database of a run that triggers another and of one that ends."""

    role = APP_ROLE
    marks_ahead = 80
    marks = frozenset({"before an exchange", "after an exchange"})

    def arrange(self):
        trigger_play.publish_all(self.desk)
        self.parent = trigger_play.start(self.desk, ticket="T-1")

    def beat(self, now):
        return [self._go_on]

    def _go_on(self, fail):
        """As an agent that has forgotten all but the state of the parent."""
        with within_team(self.desk.agent.team_id), marked_exchanges(fail):
            waits = trigger_play.look(self.desk, self.parent["state"])["availableActions"]
            told = [entry for entries in waits.values() for entry in entries if "state" in entry]
            state = told[0]["state"] if told else trigger_play.triggered(self.desk, self.parent)["state"]
            for step_id in ("do", "end"):
                state = trigger_play.act(self.desk, state, CompleteStep(step_id=step_id))["state"]

    def is_done(self):
        return bool(parent_now().returned)

    def check(self):
        assert (WorkSession.objects.count(), Run.objects.count()) == (2, 2)
        assert (parent_now().waits_for, parent_now().returned) == ((), 1)
        assert Run.objects.get(workflow_id="team.child").status == "complete"
        assert trigger_play.complete(self.desk, self.parent["state"], "draft")["success"]


def parent_now():
    run = Run.objects.get(workflow_id="team.parent")
    return snapshot_from_bytes(read_tip(team_id=run.team_id, run_id=run.id).snapshot)


def marked_exchanges(fail):
    """Each time that the server is waited for is two marks."""
    wait = psycopg.Connection.wait

    def marked(self, *arguments, **options):
        fail("before an exchange")
        answer = wait(self, *arguments, **options)
        fail("after an exchange")
        return answer

    return mock.patch.object(psycopg.Connection, "wait", marked)


SCENES = {
    "export": ExportScene,
    "import": ImportScene,
    "expiry": ExpiryScene,
    "ending": EndingScene,
    "delivery": DeliveryScene,
    "trigger": TriggerScene,
    "anchor": AnchorScene,
}


def live_through(site, scene, *, chance, victim):
    """Turns of the schedule until all is done, in each of which somebody may die."""
    now = scene.from_time
    for turn in range(MOST_TURNS):
        if scene.is_done():
            return
        now += A_TURN
        # The seeds come to every mark at first, and anywhere later.
        dies_at = chance.randrange(scene.marks_ahead) if turn else 7 * scene.seed % scene.marks_ahead
        asked = [scene.do(task, arguments, now) for task, arguments in site.broker.take()]
        with used_by_django(site.server, scene.role):
            for do in [*asked, *scene.beat(now)]:
                site.work(do, dies_at=1 + dies_at, victim=victim)
        assert sound() == []
    raise AssertionError("it is never done")


def live(site, place, settings, name, victim, seeds):
    """The marks at which somebody has died."""
    before = len(site.died_at)
    for seed in seeds:
        with lived_on(site, settings):
            scene = SCENES[name](run_cast.make_desk(), place, settings, seed)
            scene.arrange()
            live_through(site, scene, chance=random.Random(f"{name} {victim} {seed}"), victim=victim)
            scene.check()
            assert sound() == []
    return set(site.died_at[before:])


IN_THE_SUITE = {
    "export": "database",
    "import": "broker",
    "expiry": "database",
    "ending": "worker",
    "delivery": "broker",
    "trigger": "database",
    "anchor": "worker",
}


@pytest.mark.parametrize(("name", "victim"), IN_THE_SUITE.items())
def test_nothing_is_lost_doubled_or_half_written_whoever_dies(site, place, settings, name, victim):
    live(site, place, settings, name, victim, seeds=range(1))


@pytest.mark.slow
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("name", SCENES)
def test_all_seeds_live_through_a_death_at_every_mark(site, place, settings, name, victim):
    assert live(site, place, settings, name, victim, seeds=range(SEEDS)) == SCENES[name].marks


def test_every_mark_is_died_at():
    marks = set()
    for app in ("sessions_app", "teams_app"):
        for path in (ROOT / app / "services").rglob("*.py"):
            marks |= set(re.findall(r'\bfail\("([^"]+)"\)', path.read_text()))
    assert marks == set().union(*(scene.marks for scene in SCENES.values())) - TriggerScene.marks
