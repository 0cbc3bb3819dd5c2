"""The workflows of the demo, as files that the ordinary import reads."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parent / "library"


def files_of(name: str) -> dict[str, bytes]:
    folder = _ROOT / name
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
