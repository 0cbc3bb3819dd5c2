"""Which addresses may be named for notices, which of their machines may be called, and what a signature is of."""

import hashlib
import hmac

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.webhooks import are_public, is_public, mint_secret, read_url, sign


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("https://chat.example.com", "chat.example.com", 443, "/", "chat.example.com"),
        (" https://Chat.Example.com/hooks/A?b=c ", "chat.example.com", 443, "/hooks/A?b=c", "chat.example.com"),
        ("https://chat.example.com:8443/x", "chat.example.com", 8443, "/x", "chat.example.com:8443"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
    ],
)
def test_an_address_is_read_as_it_is_called(url, host, port, path, authority):
    target = read_url(url)

    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "chat.example.com",
        "http://chat.example.com/",
        "ftp://chat.example.com/",
        "https://",
        "https:///x",
        "https://user:word@chat.example.com/",
        "https://user@chat.example.com/",
        "https://chat.example.com/#x",
        "https://chat.example.com:0x50/",
        "https://chat.example.com:99999/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.0x1/",
        "https://[::1]/",
        "https://[fe80::1%25eth0]/",
        "https://chat.example.com./",
        "https://chat_server/",
        "https://-chat.example.com/",
        f"https://{'a' * 64}.example.com/",
        f"https://{'a.' * 130}com/",
        "https://chat.example.com/a b",
        "https://chat.example.com/\r\nHost: evil",
        "https://chät.example.com/",
        "https://chat.example.com/" + "x" * 2048,
    ],
)
def test_what_is_no_address_for_notices_is_refused(url):
    with pytest.raises(InvalidInputError) as refused:
        read_url(url)

    assert refused.value.suggestion


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946"])
def test_machines_of_the_internet_are_called(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "192.0.0.9",
        "192.88.99.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.175.48.1",
        "203.0.113.9",
        "2001:2::1",
        "2001:20::1",
        "2620:4f:8000::1",
        "3fff::1",
        "fd00:ec2::254",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
    ],
)
def test_machines_behind_walls_are_not_called(address):
    assert not is_public(address)


def test_one_private_address_among_public_ones_is_enough_to_refuse():
    assert are_public(["8.8.8.8", "1.1.1.1"])
    assert not are_public(["8.8.8.8", "10.0.0.1"])
    assert not are_public([])


def test_a_signature_is_of_the_time_and_the_body():
    expected = hmac.new(b"wr_hook_x", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()

    assert sign(secret="wr_hook_x", timestamp=1_700_000_000, body=b'{"a":1}') == f"v1={expected}"
    assert sign(secret="wr_hook_x", timestamp=1_700_000_001, body=b'{"a":1}') != f"v1={expected}"


def test_a_secret_is_made_of_chance():
    assert mint_secret(random=bytes(25)) == "wr_hook_" + "a" * 40
    with pytest.raises(ValueError, match="25 random bytes"):
        mint_secret(random=b"")
