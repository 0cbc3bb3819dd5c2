"""Whose turn a request takes: its team's, once its key or session was admitted; its address's until then."""

import pytest

from tests.cast import issue
from workrail_site.lanes import passing
from workrail_site.parties import Parties, address_of, party_of


def scope(**headers):
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"headers": given, "client": ("192.0.2.7", 1)}


def test_a_credential_counts_for_its_team_from_its_first_admission_on(house):
    parties = Parties()
    key = scope(authorization=f"Bearer {issue(house.alice.actor).text}")
    session = scope(cookie="theme=dark; sessionid=abc")

    before = parties.of(key), parties.of(session)
    parties.learn(key, house.alice.actor)
    parties.learn(session, house.charlie.actor)

    assert before == (passing("address 192.0.2.7"),) * 2
    assert parties.of(key) == party_of(house.alice.actor)
    assert parties.of(scope(cookie="sessionid=abc")) == party_of(house.charlie.actor)


@pytest.mark.parametrize("actor", [None, "somebody", object()])
def test_who_was_not_admitted_makes_no_party(actor):
    parties = Parties()

    for number in range(3):
        parties.learn(scope(authorization=f"Bearer invented-{number}"), actor)

    assert parties.of(scope(authorization="Bearer invented-1")) == passing("address 192.0.2.7")


def test_only_what_our_proxy_saw_is_an_address(settings):
    forwarded = scope(x_forwarded_for="6.6.6.6, 198.51.100.9")

    settings.BEHIND_PROXY = False
    assert address_of(forwarded) == "192.0.2.7"
    settings.BEHIND_PROXY = True
    assert address_of(forwarded) == "198.51.100.9"


def test_a_proxy_that_adds_a_line_of_its_own_is_believed_and_not_the_clients(settings):
    settings.BEHIND_PROXY = True
    twice = {**scope(), "headers": [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"7.7.7.7, 198.51.100.9")]}

    assert address_of(twice) == "198.51.100.9"


ONE_PLACE = [
    [
        "2001:db8:1:2::1",
        "2001:db8:1:2:ffff:ffff:ffff:ffff",
        "2001:DB8:1:2::9",
        "[2001:db8:1:2::1]:443",
        "2001:db8:1:2::1%eth0",
    ],
    ["198.51.100.9", "::ffff:198.51.100.9", "198.51.100.9:4711"],
]


@pytest.mark.parametrize("addresses", ONE_PLACE)
def test_whoever_has_one_address_of_a_network_has_them_all(settings, addresses):
    settings.BEHIND_PROXY = True

    assert len({Parties().of(scope(x_forwarded_for=each)) for each in addresses}) == 1


def test_places_are_told_apart(settings):
    settings.BEHIND_PROXY = True
    addresses = [
        "198.51.100.9",
        "198.51.100.8",
        "2001:db8:1:2::1",
        "2001:db8:1:3::1",
        "",
        "unknown",
        "1:2:3",
        "[",
        "a:b",
    ]

    assert len({Parties().of(scope(x_forwarded_for=each)) for each in addresses}) == len(addresses)


@pytest.mark.parametrize("cookie", ["", "sessionid", "=;=;", "\x7f=\x7f", "sessionid=" + "x" * 5_000])
def test_no_cookie_breaks_it(cookie):
    assert Parties().of(scope(cookie=cookie)) == passing("address 192.0.2.7")
