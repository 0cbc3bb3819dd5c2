"""What a program attaches: a skill, resource or template with its content and the file it came from."""

from dataclasses import dataclass

from workflows_app.engine.program import Attachment
from workflows_app.engine.source import SourceContent


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDocuments:
    attachment: Attachment
    content: SourceContent
    file: str
