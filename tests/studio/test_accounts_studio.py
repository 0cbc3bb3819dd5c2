"""Invitations, forgotten passwords and sign-ins, on the pages that people see."""

import logging
import re
import unicodedata
from urllib.parse import urlencode

import pytest

from teams_app.engine.actors import Role
from tests.cast import audited, play

pytestmark = pytest.mark.django_db

MEMBERS = "/studio/teams_app/membership/"
GOOD = "correct horse battery"
NEW = {"way": "new", "new_password": GOOD, "again": GOOD}


@pytest.fixture
def alice(house):
    from django.test import Client

    browser = Client()
    browser.force_login(house.alice.person)
    return browser


def text(response):
    return response.content.decode()


def link_in(response):
    return re.search(r"/studio/(?:join|password)/wr_link_[a-z2-7]{40}/", text(response)).group(0)


def invite(alice, username="dora", role="author"):
    return link_in(alice.post(f"{MEMBERS}invite/", {"username": username, "role": role}))


def give_password(player):
    player.person.set_password(GOOD)
    player.person.save(update_fields=["password"])


def test_a_new_person_opens_the_link_sets_a_password_and_is_in(house, alice, client):
    link = invite(alice)

    page = client.get(link)
    answer = client.post(link, NEW)

    assert (page.status_code, answer["Location"]) == (200, "/studio/")
    assert "Alice&#x27;s team" in text(client.get("/studio/"))
    assert "dora" in text(client.get(MEMBERS))
    assert client.get(link).status_code == 404


def test_the_page_of_a_link_is_the_same_for_names_that_exist_and_those_that_do_not(house, alice, client):
    def page(username):
        shown = text(client.get(invite(alice, username)))
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", shown).replace(username, "NAME")

    assert page("charlie") == page("nobody7")


def test_a_link_acts_on_no_get(house, alice, client):
    link = invite(alice)
    before = audited(house.team)

    for _ in range(2):
        assert client.get(link).status_code == 200
    client.head(link)

    assert audited(house.team) == before


def test_a_person_with_an_account_joins_with_their_password_or_signed_in(house, alice, client):
    give_password(house.charlie)
    link = invite(alice, "charlie")

    wrong = client.post(link, {"way": "known", "password": "a wrong one 1234"})
    right = client.post(link, {"way": "known", "password": GOOD})

    assert (wrong.status_code, right["Location"]) == (400, "/studio/")
    assert "You cannot join as charlie in this way." in text(wrong)


def test_who_is_signed_in_under_the_name_joins_with_one_button(house, alice, client):
    client.force_login(house.charlie.person)
    link = invite(alice, "charlie")

    assert "Join as charlie" in text(client.get(link))
    assert client.post(link, {"way": "signed-in"})["Location"] == "/studio/"
    assert "bob" in text(client.get(MEMBERS))


def test_who_is_signed_in_under_another_name_does_not_join_by_that(house, alice, client):
    client.force_login(house.charlie.person)
    link = invite(alice, "dora")

    assert client.post(link, {"way": "signed-in"}).status_code == 400
    assert "charlie" not in text(alice.get(MEMBERS))


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"way": "new"},
        {"way": "other"},
        {"way": "new", "new_password": GOOD, "again": "something else 12"},
        {"way": "new", "new_password": "short", "again": "short"},
        {"way": "new", "new_password": "dora is my name", "again": "dora is my name"},
        {"way": "known"},
        {"way": "signed-in"},
    ],
)
def test_a_form_that_is_wrong_comes_back_and_the_link_is_still_good(house, alice, client, form):
    link = invite(alice)

    assert client.post(link, form).status_code in {200, 400}
    assert client.post(link, NEW).status_code == 302


def test_a_link_is_in_no_log_and_no_cache(house, alice, client, caplog):
    caplog.set_level(logging.INFO)
    link = invite(alice)

    response = client.get(link)

    assert "no-store" in response["Cache-Control"]
    assert response["Referrer-Policy"] == "same-origin"
    from workrail_site.redaction import Redactor

    lines = [Redactor()(None, "", record.msg) for record in caplog.records if isinstance(record.msg, dict)]
    assert lines
    assert link.split("/")[3] not in repr(lines)


def test_an_owner_hands_out_a_link_and_the_person_sets_a_new_password(house, alice, client):
    give_password(house.bob)
    link = link_in(alice.post(f"{MEMBERS}{house.bob.membership.pk}/password-link/"))

    assert "bob" in text(client.get(link))
    done = client.post(link, {"new_password": "another good one", "again": "another good one"})
    signed_in = client.post("/studio/login/", {"username": "bob", "password": "another good one"})

    assert (done["Location"], signed_in.status_code) == ("/studio/login/", 302)
    assert client.get(link).status_code == 404


def test_a_person_changes_their_password_with_the_one_they_have_and_stays_signed_in(house, client):
    boris = play("boris", house.team, Role.VIEWER)
    give_password(boris)
    client.force_login(boris.person)
    path = "/studio/password_change/"
    new = {"new_password": "another good one", "again": "another good one"}

    assert client.post(path, {"old_password": "a wrong one 1234", **new}).status_code == 400
    assert client.post(path, {"old_password": GOOD, **new}).status_code == 302
    assert client.get(MEMBERS).status_code == 200
    assert audited(house.team) == ["person.sign_in_refused", "password.changed"]


@pytest.mark.parametrize("new", ["ghp_0123456789abcdefABCDEF", "my secret=aB3dE5gH7jK9mN1pQ3sT"])
def test_a_new_password_may_look_like_a_key(house, client, new):
    """It is of a manager of passwords, say: the second time that it was typed it was taken for another one."""
    give_password(house.bob)
    client.force_login(house.bob.person)

    done = client.post("/studio/password_change/", {"old_password": GOOD, "new_password": new, "again": new})

    assert done.status_code == 302, text(done)
    house.bob.person.refresh_from_db()
    assert house.bob.person.check_password(new)


def test_sign_ins_refusals_and_sign_outs_are_in_the_log_of_each_team(house, client):
    from teams_app.models import AuditEntry

    give_password(play("rita", house.team, Role.VIEWER))
    play("rita", house.other_team, Role.VIEWER)

    client.post("/studio/login/", {"username": "rita", "password": "wrong"})
    client.post("/studio/login/", {"username": "Rita", "password": "wrong again"})
    client.post("/studio/login/", {"username": " Rita ", "password": GOOD})
    client.post("/studio/logout/")

    expected = ["person.sign_in_refused", "person.signed_in", "person.signed_out"]
    assert (audited(house.team), audited(house.other_team)) == (expected, expected)
    assert AuditEntry.objects.filter(action="person.signed_in").first().details["address"] == "127.0.0.1"


@pytest.mark.parametrize("way", ["known", "new", "signed-in"])
def test_who_is_signed_in_by_a_link_is_told_of_in_each_team_as_by_the_sign_in(house, alice, client, way):
    """Whoever has somebody's password need not come by the page of sign-ins: any team may invite the name."""
    if way == "known":
        give_password(play("rita", house.other_team, Role.VIEWER))
    if way == "signed-in":
        client.force_login(play("rita", house.other_team, Role.VIEWER).person)
    link = invite(alice, "rita")

    form = {"known": {"way": way, "password": GOOD}, "new": NEW, "signed-in": {"way": way}}[way]
    assert client.post(link, form).status_code == 302

    signed_in = [] if way == "signed-in" else ["person.signed_in"]
    assert audited(house.team) == ["member.invited", "member.joined", *signed_in]
    assert audited(house.other_team) == (signed_in if way == "known" else [])


ELSEWHERE = [
    *("https://evil.example", "//evil.example/x", "https:evil.example", "javascript:alert(1)", "/\\evil.example", "http://testserver.evil.example/"),
    *("ftp://testserver/studio/", "\t//evil.example", "https://evil.example/studio/", "data:text/html,x", ""),
]  # fmt: skip


# As it arrives, read once: what begins where the page of signing in stands, or where nothing is.
NOWHERE = [
    *("%2f%2fevil.example", "%2f%2f", "%5c%5cevil.example", "/%2f%2fevil.example", "studio/", "x", "?x=1", "#x", "./", "../..", "login/"),
    *("/studio/nothing-here", "/studio//evil.example", "/studio/;@evil", "/studio/logout/", "/studio/theme/"),
    *("/nowhere", "/%2e%2e/x", "http://testserver/nowhere", "//testserver", "/\u0000", "/%00", "/studio%2f"),
]  # fmt: skip


@pytest.mark.parametrize("leads_to", NOWHERE)
def test_who_signs_in_with_a_next_that_leads_to_no_page_comes_home(house, leads_to):
    give_password(house.bob)
    client = elsewhere(16)

    done = client.post(f"/studio/login/?{urlencode({'next': leads_to})}", {"username": "bob", "password": GOOD})
    themed = client.post("/studio/theme/", {"theme": "dark", "next": leads_to})

    assert (done.status_code, client.get(done["Location"], follow=True).status_code) == (302, 200)
    assert (themed.status_code, client.get(themed["Location"], follow=True).status_code) == (302, 200)


# Composed and decomposed, in two widths, with marks in two orders, as one letter and as two.
TYPED = [
    ("Cr\u00e8me br\u00fbl\u00e9e 12", "Cre\u0300me bru\u0302le\u0301e 12"),
    ("\uff43\uff4f\uff52\uff52\uff45\uff43\uff54 horse battery", "correct horse battery"),
    ("\u1ebf\u0323 twelve letters", "e\u0323\u0302\u0301 twelve letters"),
    ("\ud55c\uad6d\uc5b4 twelve letters", unicodedata.normalize("NFD", "\ud55c\uad6d\uc5b4 twelve letters")),
    ("the \ufb01ne horse battery", "the fine horse battery"),
]  # fmt: skip


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("typed", TYPED)
def test_a_password_signs_in_however_a_keyboard_puts_its_letters_together(house, alice, client, typed, first, settings):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 1_000
    one, other = typed[first], typed[1 - first]
    assert client.post(invite(alice), {"way": "new", "new_password": one, "again": other}).status_code == 302
    client.logout()

    for at, password in enumerate((one, other)):
        done = elsewhere(20 + at).post("/studio/login/", {"username": "dora", "password": password})
        assert (done.status_code, done["Location"]) == (302, "/studio/")
    assert elsewhere(22).post("/studio/login/", {"username": "dora", "password": f"{one}x"}).status_code == 200


@pytest.mark.parametrize("hasher", ["Argon2PasswordHasher", "PBKDF2PasswordHasher"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("typed", TYPED)
def test_a_password_that_was_set_before_signs_in_as_it_was_typed_and_in_the_one_form(
    house, typed, first, hasher, settings
):
    from django.contrib.auth import hashers

    settings.THROTTLE_SIGN_IN_PER_MINUTE = 1_000
    before = getattr(hashers, hasher)()
    house.bob.person.password = before.encode(typed[first], before.salt())
    house.bob.person.save(update_fields=["password"])

    known = {typed[first]} | ({typed[1]} if unicodedata.normalize("NFKC", typed[1]) == typed[first] else set())
    for at, password in enumerate(sorted(known)):
        done = elsewhere(30 + at).post("/studio/login/", {"username": "bob", "password": password})
        assert (done.status_code, done["Location"]) == (302, "/studio/"), password


def test_nobody_learns_from_the_work_whether_there_is_somebody_of_a_name(house, monkeypatch):
    """A password that was typed in another form is tried twice: for nobody it is hashed as often."""
    from teams_app.services.passwords import Argon2OfOneForm

    give_password(house.bob)
    hashed = []
    library = Argon2OfOneForm.as_typed._load_library()
    for name in ("hash_secret", "verify_secret"):
        whole = getattr(library.low_level, name)
        monkeypatch.setattr(library.low_level, name, lambda *a, whole=whole, **k: hashed.append(1) or whole(*a, **k))
    monkeypatch.setattr(
        library.PasswordHasher,
        "verify",
        lambda self, *a, whole=library.PasswordHasher.verify: hashed.append(1) or whole(self, *a),
    )
    counts = {}
    for name in ("bob", "nobody"):
        for password in ("wrong horse", "wro\u0301ng horse"):
            hashed.clear()
            elsewhere(33).post("/studio/login/", {"username": name, "password": password})
            counts[name, password] = len(hashed)
    assert counts["bob", "wrong horse"] == counts["nobody", "wrong horse"]
    assert counts["bob", "wro\u0301ng horse"] == counts["nobody", "wro\u0301ng horse"]


@pytest.mark.parametrize("where", ["in the address", "in the form"])
@pytest.mark.parametrize("leads_to", ELSEWHERE)
def test_who_signs_in_with_a_next_that_leads_elsewhere_comes_home(house, settings, leads_to, where):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 1_000
    give_password(house.bob)
    client, form = elsewhere(14), {"username": "bob", "password": GOOD}
    query = f"?{urlencode({'next': leads_to})}" if where == "in the address" else ""

    done = client.post(f"/studio/login/{query}", form if query else {**form, "next": leads_to})
    again = client.get(f"/studio/login/?{urlencode({'next': leads_to})}", follow=True)

    assert (done.status_code, done["Location"]) == (302, "/studio/")
    assert client.get(done["Location"]).status_code == 200
    assert again.status_code == 200


def test_who_signs_in_with_a_next_within_the_studio_goes_there(house):
    give_password(house.bob)
    client = elsewhere(15)

    done = client.post("/studio/login/?next=/studio/find/%3Fq%3Dx", {"username": "bob", "password": GOOD})

    assert done["Location"] == "/studio/find/?q=x"


@pytest.mark.parametrize("spelling", ["BOB", "ｂｏｂ", "Ｂｏｂ", " bob "])
def test_all_ways_to_write_a_login_name_share_one_limit(house, client, settings, spelling):
    settings.BEHIND_PROXY = True
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2

    def sign_in(username, address):
        form = {"username": username, "password": "wrong"}
        return client.post("/studio/login/", form, headers={"X-Forwarded-For": address}).status_code

    # Whichever minute it is, of six one is over the limit of two, and so is the next one.
    told = [sign_in("bob", "10.0.0.1") for _ in range(6)]
    assert 429 in told
    assert 429 in [sign_in(spelling, "10.0.0.1") for _ in range(3)]


def test_whoever_guesses_at_a_link_is_slowed_down(house, alice, settings):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    link, client = invite(alice, "charlie"), elsewhere(13)

    told = [client.post(link, {"way": "known", "password": f"guess number {n}"}).status_code for n in range(6)]

    assert 429 in told


def elsewhere(last):
    """What a process remembers of an address outlives a test."""
    from django.test import Client

    return Client(REMOTE_ADDR=f"10.11.12.{last}")


def test_new_links_are_no_new_guesses_at_a_password(house, alice, settings):
    """An owner may invite any name again and again; that is one name to guess at, as at the sign-in."""
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    client, guess = elsewhere(14), {"way": "known", "password": "a good guess"}
    play("gwen", house.other_team, Role.VIEWER)

    told = [client.post(invite(alice, "gwen"), guess).status_code for _ in range(6)]

    assert 429 in told
    assert audited(house.other_team) == ["person.sign_in_refused"]


def test_who_guesses_at_the_password_of_whose_browser_they_have_is_slowed_down_and_told(house, settings):
    """It is the same name to guess at, whichever page asks for its password."""
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    client, new = elsewhere(16), {"new_password": "another good one", "again": "another good one"}
    player = play("gustav", house.team, Role.VIEWER)
    give_password(player)
    client.force_login(player.person)

    told = [client.post("/studio/password_change/", {"old_password": "a guess", **new}).status_code for _ in range(6)]

    assert 429 in told
    assert 429 in [
        client.post("/studio/login/", {"username": "gustav", "password": "a guess"}).status_code for _ in "ab"
    ]
    assert audited(house.team) == ["person.sign_in_refused"]


def test_a_new_password_that_will_not_do_is_no_guess(house):
    client = elsewhere(17)
    player = play("gerda", house.team, Role.VIEWER)
    give_password(player)
    client.force_login(player.person)

    for new in (
        {"new_password": "short", "again": "short"},
        {"new_password": "not the same 1", "again": "not the same 2"},
    ):
        assert client.post("/studio/password_change/", {"old_password": GOOD, **new}).status_code == 400

    assert audited(house.team) == []


def test_who_knows_the_password_is_not_told_of_as_one_who_guesses(house, alice):
    give_password(play("greta", house.other_team, Role.VIEWER))

    assert elsewhere(15).post(invite(alice, "greta"), {"way": "known", "password": GOOD}).status_code == 302
    assert "person.sign_in_refused" not in audited(house.other_team)


def test_an_invitation_is_listed_and_withdrawn(house, alice, client):
    from teams_app.models import Invitation

    link = invite(alice)
    path = "/studio/teams_app/invitation/"

    assert "dora" in text(alice.get(path))
    assert alice.post(f"{path}{Invitation.objects.get().pk}/withdraw/").status_code == 302
    assert client.get(link).status_code == 404
