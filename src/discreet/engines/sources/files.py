"""Which files a path, a glob, a directory or a URI names, and Parquet files as rows that no cell can make unreadable.

A folder named like `ward=A` is a column, as Spark, Hive, DuckDB and Arrow write it. Its values are text, always: a type
never depends on which folders there are. A folder's name may be a person's, so what a listing finds is never printed;
errors show what the owner typed, and names of columns. Only names and schemas are read here, never a row.
"""

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import pyarrow as pa
from pyarrow import fs, parquet

from discreet.engines.sources.arrow_types import distinct_names, transport_schema, unreadable_columns
from discreet.errors import SourceError

if TYPE_CHECKING:
    from pyarrow import dataset

PARQUET = (".parquet", ".pq")
_SCHEMES = ("file", "s3", "gs")
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://([^/?#]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)")
# a password may hold / ? and #, although it should not, and half of it would be taken for the host or the path
_CREDENTIALS = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+://)[^@]*:.*@", re.DOTALL)
_READERS = 8
_UNOPENED = (OSError, ValueError, pa.ArrowException)

Folders = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class File:
    """One file, the columns that its folders name, and its row groups where only some of them are meant."""

    path: str
    folders: Folders = ()
    row_groups: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Files:
    """The files of one place, with the public identity of the place."""

    identity: str
    files: tuple[File, ...]
    filesystem: fs.FileSystem

    @property
    def is_local(self) -> bool:
        """Whether the files lie on a disk of this machine."""
        return isinstance(self.filesystem, fs.LocalFileSystem)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the files are, for an engine that opens them itself; nothing where only Arrow can."""
        return tuple(file.path for file in self.files) if self.is_local else ()

    @property
    def ending(self) -> str:
        """The ending that all files share."""
        return _ending(self.files[0].path)


@dataclass(frozen=True)
class ParquetRows:
    """Parquet files that are read so that no cell can fail: the schema as written, and what had to be left out."""

    dataset: "dataset.Dataset"
    schema: pa.Schema
    unreadable: Mapping[str, str]
    folders: tuple[str, ...]


def is_uri(location: str) -> bool:
    """Whether a location names its scheme, as s3://bucket/visits does."""
    return _URI.match(location) is not None


def public_location(location: str) -> str:
    """A location as it may be shown and kept: a URI without user, password, query and fragment."""
    parts = _URI.match(_CREDENTIALS.sub(r"\g<scheme>", location))
    return f"{parts['scheme'].lower()}://{parts['host']}{parts['path']}" if parts else location


def resolve_location(location: str, beside: Path) -> str:
    """The absolute location of a source in a catalog: a URI as it is, a path relative to the catalog."""
    return location if is_uri(location) else str(beside / location)


def find_files(location: str) -> Files:
    """Find the files that a path, a glob, a directory or a URI names."""
    uri = _URI.match(location)
    place = _on_disk(location, fs.LocalFileSystem()) if uri is None else _behind(uri)
    return _check_files(place, public_location(location))


def parquet_rows(place: Files, wanted: Sequence[str] | None = None) -> ParquetRows:
    """Parquet files, and the columns that their folders name, as rows; only some columns where they are wanted."""
    names = _one_set_of_folders(place.files)
    written = _one_schema(place)
    for name in names:
        if name.casefold() in (field.name.casefold() for field in written):
            raise SourceError(
                f"column {name!r}, in the files and in the names of their folders",
                because="the two could have different values in one row",
                instead="files without that column, or folders without its name",
            )
    whole = pa.schema([*written, *(pa.field(name, pa.string()) for name in names)])
    distinct_names(whole.names)
    left = unreadable_columns(whole, is_parquet=True)
    left |= {name: "no file has a column of that name" for name in wanted or () if name not in whole.names}
    kept = whole.names if wanted is None else wanted
    schema = pa.schema([each for each in whole if each.name in kept and each.name not in left])
    return ParquetRows(
        _transport_dataset(place, schema), schema, left, tuple(name for name in names if name in schema.names)
    )


def files_of(given: Any) -> tuple[Files, tuple[str, ...]]:
    """The files of a pyarrow dataset, and the columns that it shows; what is not plain Parquet is refused."""
    from pyarrow import dataset  # noqa: PLC0415 - it imports pandas wherever pandas is installed

    if not isinstance(given, dataset.FileSystemDataset) or not isinstance(given.format, dataset.ParquetFileFormat):
        raise SourceError(
            f"a pyarrow dataset of type {type(given).__name__} that is not of Parquet files alone",
            because="only Parquet files and tables can be read so that no cell makes reading fail",
            instead='dp.protect(dataset.to_table(), name="visits", ...), or the path of the files',
        )
    try:
        files = tuple(_file_of(fragment, given.schema.names) for fragment in given.get_fragments())
    except _UNOPENED:
        files = ()
    if not files or any(file.path == "<Buffer>" for file in files):
        raise SourceError(
            "a pyarrow dataset that cannot be read anew",
            because="it has no readable file, has a filter, or holds bytes in memory",
            instead='dp.protect(dataset.to_table(), name="visits", ...), or a dataset of files, without a filter',
        )
    return Files("memory", files, given.filesystem), tuple(given.schema.names)


def _behind(uri: re.Match[str]) -> Files:
    filesystem, path = _resolve_uri(uri)
    if isinstance(filesystem, fs.LocalFileSystem):
        return _on_disk(path, filesystem)
    if glob.has_magic(path):
        raise SourceError(
            f"a pattern in a URI: {public_location(uri.string)!r}",
            because="patterns are matched on a disk of this machine only",
            instead="the directory, which is read with all its Parquet files",
        )
    identity = f"{uri['scheme'].lower()}://{path.rstrip('/')}"
    return Files(identity, tuple(_below(filesystem, path, path)), filesystem)


def _resolve_uri(uri: re.Match[str]) -> tuple[fs.FileSystem, str]:
    """The file system and the path of a URI; a driver's message may hold a password, so it is not passed on."""
    scheme, host = uri["scheme"].lower(), uri["host"]
    if scheme not in _SCHEMES:
        raise SourceError(
            f"a location that begins with {scheme + '://'!r}",
            because=f"discreet reads {', '.join(known + '://' for known in _SCHEMES)} and local paths",
            instead='"s3://bucket/visits/", or a pyarrow.dataset.Dataset of Parquet files on any file system',
        )
    try:
        if ":" in host or bool(host) == (scheme == "file"):
            raise ValueError  # half a password that holds a slash would be taken for a path
        filesystem, path = fs.FileSystem.from_uri(scheme + uri.string[len(scheme) :])
    except _UNOPENED:
        raise SourceError(
            f"a location that begins with {scheme + '://'!r} and cannot be opened",
            because="it is no URI, or Arrow has no client for it",
            instead='"s3://bucket/visits/", with keys from the environment or a configuration file',
        ) from None
    return filesystem, path


def _on_disk(pattern: str, disk: fs.LocalFileSystem) -> Files:
    """What a path or a glob names; folders count as columns from the first part of a glob that is a pattern."""
    whole = os.path.abspath(pattern)  # noqa: PTH100 - without '..', so that one file has one name; links stay
    fixed = Path(whole)
    matches = [fixed]
    if glob.has_magic(pattern):
        matches = [Path(match).absolute() for match in glob.glob(pattern, recursive=True)]  # noqa: PTH207 - absolute too
        while glob.has_magic(str(fixed)):
            fixed = fixed.parent
    files = {file.path: file for match in matches for file in _below(disk, match.as_posix(), fixed.as_posix())}
    if len({os.path.realpath(path) for path in files}) != len(files):
        raise SourceError(
            f"the same file twice in {pattern!r}",
            because="a symbolic link would count the rows of its target twice",
            instead="files without links among them",
        )
    return Files(whole, tuple(files[path] for path in sorted(files)), disk)


def _below(filesystem: fs.FileSystem, path: str, root: str) -> list[File]:
    """A file itself, or every file of a directory; folders are columns below `root`."""
    try:
        info = filesystem.get_file_info(path)
        is_directory = info.type == fs.FileType.Directory
        infos = filesystem.get_file_info(fs.FileSelector(path, recursive=True)) if is_directory else [info]
        paths = sorted(each.path for each in infos if each.type == fs.FileType.File)
    except _UNOPENED:
        raise SourceError(
            "a place whose files cannot be listed",
            because="it cannot be reached or read, or a name in it is not UTF-8",
            instead="a place that this process may read, with names in UTF-8",
        ) from None
    start = len(root.rstrip("/")) + 1
    parts = {each: each[start:].split("/") for each in paths}
    seen = [File(each, _folders(parts[each][:-1])) for each in paths if not any(map(_is_hidden, parts[each]))]
    if is_directory and any(_ending(file.path) not in PARQUET for file in seen):
        raise SourceError(
            "a directory with other files than Parquet",
            because="a directory is read as Parquet, and other files would be left out",
            instead='a glob that names one kind: "visits/**/*.parquet" or "visits/*.csv"',
        )
    return seen


def _is_hidden(name: str) -> bool:
    """Whether a name is one that writers leave beside their data: _SUCCESS, _temporary, .part-0.parquet.crc."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _folders(segments: Iterable[str]) -> Folders:
    """The columns in the names of folders; bytes, because what is behind % need not be text."""
    named = [segment.partition("=") for segment in segments if "=" in segment]
    return tuple(
        (
            unquote_to_bytes(name).decode("utf-8", "replace"),
            None if value == _MISSING else unquote_to_bytes(value),
        )
        for name, _, value in named
    )


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


def _check_files(place: Files, location: str) -> Files:
    """Files of one kind, at least one, with names that no engine takes for a pattern."""
    if not place.files:
        is_directory = place.is_local and Path(place.identity).is_dir()
        raise SourceError(
            f"no file at {location!r}",
            because="no Parquet file is in that directory" if is_directory else "nothing is there",
            instead="the path of an existing file, or a glob",
        )
    if any(glob.has_magic(file.path) for file in place.files):
        raise SourceError(
            "a file whose name has one of the characters * ? [",
            because="the engine would take the name for a pattern and read other files",
            instead="files with other names",
        )
    endings = {_ending(file.path) for file in place.files}
    if len(endings) > 1 and not endings <= set(PARQUET):
        raise SourceError(
            f"files of more than one kind at {location!r}",
            because="a glob is read as one kind",
            instead='a glob that names one: "visits/*.parquet" or "visits/*.csv"',
        )
    return place


def _file_of(fragment: Any, columns: Sequence[str]) -> File:
    from pyarrow import dataset  # noqa: PLC0415 - it imports pandas wherever pandas is installed

    keys = dataset.get_partition_keys(fragment.partition_expression)
    typed = dict(_folders(fragment.path.split("/")[:-1]))
    folders = tuple((name, _key(keys[name], typed.get(name))) for name in columns if name in keys)
    ids = tuple(group.id for group in fragment.row_groups)
    return File(fragment.path, folders, None if len(ids) == fragment.metadata.num_row_groups else ids)


def _key(value: object, typed: bytes | None) -> bytes | None:
    """What a dataset says of a folder, as text; where it made a number of it (007), the folder's own text."""
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else typed or str(value).encode()


def _one_set_of_folders(files: Sequence[File]) -> tuple[str, ...]:
    names = {tuple(name for name, _ in file.folders) for file in files}
    if len(names) != 1:
        raise SourceError(
            "Parquet files in folders that name different columns",
            because="a column would be there for some rows only",
            instead="folders of one form for every file: visits/year=2026/ward=A/part-0.parquet",
        )
    return names.pop()


def _one_schema(place: Files) -> pa.Schema:
    """The schema that all Parquet files share: a cast between two of them could fail on a single cell."""

    def schema_of(file: File) -> pa.Schema:
        return parquet.read_schema(file.path, filesystem=place.filesystem).remove_metadata()

    try:
        with ThreadPoolExecutor(_READERS) as readers:
            schemas = list(readers.map(schema_of, place.files))
    except _UNOPENED:
        schemas = []
    if not schemas:
        raise SourceError(
            "a Parquet file that cannot be opened",
            because="its schema cannot be read",
            instead="a Parquet file, as pyarrow, DuckDB, Spark or pandas write it",
        )
    if any(schema != schemas[0] for schema in schemas):
        raise SourceError(
            "Parquet files with different schemas",
            because="their columns differ in name, order or type",
            instead="files with one and the same schema",
        )
    return schemas[0]


def _transport_dataset(place: Files, schema: pa.Schema) -> "dataset.Dataset":
    """The files as a dataset in the transport schema; each file holds the names of its folders."""
    from pyarrow import dataset  # noqa: PLC0415 - it imports pandas wherever pandas is installed

    from discreet.engines.sources.parquet_scan import Piecewise  # noqa: PLC0415 - so does it

    gathered = dataset.ParquetFragmentScanOptions(pre_buffer=not place.is_local)  # worth its memory over a network only
    form = dataset.ParquetFileFormat(default_fragment_scan_options=gathered)

    def fragment(file: File) -> Any:
        partition = dataset.scalar(True)
        for name, value in (each for each in file.folders if each[0] in schema.names):
            column = dataset.field(name)
            partition &= column.is_null() if value is None else column == pa.scalar(value, pa.binary())
        groups = None if file.row_groups is None else list(file.row_groups)
        return form.make_fragment(file.path, place.filesystem, partition, row_groups=groups)

    return Piecewise(list(map(fragment, place.files)), transport_schema(schema), form, place.filesystem)
