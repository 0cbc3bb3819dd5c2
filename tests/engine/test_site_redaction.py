"""No secret reaches a log line, whatever it hides in."""

import json

import pytest

from tests.flood_play import FULL, Work
from workrail_site.redaction import HIDDEN, Redactor, is_secret_name

KEY = "wr_key_abcdefghijklmnopqrstuvwxyz234567abcdefgh"
TOKEN = "st.v1.q8w7e6r5t4y3u2i1o0p9abcdefgh"


def written(event, **options):
    return json.dumps(Redactor(**options)(None, "info", event), default=repr)


@pytest.mark.parametrize(
    "event",
    [
        {"event": f"got {KEY}"},
        {"event": "x", "key": KEY},
        {"event": "x", "deep": {"list": [{"tuple": (KEY,)}]}},
        {"event": "x", "headers": {"Authorization": f"Bearer {KEY}"}},
        {"event": f"Authorization: Bearer {KEY}"},
        {"event": "x", "exception": f"Traceback …\nValueError: {KEY!r}"},
        {"event": "x", "error": ValueError(KEY)},
        {"event": "x", "raw": KEY.encode()},
        {"event": "x", KEY: 1},
        {"event": "x", "loud": KEY.upper()},
        {"event": "x", "query": f"/api?key={KEY}&x=1"},
    ],
)
def test_an_agent_key_is_cut_to_the_part_that_may_be_shown(event):
    assert KEY[15:].lower() not in written(event).lower()


def test_the_part_of_a_key_by_which_people_know_it_stays():
    assert "wr_key_abcdefgh[redacted]" in written({"event": KEY})


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"token {TOKEN} is stale",
        f"`{TOKEN}`",
        TOKEN.upper(),
        "ack.v1.q8w7e6r5t4y3u2i1o0p9abcdefgh",
        "chk.v1.q8w7e6r5t4y3u2i1o0p9abcdefgh",
        "ses.v2.q8w7e6r5t4y3u2i1o0p9abcdefgh.q8w7e6r5t4y3u2i1o0p9abcdefgh",
    ],
)
def test_a_token_keeps_only_its_kind_and_version(text):
    shown = written({"event": text})

    assert "q8w7e6r5t4y3u2i1o0p9" not in shown.lower()
    assert HIDDEN in shown


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "new_password1x_password",
        "stateToken",
        "ack_token",
        "Authorization",
        "Set-Cookie",
        "cookies",
        "SECRET_KEY",
        "WORKRAIL_TOKEN_KEY",
        "sessionid",
        "api-key",
    ],
)
def test_a_field_with_the_name_of_a_secret_is_hidden_whatever_it_holds(name):
    for value in ("hunter2hunter2", ["hunter2hunter2"], {"a": "hunter2hunter2"}, b"hunter2hunter2", 12345678):
        shown = written({"event": "x", name: value})

        assert "hunter2" not in shown
        assert "12345678" not in shown


@pytest.mark.parametrize("name", ["event", "session", "actor", "request_id", "path", "key", "team", "token_count"])
def test_a_field_with_an_innocent_name_is_shown(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://workrail:hunter2hunter2@db/workrail",
        "redis://:hunter2hunter2@cache:6379/0",
        "password=hunter2hunter2&next=/",
        '{"password": "hunter2hunter2"}',
        "{'new_password': 'hunter2hunter2'}",
        "Cookie: sessionid=hunter2hunter2; csrftoken=hunter2hunter2",
        "sessionid=hunter2hunter2",
        "Basic aHVudGVyMmh1bnRlcjI=",
    ],
)
def test_a_secret_inside_a_text_is_hidden(text):
    shown = written({"event": text})

    assert "hunter2" not in shown
    assert "aHVudGVy" not in shown


@pytest.mark.parametrize(
    ("lead", "unit"), [("token ", "a-"), ("", "secret-"), ("passwords ", "."), ("", "a_token a-"), ("", "x.api-key ")]
)
def test_words_beside_which_secrets_stand_cost_as_little_as_others(lead, unit):
    text = lead + unit * (FULL // len(unit))
    redactor = Redactor(known=())
    with Work() as plain:
        redactor.text("words beside a token " * (FULL // 21))
    with Work() as work:
        redactor.text(text)

    assert work.seconds <= 0.25 + 3 * plain.seconds


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my.access_token=abc", f"my.access_token={HIDDEN}"),
        ("2password: abc", f"2password: {HIDDEN}"),
        (f"{'-' * 60}secret=abc def", f"{'-' * 60}secret={HIDDEN} def"),
        ("X-Api-Key: 'a b' c", f"X-Api-Key: {HIDDEN} c"),
    ],
)
def test_what_stands_before_such_a_word_stays_and_hides_nothing(text, kept):
    assert Redactor(known=()).text(text) == kept


def test_the_secrets_of_this_installation_are_hidden_wherever_they_stand():
    assert "swordfish-swordfish" not in written({"event": "x swordfish-swordfish y"}, known=("swordfish-swordfish",))


def test_an_empty_secret_of_this_installation_does_not_garble_the_log():
    assert written({"event": "plain"}, known=("", "short")) == '{"event": "plain"}'


def test_numbers_flags_and_nothing_stay_what_they_are():
    assert Redactor()(None, "info", {"a": 1, "b": 2.5, "c": True, "d": None}) == {
        "a": 1,
        "b": 2.5,
        "c": True,
        "d": None,
    }


def test_a_structure_without_an_end_does_not_hang_the_log():
    endless = []
    endless.append(endless)

    assert "…" in repr(Redactor()(None, "info", {"event": endless})["event"])
