"""The audit log as people read it: sentences with links, what it is asked for, its export, and whether its chain is whole."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from teams_app.engine.actors import ActorKind, Role
from tests.cast import NOW, issue, play

pytestmark = pytest.mark.django_db

AUDIT = "/studio/teams_app/auditentry/"


@pytest.fixture
def alice(house):
    from django.test import Client

    browser = Client()
    browser.force_login(house.alice.person)
    return browser


@pytest.fixture
def log(house):
    from teams_app.engine.actors import Door
    from teams_app.services.invitations import invite
    from teams_app.services.members import change_role
    from teams_app.services.sign_ins import record_refused_sign_in

    issue(house.alice.actor, name="<b>Claude</b>")
    invite(actor=house.alice.actor, username="dora", role=Role.AUTHOR, now=NOW)
    change_role(actor=house.alice.actor, member_id=house.bob.membership.pk, role=Role.AUTHOR, now=NOW)
    record_refused_sign_in(username="bob", address="10.0.0.9", door=Door.STUDIO, now=NOW)


def text(response):
    assert response.status_code == 200
    return response.content.decode()


def sentences(page):
    found = re.findall(r'<div class="what"><p>(.*?)</p>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", "", each).split()) for each in found]


def test_each_entry_is_a_sentence_with_a_name_that_leads_to_its_page(house, log, alice):
    page = text(alice.get(AUDIT))

    assert sentences(page) == [
        "Refused to sign in somebody as bob from 10.0.0.9",
        "Changed the role of bob to author, before: operator",
        "Invited dora as author",
        "Made the key &lt;b&gt;Claude&lt;/b&gt;",
    ]
    assert f"/studio/teams_app/membership/{house.bob.membership.pk}/change/" in page
    assert "member.role_changed" not in page
    assert "studio" not in sentences(page)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("?what=sign-ins", 1),
        ("?what=people", 3),
        ("?what=keys", 1),
        ("?what=workflows", 0),
        ("?actor_kind__exact=system", 1),
        ("?q=dora", 1),
        ("?q=nobody", 0),
        ("?what=odd", 4),
        ("?after=odd", 4),
    ],
)
def test_the_log_is_asked_for_what_one_looks_for(house, log, alice, query, count):
    page = text(alice.get(AUDIT + query))

    assert len(sentences(page)) == count


def test_whatever_is_entered_is_found_by_what_it_is_about_and_is_a_sentence():
    """All that the services tell the audit log, as their sources name it."""
    from teams_app.admin import team_pages, words

    root = Path(__file__).parents[2]
    sources = [
        path.read_text()
        for app in ("teams", "workflows", "sessions")
        for path in (root / f"{app}_app" / "services").rglob("*.py")
    ]
    named = {
        each
        for text in sources
        for each in re.findall(r'"([a-z]+\.[a-z_]+)"', text)
        if "record_audit" in text or "ToldInTeam(" in text
    }
    entered = {each for each in named if each.partition(".")[0] not in {"audit", "s"}}
    assert len(entered) > 50
    beginnings = tuple(begin for _, found in team_pages._WHAT.values() for begin in found)

    assert entered <= words._SENTENCES.keys()
    assert {each for each in words._SENTENCES if not each.startswith(beginnings)} == set()


def test_what_is_shown_is_exported(house, log, alice):
    rows = list(csv.DictReader(io.StringIO(text(alice.get(f"{AUDIT}export/?what=keys")))))

    assert [(row["action"], row["actor_name"]) for row in rows] == [("key.issued", "alice")]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(1)", "\uff1d1+1", '=HYPERLINK("https://x.example";"a")']


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_of_what_is_exported_is_a_formula(house, alice, name):
    """Agents and clients are named as they like, and act under that name."""
    from teams_app.services.audit import record_audit

    agent = replace(house.alice.actor, kind=ActorKind.AGENT_KEY, name=name, role=None)
    record_audit(actor=agent, action="run.begun", target=name, now=NOW, details={"name": name, "deep": {"a": [name]}})

    exported = text(alice.get(f"{AUDIT}export/"))
    (row,) = csv.DictReader(io.StringIO(exported))
    assert (row["actor_name"], row["target"]) == (f"'{name}", f"'{name}")
    assert json.loads(row["details"]) == {"name": name, "deep": {"a": [name]}}
    # Whatever parts cells in the language of who opens it.
    assert all(line.startswith('"') and line.endswith('"') for line in exported.splitlines())


def test_an_export_that_is_cut_says_so_in_its_name(house, log, alice, monkeypatch):
    from teams_app.admin import team_pages

    def exported(most):
        monkeypatch.setattr(team_pages, "_MOST_EXPORTED", most)
        response = alice.get(f"{AUDIT}export/")
        return response["Content-Disposition"], len(list(csv.DictReader(io.StringIO(text(response)))))

    assert exported(3) == ('attachment; filename="audit-newest-3.csv"', 3)
    assert exported(4) == ('attachment; filename="audit.csv"', 4)


def test_nobody_but_an_owner_reads_or_exports_it(house, log, client):
    client.force_login(play("ann", house.team, Role.AUTHOR).person)

    assert client.get(AUDIT).status_code == 403
    assert client.get(f"{AUDIT}export/").status_code == 403


@pytest.mark.django_db(transaction=True)
def test_a_whole_chain_is_said_to_be_whole_and_one_that_was_changed_broken(house, log, alice):
    from django.db import connection

    from teams_app.models import AuditEntry

    whole = text(alice.get(f"{AUDIT}?check=1"))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE teams_app_auditentry DISABLE TRIGGER USER")
        AuditEntry.objects.filter(action="key.issued").update(actor_name="somebody else")
        cursor.execute("ALTER TABLE teams_app_auditentry ENABLE TRIGGER USER")
    broken = text(alice.get(f"{AUDIT}?check=1"))

    assert "4 entries, the chain is whole, checked just now" in whole
    assert "The chain is broken" in broken
    assert "is not what was written" in broken


def test_members_are_listed_with_what_they_may_and_who_is_invited(house, log, alice, client):
    from teams_app.models import Invitation

    page = text(alice.get("/studio/teams_app/membership/"))
    client.force_login(house.bob.person)
    as_bob = text(client.get("/studio/teams_app/membership/"))

    assert "dora" in page
    assert f"/studio/teams_app/invitation/{Invitation.objects.get().pk}/withdraw/" in page
    assert "dora" not in as_bob
    assert as_bob.count(">Leave<") == 1
    assert ">Remove<" not in as_bob
    assert ">Invite<" not in as_bob


def test_health_says_first_whether_all_is_well(house, alice, settings):
    assert "All is well" in text(alice.get("/studio/health/"))


def test_each_action_that_is_audited_has_words():
    from pathlib import Path

    from teams_app.admin.words import _SENTENCES

    root = Path(__file__).parents[2]
    source = "\n".join(
        path.read_text()
        for app in ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
        for path in (root / app).rglob("*.py")
        if "migrations" not in path.parts
    )
    by_name = re.findall(r'(?:action=|_record\(\s*actor,\s*|yield )"([a-z_]+\.[a-z_]+)"', source)
    stops = [f"run.{kind}" for kind in ("paused", "cancelled", "rejected")]

    assert len(by_name) > 40
    assert sorted({*by_name, *stops} - _SENTENCES.keys()) == []


def test_details_are_words_and_ids_stay_as_they_are(house, alice):
    from teams_app.services.audit import record_audit

    key = "key_" + "a" * 26
    details = {"riskPolicy": "full_auto_never_stop", "session_id": key, "tokensAnswerHuman": True, "name": "my agent"}
    record_audit(actor=house.alice.actor, action="preferences.changed", target=key, now=NOW, details=details)

    told = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", text(alice.get(AUDIT))))

    assert told["Risk policy"] == "full auto never stop"
    assert (told["Session"], told["Tokens answer human"], told["Name"]) == (key, "yes", "my agent")
