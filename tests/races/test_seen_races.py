"""A change that holds for what was read, beside others who write the same: none is lost, whoever comes first."""

import threading
from functools import partial

import pytest
from django.db import connection, transaction

from tests import run_doors
from tests.clusters import eventually
from tests.crews import hiring
from tests.run_cast import plain_steps, published, start
from tests.run_doors import V1

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE, TURNS = 4, 5
# What is changed, by what it is read and changed at, two bodies that differ, and the statement by which somebody else is first.
ROWS = {
    "how runs of a team begin": (
        "preferences", "put", [{"autonomy": "guided"}, {"autonomy": "full_auto_stop_on_user_deps"}],
        "UPDATE sessions_app_teampreferences SET autonomy = 'full_auto_never_stop'",
    ),
    "the role of a member": (
        "members/{member}", "patch", [{"role": "author"}, {"role": "operator"}],
        "UPDATE teams_app_membership SET role = 'viewer' WHERE person_id IN (SELECT id FROM teams_app_person WHERE username = 'bob')",
    ),
    "the name of a team": (
        "teams/{team}", "patch", [{"name": "One"}, {"name": "Two"}], "UPDATE teams_app_team SET name = 'Of somebody else'",
    ),
    "how long a team keeps sessions": (
        "retention", "put", [{"idleDays": 30}, {"idleDays": 60}], "UPDATE sessions_app_retention SET idle_days = 90",
    ),
}  # fmt: skip

crew = pytest.fixture(hiring)


@pytest.fixture
def doors():
    return run_doors.open_doors()


@pytest.fixture
def places(doors):
    members = doors.owner.get(f"{V1}/members").json()["items"]
    bob = next(each["id"] for each in members if each["username"] == "bob")
    team = doors.owner.get(f"{V1}/whoami").json()["team"]
    return {name: f"{V1}/{path.format(member=bob, team=team)}" for name, (path, *_) in ROWS.items()}


def tag_of(api, path):
    return api.get(path)["ETag"]


def is_somebody_waiting():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() != (0,)


def test_who_waited_for_another_writer_finds_that_it_is_not_as_it_was_read(doors, places):
    for name, (_, method, bodies, statement) in ROWS.items():
        path, answers = places[name], []
        assert doors.owner(method, path, bodies[0]).status_code == 200, name
        seen = tag_of(doors.owner, path)

        def change(path=path, method=method, body=bodies[1], seen=seen, answers=answers):
            try:
                answers.append(doors.owner(method, path, body, **{"If-Match": seen}))
            finally:
                connection.close()

        late = threading.Thread(target=change)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            late.start()
            eventually(is_somebody_waiting, "the one who comes late")
        late.join()

        assert answers[0].status_code == 412, (name, answers[0].content)
        assert answers[0].json()["details"]["etag"] == tag_of(doors.owner, path), name


def test_of_those_who_have_read_the_same_one_changes_it(doors, places, crew):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    run = start(doors.desk, "team.short", goal="Try").value["session"]["runId"]
    changes = [
        (f"{V1}/runs/{run}/preferences", "put", [{"autonomy": "guided"}, {"autonomy": "full_auto_stop_on_user_deps"}]),
        *((places[name], method, bodies) for name, (_, method, bodies, _) in ROWS.items()),
    ]
    hands = crew(AT_ONCE)
    for path, method, bodies in changes:
        for turn in range(TURNS):
            seen = tag_of(doors.owner, path)
            body = bodies[turn % 2]
            race = partial(doors.owner, method, path, body, **{"If-Match": seen})
            codes = sorted(answer.status_code for answer in hands.race(*[race] * AT_ONCE))

            # Where it stands as it is asked to, nothing changes and nobody is late.
            is_same = tag_of(doors.owner, path) == seen
            assert codes == [200] * AT_ONCE if is_same else [200, *[412] * (AT_ONCE - 1)], (path, codes)
