"""Zip and tar archives, read one member after the other within limits. Nothing large is ever inflated.

Sizes are checked as declared before a member is read, and as read: zipfile and tarfile give no more than was declared. A
gzip is inflated up to the size that the largest allowed tar has, and no further.
"""

import io
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.safe_paths import RefusedError, checked_path

MAX_TOTAL_BYTES = 32 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_MEMBERS = 2_000
MAX_RATIO = 100
MAX_GZIP_PARTS = 32
# A path has at most 512 characters, and no other extension of a header is of use here.
MAX_TAR_HEADER_BYTES = 8 * 1024

# Below this nothing is a bomb: white space, and the padding of a tar, compress beyond every ratio.
RATIO_FLOOR_BYTES = 256 * 1024

# What the headers and the padding of a tar add to the files in it.
_MAX_TAR_BYTES = MAX_TOTAL_BYTES + 4 * MAX_MEMBERS * tarfile.BLOCKSIZE
_CHUNK_BYTES = 256 * 1024
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_ENTRY = b"PK\x01\x02"
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
# Sound, and of another form, whatever it is called.
_OTHERS = {
    b"\xfd7zXZ\x00": "xz",
    b"\x5d\x00\x00": "lzma",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
}
_ENCRYPTED = 0x1 | 0x40
_SAYS_UTF8 = 0x800
_RECORDS = frozenset({tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE})
_EXTENDED = _RECORDS | {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
_RECORD = re.compile(rb"([0-9]{1,4}) [^=\n]{1,200}=")
_LONG_NUMBER = re.compile(rb"[0-9]{30}")
_NO_LINKS = "Only files and folders are read, no links or devices."
_LINKS_ADVICE = "Pack the file itself, or leave it out."
_TAR_MAGIC = slice(257, 262)
# Whatever a damaged archive makes the standard library raise: it documents little of it.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def read_archive(*, data: bytes, filename: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive with their paths as written. Raises `RefusedError`, and nothing else."""
    try:
        if data.startswith(_ZIP_MAGIC):
            yield from _zip(data)
        elif data.startswith(_GZIP_MAGIC):
            yield from _tar(_tar_in(_inflated(data), filename))
        elif data[_TAR_MAGIC] == b"ustar":
            yield from _tar(data)
        elif form := next((form for magic, form in _OTHERS.items() if data.startswith(magic)), ""):
            raise _not_read(f"The file is packed as {form}, which is not read.", filename)
        elif filename.lower().endswith(".tar"):
            yield from _tar(data)
        else:
            raise _not_read("The file is neither a zip nor a tar nor a tar.gz.", filename)
    except _DAMAGED as error:
        message, advice = "The archive is damaged.", "Pack the folder of the workflow again, and send it whole."
        raise RefusedError(ProblemCode.BAD_ARCHIVE, message, path=filename, suggestion=advice) from error


def _not_read(message: str, filename: str) -> RefusedError:
    advice = "Pack the folder of the workflow as .zip, .tar or .tar.gz."
    return RefusedError(ProblemCode.BAD_ARCHIVE, message, path=filename, suggestion=advice)


def _tar_in(inflated: bytes, filename: str) -> bytes:
    """What has no header of a tar at its beginning is something else; the oldest tars do not say what they are."""
    if inflated[_TAR_MAGIC] != b"ustar" and inflated[: tarfile.BLOCKSIZE].strip(b"\x00"):
        try:
            tarfile.TarInfo.frombuf(inflated[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
        except tarfile.TarError:
            raise _not_read("The gzip holds no tar.", filename) from None
    return inflated


class Meter:
    """Counts the members and bytes that were let in."""

    def __init__(self) -> None:
        self._members = 0
        self._bytes = 0

    def count(self) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise RefusedError(ProblemCode.TOO_MANY_FILES, f"There are more than {MAX_MEMBERS} files.")

    def admit(self, path: str, size: int) -> None:
        if size > MAX_FILE_BYTES:
            message = f"The file has {size} bytes; at most {MAX_FILE_BYTES} are read."
            raise RefusedError(ProblemCode.TOO_LARGE, message, path=path)
        self._bytes += size
        if self._bytes > MAX_TOTAL_BYTES:
            message = f"The files have more than {MAX_TOTAL_BYTES} bytes together."
            raise RefusedError(ProblemCode.ARCHIVE_BOMB, message, path=path)


def _zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    # Counted before the directory is read, since reading it makes an object of every entry.
    if data.count(_ZIP_ENTRY) > 2 * MAX_MEMBERS:
        raise RefusedError(ProblemCode.TOO_MANY_FILES, f"There are more than {MAX_MEMBERS} files.")
    meter = Meter()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        _refuse_overlap(members, len(data))
        for member in members:
            meter.count()
            _refuse_zip_member(member)
            path = _path_of(member)
            if member.is_dir():
                _check_folder(path)
                continue
            meter.admit(path, member.file_size)
            with archive.open(member) as stream:
                yield path, stream.read(member.file_size + 1)


def _path_of(member: zipfile.ZipInfo) -> str:
    """Some systems write names in UTF-8 and do not say so; the library then reads them as the oldest did."""
    if member.flag_bits & _SAYS_UTF8:
        return member.orig_filename
    try:
        return member.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.orig_filename


def _refuse_overlap(members: list[zipfile.ZipInfo], packed: int) -> None:
    """Members that share their compressed bytes are small one by one and a bomb together."""
    _refuse_ratio("", sum(max(member.file_size, 0) for member in members), packed)


def _refuse_zip_member(member: zipfile.ZipInfo) -> None:
    path = _path_of(member)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise RefusedError(ProblemCode.SYMLINK, _NO_LINKS, path=path, suggestion=_LINKS_ADVICE)
    if member.flag_bits & _ENCRYPTED:
        message = "The file is encrypted."
        raise RefusedError(ProblemCode.BAD_ARCHIVE, message, path=path, suggestion="Pack it without a password.")
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        message = "The file is packed by a method that is not read."
        raise RefusedError(ProblemCode.BAD_ARCHIVE, message, path=path, suggestion="Use deflate, which is the default.")
    _refuse_ratio(path, member.file_size, member.compress_size)


def _check_folder(path: str) -> None:
    if path.rstrip("/") not in {"", "."}:
        checked_path(path.rstrip("/"))


def _refuse_ratio(path: str, size: int, packed: int) -> None:
    if size > RATIO_FLOOR_BYTES and size > MAX_RATIO * packed:
        message = f"{packed} bytes would become {size}: more than {MAX_RATIO} times as many."
        raise RefusedError(ProblemCode.ARCHIVE_BOMB, message, path=path)


def _inflated(data: bytes) -> bytes:
    """What is in a gzip of one or more parts. What follows a part is copied to find the next, so there may be few of them."""
    whole = io.BytesIO()
    rest = data
    parts = 0
    while rest.startswith(_GZIP_MAGIC):
        parts += 1
        if parts > MAX_GZIP_PARTS:
            message = f"The gzip has more than {MAX_GZIP_PARTS} parts."
            raise RefusedError(ProblemCode.ARCHIVE_BOMB, message, suggestion="Pack the folder in one go.")
        part = zlib.decompressobj(_GZIP_WINDOW)
        while True:
            chunk = part.decompress(rest, _CHUNK_BYTES)
            whole.write(chunk)
            _refuse_inflated(whole.tell(), len(data))
            if part.eof:
                break
            rest = part.unconsumed_tail
            if not chunk and not rest:
                raise EOFError
        rest = part.unused_data
    if rest.strip(b"\x00"):
        raise EOFError
    return whole.getvalue()


def _refuse_inflated(size: int, packed: int) -> None:
    _refuse_ratio("", size, packed)
    if size > _MAX_TAR_BYTES:
        message = f"The archive would become more than {_MAX_TAR_BYTES} bytes."
        raise RefusedError(ProblemCode.ARCHIVE_BOMB, message)


class _PlainTarInfo(tarfile.TarInfo):
    """A member whose headers are no work: what extends them is small, and nothing is sparse. The library asks neither."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _EXTENDED and self.size > MAX_TAR_HEADER_BYTES:
            message = f"A header has {self.size} bytes; at most {MAX_TAR_HEADER_BYTES} are read."
            raise RefusedError(ProblemCode.ARCHIVE_BOMB, message, path=self.name)
        if self.type in _RECORDS and archive.fileobj is not None:
            records = archive.fileobj.read(self.size)
            archive.fileobj.seek(archive.fileobj.tell() - len(records))
            _refuse_odd_records(records, self.name)
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise _sparse(self)
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]  # made to be overridden, and untyped

    def _proc_gnusparse_10(self, member: tarfile.TarInfo, *_rest: object) -> None:
        raise _sparse(member)


def _refuse_odd_records(records: bytes, path: str) -> None:
    """The library looks for what it wants by patterns that go over the same bytes again and again; here they cannot."""
    at = 0
    while at < len(records) and records[at]:
        found = _RECORD.match(records, at)
        if found is None or not int(found[1]):
            raise tarfile.ReadError(path)
        at += int(found[1])
    if _LONG_NUMBER.search(records):
        raise tarfile.ReadError(path)


def _sparse(member: tarfile.TarInfo) -> RefusedError:
    return RefusedError(ProblemCode.BAD_ARCHIVE, "The file has no size that can be true.", path=member.name)


def _tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    if len(data) > _MAX_TAR_BYTES:
        raise RefusedError(ProblemCode.TOO_LARGE, f"The archive has more than {_MAX_TAR_BYTES} bytes.")
    meter = Meter()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8", tarinfo=_PlainTarInfo) as archive:
        while (member := archive.next()) is not None:
            meter.count()
            _refuse_tar_member(member)
            if member.isdir():
                _check_folder(member.name)
                continue
            meter.admit(member.name, member.size)
            stream = archive.extractfile(member)
            yield member.name, b"" if stream is None else stream.read()
        _refuse_cut(archive, data)


def _refuse_tar_member(member: tarfile.TarInfo) -> None:
    if member.size < 0 or member.issparse():
        raise _sparse(member)
    if not (member.isreg() or member.isdir()):
        raise RefusedError(ProblemCode.SYMLINK, _NO_LINKS, path=member.name, suggestion=_LINKS_ADVICE)


def _refuse_cut(archive: tarfile.TarFile, data: bytes) -> None:
    """A header that cannot be read is the end for tarfile; the true end is zeros, or nothing."""
    if data[archive.offset : archive.offset + tarfile.BLOCKSIZE].strip(b"\x00"):
        raise tarfile.ReadError(f"damaged at byte {archive.offset}")
