"""How clients are told of a server: printed, or written beside what their files hold already."""

import contextlib
import json
import socket
import threading
import tomllib

import pytest

from teams_app.engine.client_kit import ClientName, merged, setup_for
from workrail_site.local import connect
from workrail_site.local.problems import SetupProblem

URL = "https://rails.example.com/mcp/rail"


def setup(client):
    return setup_for(client=client, url=URL, key="wr_key_x")


@pytest.mark.parametrize("client", ClientName)
def test_every_client_is_told_the_address_the_key_and_the_form_of_replies(client):
    text = setup(client).text

    assert URL in text
    assert "wr_key_x" in text or "bearer_token_env_var" in text
    assert '"text"' in text or "Workrail-Reply: text" in text


def test_a_file_keeps_what_else_stands_in_it(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"other": {"url": "x"}, "workrail": {"url": "old"}}, "more": 1}))

    connect._write(setup(ClientName.CURSOR), path)

    told = json.loads(path.read_text())
    assert told["more"] == 1
    assert told["mcpServers"]["other"] == {"url": "x"}
    assert told["mcpServers"]["workrail"]["url"] == URL
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_is_never_open_to_others_and_never_half_written(tmp_path, monkeypatch):
    path = tmp_path / "mcp.json"
    path.write_text('{"more": 1}')
    path.chmod(0o644)
    modes = []

    def killed(self, _target):
        modes.append(self.stat().st_mode & 0o077)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(path), "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        connect._write(setup(ClientName.CURSOR), path)

    assert modes == [0]
    assert path.read_text() == '{"more": 1}'
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    kept, path = tmp_path / "kept.json", tmp_path / "mcp.json"
    kept.write_text("{}")
    path.symlink_to(kept)

    connect._write(setup(ClientName.CURSOR), path)

    assert path.is_symlink()
    assert URL in kept.read_text()


def test_a_file_that_is_not_json_is_left_alone(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text("// mine\n{}")

    with pytest.raises(SetupProblem):
        connect._write(setup(ClientName.CURSOR), path)
    assert path.read_text() == "// mine\n{}"


def test_codex_is_told_in_toml_once(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('model = "x"\n')

    connect._write(setup(ClientName.CODEX), path)

    told = tomllib.loads(path.read_text())
    assert told["model"] == "x"
    assert told["mcp_servers"]["workrail"]["bearer_token_env_var"] == "WORKRAIL_KEY"
    with pytest.raises(SetupProblem):
        connect._write(setup(ClientName.CODEX), path)


HELD = [
    ("mcp.json", b"// mine\n{}"),
    ("mcp.json", b"\xff\xfe{"),
    ("mcp.json", b'{"mcpServers": ["mine"]}'),
    ("mcp.json", b'{"mcpServers": "mine"}'),
    ("config.toml", b"not [ toml"),
    ("config.toml", b'x = "\xff"'),
    ("config.toml", b'[mcp_servers."workrail"]\nurl = "mine"'),
    ("config.toml", b'mcp_servers = { workrail = { url = "mine" } }'),
    ("config.toml", b'mcp_servers = "mine"'),
]


@pytest.mark.parametrize(("name", "held"), HELD, ids=range(len(HELD)))
def test_a_file_that_cannot_be_added_to_is_left_as_it_is(tmp_path, name, held):
    path = tmp_path / name
    path.write_bytes(held)

    with pytest.raises(SetupProblem):
        connect._write(setup(ClientName.CODEX if name.endswith(".toml") else ClientName.CURSOR), path)
    assert path.read_bytes() == held


@pytest.mark.parametrize("name", ["folder", "file/mcp.json"])
def test_a_place_where_nothing_can_be_written_is_told_of(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")

    with pytest.raises(SetupProblem):
        connect._write(setup(ClientName.CURSOR), tmp_path / name)


def test_a_mark_of_the_order_of_bytes_is_no_hindrance(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_bytes(b'\xef\xbb\xbf{"more": 1}')

    connect._write(setup(ClientName.CURSOR), path)

    assert json.loads(path.read_text())["more"] == 1


@pytest.mark.parametrize("url", ["rails.example.com", "file:///etc/hosts", "ftp://x/", "http://[", "", "http://"])
def test_only_an_address_of_a_server_is_tried(url, capsys):
    with pytest.raises(SystemExit):
        connect._read(["cursor", "--url", url])
    assert "is no http or https address" in capsys.readouterr().err


class Odd:
    """Something that listens, says one thing to whoever comes, and keeps what it heard."""

    def __init__(self, said):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/mcp/rail"
        self.heard = b""
        self._said = said
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            caller, _address = self.server.accept()
            with caller:
                self.heard = caller.recv(65_536)
                caller.sendall(self._said)

    def close(self):
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self._thread.join()


@pytest.fixture
def odd():
    opened = []

    def open_odd(said):
        opened.append(Odd(said))
        return opened[-1]

    yield open_odd
    for each in opened:
        each.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
SAID = [
    b"SSH-2.0-x\r\n",
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n5",
    *(OK % (len(body), body) for body in (b"5", b"null", b"[]", b'"result"', b"{}", b"<html>", b"\xff", b"[" * 9_999)),
]


@pytest.mark.parametrize("said", SAID, ids=range(len(SAID)))
def test_whatever_answers_that_is_no_server_of_ours_is_told_in_a_line(odd, said, capsys):
    server = odd(said)

    assert connect._try(server.url, "wr_key_x") == 1
    assert capsys.readouterr().err.startswith(f"workrail: {server.url} ")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_goes_to_the_address_that_was_named_and_no_further(odd, status, capsys):
    elsewhere = odd(OK % (2, b"{}"))
    server = odd(f"HTTP/1.1 {status} X\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n".encode())

    assert connect._try(server.url, "wr_key_x") == 1
    assert elsewhere.heard == b""
    assert elsewhere.url in capsys.readouterr().err


def test_merging_replaces_our_server_and_nothing_else():
    assert merged({"a": {"b": 1, "workrail": {"old": 1}}}, {"a": {"workrail": {"new": 1}}}) == {
        "a": {"b": 1, "workrail": {"new": 1}}
    }
