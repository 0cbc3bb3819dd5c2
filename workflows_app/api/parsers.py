"""Archives as they are sent: as the body itself, or as one part of a form."""

from collections.abc import Sequence
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request

from teams_app.api.endpoints import without_keys
from teams_app.engine.errors import InvalidInputError

MAX_ARCHIVE_BYTES = 8 * 1024 * 1024

_FLAGS = {"true": True, "false": False}
_PART = "archive"


class _ArchiveParser(BaseParser):
    """The body is the archive; its options are the defaults."""

    filename: str

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:  # noqa: ARG002  DRF's signature
        data = stream.read(MAX_ARCHIVE_BYTES + 1)
        _check_size(len(data))
        return {_PART: data, "filename": self.filename}


class ZipParser(_ArchiveParser):
    media_type = "application/zip"
    filename = "archive.zip"


class TarParser(_ArchiveParser):
    media_type = "application/x-tar"
    filename = "archive.tar"


class GzipParser(_ArchiveParser):
    media_type = "application/gzip"
    filename = "archive.tar.gz"


class FormParser(MultiPartParser):
    """One file called `archive`; the other fields are those of the JSON body."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:  # type: ignore[override]  # the body of an operation is a mapping
        _check_size(int(stream.META.get("CONTENT_LENGTH") or 0))
        form = super().parse(stream, media_type, parser_context)
        return _fields(form.data, form.files, stream.META)


def take_read_form(request: Request) -> None:
    """Of a signed-in person Django itself reads a form, for its CSRF proof, before any parser can."""
    read = request._request  # noqa: SLF001  the Django request behind DRF's
    if (request.content_type or "").startswith(FormParser.media_type) and hasattr(read, "_post"):
        _check_size(int(request.META.get("CONTENT_LENGTH") or 0))
        request._full_data = _fields(read.POST, read.FILES, read.META)  # type: ignore[attr-defined]  # noqa: SLF001  where DRF keeps what a parser gave


def _fields(data: QueryDict, files: MultiValueDict[str, "UploadedFile[Any]"], meta: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = without_keys(meta, {name: _value(data.getlist(name)) for name in data})
    for name, sent in files.lists():
        if name != _PART or len(sent) != 1:
            raise InvalidInputError(f"The form has a file {name!r}.", suggestion=f"Send one file, as {_PART!r}.")
        fields |= {_PART: sent[0].read(), "filename": str(sent[0].name)}
    return fields


def _value(values: Sequence[str | object]) -> Any:
    if len(values) != 1:
        raise InvalidInputError("A field of the form stands twice.", suggestion="Send each field once.")
    only = str(values[0])
    return _FLAGS.get(only, only)


def _check_size(size_bytes: int) -> None:
    if size_bytes > MAX_ARCHIVE_BYTES:
        raise InvalidInputError(
            f"The archive is larger than {MAX_ARCHIVE_BYTES} bytes.",
            suggestion="Pack only the workflow's own files, or import from the command line.",
            details={"maxBytes": MAX_ARCHIVE_BYTES},
        )
