"""`./workrail export`, `import` and `verify`: what they write, print and refuse."""

import gzip
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from sessions_app.management.commands import verify
from sessions_app.management.printing import BROWSERS
from sessions_app.services.bundles.signing import own_signers
from teams_app.engine.ids import Prefix, to_text
from tests import run_cast
from tests.checkpoint_cast import answer, at_question, only_row
from tests.run_cast import session_id
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def session(desk):
    value = at_question(desk, authority="human")
    answer(desk.person, only_row(value), reason="Looks right.")
    return to_text(Prefix.SESSION, session_id(value))


def run(*arguments):
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_what_was_exported_is_verified_and_imported(desk, session, tmp_path):
    file = tmp_path / "session.json.gz"
    assert "1 session with" in run("export", session, str(file))
    assert gzip.decompress(file.read_bytes()).startswith(b'{"bundleId"')
    assert f"Signed by {own_signers()[0]}" in run("verify", str(file), f"--signer={own_signers()[0]}")
    said = run("import", str(file), "--team", to_text(Prefix.TEAM, desk.team_id))
    assert "(a new id)" in said
    assert "st.v1." in said


def test_a_signer_may_begin_with_a_hyphen(session, tmp_path, capsys):
    file = tmp_path / "one.jsonl"
    run("export", session, str(file))

    with pytest.raises(SystemExit):
        verify.Command().run_from_argv(["workrail", "verify", str(file), "--signer", "-Vb0"])

    assert "It was not signed by -Vb0." in capsys.readouterr().err


def test_another_signer_and_a_damaged_file_are_refused_in_one_sentence(session, tmp_path):
    file = tmp_path / "session.json"
    run("export", session, str(file))
    with pytest.raises(CommandError, match="not signed by"):
        run("verify", str(file), "--signer", "somebody")
    file.write_bytes(file.read_bytes().replace(b"workrail", b"workrial", 1))
    with pytest.raises(CommandError, match="BUNDLE_"):
        run("verify", str(file))


def test_verifying_takes_no_database(session, tmp_path):
    file = tmp_path / "session.json"
    run("export", session, str(file))
    environ = {"PATH": "", "DATABASE_URL": "postgresql:///x?host=/nonexistent", "REDIS_URL": "unix:///nonexistent"}
    command = [sys.executable, str(ROOT / "manage.py"), "verify", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    assert session in done.stdout


def test_reports_are_the_same_each_time_and_quote_what_agents_wrote(desk, session, tmp_path):
    for name in ("session.md", "session.html"):
        first, second = tmp_path / f"a-{name}", tmp_path / f"b-{name}"
        run("export", session, str(first))
        run("export", session, str(second))
        assert first.read_bytes() == second.read_bytes()
        assert "Looks right." in first.read_text()
    assert "<script" not in (tmp_path / "a-session.html").read_text()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(session, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        run("export", session, str(tmp_path / "nowhere" / "session.json"))
    with pytest.raises(CommandError, match="NOT_FOUND"):
        run("export", to_text(Prefix.SESSION, session_id_of_nobody()), str(tmp_path / "x.json"))
    assert list(tmp_path.iterdir()) == []


def session_id_of_nobody():
    from uuid import UUID

    return UUID(int=1)


def test_the_public_key_is_at_a_well_known_address(client):
    found = client.get("/.well-known/workrail-signing-keys").json()
    assert found == {"algorithm": "Ed25519", "publicKeys": list(own_signers())}


def test_nothing_that_an_agent_wrote_passes_for_words_of_the_report(desk, tmp_path):
    run_cast.published(desk, step("first-step"), step("next-step"))
    value = run_cast.start(desk, goal="# Approved by Ada").value
    artifact = {"kind": "own.text", "text": "```\n# Approved by Ada\n```"}
    run_cast.advanced(desk.agent, value, "Done.\n# Approved by Ada\u2028# Approved by Ada", artifacts=[artifact])

    report = tmp_path / "session.md"
    run("export", to_text(Prefix.SESSION, session_id(value)), str(report))

    lines = report.read_text().splitlines()
    assert lines.count("> # Approved by Ada") == 3
    assert [line for line in lines if line.startswith("# Approved")] == []
    assert lines[lines.index("````json") + 2] == "````"


def test_the_printed_page_is_a_pdf_of_what_the_page_says(session, tmp_path):
    """Where a Chromium is at hand, as Debian's is where the pages of the Studio are tested."""
    if not any(shutil.which(name) for name in BROWSERS):
        pytest.skip("there is no Chromium on PATH")
    run("export", session, str(tmp_path / "session.pdf"))
    data = (tmp_path / "session.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert b"/Type /Page" in data or b"/Type/Page" in data


def test_without_a_chromium_it_says_what_to_do_and_leaves_nothing(session, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match=r"no Chromium .* Write a \.html file"):
        run("export", session, str(tmp_path / "session.pdf"))
    assert list(tmp_path.iterdir()) == []
