"""Schemathesis over the whole OpenAPI document, against a served site: no 5xx, no answer that is not declared, nothing
without who asks.

It comes from PyPI into an environment of its own. Where it cannot be had, the test is skipped, and says so.
"""

import subprocess
import venv
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from teams_app.engine.actors import TokenScope
from teams_app.services.tokens import issue_token
from tests.cast import issue
from tests.mcp.conftest import running_site
from tests.run_cast import NOW, begin, make_desk, plain_steps

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PINNED = "schemathesis==4.32.5"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "missing_required_header,ignored_auth"
)
SECONDS = 90
NEXT_YEAR = NOW + timedelta(days=300)


@pytest.fixture(scope="session")
def fuzzer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemathesis")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", PINNED]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        pytest.skip(f"the OpenAPI document was not fuzzed: {PINNED} cannot be had. {done.stderr[-200:]}")
    return str(folder / "bin" / "st")


@pytest.fixture
def unhurried_site(transactional_db, tmp_path):
    """No limit of requests comes before the endpoint does."""
    most = str(10**6)
    environ = {"WORKRAIL_THROTTLE_ACTOR_PER_MINUTE": most, "WORKRAIL_THROTTLE_TEAM_PER_MINUTE": most}
    with running_site(tmp_path, environ) as found:
        yield found


def key_of(owner):
    return issue(owner).text


def token_of(owner):
    """Of the team's owner, who may do whatever a token does."""
    return issue_token(actor=owner, name="all", scopes=frozenset(TokenScope), expires_at=NEXT_YEAR, now=NOW).text


@pytest.mark.parametrize("credential", [key_of, token_of])
def test_no_generated_request_gets_what_the_document_does_not_declare(
    fuzzer, unhurried_site, tmp_path, house, credential
):
    owner, desk = house.alice.actor, make_desk()
    begin(replace(desk, agent=replace(desk.agent, team_id=owner.team_id), person=owner), *plain_steps(3))
    bearer = f"Authorization: Bearer {credential(owner)}"
    document = httpx.get(f"{unhurried_site.url}/api/v1/schema", headers={"Accept": "application/json"})
    (tmp_path / "openapi.json").write_bytes(document.content)
    command = [fuzzer, "run", "openapi.json", "--url", unhurried_site.url, "--header", bearer]
    command += ["--phases", "examples,coverage,fuzzing", "--checks", CHECKS, "--continue-on-failure"]
    # A stream does not end while anybody listens.
    command += ["--exclude-path-regex", "/stream$"]
    command += ["--max-examples", "20", "--max-time", str(SECONDS), "--request-timeout", "10"]

    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=5 * SECONDS, check=False)

    assert told.returncode == 0, told.stdout[-6000:]
    assert "Traceback" not in unhurried_site.logged()
