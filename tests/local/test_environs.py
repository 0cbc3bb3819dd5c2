from dataclasses import replace

import pytest

from workrail_site.local.environs import allowed_hosts, application_environ, reachable_host
from workrail_site.local.keys import new_keys
from workrail_site.local.servers import Addresses, named_addresses
from workrail_site.local.up import read_options

_ADDRESSES = Addresses(database_url="postgresql:///workrail?host=/s", redis_url="unix:///s/valkey.sock?db=0")


def test_the_application_gets_addresses_keys_and_home(places):
    keys = new_keys()

    environ = application_environ({"PATH": "/bin"}, places=places, keys=keys, addresses=_ADDRESSES)

    assert environ["DATABASE_URL"] == _ADDRESSES.database_url
    assert environ["REDIS_URL"] == _ADDRESSES.redis_url
    assert environ["WORKRAIL_SECRET_KEY"] == keys.secret_key
    assert environ["WORKRAIL_HOME"] == str(places.home)
    assert environ["WORKRAIL_ENV"] == "development"


def test_what_the_environment_names_wins_over_what_is_kept(places):
    given = {"WORKRAIL_SECRET_KEY": "mine", "WORKRAIL_ENV": "production"}

    environ = application_environ(given, places=places, keys=new_keys(), addresses=_ADDRESSES)

    assert environ["WORKRAIL_SECRET_KEY"] == "mine"
    assert environ["WORKRAIL_ENV"] == "production"


def test_an_empty_variable_counts_as_missing(places):
    keys = new_keys()

    environ = application_environ({"WORKRAIL_SECRET_KEY": " "}, places=places, keys=keys, addresses=_ADDRESSES)

    assert environ["WORKRAIL_SECRET_KEY"] == keys.secret_key
    assert named_addresses({"DATABASE_URL": " "}).database_url == ""


def test_the_site_answers_to_this_machine_and_to_the_address_that_was_asked_for():
    assert allowed_hosts({}, host="127.0.0.1") == "localhost,127.0.0.1,[::1]"
    assert allowed_hosts({}, host="10.0.0.5") == "localhost,127.0.0.1,[::1],10.0.0.5"
    assert allowed_hosts({}, host="fd00::5") == "localhost,127.0.0.1,[::1],[fd00::5]"


def test_listening_everywhere_does_not_mean_answering_to_every_name():
    assert allowed_hosts({}, host="0.0.0.0") == "localhost,127.0.0.1,[::1]"
    assert reachable_host("0.0.0.0") == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8123"),
        ("10.0.0.5", "http://10.0.0.5:8123"),
        ("fd00::5", "http://[fd00::5]:8123"),
        ("0.0.0.0", ""),
        ("::", ""),
    ],
)
def test_links_lead_to_the_address_of_up_where_it_is_the_same_for_everybody(host, url):
    assert read_options(["--host", host, "--port", "8123"]).url_for_everybody == url


def test_a_command_beside_up_links_to_it(places):
    addresses = replace(_ADDRESSES, web_url="http://127.0.0.1:8123")

    environ = application_environ({}, places=places, keys=new_keys(), addresses=addresses)

    assert environ["WORKRAIL_LOCAL_URL"] == "http://127.0.0.1:8123"


def test_names_that_are_given_are_kept():
    assert allowed_hosts({"WORKRAIL_ALLOWED_HOSTS": "rail.example"}, host="127.0.0.1") == "rail.example"
