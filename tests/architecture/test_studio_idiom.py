"""Whatever changes something in the Studio is an act: a call of a service stands in a function that is given an order."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Services that change nothing.
READING = {"addresses", "audit_chain", "editing", "reading", "row_scope", "speech"}
# Pages of people who are not signed in: their link is who they are.
OF_STRANGERS = {("teams_app/admin/accounts.py", name) for name in ("reset", "_accept")}


def service_names(tree):
    """The names by which a module calls services, and of them those that are modules."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and ".services" in node.module:
            last = node.module.rpartition(".")[2]
            for alias in node.names:
                of = alias.name if last == "services" else last
                if of not in READING and not alias.name[0].isupper():
                    found[alias.asname or alias.name] = of
    return found


def calls_outside_of_acts(source, path="x.py"):
    tree = ast.parse(source)
    names = service_names(tree)
    wrong = []

    def visit(node, has_order, inside):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            has_order = has_order or any(ast.unparse(each.annotation or each) == "Order" for each in arguments)
            inside = getattr(node, "name", inside)
        if isinstance(node, ast.Call) and not has_order and (path, inside) not in OF_STRANGERS:
            root = node.func
            while isinstance(root, ast.Attribute):
                # Classes and constants of a service change nothing.
                if root.attr[0].isupper():
                    return
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                wrong.append(f"{path}:{node.lineno} calls {ast.unparse(node.func)} outside of an act")
        for child in ast.iter_child_nodes(node):
            visit(child, has_order, inside)

    visit(tree, has_order=False, inside="")
    return wrong


def test_every_change_in_the_studio_is_an_act():
    files = sorted(path for app in ROOT.glob("*_app") for path in (app / "admin").rglob("*.py"))

    assert len(files) > 30
    assert [
        wrong for path in files for wrong in calls_outside_of_acts(path.read_text(), str(path.relative_to(ROOT)))
    ] == []


def test_the_check_sees_a_view_that_calls_a_service():
    head = "from teams_app.services import teams\nfrom teams_app.services.keys import issue_key\n"
    view = "def view(request):\n    teams.rename_team(actor=1)\n    issue_key()\n"
    act = "def _rename(order: Order) -> Done:\n    teams.rename_team(actor=1)\n"

    assert len(calls_outside_of_acts(head + view)) == 2
    assert calls_outside_of_acts(head + act) == []
