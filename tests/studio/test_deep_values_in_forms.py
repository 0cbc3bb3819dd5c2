"""Texts of forms that hold values within values, as deep as a form may be long: a page in words, and never a defect."""

import json

import pytest
from django.test import Client

from teams_app.engine.actors import Role
from tests.cast import play
from tests.studio.test_editor_studio import ROOT, good, made, typed
from tests.workflow_cast import document

pytestmark = pytest.mark.django_db

LEVELS = [480, 1_020, 100_000]


@pytest.fixture
def ann(house):
    browser = Client()
    browser.force_login(play("ann", house.team, Role.AUTHOR).person)
    return browser


def texts(levels):
    yield "[" * levels
    yield "[" * levels + "]" * levels
    yield '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", LEVELS)
def test_the_editor_shows_a_page_whatever_nests_in_its_fields(ann, levels):
    row, url = made(ann)
    save = f"{ROOT}{row.pk}/save/"
    for deep in texts(levels):
        source = json.dumps(document("team.plan", steps=["DEEP"])).replace('"DEEP"', deep)
        fields = [
            {"text": source},
            {"text": deep},
            {"changed": deep},
            {"do": "walk", "var-goal": deep},
            {"do": "walk", "answers": deep},
            {"do": "walk", "answers": f'{{"step-one": {deep}}}', "opt-step-one": deep},
            {"message": deep, "path": deep[:200]},
        ]
        for given in fields:
            shown = [ann.post(each, typed(given.pop("text", good()), **given)).status_code for each in (url, save)]
            assert all(status < 500 for status in shown), (given.keys(), deep[:10], shown)
        assert ann.get(url).status_code == 200
        assert ann.get(f"{ROOT}{row.pk}/change/").status_code == 200


@pytest.mark.parametrize("levels", LEVELS)
def test_files_are_imported_whatever_nests_in_what_names_them(ann, levels):
    from django.core.files.uploadedfile import SimpleUploadedFile

    for deep in texts(levels):
        for name, data in (
            ("a.json", deep),
            ("a.toon", deep),
            ("workflow.toon", f"id: x\nsteps: {deep}"),
            ("a.json", good()),
        ):
            sent = {"uploads": [SimpleUploadedFile(name, data.encode())], "paths": deep, "rename": deep[:50]}
            assert ann.post(f"{ROOT}import/", sent).status_code < 500, (name, deep[:10])
