"""The audit log is append-only, complete, and of one team."""

import pytest

from teams_app.engine.actors import Door
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.pages import PageRequest
from tests.cast import LATER, NOW, audited, issue

pytestmark = pytest.mark.django_db


def record(actor, action="thing.done", now=NOW, **details):
    from teams_app.services.audit import record_audit

    record_audit(actor=actor, action=action, target="thing_1", now=now, details=details)


def test_an_entry_says_who_did_what_to_which_row_through_which_door_and_when(house):
    import structlog

    from teams_app import selectors

    with structlog.contextvars.bound_contextvars(request_id="req-12345678"):
        record(house.alice.actor, why="because")

    (entry,) = selectors.list_audit(actor=house.alice.actor, page=PageRequest()).items
    assert (entry.actor_id, entry.actor_name) == (house.alice.actor.id, "alice")
    assert (entry.action, entry.target, entry.door, entry.at) == ("thing.done", "thing_1", Door.REST, NOW)
    assert (entry.request_id, entry.details) == ("req-12345678", {"why": "because"})


@pytest.mark.parametrize(
    "change", ["UPDATE teams_app_auditentry SET action = 'a.b'", "DELETE FROM teams_app_auditentry"]
)
def test_the_database_refuses_to_change_or_delete_an_entry(house, change):
    from django.db import IntegrityError, connection, transaction

    record(house.alice.actor)

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)

    assert audited(house.team) == ["thing.done"]


def test_a_refused_change_leaves_no_entry(house):
    from teams_app.services.members import change_role

    with pytest.raises(ForbiddenError):
        change_role(
            actor=house.bob.actor,
            member_id=house.bob.membership.pk,
            role=house.alice.actor.role,
            now=NOW,
        )

    assert audited(house.team) == []


def test_nobody_reads_the_log_of_another_team(house):
    from teams_app import selectors

    record(house.alice.actor)

    assert selectors.list_audit(actor=house.charlie.actor, page=PageRequest()).items == ()


def test_only_an_owner_reads_the_log(house):
    from teams_app import selectors

    with pytest.raises(ForbiddenError):
        selectors.list_audit(actor=house.bob.actor, page=PageRequest())


def test_the_log_is_paged_from_the_newest_without_gap_or_repetition(house):
    from teams_app import selectors

    for number in range(5):
        record(house.alice.actor, action=f"thing.done_{'abcde'[number]}", now=LATER)

    seen, after = [], None
    while True:
        page = selectors.list_audit(actor=house.alice.actor, page=PageRequest(after=after, limit=2))
        seen += [entry.id for entry in page.items]
        after = page.next_position
        if after is None:
            break

    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)


def test_the_log_is_searched_by_action_target_and_actor(house):
    from teams_app import selectors

    record(house.alice.actor)
    issued = issue(house.alice.actor)
    alice = house.alice.actor

    def actions(**asked):
        return [entry.action for entry in selectors.list_audit(actor=alice, page=PageRequest(), **asked).items]

    assert actions(action="key.issued") == ["key.issued"]
    assert actions(target="thing_1") == ["thing.done"]
    assert actions(actor_id=alice.id) == ["key.issued", "thing.done"]
    assert actions(actor_id=str(issued.key.id)) == []


@pytest.mark.django_db(transaction=True)
def test_a_team_checks_its_log_as_it_is_at_one_moment(house):
    """Somebody does something before each statement of the check."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection, connections, transaction

    from teams_app.services.audit_chain import verify_team_audit

    def enter():
        try:
            with transaction.atomic():
                record(house.alice.actor)
        finally:
            connections.close_all()

    def beside(execute, sql, params, many, context):
        pool.submit(enter).result()
        return execute(sql, params, many, context)

    enter()
    with ThreadPoolExecutor(1) as pool, connection.execute_wrapper(beside):
        told = list(verify_team_audit(actor=house.alice.actor))

    assert told == []
    assert len(audited(house.team)) > 2


@pytest.mark.parametrize("action", ["", "done", "Thing.Done", "thing.done now"])
def test_an_action_is_a_noun_and_a_participle(house, action):
    from django.db import IntegrityError, transaction

    with pytest.raises(IntegrityError, match="audit_action_form"), transaction.atomic():
        record(house.alice.actor, action=action)
