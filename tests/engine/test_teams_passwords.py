"""Login names and passwords: what counts as the same name, and what gives it away."""

import os

import pytest

from teams_app.engine.links import is_link, mint_link
from teams_app.engine.names import fold_username, read_username
from teams_app.engine.passwords import holds_name
from teams_app.engine.redaction import hide_secrets


@pytest.mark.parametrize("text", ["alice", " ALICE ", "ａｌｉｃｅ", "ＡＬＩＣＥ", "𝐚𝐥𝐢𝐜𝐞", "ⓐⓛⓘⓒⓔ"])
def test_every_way_to_write_a_login_name_is_the_same_name(text):
    assert fold_username(text) == "alice"
    assert read_username(text) == "alice"


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("alice", "alice in the rabbit hole"),
        ("alice", "xxALICExx"),
        ("alice", "ａｌｉｃｅ 1234567"),
        ("alice", "álicé 1234567"),
        ("bob", "bob the builder"),
        ("alice.smith@example.com", "the smithy at noon"),
    ],
)
def test_a_password_that_holds_the_name_in_any_form_is_found(username, password):
    assert holds_name(password=password, username=username)


@pytest.mark.parametrize(("username", "password"), [("al", "a calm sea"), ("a.b.cde", "a better cdx"), ("alice", "")])
def test_a_name_too_short_to_tell_anything_is_not(username, password):
    assert not holds_name(password=password, username=username)


def test_a_link_is_recognised_and_hidden_wherever_it_stands():
    link = mint_link(random=os.urandom(25))

    assert is_link(link)
    assert not is_link(link[:-1])
    assert hide_secrets(f"GET /studio/join/{link}/") == "GET /studio/join/wr_link_[redacted]/"
