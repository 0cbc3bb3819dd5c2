"""Tokens: short, tolerant of what chats do to text, and of nothing else."""

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from sessions_app.engine import tokens
from sessions_app.engine.tokens import (
    MAX_TOKEN_CHARACTERS,
    NONCE_BYTES,
    Keyring,
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenKind,
    TokenUnsupportedVersionError,
)

KEYS = Keyring(current=b"k" * 32)
NODE = UUID("0190a7c4-1234-7abc-8def-0123456789ab")
# What stands beside the node: nothing, a nonce, or a stretch of time.
BESIDE = {kind: bytes(range(NONCE_BYTES)) for kind in TokenKind} | {
    TokenKind.STATE: b"",
    TokenKind.TRACE: bytes(range(10)),
}
EVERY_KIND = pytest.mark.parametrize("kind", list(TokenKind))
LOOK_ALIKES = {"o": "0", "i": "1", "l": "1"}


def minted(kind=TokenKind.ACK, *, keyring=KEYS, node_id=NODE):
    return tokens.mint(keyring=keyring, kind=kind, node_id=node_id, nonce=BESIDE[kind])


def read(text, kind=TokenKind.ACK, *, keyring=KEYS):
    return tokens.read(keyring=keyring, kind=kind, text=text)


@EVERY_KIND
def test_a_token_names_its_row_and_nothing_is_lost(kind):
    token = read(minted(kind), kind)

    assert (token.kind, token.node_id, token.retired) == (kind, NODE, False)
    assert token.nonce == BESIDE[kind]


@EVERY_KIND
def test_a_token_is_short_and_has_no_characters_that_look_alike(kind):
    text = minted(kind)

    assert len(text) <= MAX_TOKEN_CHARACTERS
    assert text.startswith(f"{kind.value}.v1.")
    assert set(text.rpartition(".")[2]) <= set("0123456789abcdefghjkmnpqrstvwxyz")


def test_the_same_row_has_the_same_token():
    assert minted() == minted()
    assert minted() != minted(node_id=UUID(int=NODE.int + 1))


def test_a_payload_of_another_size_is_never_signed():
    with pytest.raises(ValueError, match="payload"):
        tokens.mint(keyring=KEYS, kind=TokenKind.STATE, node_id=NODE, nonce=BESIDE[TokenKind.ACK])


@pytest.mark.parametrize(
    "spoil",
    [
        str.upper,
        lambda text: f'"{text}"',
        lambda text: f"`{text}`",
        lambda text: f"“{text}”",
        lambda text: f"«{text}»",
        lambda text: f"  {text}\n",
        "\u200b".join,
        lambda text: f"\ufeff{text[:20]}\n{text[20:]}",
    ],
)
def test_what_a_chat_does_to_a_token_is_read_past(spoil):
    assert read(spoil(minted())) == read(minted())


@pytest.mark.parametrize(("zero", "one"), [("o", "l"), ("O", "I"), ("o", "i")])
def test_letters_that_look_like_digits_are_read_as_those(zero, one):
    node_id = UUID(int=0x0101010101010101010101010101)
    head, body = minted(node_id=node_id)[:7], minted(node_id=node_id)[7:]

    token = read(head + body.replace("0", zero).replace("1", one))

    assert {"0", "1"} <= set(body)
    assert token.node_id == node_id


@EVERY_KIND
def test_each_character_that_is_altered_is_refused(kind):
    text = minted(kind)
    head = len(kind.value) + len(".v1.")
    accepted = []
    for place in range(len(text)):
        for other in "0123456789abcdefghijklmnopqrstuvwxyz.-_=+/":
            same = LOOK_ALIKES.get(other, other) == text[place] and place >= head
            if other == text[place] or same:
                continue
            altered = text[:place] + other + text[place + 1 :]
            try:
                read(altered, kind)
            except (TokenInvalidFormatError, TokenBadSignatureError, TokenUnsupportedVersionError):
                continue
            accepted.append(altered)

    assert accepted == []


@EVERY_KIND
def test_a_token_that_was_cut_or_grew_is_refused(kind):
    text = minted(kind)

    for wrong in (text[:-1], text[1:], f"{text}0", f"{text[:8]}0{text[8:]}", ""):
        with pytest.raises(TokenInvalidFormatError) as refusal:
            read(wrong, kind)
        assert refusal.value.suggestion


def test_every_kind_is_refused_where_another_is_asked_for():
    for kind in TokenKind:
        for other in set(TokenKind) - {kind}:
            with pytest.raises(TokenInvalidFormatError):
                read(minted(kind), other)


def test_a_body_under_the_name_of_another_kind_is_refused():
    body = minted(TokenKind.ACK).removeprefix("ack.")

    with pytest.raises(TokenBadSignatureError):
        read(f"chk.{body}", TokenKind.BOOKMARK)


def test_a_token_of_another_version_is_told_apart_from_a_broken_one():
    with pytest.raises(TokenUnsupportedVersionError) as refusal:
        read(minted().replace(".v1.", ".v2."))

    assert refusal.value.details["supportedVersions"] == [1]


def test_a_text_that_means_a_number_too_large_is_refused():
    text = minted(TokenKind.STATE)
    head, body = text[:6], text[6:]

    with pytest.raises(TokenInvalidFormatError):
        read(f"{head}z{body[1:]}", TokenKind.STATE)


def test_a_refusal_says_which_kind_of_token_it_was():
    with pytest.raises(TokenInvalidFormatError, match="This is the state token"):
        read(minted(TokenKind.STATE))


def test_a_token_of_another_server_is_refused():
    with pytest.raises(TokenBadSignatureError):
        read(minted(keyring=Keyring(current=b"x" * 32)))


def test_the_key_before_a_rotation_is_trusted_and_one_before_that_is_known():
    text = minted(keyring=Keyring(current=b"old"))

    assert not read(text, keyring=Keyring(current=b"new", previous=(b"old",))).retired
    assert read(text, keyring=Keyring(current=b"newer", previous=(b"new",), retired=(b"old",))).retired


def test_a_recorded_token_is_signed_anew_only_when_its_key_is_not_trusted():
    text = minted(keyring=Keyring(current=b"old"))
    trusting = Keyring(current=b"new", previous=(b"old",))
    later = Keyring(current=b"newer", previous=(b"new",), retired=(b"old",))

    assert tokens.renew(keyring=trusting, kind=TokenKind.ACK, text=text) == text
    renewed = tokens.renew(keyring=later, kind=TokenKind.ACK, text=text)
    assert renewed == minted(keyring=later)
    assert not read(renewed, keyring=later).retired


@given(node=st.uuids(), nonce=st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES))
def test_every_row_and_nonce_comes_back(node, nonce):
    text = tokens.mint(keyring=KEYS, kind=TokenKind.BOOKMARK, node_id=node, nonce=nonce)

    token = read(text, TokenKind.BOOKMARK)

    assert (token.node_id, token.nonce) == (node, nonce)


@given(st.text(max_size=80))
def test_no_text_makes_reading_fail_in_another_way(text):
    with pytest.raises((TokenInvalidFormatError, TokenUnsupportedVersionError, TokenBadSignatureError)):
        read(text)
