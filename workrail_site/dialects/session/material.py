"""What the session tools tell of skills and resources: bundled with what they need, never more than a reply holds."""

from typing import Any

from workrail_site.dialects.activities.printing import fits
from workrail_site.dialects.activities.resources import Reading
from workrail_site.dialects.activities.skills import Skill


def skills_json(skills: list[Skill], *, failed: list[str], within: str) -> dict[str, Any]:
    """By id, as many as fit; the others are named."""
    told: dict[str, Any] = {}
    omitted: list[str] = []
    for skill in skills:
        document = skill.bundled(within=within)
        if fits({**told, skill.id: document}):
            told[skill.id] = document
        else:
            omitted.append(skill.id)
    said: dict[str, Any] = {"scope": "workflow", "skills": told}
    if failed:
        said["failed_skills"] = failed
    if omitted:
        said["omitted_skills"] = omitted
    return said


def resource_json(reading: Reading) -> dict[str, Any]:
    said: dict[str, Any] = {
        "index": reading.asked,
        "id": reading.found.id,
        "version": reading.found.version,
        "content": reading.content,
    }
    if reading.parts > 1:
        said |= {"part": reading.part, "parts": reading.parts}
    if reading.next:
        said["next_action"] = {"tool": "get_resource", "parameters": {"resource_index": reading.next}}
    return said
