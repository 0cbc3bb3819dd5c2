"""The Studio's pages of teams, members, keys and the audit log, as each of the cast sees them."""

import logging
import re

import pytest

from teams_app.engine.actors import Role
from tests.cast import audited, issue, play, team_id

pytestmark = pytest.mark.django_db

TEAMS, MEMBERS = "/studio/teams_app/team/", "/studio/teams_app/membership/"
KEYS, AUDIT = "/studio/teams_app/agentkey/", "/studio/teams_app/auditentry/"
LISTS = [TEAMS, MEMBERS, KEYS, AUDIT]


@pytest.fixture
def signed_in():
    from django.test import Client

    def sign_in(player):
        browser = Client()
        browser.force_login(player.person)
        return browser

    return sign_in


@pytest.fixture
def alice(house, signed_in):
    return signed_in(house.alice)


@pytest.fixture
def bob(house, signed_in):
    return signed_in(house.bob)


def text(response):
    return response.content.decode()


def acts_of(house):
    """Every page that changes something, with a form that would do it."""
    key = issue(house.alice.actor).key.id
    member = house.bob.membership.pk
    return {
        f"{TEAMS}found/": {"name": "Second"},
        f"{TEAMS}{house.team.pk}/rename/": {"name": "Renamed"},
        f"{MEMBERS}invite/": {"username": "dora", "role": "viewer"},
        f"{MEMBERS}{member}/password-link/": {},
        f"{MEMBERS}{member}/role/": {"role": "owner"},
        f"{MEMBERS}{member}/remove/": {},
        f"{KEYS}issue/": {"name": "Claude", "scopes": ["runs:read"], "ends": "never"},
        f"{KEYS}{key}/rotate/": {},
        f"{KEYS}{key}/revoke/": {},
    }


def contents():
    from teams_app.models import AgentKey, AuditEntry, Membership, Person, Team

    return [
        list(Team.objects.order_by("id").values_list("id", "name")),
        list(Membership.objects.order_by("id").values_list("id", "role")),
        list(AgentKey.objects.order_by("id").values_list("id", "revoked_at")),
        Person.objects.count(),
        AuditEntry.objects.count(),
    ]


def test_a_stranger_to_the_house_is_asked_to_sign_in(db, client):
    for path in LISTS:
        assert client.get(path)["Location"].startswith("/studio/login/")


def test_a_person_in_no_team_is_not_let_in(house, bob):
    house.bob.membership.delete()

    assert bob.get("/studio/")["Location"].startswith("/studio/login/")


def test_a_person_signs_in_with_their_password(house, client):
    house.bob.person.set_password("correct horse battery")
    house.bob.person.save(update_fields=["password"])

    wrong = client.post("/studio/login/", {"username": "bob", "password": "wrong"})
    right = client.post("/studio/login/?next=/studio/", {"username": " Bob ", "password": "correct horse battery"})

    assert "Please enter a correct username and password" in text(wrong)
    assert (right.status_code, right["Location"]) == (302, "/studio/")


def test_the_front_page_names_the_studio_and_the_team(house, alice):
    page = text(alice.get("/studio/"))

    assert "Workrail Studio" in page
    assert "Alice&#x27;s team" in page


@pytest.mark.parametrize("path", LISTS)
def test_an_owner_sees_their_rows_and_nobody_elses(house, alice, path):
    issue(house.alice.actor, name="mine")
    issue(house.charlie.actor, name="of-charlie")

    response = alice.get(path)

    assert response.status_code == 200
    assert "harlie" not in text(response)


def test_only_an_owner_sees_the_audit_log(house, bob):
    assert AUDIT not in text(bob.get("/studio/"))
    assert bob.get(AUDIT).status_code == 403


def row_of(house, path):
    from teams_app.models import AgentKey, AuditEntry

    rows = {
        TEAMS: house.team,
        MEMBERS: house.bob.membership,
        KEYS: AgentKey.objects.first(),
        AUDIT: AuditEntry.objects.first(),
    }
    return rows[path].pk


@pytest.mark.parametrize("path", LISTS)
def test_rows_are_neither_added_changed_nor_deleted_by_the_admin_itself(house, alice, path):
    issue(house.alice.actor)
    row_id = row_of(house, path)
    before = contents()

    assert alice.get(f"{path}add/").status_code == 403
    assert alice.post(f"{path}add/", {}).status_code == 403
    assert alice.get(f"{path}{row_id}/change/").status_code in {200, 302}
    assert alice.post(f"{path}{row_id}/change/", {"name": "x", "role": "owner"}).status_code == 403
    assert alice.get(f"{path}{row_id}/delete/").status_code == 403
    assert alice.post(f"{path}{row_id}/delete/", {"post": "yes"}).status_code == 403
    assert alice.post(path, {"action": "delete_selected", "_selected_action": [row_id]}).status_code in {200, 302, 403}
    assert contents() == before


def test_a_get_changes_nothing_and_shows_a_form(house, alice):
    acts = acts_of(house)
    before = contents()

    for path in acts:
        page = alice.get(path)
        assert (page.status_code, 'method="post"' in text(page)) == (200, True), path

    assert contents() == before


def test_every_act_of_an_owner_is_done_and_recorded_as_theirs(house, alice):
    from teams_app.models import AuditEntry

    for path, form in acts_of(house).items():
        assert alice.post(path, form).status_code in {200, 302}, path

    done = AuditEntry.objects.filter(actor_name="alice", door="studio").order_by("id").values_list("action", flat=True)
    assert list(done) == [
        "team.created",
        "team.renamed",
        "member.invited",
        "password.reset_offered",
        "member.role_changed",
        "member.removed",
        "key.issued",
        "key.issued",
        "key.rotated",
        "key.revoked",
    ]


def test_whoever_lacks_the_role_neither_sees_nor_does_what_owners_do(house, bob):
    acts = {path: form for path, form in acts_of(house).items() if not path.endswith("/remove/")}
    before = contents()

    for path, form in acts.items():
        assert bob.get(path).status_code == 403, path
        assert bob.post(path, form).status_code == 403, path

    assert contents() == before
    assert "Make a key" not in text(bob.get(KEYS))


def test_an_operator_leaves_but_removes_nobody(house, bob):
    refused = bob.post(f"{MEMBERS}{house.alice.membership.pk}/remove/")

    assert refused.status_code == 400
    assert "bob may not manage team." in text(refused)
    assert bob.post(f"{MEMBERS}{house.bob.membership.pk}/remove/").status_code == 302
    assert audited(house.team) == ["member.removed"]


def test_a_stranger_finds_no_row_of_another_team(house, signed_in):
    charlie = signed_in(house.charlie)
    before_acts = {path: form for path, form in acts_of(house).items() if re.search(r"[0-9a-f]{8}-", path)}
    before = contents()

    for path, form in before_acts.items():
        assert charlie.get(path).status_code == 404, path
        assert charlie.post(path, form).status_code == 404, path
        assert charlie.get(re.sub(r"/[a-z-]+/$", "/change/", path)).status_code in {302, 404}, path

    assert contents() == before


def test_an_act_without_its_csrf_proof_does_nothing(house):
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.alice.person)
    acts = acts_of(house)
    before = contents()

    for path, form in acts.items():
        refused = browser.post(path, form)
        assert refused.status_code == 403
        assert "could not be proved to be ours" in text(refused)

    assert contents() == before


def test_a_key_is_shown_on_the_page_that_made_it_and_never_again(house, alice):
    shown = text(alice.post(f"{KEYS}issue/", {"name": "Claude", "scopes": ["runs:read", "runs:write"], "ends": "90"}))

    key = re.search(r"wr_key_[a-z2-7]{40}", shown).group(0)
    later = text(alice.get(KEYS)) + text(alice.get(AUDIT))
    assert key not in later
    assert key[:15] in later


def test_a_key_is_rotated_on_its_page_and_offered_so_only_while_it_goes_on(house, alice):
    key = issue(house.alice.actor).key
    path = f"{KEYS}{key.id}/"

    assert f"{path}rotate/" in text(alice.get(f"{path}change/"))
    shown = text(alice.post(f"{path}rotate/"))

    new = re.search(r"wr_key_[a-z2-7]{40}", shown).group(0)
    assert not new.startswith(key.prefix)
    assert f"{path}rotate/" not in text(alice.get(f"{path}change/")) + text(alice.get(KEYS))
    assert "ends within a day" in text(alice.get(AUDIT))


def test_a_page_with_a_secret_is_kept_by_no_cache(house, alice):
    response = alice.post(f"{KEYS}issue/", {"name": "Claude", "scopes": ["runs:read"], "ends": "never"})

    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"name": "x"},
        {"name": "x", "scopes": ["everything"], "ends": "90"},
        {"name": "x" * 101, "scopes": ["runs:read"], "ends": "never"},
        {"name": "a\u202eb", "scopes": ["runs:read"], "ends": "never"},
        {"name": "a\x00b", "scopes": ["runs:read"], "ends": "never"},
        {"name": "x", "scopes": ["runs:read"], "ends": "0"},
        {"name": "x", "scopes": ["runs:read"], "ends": "tomorrow"},
    ],
)
def test_a_form_that_is_wrong_comes_back_with_words_and_issues_nothing(house, alice, form):
    from teams_app.models import AgentKey

    refused = alice.post(f"{KEYS}issue/", form)

    assert refused.status_code == 400
    assert re.search(r'class="(?:errorlist|banner is-stop)', text(refused))
    assert not AgentKey.objects.exists()


def test_the_last_owner_is_told_why_they_stay(house, alice):
    refused = text(alice.post(f"{MEMBERS}{house.alice.membership.pk}/remove/"))

    assert "alice is the last owner of the team and cannot be removed. Make another member an owner first." in refused


def test_a_form_begins_with_what_is_there(house, alice):
    assert 'value="Alice&#x27;s team"' in text(alice.get(f"{TEAMS}{house.team.pk}/rename/"))
    assert re.search(r'value="operator"[^>]* checked', text(alice.get(f"{MEMBERS}{house.bob.membership.pk}/role/")))


def test_a_person_in_two_teams_goes_from_one_to_the_other(house, alice):
    play("alice", house.other_team, Role.VIEWER)

    before = text(alice.get(MEMBERS))
    alice.post("/studio/team/", {"team": team_id(house.other_team)})
    after = text(alice.get(MEMBERS))

    assert "bob" in before
    assert "charlie" not in before
    assert "charlie" in after
    assert "bob" not in after
    assert alice.get(f"{KEYS}issue/").status_code == 403


@pytest.mark.parametrize("wrong", ["", "x", "team_aaaaaaaaaaaaaaaaaaaaaaaaaa"])
def test_choosing_a_team_that_is_not_ones_own_changes_nothing(house, alice, wrong):
    chosen = wrong or team_id(house.other_team)

    alice.post("/studio/team/", {"team": chosen})

    assert "Alice&#x27;s team" in text(alice.get("/studio/"))


def test_a_team_is_not_chosen_by_a_link(house, alice):
    assert alice.get(f"/studio/team/?team={team_id(house.team)}").status_code == 405


def test_a_page_leaves_a_line_with_its_actor(house, alice, caplog):
    caplog.set_level(logging.INFO)

    alice.get(KEYS)

    (line,) = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert (line["actor"], line["door"], line["path"]) == (house.alice.actor.id, "studio", KEYS)


def test_the_bare_address_and_one_without_its_slash_lead_to_the_studio(house, alice):
    assert alice.get("/")["Location"] == "/studio/"
    assert alice.get("/studio")["Location"] == "/studio/"


def test_a_stranger_who_guesses_locks_nobody_out(house, client, settings):
    settings.BEHIND_PROXY = True
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2

    def sign_in(address):
        form = {"username": "locked-out", "password": "wrong"}
        return client.post("/studio/login/", form, headers={"X-Forwarded-For": f"6.6.6.6, {address}"}).status_code

    assert 429 in [sign_in("10.0.0.1") for _ in range(6)]
    assert sign_in("10.0.0.2") == 200


def test_a_person_who_was_removed_is_out_with_the_next_request(house, bob):
    assert bob.get(MEMBERS).status_code == 200
    house.bob.membership.delete()

    assert bob.get(MEMBERS)["Location"].startswith("/studio/login/")


def test_no_page_of_the_studio_holds_anything_inline_or_foreign(house, alice):
    issue(house.alice.actor, name="<script>alert(1)</script>")
    links = {"/studio/", *LISTS, *acts_of(house)}
    for path in LISTS:
        if path not in {MEMBERS, TEAMS}:
            links.add(f"{path}{row_of(house, path)}/change/")

    for path in links:
        response = alice.get(path)
        html = text(response)
        assert response.status_code == 200, path
        assert "unsafe" not in response["Content-Security-Policy"]
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", html), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", html), path
        assert not re.search(r"(?:src|href)=[\"'](?:https?:)?//", html), path


def test_a_list_costs_the_same_number_of_queries_however_many_rows_it_has(house, alice):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def queries(path):
        with CaptureQueriesContext(connection) as captured:
            alice.get(path)
        return len(captured)

    issue(house.alice.actor)
    few = [queries(path) for path in LISTS]
    for number in range(10):
        issue(house.alice.actor, name=f"key {number}")
        play(f"person-{number}", house.team, Role.VIEWER)

    assert [queries(path) for path in LISTS] == few


def test_an_owner_ends_the_team_by_its_name_and_is_out_of_it(house, alice, bob):
    path = f"{TEAMS}{house.team.pk}/end/"
    assert path in text(alice.get(TEAMS))
    assert path not in text(bob.get(TEAMS))
    assert "not the name of the team" in text(alice.post(path, {"name": "Another"}))
    alice.post(f"{TEAMS}found/", {"name": "Second"})

    done = alice.post(path, {"name": house.team.name}, follow=True)

    assert "has ended" in text(done)
    assert "Second" in text(alice.get("/studio/"))
    assert alice.get(f"{TEAMS}{house.team.pk}/end/").status_code == 404
    assert bob.get("/studio/")["Location"].startswith("/studio/login/")


def test_whoever_ends_their_only_team_is_told_and_signed_out_of_it(house, alice):
    done = alice.post(f"{TEAMS}{house.team.pk}/end/", {"name": house.team.name}, follow=True)

    assert done.status_code == 200
    assert done.request["PATH_INFO"] == "/studio/login/"
