"""`./workrail workflows …`: what it prints, and when it fails."""

import io
import json
import re

import pytest

from tests.workflow_cast import FOLDER, create, document, make_cast, publish

LOOP = {
    "steps": [
        {
            "id": "each-item",
            "type": "loop",
            "title": "Each item",
            "loop": {"type": "forEach", "items": "items", "maxIterations": 5},
            "body": [{"id": "look-at-it", "title": "Look", "prompt": "Look at {{currentItem}}."}],
        },
        {"id": "say-so", "title": "Say so", "prompt": "Say it.", "runCondition": {"var": "loud", "equals": True}},
    ],
}


def run(*arguments):
    """What the command prints, and its exit code."""
    from django.core.management import CommandError, call_command

    out = io.StringIO()
    try:
        call_command("workflows", *arguments, stdout=out)
    except SystemExit as stopped:
        return out.getvalue(), stopped.code
    except CommandError as error:
        return str(error), error.returncode
    return out.getvalue(), 0


def write(path, value):
    path.write_text(json.dumps(value))
    return str(path)


def write_folder(root):
    for path, data in FOLDER.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return str(root)


def test_validate_needs_no_database_and_passes_warnings(tmp_path):
    path = write(tmp_path / "a.json", document("legacy-name"))

    printed, code = run("validate", path)

    assert code == 0
    assert "warning [legacy_id]" in printed
    assert "1 of 1 workflows compile" in printed


@pytest.mark.parametrize("ending", ["yaml", "toon", "json"])
def test_each_problem_is_told_at_the_line_of_what_it_is_about(tmp_path, ending):
    root = tmp_path / "flow"
    (root / "activities").mkdir(parents=True)
    (root / "workflow.yaml").write_text("id: team.lines\nversion: 1.0.0\ntitle: Lines\nauther: me\n")
    wrong = {
        "yaml": "id: a\nversion: 1.0.0\nname: A\nsteps:\n  - id: s\n    name: S\n    descripton: x\n",
        "toon": "id: a\nversion: 1.0.0\nname: A\nsteps[1]:\n  - id: s\n    name: S\n    descripton: x\n",
        "json": '{"id": "a", "version": "1.0.0",\n"name": "A",\n"steps": [\n{\n"id": "s",\n"name": "S",\n"descripton": "x"}]}',
    }
    (root / f"activities/01-a.{ending}").write_text(wrong[ending])

    printed, _ = run("lint", str(root))
    found = json.loads(run("lint", str(root), "--json")[0])

    assert f"{root}:activities/01-a.{ending}:7: steps[0].descripton warning [unknown_key]" in printed
    assert f"{root}:workflow.yaml:4: auther warning [unknown_key]" in printed
    assert sorted(problem["line"] for problem in found[0]["problems"] if problem["code"] == "unknown_key") == [4, 7]


def test_a_problem_of_a_step_workflow_is_told_at_its_line(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document("team.lines", promt="x"), indent=1))

    printed, _ = run("validate", str(path))

    at = path.read_text()[: path.read_text().index('"promt"')].count("\n") + 1
    assert f"{path}:{at}: promt error [unknown_key]" in printed


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_links_in_a_folder_are_told_since_nobody_follows_them(tmp_path, command):
    root = tmp_path / "flow"
    root.mkdir()
    write_folder(root)
    (root / "activities" / "09-linked.toon").symlink_to(root / "workflow.toon")
    (root / "techniques").symlink_to(tmp_path, target_is_directory=True)
    (root / ".hidden").symlink_to(tmp_path)

    printed, _ = run(command, str(root))

    told = [line for line in printed.splitlines() if "is a link" in line]
    assert told == [
        f"{root}/{name}: not read; it is a link. Put the file itself there."
        for name in ("activities/09-linked.toon", "techniques")
    ]


@pytest.mark.parametrize("command", ["validate", "lint", "simulate"])
@pytest.mark.parametrize("name", ["workflow.yaml", "workflow.toon", "01-a.yml", "sort.md"])
def test_one_file_of_a_folder_is_no_workflow_and_that_is_said(tmp_path, command, name):
    (tmp_path / name).write_text("id: team.sample\n")

    printed, code = run(command, str(tmp_path / name))

    assert code
    assert "Name the folder of the workflow" in printed


@pytest.mark.parametrize("mark", ["\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\r"])
@pytest.mark.parametrize("place", ["key", "id", "title"])
def test_what_an_author_wrote_gives_the_terminal_no_orders(tmp_path, place, mark):
    made = document("team.marked")
    if place == "key":
        made[f"na{mark}me"] = "x"
    elif place == "id":
        made["steps"][0]["id"] = f"a{mark}b"
    else:
        made["steps"][0]["title"] = f"Tit{mark}le"
    path = write(tmp_path / "a.json", made)

    for command in ("validate", "simulate"):
        printed, _ = run(command, path)
        assert printed.strip()
        assert not set(mark) & set(printed) & set("\x1b\x07\x9b\u202e\r")


def test_lint_fails_on_warnings(tmp_path):
    assert run("lint", write(tmp_path / "a.json", document("legacy-name")))[1] == 1
    assert run("lint", write(tmp_path / "b.json", document()))[1] == 0


def test_validate_fails_on_errors_and_says_where(tmp_path):
    path = write(tmp_path / "a.json", document(steps=[], colour="red"))

    printed, code = run("validate", path)

    assert code == 1
    assert f"{path}:1: colour error [unknown_key]" in printed
    assert "0 of 1 workflows compile" in printed


def test_a_folder_of_workflows_is_checked_whole(tmp_path):
    write_folder(tmp_path / "folder")
    call = {"id": "look-first", "title": "Look", "templateCall": {"templateId": "wr.templates.routine.own"}}
    write(tmp_path / "caller.json", document("team.caller", steps=[call]))
    write(tmp_path / "own.json", document("routine-own"))

    printed, code = run("validate", str(tmp_path), "--json")

    assert code == 0, printed
    assert {item["id"] for item in json.loads(printed)} == {"team.folder", "team.caller", "routine-own"}


@pytest.mark.parametrize("name", ["nothing.json", "empty"])
def test_what_is_not_there_is_said(tmp_path, name):
    (tmp_path / "empty").mkdir()

    printed, code = run("validate", str(tmp_path / name))

    assert code == 1
    assert name in printed


def test_a_file_is_simulated_without_a_database(tmp_path):
    path = write(tmp_path / "a.json", document(**LOOP))

    printed, code = run("simulate", path, "--set", 'items=["a","b"]', "--set", "loud=true")

    assert code == 0
    assert [line.split()[2] for line in printed.splitlines()[:-1]] == [
        "main/each-item@0::look-at-it",
        "main/each-item@1::look-at-it",
        "main/say-so",
    ]
    assert "complete after 3 steps" in printed


def test_a_walk_that_cannot_go_on_fails_with_its_reason(tmp_path):
    path = write(tmp_path / "a.json", document(**LOOP))

    printed, code = run("simulate", path)

    assert code == 1
    assert "blocked after 0 steps" in printed
    assert "items" in printed


@pytest.mark.parametrize("name", ["steps-0.3.0", "steps-0.0.1", "workflow", "activity"])
def test_a_schema_is_printed(name):
    printed, code = run("schema", name)

    assert (code, json.loads(printed)["type" if name != "activity" else "$ref"]) == (
        0,
        "object" if name != "activity" else "#/$defs/activity",
    )


def test_answers_that_the_workflow_does_not_have_are_refused(tmp_path):
    answers = write(tmp_path / "answers.json", {"look-at-itt": {"context": {}}})

    printed, code = run("simulate", write(tmp_path / "a.json", document(**LOOP)), "--answers", answers)

    assert code == 1
    assert "No step or checkpoint is called 'look-at-itt'. Did you mean 'look-at-it'?" in printed


def test_answers_decide_the_path(tmp_path):
    answers = write(tmp_path / "answers.json", {"plan-approved": {"option": "change"}})

    printed, code = run("simulate", write_folder(tmp_path / "folder"), "--answers", answers, "--json")

    simulation = json.loads(printed)
    assert code == 0
    assert [stop["answer"].get("option") for stop in simulation["path"] if stop["kind"] == "gate"] == ["change"]


@pytest.mark.parametrize("given", [("--set", "nonsense"), ("--answers", "/nothing/there.json")])
def test_arguments_that_cannot_be_read_are_refused(tmp_path, given):
    assert run("simulate", write(tmp_path / "a.json", document()), *given)[1] == 1


def test_something_broken_is_not_simulated(tmp_path):
    printed, code = run("simulate", write(tmp_path / "a.json", document(steps=[])))

    assert code == 1
    assert "too_short" in printed


@pytest.mark.django_db
def test_files_become_drafts_and_are_listed_shown_compared_and_published(tmp_path):
    cast = make_cast()
    team = "Alice's team"
    path = write(tmp_path / "a.json", document())

    assert "team.review saved as revision 1, draft" in run("import", path, "--team", team)[0]
    write(tmp_path / "a.json", document(name="Other"))
    assert "saved as revision 2" in run("import", path, "--team", team, "--message", "why")[0]
    assert "team.review" in run("list", "--team", team, "--text", "other")[0]
    assert "1 errors" not in run("list", "--team", team)[0]
    assert "read-change  Read the change" in run("show", "team.review", "--team", team)[0]
    assert "+++ b/a.json" in run("diff", "team.review", "--team", team, "--base", "1")[0]
    printed, code = run("publish", "team.review", "--team", team)

    assert (code, "runs revision 2 from now on" in printed) == (0, True)
    from workflows_app.selectors.workflows import find_published

    assert find_published(actor=cast.bob, workflow_id="team.review").number == 2


@pytest.mark.django_db
def test_importing_something_broken_saves_it_and_fails(tmp_path):
    make_cast()

    printed, code = run("import", write(tmp_path / "a.json", document(steps=[])), "--team", "Alice's team")

    assert code == 1
    assert "too_short" in printed
    assert "saved as revision 1" in printed


@pytest.mark.django_db
@pytest.mark.parametrize("together", [False, True])
def test_what_is_imported_and_shown_tells_its_problems_at_their_lines(tmp_path, together):
    cast = make_cast()
    root = tmp_path / "flows" / "folder"
    root.mkdir(parents=True)
    write_folder(root)
    activity = root / "activities/01-first.toon"
    activity.write_bytes(activity.read_bytes().replace(b"    description: Write down", b"    descripton: Write down"))
    at = activity.read_bytes().partition(b"descripton")[0].count(b"\n") + 1
    if together:
        (tmp_path / "flows" / "other.json").write_text(json.dumps(document("team.lines", promt="x"), indent=1))
    path = tmp_path / "flows" if together else root

    printed, _ = run("import", str(path), "--team", "Alice's team")
    shown, _ = run("show", "team.folder", "--team", "Alice's team")
    create(cast.bob, "team.broken", steps=[], promt="x")
    refused, code = run("simulate", "team.broken", "--team", "Alice's team")

    assert f"team.folder:activities/01-first.toon:{at}: steps[0].descripton warning [unknown_key]" in printed
    assert f"team.folder:activities/01-first.toon:{at}: steps[0].descripton warning [unknown_key]" in shown
    if together:
        assert re.search(r"team\.lines:\d+: promt error \[unknown_key\]", printed)
    assert (code, "promt error [unknown_key]" in refused) == (1, True)


@pytest.mark.parametrize("option", ["--rounds", "--max-steps"])
@pytest.mark.parametrize("number", ["0", "-1", "2.5", "1e3", "", "many", "٣", "1_0", "9" * 30])
def test_a_walk_is_not_counted_by_what_is_no_whole_number(tmp_path, option, number):
    printed, code = run("simulate", write(tmp_path / "a.json", document()), f"{option}={number}")

    assert code != 0
    assert "is not a whole number above 0" in printed


@pytest.mark.django_db
def test_a_legacy_id_is_refused_until_it_may_be_renamed(tmp_path):
    make_cast()
    path = write(tmp_path / "a.json", document("review"))

    refused, code = run("import", path, "--team", "Alice's team")
    renamed, renamed_code = run("import", path, "--team", "Alice's team", "--rename")

    assert (code, "project.review" in refused) == (1, True)
    assert (renamed_code, "project.review (was review)" in renamed) == (0, True)


@pytest.mark.django_db
def test_of_several_teams_one_must_be_named():
    make_cast()

    printed, code = run("list")

    assert code == 1
    assert "Alice's team" in printed
    assert run("list", "--team", "Nobody's")[1] == 1


@pytest.mark.django_db
def test_a_saved_workflow_is_simulated_by_its_id():
    cast = make_cast()
    create(cast.bob)
    publish(cast.bob)

    printed, code = run("simulate", "team.review", "--team", "Alice's team")

    assert (code, "complete after 2 steps" in printed) == (0, True)


@pytest.mark.django_db
def test_the_bundled_library_is_loaded_and_its_numbers_told():
    assert "0 changed, 0 gone" in run("load-bundled")[0]
    printed, code = run("load-bundled", "--json")

    assert (code, json.loads(printed)["created"]) == (0, [])
