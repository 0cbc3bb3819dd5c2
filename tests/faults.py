"""Small faults in functions and constants of the product: which there are, and how one is made while the code is loaded, and mended.

A fault is told by the function that it is in and by what was written there and what is instead, so that a list of faults stays
right when lines move.
"""

import ast
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import _lru_cache_wrapper, cache
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).parents[1]
PRODUCT = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
PLACES = tuple(f"{ROOT}/{app}/" for app in PRODUCT)
_OPPOSITES = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Instead = Callable[[ast.AST, str, str], Iterator[ast.AST]]
# A constant of a module is told as a function of this one, by its name.
CONSTANT = "<module>."
# A longer one, such as a table, is broken in its parts.
_LONGEST_CONSTANT = 500
# What is answered in place of what a function says that it answers, by how that is written.
_NOTHING = {
    "str": "''",
    "bytes": "b''",
    "list": "[]",
    "tuple": "()",
    "Sequence": "()",
    "dict": "{}",
    "Mapping": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
    "Iterator": "iter(())",
    "Iterable": "()",
    "bool": "not ({})",
    "int": "({}) + 1",
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`function` is the qualified name of the innermost function; `nth` tells apart what is written there more than once."""

    path: str
    function: str
    was: str
    broken: str
    nth: int
    line: int

    @property
    def name(self):
        return (self.path, self.function, self.was, self.broken, self.nth)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """What is put instead of a node: `holder[key]` or an attribute of the holder."""

    holder: object
    key: object
    was: ast.AST
    broken: ast.AST
    chain: tuple[str, ...]


def faults_in(path: str) -> tuple[Fault, ...]:
    return tuple(_read(path))


def fault_named(path: str, function: str, was: str, broken: str, nth: int = 0) -> Fault | None:
    """One of those, or one that somebody thought of: `broken` is put where `was` is written. None where it is not there."""
    name = (path, function, was, broken, nth)
    return next((fault for fault in faults_in(path) if fault.name == name), None) or _thought_of(name)


def _thought_of(name: tuple[str, str, str, str, int]) -> Fault | None:
    path, function, was, broken, nth = name

    def instead(node: ast.AST, _field: str, _answers: str) -> Iterator[ast.AST]:
        if ast.unparse(node) == was:
            (there,) = ast.parse(broken).body
            if isinstance(node, ast.stmt):
                yield there
            elif isinstance(there, ast.Expr):
                yield there.value

    tree = _fresh_tree(path)
    found = (*_places(tree, (), _Context(function=(), instead=instead)), *_constants(tree, instead))
    place = next(islice((each for each in found if ".".join(each.chain) == function), nth, None), None)
    if place is None:
        return None
    for inner in ast.walk(place.broken):
        ast.copy_location(inner, place.was)
    fault = Fault(path=path, function=function, was=was, broken=broken, nth=nth, line=place.was.lineno)
    _read(path)[fault] = place
    return fault


@cache
def _tree(path: str, _stamp: int) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _fresh_tree(path: str) -> ast.Module:
    return _tree(path, (ROOT / path).stat().st_mtime_ns)


@cache
def _read_at(path: str, _stamp: int) -> dict[Fault, _Place]:
    found: dict[Fault, _Place] = {}
    seen: dict[tuple[str, str, str], int] = {}
    tree = _tree(path, _stamp)
    for place in (*_places(tree, (), _Context(function=(), instead=_instead)), *_constants(tree, _instead)):
        function = ".".join(place.chain)
        was = ast.unparse(place.was)
        if function.startswith(CONSTANT) and len(was) > _LONGEST_CONSTANT:
            continue
        broken = ast.unparse(place.broken)
        nth = seen[function, was, broken] = seen.get((function, was, broken), -1) + 1
        fault = Fault(path=path, function=function, was=was, broken=broken, nth=nth, line=place.was.lineno)
        found[fault] = place
    return found


def _read(path: str) -> dict[Fault, _Place]:
    return _read_at(path, (ROOT / path).stat().st_mtime_ns)


@dataclass(frozen=True, kw_only=True)
class _Context:
    function: tuple[str, ...]
    instead: _Instead
    is_in_function: bool = False
    answers: str = ""


def _constants(tree: ast.Module, instead: _Instead) -> Iterator[_Place]:
    """What stands in the value of a constant of the module."""
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield from _within(node, "value", value, ("<module>", name), instead)


def _within(holder: object, key: object, node: ast.AST, chain: tuple[str, ...], instead: _Instead) -> Iterator[_Place]:
    for broken in instead(node, "", ""):
        yield _Place(holder=holder, key=key, was=node, broken=broken, chain=chain)
    for field, value in ast.iter_fields(node):
        for within, place, child in _children(node, field, value):
            if isinstance(child, ast.expr | ast.keyword):
                yield from _within(within, place, child, chain, instead)


def _places(node: ast.AST, names: tuple[str, ...], context: _Context) -> Iterator[_Place]:
    for field, value in ast.iter_fields(node):
        if isinstance(node, _Function) and field in {"decorator_list", "args", "returns"}:
            continue
        if isinstance(node, ast.AnnAssign) and field == "annotation":
            continue
        for holder, key, child in _children(node, field, value):
            if context.is_in_function and not (isinstance(node, ast.Expr) and isinstance(child, ast.Constant)):
                for broken in context.instead(child, field, context.answers):
                    yield _Place(holder=holder, key=key, was=child, broken=broken, chain=context.function)
            if isinstance(child, _Function | ast.ClassDef):
                inner = (*names, child.name)
                is_function = isinstance(child, _Function)
                deeper = (*inner, "<locals>") if is_function else inner
                answers = ast.unparse(child.returns) if is_function and child.returns is not None else ""
                within = (
                    replace(context, function=inner, is_in_function=True, answers=answers) if is_function else context
                )
                yield from _places(child, deeper, within)
            else:
                yield from _places(child, names, context)


def _children(node, field, value):
    if isinstance(value, ast.AST):
        yield node, field, value
    elif isinstance(value, list):
        yield from ((value, number, child) for number, child in enumerate(value) if isinstance(child, ast.AST))


def _instead(node: ast.AST, field: str, answers: str) -> Iterator[ast.AST]:
    """What may stand for a node; each is said at the line where the node begins."""
    for broken in _variants(node, field, answers):
        yield ast.fix_missing_locations(ast.copy_location(broken, node))


def _variants(node: ast.AST, field: str, answers: str) -> Iterator[ast.AST]:
    yield from _of_statement(node) if isinstance(node, ast.stmt) else _of_expression(node)
    if isinstance(node, ast.Return) and node.value is not None:
        yield from _of_answer(node.value, answers)
    if field in {"test", "guard"} and not isinstance(node, ast.Compare | ast.UnaryOp):
        yield ast.UnaryOp(op=ast.Not(), operand=node)
    if field == "test" and not isinstance(node, ast.Constant):
        yield ast.Constant(value=False)
    if field == "ifs":
        yield ast.Constant(value=True)


def _of_statement(node: ast.stmt) -> Iterator[ast.AST]:
    """It is left out, or nothing is gone through, or nothing is answered."""
    match node:
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await()):
            yield ast.Pass()
        case ast.For(target=target, body=body, orelse=orelse):
            yield ast.For(target=target, iter=ast.Tuple(elts=[], ctx=ast.Load()), body=body, orelse=orelse)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(value=ast.Constant(value=None))


def _of_answer(value: ast.expr, answers: str) -> Iterator[ast.AST]:
    """Nothing of the kind that the function answers, or the opposite."""
    nothing = _NOTHING.get(answers.partition("[")[0])
    if nothing is not None and not isinstance(value, ast.Constant):
        yield ast.Return(value=ast.parse(nothing.format(ast.unparse(value)), mode="eval").body)


def _of_expression(node: ast.AST) -> Iterator[ast.AST]:
    """The opposite, one part of it alone, another value, or one entry less."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _OPPOSITES:
            yield ast.Compare(left=left, ops=[_OPPOSITES[type(op)]()], comparators=others)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
            yield from values
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=value) if value or value is False or value == 0:
            yield from _of_constant(value)
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.Call(args=[first], keywords=[], func=ast.Name(id="sorted" | "min" | "max" | "reversed")):
            yield first
        case ast.Subscript(slice=ast.Slice(), value=value, ctx=ast.Load()):
            yield value
        case _:
            yield from _with_one_less(node)


def _with_one_less(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for number in range(len(keys)):
                yield ast.Dict(keys=_without(keys, number), values=_without(values, number))
        case (
            ast.List(elts=parts, ctx=ast.Load())
            | ast.Tuple(elts=parts, ctx=ast.Load())
            | ast.Set(elts=[_, _, *_] as parts)
        ):
            for number in range(len(parts)):
                yield _with_field(node, "elts", _without(parts, number))
        case ast.Call(keywords=named):
            for number in range(len(named)):
                yield _with_field(node, "keywords", _without(named, number))


def _with_field(node: ast.AST, field: str, value: list[Any]) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), field: value})


def _of_constant(value: object) -> Iterator[ast.AST]:
    match value:
        case bool():
            yield ast.Constant(value=not value)
        case int():
            yield ast.Constant(value=value + 1)
        case str():
            yield ast.Constant(value=f"{value}-broken")


def _without(values: list[Any], number: int) -> list[Any]:
    return values[:number] + values[number + 1 :]


Functions = dict[tuple[str, str, int], tuple[FunctionType, ...]]


def loaded_functions() -> Functions:
    """Every function of the product that is there now, by file, qualified name and first line of its code."""
    found: Functions = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(PLACES):
            code = each.__code__
            name = (code.co_filename[len(str(ROOT)) + 1 :], code.co_qualname, code.co_firstlineno)
            found[name] = (*found.get(name, ()), each)
    return found


@contextmanager
def made(fault: Fault, functions: Functions) -> Iterator[int]:
    """The fault in every loaded function of this code, or in every module that knows the constant; how many there are."""
    if fault.function.startswith(CONSTANT):
        with _constant_made(fault) as count:
            yield count
        return
    swapped: list[tuple[FunctionType, CodeType]] = []
    try:
        for code in _broken_codes(fault):
            if not f"{fault.function}.".startswith(f"{code.co_qualname}."):
                continue
            for function in functions.get((fault.path, code.co_qualname, code.co_firstlineno), ()):
                swapped.append((function, function.__code__))
                function.__code__ = code
        yield len(swapped)
    finally:
        for function, code in swapped:
            function.__code__ = code


def knows_constant(fault: Fault) -> list[Any]:
    """The loaded modules, those of the tests among them, in which the constant stands under its name."""
    own = sys.modules.get(fault.path.removesuffix(".py").replace("/", "."))
    name = fault.function.removeprefix(CONSTANT)
    if own is None or name not in vars(own):
        return []
    value = vars(own)[name]
    known = (module for place, module in list(sys.modules.items()) if place.partition(".")[0] in {*PRODUCT, "tests"})
    return [module for module in known if vars(module).get(name) is value]


@contextmanager
def _constant_made(fault: Fault) -> Iterator[int]:
    name, modules = fault.function.removeprefix(CONSTANT), knows_constant(fault)
    was, broken = (vars(modules[0])[name], _broken_value(fault, name, modules)) if modules else (None, None)
    try:
        for module in modules if broken is not None else ():
            setattr(module, name, broken)
        yield len(modules) if broken is not None else 0
    finally:
        for module in modules:
            setattr(module, name, was)


def _broken_value(fault: Fault, name: str, modules: list[Any]) -> object:
    """None where it has none: what its statement says cannot be made."""
    place, tree = _read(fault.path)[fault], _fresh_tree(fault.path)
    statement = next(node for node in tree.body if node.lineno <= fault.line <= (node.end_lineno or 0))
    own = sys.modules[fault.path.removesuffix(".py").replace("/", ".")]
    names = dict(vars(own))
    _put(place, place.broken)
    try:
        code = compile(ast.Module(body=[statement], type_ignores=[]), str(ROOT / fault.path), "exec")
    finally:
        _put(place, place.was)
    with suppress(Exception):
        exec(code, names)
        return names[name]
    return None


def _broken_codes(fault: Fault) -> list[CodeType]:
    """Of the function with the fault, and of those around it. Only the statement of the module that holds them is compiled."""
    place, tree = _read(fault.path)[fault], _fresh_tree(fault.path)
    around = next(node for node in tree.body if node.lineno <= fault.line <= (node.end_lineno or 0))
    _put(place, place.broken)
    try:
        module = compile(ast.Module(body=[around], type_ignores=[]), str(ROOT / fault.path), "exec")
    finally:
        _put(place, place.was)
    return list(_all_codes(module))


def _put(place: _Place, node: ast.AST) -> None:
    if isinstance(place.holder, list):
        place.holder[place.key] = node
    else:
        setattr(place.holder, place.key, node)


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _all_codes(each)


def forget_what_is_kept() -> None:
    """What functions have kept of their answers was made with the fault, or without it."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PRODUCT):
            for value in list(vars(module).values()):
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()
    programs = sys.modules.get("workflows_app.selectors.programs")
    if programs is not None:
        programs._programs.clear()
