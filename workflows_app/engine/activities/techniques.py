"""Techniques: skills in Markdown, the rules that can be asked for by themselves, and the resources that their text links to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from teams_app.engine.names import unseen_in
from workflows_app.engine import canonical
from workflows_app.engine.activities.documents import MARKDOWN, Markdown
from workflows_app.engine.activities.folder import FolderEntry
from workflows_app.engine.activities.held import HeldDocuments
from workflows_app.engine.program import Attachment
from workflows_app.engine.source import ContentKind, SourceContent

_CAPABILITY = re.compile(r"^##[ \t]+Capability[ \t]*\n+([^\n#][^\n]*)", re.MULTILINE)
_RULES = re.compile(r"^##[ \t]+Rules[ \t]*$(.*?)(?=^##?[ \t]|\Z)", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r"^###[ \t]+(\S[^\n]*)$(.*?)(?=^###[ \t]|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s#]*resources/[^()\s#]+\.md)(?:#[^()\s]*)?\)")
_MAX_LINKS = 200


def read_technique(*, entry: FolderEntry, text: Markdown, owner: str, contracts: Iterable[str]) -> HeldDocuments:
    """`contracts` are the techniques whose inputs and rules this one inherits."""
    capability = _CAPABILITY.search(text.body)
    said = text.meta.get("metadata")
    meta = {**(said if isinstance(said, dict) else {}), **text.meta}
    version = _word(meta.get("version"))
    summary = capability.group(1).strip() if capability else text.heading
    document = {
        "id": entry.name,
        "version": version,
        "capability": summary,
        "inherits": list(contracts),
        "body": text.body.strip(),
    }
    content = _content(text.text, document)
    attachment = Attachment(
        id=entry.name,
        digest=content.digest,
        owner=owner,
        index=entry.index,
        version=version,
        title=_word(meta.get("title")) or _word(meta.get("name")) or text.heading,
        summary=summary,
        format=MARKDOWN.removeprefix("."),
        resources=tuple(dict.fromkeys((*_listed(meta), *_linked(text.body, entry.path, owner)))),
    )
    return HeldDocuments(attachment=attachment, content=content, file=entry.file)


def rules_of(text: str) -> str:
    """What a technique says under `Rules`, each under its own heading."""
    section = _RULES.search(text)
    return section.group(1).strip() if section else ""


def rules_technique(*, of: HeldDocuments, name: str, rule: str) -> HeldDocuments | None:
    """A technique of nothing but the rules that are called `rule` or begin with it and a hyphen; None without any."""
    found = _RULE.findall(f"{rules_of(of.content.text)}\n")
    titled = [(title.rstrip(), body.strip()) for title, body in found]
    wanted = [(title, body) for title, body in titled if title == rule or title.startswith(f"{rule}-")]
    if not wanted:
        return None
    rules = "\n\n".join(f"### {title}\n\n{body}" for title, body in wanted)
    attachment = of.attachment
    body = f"## Capability\n\n{attachment.summary}\n\n## Rules\n\n{rules}"
    document = {
        "id": name,
        "version": attachment.version,
        "capability": attachment.summary,
        "inherits": inherits(of),
        "body": body,
    }
    content = _content(f"{body}\n", document)
    return replace(of, attachment=_renamed(attachment, name, content.digest), content=content)


def inherits(held: HeldDocuments) -> list[str]:
    """The techniques of its folder whose rules hold for this one as well."""
    document = held.content.document
    is_technique = held.attachment.format == MARKDOWN.removeprefix(".")
    return document["inherits"] if is_technique and isinstance(document, dict) else []


def _content(text: str, document: dict[str, Any]) -> SourceContent:
    return SourceContent.of_document(
        kind=ContentKind.SKILL, text=text, document=document, digest=canonical.canonical_digest(document)
    )


def _renamed(attachment: Attachment, name: str, digest: str) -> Attachment:
    return Attachment(
        id=name,
        digest=digest,
        owner=attachment.owner,
        version=attachment.version,
        title=attachment.title,
        summary=attachment.summary,
        format=attachment.format,
    )


def _listed(meta: Mapping[str, Any]) -> Iterable[str]:
    listed = meta.get("resources")
    named = listed if isinstance(listed, list) else [meta.get("resource")]
    return (word for word in map(_word, named) if word)


def _linked(body: str, path: str, owner: str) -> Iterable[str]:
    """Each linked resource as `workflow/name`, as seen from the file: above the workflow's own folder stand its siblings."""
    for number, found in enumerate(_LINK.finditer(body)):
        if number >= _MAX_LINKS:
            return
        target = _decoded(found.group(1))
        if "://" in target or target.startswith("/"):
            continue
        segments = _resolved([*PurePosixPath(path).parent.parts], target)
        if segments is not None and len(segments) > 2 and segments[1] == "resources":
            yield f"{segments[0] or owner}/{segments[-1].removesuffix(MARKDOWN)}"


def _decoded(link: str) -> str:
    """A name with blanks or other letters is written with percent signs in a link."""
    text = unquote(link) if "%" in link else link
    return link if unseen_in(text) else text


def _resolved(folder: list[str], target: str) -> list[str] | None:
    """The path from the folder of all workflows; the workflow's own folder is the empty name."""
    segments = ["", *folder]
    for segment in target.split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment not in {"", "."}:
            segments.append(segment)
    return segments


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)
