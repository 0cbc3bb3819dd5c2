"""What a technique says, with the rules that hold for every technique of its folder and its group."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workflows_app.selectors.handed_out import AttachmentText, InheritedTechnique
from workrail_site.dialects.offers.addresses import Address, OfferShelf

_RULES = "_inherited_rules"


def told_whole(read: AttachmentText, *, how_to_read: str, called: Callable[[str], str] = str) -> str:
    text = with_inherited(read.text, read.inherited, called=lambda each: called(each.name), how_to_read=how_to_read)
    return with_linked(text, read.linked)


def with_linked(text: str, linked: Sequence[tuple[str, str]]) -> str:
    """A skill that was lent says by which address the guides of its own workflow are read."""
    if not linked:
        return text
    said = [
        f"{name} of {workflow} ({Address(shelf=OfferShelf.RESOURCE, name=workflow, item=name).as_uri()})"
        for workflow, name in linked
    ]
    return f"{text.rstrip()}\n\n[It links to guides of the workflow that lends it: {', '.join(said)}.]\n"


def with_inherited(
    text: str,
    inherited: Sequence[InheritedTechnique],
    *,
    called: Callable[[InheritedTechnique], str],
    how_to_read: str,
) -> str:
    """Rules are told with what they hold for; what else is inherited is named, with the call that reads it."""
    if not inherited:
        return text
    return "\n\n".join([text.rstrip(), *_parts(inherited, called, how_to_read)]) + "\n"


def document_with(
    document: Mapping[str, Any],
    inherited: Sequence[InheritedTechnique],
    *,
    called: Callable[[InheritedTechnique], str],
) -> dict[str, Any]:
    """A technique that is told as JSON: what it inherits by names that can be read, and the rules of it."""
    rules, missing = {called(each): each.rules for each in inherited if each.rules}, _missing(inherited)
    said = {**document, "inherits": [called(each) for each in inherited if each.name]}
    return said | ({_RULES: rules} if rules else {}) | ({"_not_published": missing} if missing else {})


def without_rules(document: Mapping[str, Any]) -> dict[str, Any]:
    """Of one that is told with them."""
    return {key: value for key, value in document.items() if key != _RULES}


def _parts(
    inherited: Sequence[InheritedTechnique], called: Callable[[InheritedTechnique], str], how_to_read: str
) -> Iterator[str]:
    missing = _missing(inherited)
    names = [called(each) for each in inherited if each.name]
    yield from (f"## Rules of {called(each)}\n\n{each.rules}" for each in inherited if each.rules)
    if names:
        yield f"[It inherits {', '.join(names)}. {how_to_read}]"
    if missing:
        yield f"[It inherits rules that nobody can read here, since they are not published: {', '.join(missing)}. Tell your user.]"


def _missing(inherited: Sequence[InheritedTechnique]) -> list[str]:
    return [each.reference for each in inherited if not each.name]
