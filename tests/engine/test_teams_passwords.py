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


@pytest.mark.parametrize(
    "password",
    [
        "a\u200bl\u200bi\u200bc\u200be 1234567",
        "al\u00adice 1234567",
        "ali\u2060\ufeffce 1234567",
        "a\U000e0061lice 1234567",
        "\u202ealice\u202c 1234567",
        "alice".replace("a", "\u0430") + " 1234567",
        "alice".replace("e", "\u0435") + " 1234567",
        "\u0430l\u0456\u0441\u0435 1234567",
        "\u0410L\u0406\u0421\u0415 1234567",
        "\u03b1l\u03b9\u03f2e 1234567",
        "\u0391L\u0399CE 1234567",
        "\u0251l\u0131c\u0451 1234567",
        "\u1d00\u029f\u026a\u1d04\u1d07 1234567",
        "a\u0142ice 1234567",
        "\U0001f1e6\U0001f1f1\U0001f1ee\U0001f1e8\U0001f1ea 1234567",
        "\U0001f150\U0001f15b\U0001f158\U0001f152\U0001f154 1234567",
        "\U0001f170\U0001f17b\U0001f178\U0001f172\U0001f174 1234567",
        "\u0430\u0301l\u0456\u200b\u0441\u0435 1234567",
    ],
)
def test_a_name_is_found_behind_letters_that_look_alike_and_what_is_not_seen(password):
    assert holds_name(password=password, username="alice")


def test_every_letter_of_a_name_has_others_that_look_alike():
    cyrillic = dict(
        zip(
            "abcehijkmopstxy",
            "\u0430\u0432\u0441\u0435\u043d\u0456\u0458\u043a\u043c\u043e\u0440\u0455\u0442\u0445\u0443",
            strict=True,
        )
    )
    greek = dict(
        zip(
            "ABEHIKMNOPTXYZ",
            "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5\u0396",
            strict=True,
        )
    )
    for latin, other in [*cyrillic.items(), *greek.items()]:
        name = latin.lower() * 4
        assert holds_name(password=f"1234567 {other * 4}", username=name), (latin, other)
        assert not holds_name(password="1234567 in words", username=name)


@pytest.mark.parametrize(("username", "password"), [("al", "a calm sea"), ("a.b.cde", "a better cdx"), ("alice", "")])
def test_a_name_too_short_to_tell_anything_is_not(username, password):
    assert not holds_name(password=password, username=username)


def test_a_link_is_recognised_and_hidden_wherever_it_stands():
    link = mint_link(random=os.urandom(25))

    assert is_link(link)
    assert not is_link(link[:-1])
    assert hide_secrets(f"GET /studio/join/{link}/") == "GET /studio/join/wr_link_[redacted]/"
