"""How clients are told of a server: printed, or written beside what their files hold already."""

import json
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


def test_merging_replaces_our_server_and_nothing_else():
    assert merged({"a": {"b": 1, "workrail": {"old": 1}}}, {"a": {"workrail": {"new": 1}}}) == {
        "a": {"b": 1, "workrail": {"new": 1}}
    }
