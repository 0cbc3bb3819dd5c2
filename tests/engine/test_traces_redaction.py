"""What of a call's arguments is kept: nothing secret, nothing long, and only what Postgres takes."""

import json
import math
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from sessions_app.engine.tokens import NONCE_BYTES, Keyring, TokenKind, mint
from traces_app.engine.facts import MAX_AGENT_CHARACTERS, agent_name
from traces_app.engine.redaction import HIDDEN, MAX_ARGUMENTS_BYTES, MAX_NOTES_CHARACTERS, redact_arguments, redact_text

RING = Keyring(current=b"k" * 32)
STATE = mint(keyring=RING, kind=TokenKind.STATE, node_id=UUID(int=7))
ACK = mint(keyring=RING, kind=TokenKind.ACK, node_id=UUID(int=7), nonce=b"n" * NONCE_BYTES)
KEY = "wr_key_abcdefgh" + "a" * 40
SECRETS = [
    STATE,
    ACK,
    STATE.upper(),
    KEY,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "ghp_0123456789abcdef0123",
    "sk-proj-0123456789abcdef",
    "AKIA0123456789ABCDEF",
]


def kept(**arguments):
    return redact_arguments(arguments=arguments)


@pytest.mark.parametrize(
    "name",
    [
        "stateToken",
        "ackToken",
        "session_token",
        "checkpointHandle",
        "checkpoint_handle",
        "password",
        "API-Key",
        "key",
        "sshKey",
        "Cookie",
    ],
)
def test_a_field_of_a_secret_name_is_hidden(name):
    assert kept(**{name: "anything"}) == {name: HIDDEN}


def test_a_list_of_tokens_tells_how_many_there_were():
    assert kept(trace_tokens=["one", "two"]) == {"trace_tokens": [HIDDEN, HIDDEN]}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "see {} there", '"{}"', "x={}"])
def test_a_secret_is_known_by_its_look_wherever_it_stands(secret, around):
    text = around.format(secret)

    told = json.dumps(redact_arguments(arguments={"a": text, text: 1, "b": [{"c": {"d": [text]}}]}))

    assert secret not in told
    assert HIDDEN in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {HIDDEN}"),
        ("postgres://me:hunter2@db/x", f"postgres://me:{HIDDEN}@db/x"),
        ("password=hunter2 and more", f"password={HIDDEN} and more"),
        ('{"api_key": "hunter2"}', f'{{"api_key": {HIDDEN}}}'),
    ],
)
def test_a_secret_in_a_sentence_leaves_the_rest(text, expected):
    assert redact_text(text=text, max_characters=200) == expected


def test_a_private_key_is_hidden_to_its_end():
    assert redact_text(text="-----BEGIN RSA PRIVATE KEY-----\nMIIE", max_characters=200) == HIDDEN


def test_notes_are_cut_and_say_how_long_they_were():
    told = kept(output={"notesMarkdown": "n" * 5000})

    assert told == {"output": {"notesMarkdown": f"{'n' * MAX_NOTES_CHARACTERS}… (5000 characters)"}}


def test_plain_values_are_kept_as_they_are():
    plain = {"activity_id": "work", "summary": True, "limit": 20, "half": 0.5, "none": None, "tags": ["a", "b"]}

    assert redact_arguments(arguments=plain) == plain


def test_what_is_too_much_is_told_by_its_names():
    told = kept(**{f"field-{number}": "x" * 190 for number in range(32)})

    assert len(json.dumps(told)) <= MAX_ARGUMENTS_BYTES
    assert told["field-3"] == "[text of 190 characters]"


def test_long_lists_deep_values_and_many_fields_are_bounded():
    deep = current = {}
    for _ in range(30):
        current["in"] = {}
        current = current["in"]

    told = kept(items=list(range(100)), deep=deep, many={f"n{number}": 1 for number in range(100)})

    assert told["items"][-1] == "… 84 more"
    assert told["many"]["…"] == "68 more"
    assert "[dict]" in json.dumps(told["deep"])


def test_what_postgres_does_not_take_is_replaced():
    told = kept(text="a\x00b\ud800c", big=2**70, endless=math.inf, nothing=math.nan)

    assert told == {"text": "a\ufffdb\ufffdc", "big": str(2**70), "endless": "inf", "nothing": "nan"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SECRETS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(SECRETS), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=20), json_values, max_size=6))
def test_any_arguments_become_small_json_without_a_secret(arguments):
    told = json.dumps(redact_arguments(arguments=arguments), allow_nan=False)

    assert not any(secret in told for secret in SECRETS)
    # A backslash that somebody wrote is two in JSON.
    assert "\\u0000" not in told.replace("\\\\", "")
    assert len(told) < 8 * MAX_ARGUMENTS_BYTES


@given(st.text(max_size=400), st.sampled_from(SECRETS), st.text(max_size=400))
def test_a_secret_that_the_cut_divides_is_hidden_too(before, secret, after):
    told = redact_text(text=f"{before} {secret} {after}", max_characters=80)

    assert secret[:16] not in told or secret[:16] in before + after


@pytest.mark.parametrize("ending", ["password=x", "token=a b", "wr_key_" + "a" * 40, "x" * 200])
def test_a_name_of_an_agent_fits_its_column_whatever_is_hidden_in_it(ending):
    """One that did not would leave a call without a trace."""
    for length in range(MAX_AGENT_CHARACTERS):
        assert len(agent_name("n" * length + " " + ending)) <= MAX_AGENT_CHARACTERS
