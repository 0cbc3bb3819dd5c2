"""The text of an agent key."""

import os

import pytest

from teams_app.engine.keys import digest_of, is_key, mint_key, prefix_of


def test_a_minted_key_is_recognised_as_one():
    key = mint_key(random=os.urandom(25))

    assert is_key(key)
    assert key.startswith("wr_key_")
    assert len(key) == 47


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wr_key_",
        "wr_key_" + "a" * 39,
        "wr_key_" + "a" * 41,
        "WR_KEY_" + "a" * 40,
        "wr_key_" + "a" * 39 + "1",
        "wr_key_" + "a" * 40 + "\n",
        "xr_key_" + "a" * 40,
        "wr_key_" + "а" * 40,
        "wr_key_" + "a" * 39 + "\ud800",
    ],
)
def test_what_is_not_a_key_is_told_without_a_look_at_the_database(text):
    assert not is_key(text)


def test_the_prefix_shows_eight_characters_of_the_key_and_no_more():
    assert prefix_of("wr_key_abcdefghijklmnop") == "wr_key_abcdefgh"


def test_the_digest_is_of_the_whole_key():
    assert digest_of("wr_key_a") != digest_of("wr_key_b")
    assert len(digest_of("wr_key_a")) == 32


def test_a_digest_of_text_that_is_no_utf_8_is_still_a_digest():
    assert len(digest_of("\ud800")) == 32


def test_too_little_chance_is_refused():
    with pytest.raises(ValueError, match="25 random bytes"):
        mint_key(random=b"short")
