"""`./workrail connect CLIENT`: prints how a client is told of a server, or writes it, and tries whether the server answers."""

import argparse
import http.client
import json
import os
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

from teams_app.engine.client_kit import KEY_VARIABLE, NAME, ClientName, Setup, merged, setup_for
from workrail_site.local.claim import current_holder
from workrail_site.local.places import Places
from workrail_site.local.problems import SetupProblem
from workrail_site.local.screen import MCP_PATH
from workrail_site.local.venvs import Environment
from workrail_site.mcp.stdio.command import read_address

_DEFAULT_URL = "http://127.0.0.1:8000"
_TRY_SECONDS = 10
_BY_HAND = "paste what is printed by hand"
_PROJECT_FILES = (".cursor/", ".vscode/")


def run(arguments: list[str], *, places: Places, environment: Environment) -> int:  # noqa: ARG001  as every command is called
    options = _read(arguments[1:])
    key = os.environ.get(KEY_VARIABLE, "").strip()
    url = options.url or _url_of_up(places) + MCP_PATH
    setup = setup_for(
        client=ClientName(options.client),
        url=url,
        key=key or "wr_key_…",
        starter=str(places.checkout / "workrail"),
    )
    if options.write:
        path = _path_of(setup, options.file)
        _write(setup, path)
        print(f"workrail: wrote {path}")
    else:
        print(f"# {setup.label}. {setup.place}:\n{setup.text}")
    return _try(url, key) if key else _without_key()


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./workrail connect", description=__doc__)
    parser.add_argument("client", choices=[name.value for name in ClientName])
    parser.add_argument(
        "--url", type=read_address, help="the address of a dialect (default: the rail of a running `up`)"
    )
    parser.add_argument("--write", action="store_true", help="write the client's file; what else stands in it is kept")
    parser.add_argument("--file", type=Path, help="the file to write, where it is not the usual one")
    parser.epilog = f"The agent key comes from the environment: {KEY_VARIABLE}=wr_key_…"
    return parser.parse_args(arguments)


def _url_of_up(places: Places) -> str:
    holder = current_holder(places.claim)
    return holder.url if holder is not None and holder.url else _DEFAULT_URL


def _path_of(setup: Setup, named: Path | None) -> Path:
    if named is not None:
        return named
    if not setup.file:
        raise SetupProblem(f"{setup.label} is told by a command, not by a file.", next_move="leave out --write")
    if setup.client is ClientName.CLAUDE_DESKTOP:
        raise SetupProblem(
            "Claude Desktop keeps its file in another place on each system.",
            next_move="name it: --file ~/Library/Application\\ Support/Claude/claude_desktop_config.json",
        )
    folder = Path.cwd() if setup.file.startswith(_PROJECT_FILES) else Path.home()
    return folder / setup.file


def _write(setup: Setup, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8-sig") if path.exists() else ""
        _put(path, _with_toml(before, setup, path) if path.suffix == ".toml" else _with_json(before, setup, path))
    except (OSError, UnicodeDecodeError) as error:
        raise SetupProblem(f"{path} cannot be read or written: {error}", next_move=_BY_HAND) from error


def _with_toml(before: str, setup: Setup, path: Path) -> str:
    try:
        servers = tomllib.loads(before).get("mcp_servers", {})
    except tomllib.TOMLDecodeError as error:
        raise SetupProblem(f"{path} is not TOML, and stays as it is: {error}", next_move=_BY_HAND) from error
    if not isinstance(servers, dict) or NAME in servers:
        raise SetupProblem(f"{path} has a server of that name already.", next_move="edit it by hand")
    return f"{before.rstrip()}\n\n{setup.text}\n".lstrip()


def _with_json(before: str, setup: Setup, path: Path) -> str:
    ours = json.loads(setup.text)
    try:
        held = json.loads(before) if before.strip() else {}
    except ValueError:
        held = None
    if not isinstance(held, dict) or not all(isinstance(held.get(name) or {}, dict) for name in ours):
        raise SetupProblem(f"{path} is not JSON with servers by their names, and stays as it is.", next_move=_BY_HAND)
    return json.dumps(merged(held, ours), indent=2) + "\n"


def _put(path: Path, text: str) -> None:
    """It may hold the key, so nobody else may read it, not even for a moment; and whoever is killed leaves it as it was."""
    # A link stays one: what it leads to is written.
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class _Stays(urllib.request.HTTPRedirectHandler):
    """The key goes to the address that was named, and nowhere else."""

    def redirect_request(self, *_how: object) -> None:
        return None


def _try(url: str, key: str) -> int:
    """One `ping`, as a client would."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.build_opener(_Stays).open(request, timeout=_TRY_SECONDS) as response:
            told = json.load(response)
    except urllib.error.HTTPError as error:
        where = error.headers.get("Location", "")
        return _failed(url, f"answered {error.code}: {where or error.read(300).decode(errors='replace')}")
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        return _failed(url, f"does not answer as a server of MCP: {type(error).__name__}: {error!s:.300}")
    if not isinstance(told, dict) or "result" not in told:
        return _failed(url, f"answered {told!r:.300}")
    print(f"# Tried: {url} answers to this key.")
    return 0


def _failed(url: str, what: str) -> int:
    print(f"workrail: {url} {what}", file=sys.stderr)
    return 1


def _without_key() -> int:
    print(f"# Set {KEY_VARIABLE} to an agent key to have it filled in and tried.")
    return 0
