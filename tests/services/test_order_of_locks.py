"""Whoever deletes, expires or takes in sessions takes locks in one order, and waits for the others instead of being thrown out."""

import json
import re
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.expiry import ExpiryRule
from sessions_app.models import WorkSession
from sessions_app.services.expiry import deletion, ended_teams, expiring, retention
from sessions_app.services.upkeep import ledger
from teams_app.engine.actors import NO_TEAM, Door, Role, system_actor
from teams_app.engine.sign_on import Identity
from teams_app.engine.webhooks import NoticeKind
from teams_app.models import Membership, Person, SignOnIdentity, Team
from teams_app.services import deliveries, invitations, keys, members, resets, webhooks
from teams_app.services.ids import new_id
from teams_app.services.members import remove_member
from teams_app.services.outgoing import NotDeliveredError
from teams_app.services.sign_ins import record_in_teams
from teams_app.services.sign_on import sign_on
from tests import run_cast, trigger_play
from tests.bundle_play import export, take_in
from tests.cast import audited, issue, play
from tests.crews import Crew
from tests.run_cast import NOW, begin, plain_steps, session_id
from tests.workflow_cast import document
from workflows_app.models import Workflow
from workflows_app.services.importing import ImportOptions, import_files

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
LATE = NOW + timedelta(days=61)
# A run that ends is written before the one that waits for it, and what a call did is told by the audit log last of all.
ORDER = ("sessions_app_worksession", "sessions_app_ledger", "teams_app_audithead")
_LOCKED = re.compile(rf'FROM "({"|".join(ORDER)})".* FOR UPDATE')


@pytest.fixture
def desk():
    return run_cast.make_desk()


def with_a_child(desk):
    """A session whose run triggered another one."""
    trigger_play.publish_all(desk)
    parent = trigger_play.start(desk)
    trigger_play.triggered(desk, parent)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    return WorkSession.objects.get(parent_id__isnull=True).id


def deletes(desk):
    found = with_a_child(desk)
    return lambda: deletion.delete_session(actor=desk.owner, session_id=found, reason="Asked for it.", now=NOW)


def expires(desk):
    with_a_child(desk)
    rule = ExpiryRule(idle_days=60, archives=False)
    retention.set_retention(actor=desk.owner, workflow_id="", rule=rule, now=NOW)
    for days in (58, 59):
        expiring.expire_sessions(actor=SYSTEM, now=NOW + timedelta(days=days), most=10)
    return lambda: expiring.expire_sessions(actor=SYSTEM, now=LATE + timedelta(days=20), most=10)


def takes_in(desk):
    bundle = export(desk.owner, session_id(begin(desk, *plain_steps(2))))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    return lambda: take_in(desk.owner, bundle)


def empties(desk):
    with_a_child(desk)
    ended_teams.end_team(actor=desk.owner, name=Team.objects.get(pk=desk.team_id).name, now=NOW)
    return lambda: ended_teams.empty_ended_teams(actor=SYSTEM, now=LATE, most=10)


def locks_of(captured):
    """The tables by transaction."""
    taken = [[]]
    for query in captured.captured_queries:
        if re.match(r"(BEGIN|COMMIT|ROLLBACK)", query["sql"]):
            taken.append([])
        if found := _LOCKED.search(query["sql"]):
            taken[-1].append((found[1], query["sql"]))
    return [each for each in taken if each]


@pytest.mark.parametrize("begun", [deletes, expires, takes_in, empties])
def test_locks_are_taken_in_one_order(desk, begun):
    act = begun(desk)
    before = WorkSession.objects.count()
    with CaptureQueriesContext(connection) as captured:
        act()

    assert WorkSession.objects.count() != before
    for taken in locks_of(captured):
        places = [ORDER.index(table) for table, _ in taken]
        assert places == sorted(places), [table for table, _ in taken]


@pytest.mark.parametrize("begun", [deletes, expires])
def test_a_session_is_locked_after_those_that_its_runs_triggered(desk, begun):
    act = begun(desk)
    ids = [str(each.hex) for each in WorkSession.objects.order_by("-pk").values_list("pk", flat=True)]
    with CaptureQueriesContext(connection) as captured:
        act()

    (first, *_), *_ = locks_of(captured)
    assert len(ids) == 2
    assert all(each in first[1].replace("-", "") for each in ids)
    assert '"id" DESC FOR UPDATE' in first[1]


@pytest.mark.parametrize("stands_first", ["pk", "-pk"])
def test_sessions_that_are_adopted_are_locked_as_agents_at_work_lock_them(desk, stands_first):
    """A run that ends is written before the one that waits for it, so an agent holds the younger session first."""
    trigger_play.publish_all(desk)
    trigger_play.triggered(desk, trigger_play.start(desk))
    for found in WorkSession.objects.order_by(stands_first):
        WorkSession.objects.filter(pk=found.pk).update(head_seal="")
    younger, older = WorkSession.objects.order_by("-pk").values_list("pk", flat=True)
    holds = threading.Event()

    def works():
        with transaction.atomic():
            WorkSession.objects.select_for_update().get(pk=younger)
            holds.set()
            until_somebody_waits()
            WorkSession.objects.select_for_update().get(pk=older)

    def adopts():
        holds.wait()
        return ledger.enter_sessions(actor=SYSTEM, now=NOW, adopt=True).adopted

    crew = Crew(2)
    try:
        assert crew.race(works, adopts) == [None, 2]
    finally:
        crew.dismiss()


def until_somebody_waits():
    for _ in range(500):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.01)


def of_teams(captured):
    """The teams whose audit logs were locked, in that order, and the tables of people before them."""
    found = [re.search(r'FROM "(\w+)".*FOR (?:NO KEY )?UPDATE', query["sql"]) for query in captured.captured_queries]
    teams = [
        re.search(r'"team_id" = \'([0-9a-f-]+)\'', each.string)[1] for each in found if each and each[1] == ORDER[2]
    ]
    return teams, [each[1] for each in found if each and each[1] != ORDER[2]]


def test_audit_logs_of_several_teams_are_locked_in_one_order_whichever_their_people_joined_first(house):
    for number in range(10):
        for team in (house.team, house.other_team)[:: 1 if number % 2 else -1]:
            player = play(f"dora{number}", team, Role.VIEWER)

        with CaptureQueriesContext(connection) as captured:
            passwords_set(player.person)

        teams, _ = of_teams(captured)
        assert len(set(teams)) == 2
        assert teams == sorted(teams)


def passwords_set(person):
    with transaction.atomic():
        record_in_teams(person_id=person.pk, action="password.changed", door=Door.STUDIO, now=NOW)


def test_a_person_is_locked_before_the_link_that_sets_their_password(house):
    eve = play("eve", house.team, Role.VIEWER)
    link = resets.offer_reset(actor=house.alice.actor, member_id=eve.membership.pk, now=NOW).link

    with CaptureQueriesContext(connection) as captured:
        resets.reset_password(link=link, password="a fine long sentence of hers", door=Door.STUDIO, now=NOW)

    _, tables = of_teams(captured)
    assert tables == ["teams_app_person", "teams_app_passwordreset"]


_HELD = re.compile(r'FROM "(\w+)".*FOR (?:NO KEY )?UPDATE|UPDATE "(\w+)"|DELETE FROM "(\w+)"')


def locked_or_changed(captured):
    """The tables of whose rows one was locked or changed, each where it came first."""
    said = [_HELD.search(query["sql"]) for query in captured.captured_queries]
    return list(dict.fromkeys(next(filter(None, each.groups())) for each in said if each))


def test_a_membership_is_locked_before_the_audit_log_is_told_of_its_end(house):
    eve = play("eve", house.team, Role.VIEWER)

    with CaptureQueriesContext(connection) as captured:
        remove_member(actor=house.alice.actor, member_id=eve.membership.pk, now=NOW)

    tables = locked_or_changed(captured)
    assert tables.index("teams_app_membership") < tables.index("teams_app_audithead")


def test_workflows_of_one_import_are_locked_before_the_audit_log_is_told_of_the_first(house):
    def imported(name):
        documents = {f"{each}.json": document(f"team.{each}", name=name) for each in ("one", "two", "three")}
        files = {path: json.dumps(each).encode() for path, each in documents.items()}
        import_files(actor=house.alice.actor, files=files, options=ImportOptions(), now=NOW)

    imported("Before")
    with CaptureQueriesContext(connection) as captured:
        imported("After")

    found = [re.search(r'FROM "(workflows_app_workflow|teams_app_audithead)".*FOR', each["sql"]) for each in captured]
    first, *_ = [each for each in found if each]
    ids = list(Workflow.objects.filter(team_id=house.team.pk).values_list("workflow_id", flat=True))
    assert len(ids) == 3
    assert all(f"'{each}'" in first.string for each in ids)


@pytest.mark.parametrize("answers", [True, False])
def test_an_address_is_locked_before_what_is_sent_there(house, settings, monkeypatch, answers):
    def post(**_asked):
        if not answers:
            raise NotDeliveredError("It said 500.")

    settings.PUBLIC_URL = "https://workrail.example"
    monkeypatch.setattr(deliveries, "post_json", post)
    webhooks.set_webhook(actor=house.alice.actor, url="https://board.example/x", now=NOW)
    of_team = system_actor(team_id=house.team.pk, door=Door.TASK)
    asked = {"notice_id": house.team.pk, "kind": NoticeKind.CHECKPOINT_ASKED, "body": {"text": "Asked."}}
    settings.CELERY_TASK_ALWAYS_EAGER = False
    with transaction.atomic():
        assert deliveries.queue_notice(actor=of_team, now=NOW, **asked) == 1

    with CaptureQueriesContext(connection) as captured:
        assert deliveries.deliver_due(actor=of_team, clock=lambda: NOW) == answers

    places = {}
    for place, query in enumerate(captured.captured_queries):
        if found := re.search(r'UPDATE "(teams_app_endpoint|teams_app_noticedelivery)" SET "(?!tries)', query["sql"]):
            places.setdefault(found[1], place)
    assert list(places) == ["teams_app_endpoint", "teams_app_noticedelivery"]


# Whoever does something with who is in a team, and by what, comes to their rows in this order; to the audit log last of all.
OF_ACCOUNTS = [
    f"teams_app_{name}"
    for name in (
        "team",
        "membership",
        "agentkey",
        "personaltoken",
        "invitation",
        "person",
        "passwordreset",
        "audithead",
    )
]
GOOD = "a fine long sentence of hers"
LINKED = Identity(issuer="https://idp.example", subject="eve", username="eve", groups=frozenset())


def signs_on(*wanted, managed):
    def act():
        roles = dict(wanted)
        sign_on(identity=LINKED, wanted=roles, managed=managed, address="10.0.0.1", door=Door.STUDIO, now=NOW)

    return act


def linked(house, *teams, role=Role.OPERATOR):
    for team in teams:
        eve = play("eve", team, role)
        Membership.objects.filter(pk=eve.membership.pk).update(by_sign_on=True)
    SignOnIdentity.objects.create(
        id=new_id(now=NOW), issuer=LINKED.issuer, subject="eve", person=eve.person, created_at=NOW
    )
    return eve


def put_out_by_their_group(house):
    linked(house, house.team)
    return signs_on(managed=[house.team.pk])


def given_another_role_by_their_group(house):
    linked(house, house.team)
    return signs_on((house.team.pk, Role.AUTHOR), managed=[house.team.pk])


def let_in_by_their_group(house):
    linked(house, house.other_team)
    invitations.invite(actor=house.alice.actor, username="eve", role=Role.VIEWER, now=NOW)
    return signs_on((house.team.pk, Role.AUTHOR), managed=[house.team.pk])


def accepts_with_a_new_account(house):
    link = invitations.invite(actor=house.alice.actor, username="eve", role=Role.VIEWER, now=NOW).link
    return lambda: invitations.accept_with_new_account(link=link, password=GOOD, door=Door.STUDIO, now=NOW)


def accepts_with_an_account(house):
    eve = play("eve", house.other_team, Role.VIEWER)
    Person.objects.filter(pk=eve.person.pk).update(password=make_password(GOOD))
    link = invitations.invite(actor=house.alice.actor, username="eve", role=Role.VIEWER, now=NOW).link
    return lambda: invitations.accept_with_account(link=link, password=GOOD, door=Door.STUDIO, now=NOW)


def accepts_signed_in(house):
    eve = play("eve", house.other_team, Role.VIEWER).person.pk
    link = invitations.invite(actor=house.alice.actor, username="eve", role=Role.VIEWER, now=NOW).link
    return lambda: invitations.accept_signed_in(link=link, person_id=eve, door=Door.STUDIO, now=NOW)


def withdraws(house):
    found = invitations.invite(actor=house.alice.actor, username="eve", role=Role.VIEWER, now=NOW).invitation.id
    return lambda: invitations.withdraw_invitation(actor=house.alice.actor, invitation_id=found, now=NOW)


def invites_again(house):
    withdraws(house)
    return lambda: invitations.invite(actor=house.alice.actor, username="eve", role=Role.AUTHOR, now=NOW)


def makes_a_key(house):
    return lambda: issue(house.alice.actor)


def rotates_a_key(house):
    key = issue(house.alice.actor).key.id
    return lambda: keys.rotate_key(actor=house.alice.actor, key_id=key, now=NOW)


def revokes_a_key(house):
    key = issue(house.alice.actor).key.id
    return lambda: keys.revoke_key(actor=house.alice.actor, key_id=key, now=NOW)


def demotes(house):
    eve = play("eve", house.team, Role.OWNER)
    invitations.invite(actor=eve.actor, username="dora", role=Role.VIEWER, now=NOW)
    return lambda: members.change_role(actor=house.alice.actor, member_id=eve.membership.pk, role=Role.VIEWER, now=NOW)


def removes(house):
    eve = play("eve", house.team, Role.VIEWER)
    return lambda: remove_member(actor=house.alice.actor, member_id=eve.membership.pk, now=NOW)


def offers_a_link(house):
    eve = play("eve", house.team, Role.VIEWER)
    return lambda: resets.offer_reset(actor=house.alice.actor, member_id=eve.membership.pk, now=NOW)


def uses_a_link(house):
    link = offers_a_link(house)().link
    return lambda: resets.reset_password(link=link, password=GOOD, door=Door.STUDIO, now=NOW)


def ends_the_team(house):
    withdraws(house), rotates_a_key(house), offers_a_link(house)()
    return lambda: ended_teams.end_team(
        actor=replace(house.alice.actor, door=Door.STUDIO), name=house.team.name, now=NOW
    )


ACTS_ON_ACCOUNTS = [
    *(put_out_by_their_group, given_another_role_by_their_group, let_in_by_their_group),
    *(accepts_with_a_new_account, accepts_with_an_account, accepts_signed_in, withdraws, invites_again),
    *(makes_a_key, rotates_a_key, revokes_a_key, demotes, removes, offers_a_link, uses_a_link, ends_the_team),
]
# Of what these make nothing is to be left when the team ends at the same moment.
END_WITH_THE_TEAM = [
    *(let_in_by_their_group, accepts_with_a_new_account, accepts_with_an_account, accepts_signed_in),
    *(invites_again, makes_a_key, rotates_a_key),
]
_ONE_ROW = re.compile(r"""\"(?:id|team_id)\" (?:= '|IN \('[^',]*'(?:::uuid)?\))""")


def held_in_order(captured):
    """The tables of which rows were locked or changed, each where it came first, and again where several rows were taken at once."""
    found = []
    for query in captured.captured_queries:
        said = _HELD.search(query["sql"])
        table = said and next(filter(None, said.groups()))
        if table in OF_ACCOUNTS and not (table in found and _ONE_ROW.search(query["sql"])):
            found.append(table)
    return found


@pytest.mark.parametrize("begun", ACTS_ON_ACCOUNTS)
def test_whoever_changes_who_is_in_a_team_comes_to_its_rows_in_one_order(house, settings, begun):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    act = begun(house)
    with CaptureQueriesContext(connection) as captured:
        act()

    found = held_in_order(captured)
    places = [OF_ACCOUNTS.index(table) for table in found]
    assert places == sorted(places), found
    assert places[0] == 0 or begun not in END_WITH_THE_TEAM, found
    # So held, a team's row lets others tell its audit log of what they do with rows that they hold.
    assert not any(re.search(r'FROM "teams_app_team".* FOR UPDATE', query["sql"]) for query in captured)


@pytest.mark.parametrize("managed", ["team", "other_team"])
def test_audit_logs_of_several_teams_are_locked_in_one_order_by_who_signs_on_too(house, managed):
    """A group gives a role in one of them; the other is only told that they signed in."""
    linked(house, house.team, house.other_team)
    act = signs_on(managed=[getattr(house, managed).pk])
    with CaptureQueriesContext(connection) as captured:
        act()

    teams, _ = of_teams(captured)
    assert audited(getattr(house, managed)) == ["member.removed"]
    assert len(set(teams)) == 2
    assert teams == sorted(teams)
