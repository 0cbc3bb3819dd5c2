"""Output contracts: what an artifact must look like, and what is wrong with one that does not.

Checking never raises and never leaves its budgets, whatever was handed in: an artifact that cannot be reported on would stop a
run for ever.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from msgspec.structs import replace

from workflows_app.engine import canonical
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.contract_catalog import BUILT_IN
from workflows_app.engine.program import Contract, ContractUse, Parallel, Program, Step
from workflows_app.engine.schema_safety import UnsafeSchemaError, pattern_instructions, weigh_safely

__all__ = ["BUILT_IN", "MAX_ISSUES", "MAX_ISSUE_BYTES", "check_artifact", "check_instance", "check_schema", "suggest"]

MAX_ISSUES = 8
MAX_ISSUE_BYTES = 512
MAX_SUGGESTION_BYTES = 1_024
# Keys and values that are looked at for what a suggestion names, and how deep.
_MOST_CHOICES = 32
_DEEPEST_CHOICE = 3
_CACHED_VALIDATORS = 256
# Schemas met times values looked at, up to which all complaints are collected.
_COMPLETE_WORK = 100_000
# Instructions of patterns times characters that they look at, up to which a value is looked at: in the worst case each takes
# its time, and nobody else is served meanwhile.
_PATTERN_WORK = 10_000_000
_MASK = "the value"
_PATTERN_BYTES = 1 << 20


def check_artifact(contract: Contract, artifact: Any) -> tuple[str, ...]:
    """What is wrong with the artifact, each issue with its path; empty when it satisfies the contract."""
    if not isinstance(artifact, Mapping):
        return (f"An artifact is a JSON object with kind {contract.artifact_kind!r}.",)
    kind = artifact.get("kind")
    if kind != contract.artifact_kind:
        return (_fit(f"kind: the artifact is {kind!r:.120}; wanted is {contract.artifact_kind!r}."),)
    return check_instance(contract.schema, dict(artifact))


def check_instance(schema: Mapping[str, Any], instance: Any) -> tuple[str, ...]:
    """What is wrong with a JSON value, by a schema that `check_schema` let pass."""
    try:
        known = _known_schema(canonical.canonical_bytes(schema))
        if known.patterns and known.patterns * _characters(instance) > _PATTERN_WORK:
            return (
                f"The patterns of the schema look at {_PATTERN_WORK // known.patterns} characters at most; hand in less.",
            )
        if known.validator.is_valid(instance):
            return ()
        if known.weight * _size(instance) <= _COMPLETE_WORK:
            return _issues(known.validator.iter_errors(instance))
        # Every complaint about a big value is more work than an answer is worth: the first is enough to go on.
        known.validator.validate(instance)
    except jsonschema_rs.ValidationError as error:
        return (_issue(error),)
    except (UnsafeSchemaError, jsonschema_rs.ReferencingError, canonical.NotCanonicalError):
        return ("The schema of the contract cannot be used.",)
    except (ValueError, TypeError, RecursionError):
        # Python values that are no JSON: keys that are not text, lone surrogates, objects.
        return ("The value is not plain JSON.",)
    return ()


def check_schema(schema: Any) -> str | None:
    """Why a schema cannot be used, or None."""
    if not isinstance(schema, dict):
        return "A schema is a JSON object."
    try:
        weigh_safely(schema)
        _compile(schema, mask=None)
    except UnsafeSchemaError as error:
        return _fit(str(error))
    except jsonschema_rs.ValidationError as error:
        return _fit(f"The schema cannot be read. {_issue(error)}")
    except (jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
        return _fit(f"The schema cannot be read: {error}.")
    return None


def asked_of(program: Program, item: Step | Parallel, use: ContractUse) -> Contract:
    """The contract in the words of the item: those of a probe speak of the capability that is probed."""
    contract = program.contracts[use.contract]
    probed = item.probes if isinstance(item, Step) else None
    if probed is None:
        return contract
    properties = {**contract.schema["properties"], "capability": {"const": probed.value}}
    return replace(
        contract,
        schema={**contract.schema, "properties": properties},
        example={**contract.example, "capability": probed.value},
    )


def suggest(contract: Contract) -> str:
    """How to hand in what the contract asks for, within the budget of a suggestion: what a key may say stands in it as far as
    there is room beside the whole example.
    """
    required = ", ".join(key for key in contract.schema.get("required", ()) if key != "kind")
    text = f"Hand in an artifact of kind {contract.artifact_kind} with {required or 'its keys'}."
    example = f" For example: {canonical.canonical_bytes(contract.example).decode()}"
    room = MAX_SUGGESTION_BYTES - len(text.encode()) - len(example.encode())
    return fit_bytes(f"{text}{_choices_within(room, contract.schema)}{example}", max_bytes=MAX_SUGGESTION_BYTES)


def _choices_within(room: int, schema: Mapping[str, Any]) -> str:
    said = ""
    for place, values in _choices(schema):
        more = f"{said[:-1]}; {place}: {values}." if said else f" {place}: {values}."
        if len(more.encode()) > room:
            break
        said = more
    return said


def _choices(schema: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Each key that has to be there and takes one of a few values, with these: of the artifact, and of what stands in it."""
    if not isinstance(schema, Mapping):
        return
    match schema:
        case {"enum": [_, _, *_] as values} if len(values) <= _MOST_CHOICES:
            yield (
                place,
                " | ".join(each if isinstance(each, str) else str(orjson.dumps(each), "utf-8") for each in values),
            )
        case {"properties": dict() as properties} if depth < _DEEPEST_CHOICE:
            for key in itertools.islice(schema.get("required", ()), _MOST_CHOICES):
                yield from _choices(properties.get(key), f"{place}.{key}" if place else key, depth + 1)
        case {"items": dict() as items}:
            yield from _choices(items, f"{place}[]", depth)
        case _:
            pass


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownSchema:
    validator: jsonschema_rs.Validator
    weight: int
    patterns: int


@lru_cache(maxsize=_CACHED_VALIDATORS)
def _known_schema(schema: bytes) -> _KnownSchema:
    document = orjson.loads(schema)
    weight = weigh_safely(document)
    try:
        return _KnownSchema(
            validator=_compile(document, mask=_MASK), weight=weight, patterns=pattern_instructions(document)
        )
    except jsonschema_rs.ValidationError as error:
        raise UnsafeSchemaError(error.message) from error


def _size(value: Any) -> int:
    """How many values there are in a value, itself among them."""
    return sum(1 for _ in _values(value))


def _characters(value: Any) -> int:
    """Of all texts in a value, names too."""
    texts = (item if isinstance(item, Mapping) else (item,) for item in _values(value))
    return sum(len(text) for text in itertools.chain.from_iterable(texts) if isinstance(text, str))


def _values(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)


def _compile(schema: dict[str, Any], *, mask: str | None) -> jsonschema_rs.Validator:
    # Offline: nothing is fetched. The plain regex engine is linear in the text; the default one backtracks.
    return jsonschema_rs.validator_for(
        schema,
        mask=mask,
        offline=True,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES),
    )


def _issues(errors: Iterable[jsonschema_rs.ValidationError]) -> tuple[str, ...]:
    plain = itertools.chain.from_iterable(_nearest(error) for error in errors)
    said = dict.fromkeys(_issue(error) for error in itertools.islice(plain, 4 * MAX_ISSUES))
    return tuple(itertools.islice(said, MAX_ISSUES))


def _nearest(error: jsonschema_rs.ValidationError) -> list[jsonschema_rs.ValidationError]:
    """Of several forms that a value may have, the complaints of the one that it comes closest to."""
    kind = error.kind
    if not isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf | jsonschema_rs.ValidationErrorKind.OneOfNotValid):
        return [error]
    inside = [branch for branch in kind.context if branch and branch[0].kind.name != "type"]
    return inside[0] if len(inside) == 1 else [error]


def _issue(error: jsonschema_rs.ValidationError) -> str:
    place = _place(error.instance_path)
    message = _message(error)
    if place:
        return _fit(f"{place}: {message.removeprefix(f'{_MASK} ')}.")
    return _fit(f"{message[:1].upper()}{message[1:]}.")


def _message(error: jsonschema_rs.ValidationError) -> str:
    """The library's words, but for those that say less than an author of artifacts needs."""
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Enum):
        options = ", ".join(canonical.canonical_bytes(option).decode() for option in kind.options)
        return f"{_MASK} is none of {options}"
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf | jsonschema_rs.ValidationErrorKind.OneOfNotValid):
        return f"{_MASK} has none of the forms that it may have"
    return error.message


def _place(path: Iterable[str | int]) -> str:
    """A path as people write it: `findings[0].severity`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return fit_bytes(text.removeprefix("."), max_bytes=MAX_ISSUE_BYTES // 2)


def _fit(text: str) -> str:
    return fit_bytes(text, max_bytes=MAX_ISSUE_BYTES)
