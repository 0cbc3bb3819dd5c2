"""Files are read and written as UTF-8, whatever the locale of the machine says: names of folders and people are in them."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
# How many arguments each has when the encoding is the last of them.
WITH_ENCODING = {"read_text": 1, "write_text": 2}


def leaves_it_to_the_locale(call):
    if not isinstance(call.func, ast.Attribute) or any(each.arg == "encoding" for each in call.keywords):
        return False
    name = call.func.attr
    if name in WITH_ENCODING:
        return len(call.args) < WITH_ENCODING[name]
    is_tar = name == "open" and isinstance(call.func.value, ast.Name) and call.func.value.id == "tarfile"
    return is_tar or (name == "open" and not call.args and not call.keywords)


def found_in(source):
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and leaves_it_to_the_locale(node)
    ]


def test_what_leaves_it_to_the_locale_is_found():
    plain = "path.read_text(); path.write_text('a'); path.open(); tarfile.open(path)"
    said = (
        "path.read_text('utf-8'); path.write_text('a', 'utf-8'); path.open('rb'); tarfile.open(path, encoding='utf-8')"
    )

    assert (len(found_in(plain)), found_in(said)) == (4, [])


def test_no_file_is_read_or_written_as_the_locale_says():
    found = {
        str(path.relative_to(ROOT)): calls
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if (calls := found_in(path.read_text("utf-8")))
    }

    assert found == {}
