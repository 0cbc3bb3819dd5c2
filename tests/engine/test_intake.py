"""Archives and directories are let in whole, or refused with a code before anything of them is kept."""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import time
import tracemalloc
import unicodedata
import zipfile

import pytest

from tests.activity_folders import codes
from workflows_app.engine.archives import MAX_FILE_BYTES, MAX_MEMBERS, MAX_TOTAL_BYTES
from workflows_app.engine.intake import normalise_paths, unpack
from workflows_app.engine.problems import ProblemCode, Severity

FILES = {"workflow.toon": b"id: x\n", "activities/01-a.toon": b"id: a\n"}


def zipped(members, *, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(members, *, packed=True, form=tarfile.PAX_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if packed else "w", format=form) as archive:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def packed_in_every_way(members):
    return [
        ("a.zip", zipped(members)),
        ("a.zip", zipped(members, compression=zipfile.ZIP_STORED)),
        ("a.tar.gz", tarred(members)),
        ("a.tgz", tarred(members, form=tarfile.GNU_FORMAT)),
        ("a.tar", tarred(members, packed=False)),
        ("a.tar", tarred(members, packed=False, form=tarfile.USTAR_FORMAT)),
    ]


def refused(data, filename="a.zip"):
    files, problems = unpack(data=data, filename=filename)
    assert files == {}
    assert problems
    assert {problem.severity for problem in problems} == {Severity.ERROR}
    return problems


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_the_same_files_come_out_of_every_kind_of_archive():
    for filename, data in packed_in_every_way(list(FILES.items())):
        assert unpack(data=data, filename=filename) == (FILES, ())


def named_otherwise(name):
    """A zip of one file whose name stands there in these bytes, without a word of what they are written in."""
    data = zipped([("x" * len(name), b"# Style\n")]).replace(b"x" * len(name), name)
    assert data.count(name) == 2
    return data


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "name", ["resources/übersicht.md", "resources/計画 1.md", "resources/plan.md", "resources/🙂.md"]
)
def test_names_in_utf_8_are_read_where_the_archive_does_not_say_so(name, form):
    files, problems = unpack(data=named_otherwise(unicodedata.normalize(form, name).encode()), filename="a.zip")

    assert (files, problems) == ({name: b"# Style\n"}, ())


def test_names_of_the_oldest_systems_are_read_as_these_wrote_them():
    files, _ = unpack(data=named_otherwise("resources/über.md".encode("cp437")), filename="a.zip")
    assert list(files) == ["resources/über.md"]


@pytest.mark.parametrize("name", [b"../evil\xc3\xbc.md", b"a/\xe2\x80\xae/../../b.md", b"/\xc3\xbc.md"])
def test_a_name_in_utf_8_that_leads_elsewhere_is_refused(name):
    assert codes(refused(named_otherwise(name)))


def test_the_kind_is_told_by_the_bytes_and_not_by_the_name():
    assert unpack(data=zipped(FILES.items()), filename="a.tar.gz") == (FILES, ())
    assert unpack(data=tarred(FILES.items()), filename="a.zip") == (FILES, ())


def test_a_common_folder_at_the_top_is_taken_off():
    members = [("plan-main/", b""), *((f"plan-main/{path}", data) for path, data in FILES.items())]
    assert unpack(data=zipped(members), filename="a.zip") == (FILES, ())
    members = [(f"./plan/{path}", data) for path, data in FILES.items()]
    assert unpack(data=tarred(members), filename="a.tgz") == (FILES, ())


@pytest.mark.parametrize("paths", [["a/x", "b/x"], ["a/x", "y"], ["activities/01-a.toon"], ["x"]])
def test_folders_that_are_no_wrapping_stay(paths):
    files = dict.fromkeys(paths, b"")
    assert normalise_paths(files=files) == (files, ())


def test_what_systems_leave_behind_is_left_out():
    noise = dict.fromkeys(["__MACOSX/plan/._a", "plan/.DS_Store", "plan/._workflow.toon", "plan/deep/Thumbs.db"], b"")
    files, problems = unpack(data=zipped([*noise.items(), ("plan/workflow.toon", b"x")]), filename="a.zip")
    assert (files, problems) == ({"workflow.toon": b"x"}, ())


def test_archives_within_an_archive_are_not_opened():
    bomb = zipped([("bomb", b"\x00" * MAX_FILE_BYTES)])
    assert unpack(data=zipped([("inner.zip", bomb), ("x", b"")]), filename="a.zip")[0]["inner.zip"] == bomb


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "//server/x",
        "C:/x",
        "c:x",
        "a\\..\\x",
        "\\x",
        "a//b",
        "",
        ".",
        "./.",
        "a/.. /x",
        "a/.../x",
        " /x",
        "a/ ",
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(path):
    files, problems = normalise_paths(files={path: b"", "workflow.toon": b""})
    assert (files, codes(problems)) == ({}, ["path_traversal"])


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "C:/x", "a\\x", "a/.. /x"])
def test_paths_in_archives_are_refused_alike(path):
    for filename, data in packed_in_every_way([("ok", b""), (path, b"x")]):
        problems = refused(data, filename)
        assert (codes(problems), problems[0].file) == (["path_traversal"], path)


@pytest.mark.parametrize("folder", ["../out/", "/abs/"])
def test_a_folder_that_leads_elsewhere_is_refused_even_when_empty(folder):
    assert codes(refused(zipped([(folder, b""), ("x", b"")]))) == ["path_traversal"]
    assert codes(refused(tarred([(special(folder, tarfile.DIRTYPE), b"")]), "a.tgz")) == ["path_traversal"]


@pytest.mark.parametrize("path", ["a\x00b", "a\nb", "a\x7fb", "a\ud800b"])
def test_characters_that_no_path_may_have_are_refused_and_not_repeated(path):
    (problem,) = normalise_paths(files={path: b""})[1]
    assert (problem.code, problem.file) == (ProblemCode.BAD_CHARACTER, "a\ufffdb")


def test_a_nul_that_hides_the_rest_of_a_name_is_refused():
    data = zipped([("safe.toonXevil", b"x")]).replace(b"safe.toonXevil", b"safe.toon\x00evil")
    assert codes(refused(data)) == ["bad_character"]


@pytest.mark.parametrize("path", ["a/" * 300 + "x", "é" * 200, "x" * 256])
def test_a_path_that_is_too_long_is_refused(path):
    assert codes(normalise_paths(files={path: b""})[1]) == ["too_long"]


def test_all_wrong_paths_are_told_at_once():
    problems = refused(zipped([("../a", b""), ("/b", b""), ("c", b""), ("d\\e", b"")]))
    assert [(p.code.value, p.file) for p in problems] == [
        ("path_traversal", "../a"),
        ("path_traversal", "/b"),
        ("path_traversal", "d\\e"),
    ]


def test_paths_come_out_in_one_normal_form():
    files, problems = normalise_paths(files={"a/./b": b"1", unicodedata.normalize("NFD", "é"): b"2"})
    assert (files, problems) == ({"a/b": b"1", "é": b"2"}, ())


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "paths",
    [
        ("a", "a"),
        ("a", "./a"),
        ("é", unicodedata.normalize("NFD", "é")),
        ("a", "a/b"),
        ("A", "a/b/c"),
    ],
)
def test_paths_that_are_one_on_some_system_are_refused(paths):
    for filename, data in packed_in_every_way([(path, b"x") for path in paths]):
        assert codes(refused(data, filename)) == ["duplicate_path"]


@pytest.mark.parametrize("paths", [("README.md", "readme.md"), ("a/Plan.toon", "A/plan.toon"), ("STRASSE", "straße")])
def test_names_that_only_some_systems_take_for_one_are_two_files(paths):
    for filename, data in packed_in_every_way([(path, path.encode()) for path in (*paths, "x/y")]):
        assert unpack(data=data, filename=filename) == ({path: path.encode() for path in (*paths, "x/y")}, ())


# Kinds


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(kind):
    problems = refused(tarred([("ok", b"x"), (special("link", kind, "ok"), b"")]), "a.tar.gz")
    assert [(p.code.value, p.file, p.suggestion[:21]) for p in problems] == [
        ("symlink", "link", "Pack the file itself,")
    ]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(kind):
    info = zipfile.ZipInfo("link")
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    problems = refused(zipped([("ok", b"x"), (info, b"/etc/passwd")]))
    assert [(p.code.value, p.file, p.suggestion[:21]) for p in problems] == [
        ("symlink", "link", "Pack the file itself,")
    ]


def test_an_encrypted_zip_is_refused():
    data = bytearray(zipped([("secret", b"x" * 10)]))
    local, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    data[local + 6] |= 1
    data[central + 8] |= 1
    (problem,) = refused(bytes(data))
    assert (problem.code, problem.file) == (ProblemCode.BAD_ARCHIVE, "secret")
    assert "password" in problem.suggestion


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_whose_size_cannot_be_bounded_are_refused(compression):
    assert codes(refused(zipped([("x", b"x" * 1000)], compression=compression))) == ["bad_archive"]


@pytest.mark.parametrize(
    ("data", "filename"),
    [
        (b"", "a.zip"),
        (b"just text", "a.zip"),
        (b"PK\x03\x04", "a.zip"),
        (b"\x1f\x8b", "a.tgz"),
        (b"not a tar", "a.tar"),
        (gzip.compress(b"not a tar at all" * 100, mtime=0), "a.tgz"),
        (b"BZh91AY&SY", "a.tar.bz2"),
    ],
)
def test_what_is_no_archive_is_refused(data, filename):
    (problem,) = refused(data, filename)
    assert (problem.code, problem.file) == (ProblemCode.BAD_ARCHIVE, filename)


OTHERS = {
    "xz": lzma.compress(tarred([("a", b"x")], packed=False)),
    "lzma": lzma.compress(tarred([("a", b"x")], packed=False), format=lzma.FORMAT_ALONE),
    "bzip2": bz2.compress(tarred([("a", b"x")], packed=False)),
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(600),
    "7z": b"7z\xbc\xaf\x27\x1c" + bytes(600),
    "rar": b"Rar!\x1a\x07\x01\x00" + bytes(600),
}


@pytest.mark.parametrize("filename", ["a.tar.xz", "archive.tar", "archive.zip", "a.tgz", "a"])
@pytest.mark.parametrize("form", OTHERS)
def test_an_archive_of_another_form_is_named_and_which_are_read(form, filename):
    (problem,) = refused(OTHERS[form], filename)

    assert (problem.code, problem.file) == (ProblemCode.BAD_ARCHIVE, filename)
    assert form in problem.message
    assert "damaged" not in problem.message
    assert all(read in f"{problem.message} {problem.suggestion}" for read in (".zip", ".tar", ".tar.gz"))


def test_a_gzip_of_something_else_than_a_tar_is_not_called_damaged():
    (problem,) = refused(gzip.compress(b'{"id": "team.plan"}' * 100, mtime=0), "plan.json.gz")

    assert "no tar" in problem.message
    assert ".tar.gz" in problem.suggestion


def test_what_is_damaged_is_to_be_packed_again():
    assert "again" in refused(zipped([("a", b"hello world")])[:-8])[0].suggestion


def test_an_archive_that_was_cut_is_refused():
    members = [(f"f{number}", bytes(range(256)) * 40) for number in range(20)]
    for filename, data in packed_in_every_way(members):
        for part in (0.2, 0.5, 0.9):
            assert codes(refused(data[: int(len(data) * part)], filename)) == ["bad_archive"]


def test_a_header_in_the_middle_that_cannot_be_read_is_not_the_end():
    data = bytearray(tarred([("a", b"x" * 600), ("b", b"y" * 600)], packed=False, form=tarfile.USTAR_FORMAT))
    data[512 + 1024] ^= 0xFF
    assert codes(refused(bytes(data), "a.tar")) == ["bad_archive"]


def test_a_wrong_checksum_is_refused():
    data = bytearray(zipped([("a", b"hello world")], compression=zipfile.ZIP_STORED))
    data[data.index(b"hello")] ^= 1
    assert codes(refused(bytes(data))) == ["bad_archive"]


def test_an_empty_archive_has_no_files():
    assert unpack(data=zipped([]), filename="a.zip") == ({}, ())


# Bombs


@pytest.mark.parametrize("filename", ["a.zip", "a.tar.gz"])
def test_a_file_that_would_grow_a_hundredfold_is_refused(filename):
    pack = zipped if filename == "a.zip" else tarred
    assert codes(refused(pack([("bomb", b"\x00" * 3_000_000)]), filename)) == ["archive_bomb"]


def test_small_files_of_white_space_are_no_bomb():
    assert unpack(data=zipped([("x", b" " * 100_000)]), filename="a.zip")[1] == ()


def test_a_gzip_is_not_inflated_to_its_end():
    data = gzip.compress(b"\x00" * 200_000_000, compresslevel=9, mtime=0)
    tracemalloc.start()
    began = time.perf_counter()
    assert codes(refused(data, "a.tar.gz")) == ["archive_bomb"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(data) * 100 + 10_000_000
    assert time.perf_counter() - began < 5


def test_a_file_that_is_too_large_is_refused():
    data = bytes(range(256)) * (MAX_FILE_BYTES // 256) + b"x"
    for filename, archive in packed_in_every_way([("large", data)])[1:6:4]:
        assert codes(refused(archive, filename)) == ["too_large"]
    assert codes(normalise_paths(files={"large": data})[1]) == ["too_large"]


def test_files_that_are_too_large_together_are_refused():
    data = bytes(range(256)) * (MAX_FILE_BYTES // 256)
    count = MAX_TOTAL_BYTES // MAX_FILE_BYTES
    files = {f"f{number}": data for number in range(count)}
    assert normalise_paths(files=files)[1] == ()
    files["one-more"] = b"x"
    assert codes(normalise_paths(files=files)[1]) == ["archive_bomb"]
    assert codes(refused(tarred(files.items(), packed=False), "a.tar")) == ["archive_bomb"]


def test_members_that_share_their_bytes_are_a_bomb_together():
    one = zipped([("a", b"\x00" * 200_000)])
    central = one[one.index(b"PK\x01\x02") : one.index(b"PK\x05\x06")]
    entries = b"".join(central.replace(b"a", bytes([97 + number]), 1) for number in range(20))
    end = bytearray(one[one.index(b"PK\x05\x06") :])
    struct.pack_into("<HHL", end, 8, 20, 20, len(entries))
    assert codes(refused(one[: one.index(b"PK\x01\x02")] + entries + bytes(end))) == ["archive_bomb"]


@pytest.mark.parametrize("filename", ["a.zip", "a.tar"])
def test_too_many_files_are_refused(filename):
    members = [(f"f{number}", b"") for number in range(MAX_MEMBERS + 1)]
    data = zipped(members) if filename == "a.zip" else tarred(members, packed=False)
    assert codes(refused(data, filename)) == ["too_many_files"]
    assert codes(normalise_paths(files=dict(members))[1]) == ["too_many_files"]


def test_as_many_files_as_are_allowed_are_read():
    members = [(f"f{number}", b"") for number in range(MAX_MEMBERS)]
    assert len(unpack(data=zipped(members), filename="a.zip")[0]) == MAX_MEMBERS


def test_a_directory_of_a_hundred_thousand_entries_is_not_read():
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 100_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(directory), 4, 0)
    began = time.perf_counter()
    assert codes(refused(b"PK\x03\x04" + directory + end)) == ["too_many_files"]
    assert time.perf_counter() - began < 0.5


def test_a_size_that_a_member_lies_about_is_refused():
    data = bytearray(zipped([("a", b"x" * 5000)]))
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<L", data, central + 24, 10)
    assert codes(refused(bytes(data))) == ["bad_archive"]


def test_a_sparse_file_of_no_bytes_is_not_made_whole():
    info = tarfile.TarInfo("sparse")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(format=tarfile.GNU_FORMAT))
    header[386:398] = b"00000000000\x00"
    header[398:410] = b"00000000000\x00"
    header[483:495] = b"77777777777\x00"
    header[148:156] = b"        "
    header[148:156] = b"%06o\x00 " % sum(header[:512])
    assert codes(refused(bytes(header[:512]) + b"\x00" * 1024, "a.tar")) == ["bad_archive"]


def test_a_header_that_points_back_at_itself_ends():
    info = tarfile.TarInfo("again")
    header = bytearray(info.tobuf(format=tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 10 + b"\xfe\x00"
    header[148:156] = b"        "
    header[148:156] = b"%06o\x00 " % sum(header[:512])
    began = time.perf_counter()
    assert codes(refused(bytes(header[:512]) + b"\x00" * 1024, "a.tar")) == ["bad_archive"]
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("size", ["-512", "-1024", "99999999999999999999"])
def test_a_pax_header_cannot_send_the_reader_back(size):
    info = tarfile.TarInfo("x")
    info.pax_headers = {"size": size}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
        archive.addfile(tarfile.TarInfo("y"))
    began = time.perf_counter()
    refused(buffer.getvalue(), "a.tar")
    assert time.perf_counter() - began < 1
