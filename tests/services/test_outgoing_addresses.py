"""What this server fetches or posts to at an address that somebody else has named: the Internet, and nothing behind our walls."""

import socket
import threading

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.webhooks import NoticeKind, read_url
from teams_app.services import outgoing, webhooks
from teams_app.services.outgoing import NotDeliveredError, fetch_json, post_json
from tests.cast import NOW
from tests.notice_board import NoticeBoard

# Spellings of machines behind the walls, and of ways around a look at the name.
HOSTILE = [
    "http://chat.example.com/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://169.254.169.254/latest/meta-data/",
    "https://168.63.129.16/",
    "https://100.100.100.200/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1%25eth0]/",
    "https://chat.example.com@127.0.0.1/",
    "https://127.0.0.1@chat.example.com/",
    "https://user:word@chat.example.com/",
    "https://chat.example.com#@127.0.0.1/",
    "https://chat.example.com\\@127.0.0.1/",
    "https://chat.example.com:443@10.0.0.1/",
    "https://127。0。0。1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://chat.example.com./",
    "https://chat.example.com%00.evil.example/",
    "https://chat.example.com/\r\nHost: 127.0.0.1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "https:127.0.0.1",
    "//127.0.0.1/",
]
# What a name may be told to be.
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "168.63.129.16",
    "100.100.100.200", "100.64.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
    "fd00:ec2::254", "fe80::1%eth0", "fec0::1", "ff02::1", "2001:db8::1",
]  # fmt: skip
PUBLIC = "93.184.216.34"
NAMED = read_url("https://chat.example.com/hooks")


def posted(target):
    post_json(target=target, body=b"{}", headers={})


def fetched(target):
    fetch_json(target=target, max_bytes=1_000)


# Notices and the anchor are posted, the document of a client is fetched.
CALLS = [posted, fetched]


class Network:
    """Names are told the addresses of `answers`, one list for each time that one is asked; nothing is connected."""

    def __init__(self, *answers):
        self.answers, self.asked, self.connected = list(answers), 0, []

    def look_up(self, _host, port, **_options):
        self.asked += 1
        found = self.answers.pop(0)
        return [(socket.AF_INET6 if ":" in each else socket.AF_INET, 1, 6, "", (each, port)) for each in found]

    def connect(self, address, **_options):
        self.connected.append(address)
        raise ConnectionRefusedError

    def put_in(self, monkeypatch):
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)
        monkeypatch.setattr(socket, "create_connection", self.connect)
        return self


@pytest.mark.django_db
def test_no_door_takes_an_address_that_leads_behind_the_walls(house, settings, monkeypatch):
    from oauth2_provider.cimd import CIMDError

    from workrail_site.oauth.clients import PublicFetcher

    settings.PUBLIC_URL = "https://workrail.example.com"
    network = Network().put_in(monkeypatch)
    owner = house.alice.actor
    doors = {
        "an address for notices": lambda url: webhooks.add_endpoint(
            actor=owner, url=url, kinds=[NoticeKind.RUN_STARTED], now=NOW
        ),
        "the webhook of a team": lambda url: webhooks.set_webhook(actor=owner, url=url, now=NOW),
        "the document of a client": PublicFetcher().fetch,
        "a call": lambda url: posted(read_url(url)),
    }
    taken = []
    for name, door in doors.items():
        for url in HOSTILE:
            try:
                door(url)
            except (InvalidInputError, CIMDError):
                continue
            taken.append((name, url))
    assert taken == []
    assert (network.asked, network.connected) == (0, [])


def test_a_name_of_a_machine_behind_the_walls_is_not_called(monkeypatch):
    called = []
    for call in CALLS:
        for found in [[address] for address in PRIVATE] + [[PUBLIC, address] for address in PRIVATE] + [[]]:
            network = Network(found).put_in(monkeypatch)
            with pytest.raises(NotDeliveredError):
                call(NAMED)
            called += [(call.__name__, found)] if network.connected else []
    assert called == []


def test_a_name_is_asked_once_and_what_was_judged_is_called(monkeypatch):
    """Whoever answers for a name may say something else the next time."""
    for call in CALLS:
        network = Network([PUBLIC], ["127.0.0.1"]).put_in(monkeypatch)
        with pytest.raises(NotDeliveredError, match="cannot be reached"):
            call(NAMED)
        assert (network.asked, network.connected) == (1, [(PUBLIC, 443)])


def test_a_redirect_is_not_followed(tmp_path, monkeypatch, settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    board, behind = (NoticeBoard(tmp_path / name) for name in ("a", "b") if not (tmp_path / name).mkdir())
    monkeypatch.setenv("SSL_CERT_FILE", str(board.certificate))
    try:
        for status in (301, 302, 303, 307, 308):
            board.reply = f"HTTP/1.1 {status} Away\r\nLocation: {behind.url}\r\nConnection: close\r\n\r\n".encode()
            for call in CALLS:
                with pytest.raises(NotDeliveredError, match=f"answered {status}"):
                    call(read_url(board.url))
        assert (board.connections, behind.connections) == (10, 0)
    finally:
        board.close()
        behind.close()


def test_a_name_that_is_not_answered_keeps_nobody_for_longer_than_all_else(monkeypatch):
    answered = threading.Event()
    hung = []

    def hang(*_asked, **_options):
        hung.append(1)
        answered.wait(20)
        hung.pop()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.2)
    for call in CALLS:
        with pytest.raises(NotDeliveredError, match="took too long"):
            call(NAMED)
    assert len(hung) == len(CALLS)
    answered.set()


def test_as_many_names_as_hang_take_no_more_threads(monkeypatch):
    answered = threading.Event()

    def hang(*_asked, **_options):
        answered.wait(20)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.05)
    before = threading.active_count()
    for _ in range(30):
        with pytest.raises(NotDeliveredError, match="took too long"):
            posted(NAMED)
    assert threading.active_count() - before <= 16
    answered.set()
