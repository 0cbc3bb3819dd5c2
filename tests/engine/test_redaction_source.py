"""The log and the trace hide the same: what is a secret is said in one place."""

import pytest

from teams_app.engine.redaction import HIDDEN, hide_secrets, is_secret_name
from traces_app.engine.redaction import redact_arguments, redact_text
from workrail_site.redaction import Redactor

LOOKS = [
    "wr_key_abcdefghijklmnopqrstuvwxyz234567abcdefgh",
    "st.v1.q8w7e6r5t4y3u2i1o0p9abcdefgh",
    "ack . v1 . q8w7e6r5t4y3u2i1o0p9abcdefgh",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "ghp_0123456789abcdef0123",
    "sk-proj-0123456789abcdef",
    "AKIA0123456789ABCDEF",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "Authorization: Bearer abcdef123456",
    "postgres://me:hunter2@db/x",
    "Cookie: sessionid=hunter2; csrftoken=hunter2",
    "password=hunter2",
    '{"api_key": "hunter2',
]
NAMES = ["stateToken", "checkpoint_handle", "API-Key", "sshKey", "Set-Cookie", "pwd", "jwt", "new_passphrase"]
INNOCENT = ["event", "session", "session_id", "token_count", "monkey", "author", "spin", "path"]


@pytest.mark.parametrize("text", LOOKS)
def test_a_secret_looks_the_same_in_the_log_and_in_the_trace(text):
    hidden = hide_secrets(text)

    assert HIDDEN in hidden
    assert Redactor()(None, "info", {"event": text}) == {"event": hidden}
    assert redact_text(text=text, max_characters=200) == hidden


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_named_the_same_in_the_log_and_in_the_trace(name):
    assert is_secret_name(name)
    assert Redactor()(None, "info", {name: "x"}) == {name: HIDDEN}
    assert redact_arguments(arguments={name: "x"}) == {name: HIDDEN}


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_hides_nothing(name):
    assert not is_secret_name(name)
    assert redact_arguments(arguments={name: "x"}) == {name: "x"}


@pytest.mark.parametrize("text", ["A plain sentence.", "v1 of the plan", "see https://example.com/x", "keys: a, b"])
def test_a_text_without_a_secret_stays_as_it_is(text):
    assert hide_secrets(text) == text


CUNNING = [
    "PA\u017f\u017fWORD=hunter2",
    "TO\u212aEN=hunter2",
    "st .\tV1. q8w7e6r5t4y3u2i1",
    "Xoxb-0123456789",
    "API_KEY=hunter2",
]


@pytest.mark.parametrize("text", CUNNING)
def test_the_first_look_misses_nothing_that_the_patterns_find(text):
    """Letters that are others' capitals among them: what is compared without regard to case is compared so twice."""
    assert HIDDEN in hide_secrets(text)
