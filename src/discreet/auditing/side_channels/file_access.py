"""A dataset that notices when it is read: Parquet in a file system of our own, which calls back for every opening.

A session reads it as it reads any Parquet, through Arrow. What was charged at the moment of reading is thus seen from
outside, without touching the session.
"""

import io
from collections.abc import Callable
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import dataset, fs, parquet

_NAME = "rows.parquet"


def _nothing() -> None:
    """No callback."""


class Noticing(fs.FileSystemHandler):  # type: ignore[misc]
    """One Parquet file in memory; `opened` is called whenever somebody reads it, and may raise."""

    def __init__(self, table: pa.Table) -> None:
        written = io.BytesIO()
        parquet.write_table(table, written)
        self._rows = written.getvalue()
        self.opened: Callable[[], None] = _nothing

    def forget(self) -> None:
        """Drop the callback: Arrow holds it, where Python's garbage collector does not look."""
        self.opened = _nothing

    def dataset(self) -> Any:
        """The file as a dataset that a session takes."""
        return dataset.dataset(_NAME, filesystem=fs.PyFileSystem(self), format="parquet")

    def get_type_name(self) -> str:
        """The name of this kind of file system."""
        return "noticing"

    def normalize_path(self, path: str) -> str:
        """Paths are as they are."""
        return path

    def get_file_info(self, paths: list[str]) -> list[Any]:
        """There is one file."""
        kinds = [fs.FileType.File if path == _NAME else fs.FileType.NotFound for path in paths]
        return [fs.FileInfo(path, kind) for path, kind in zip(paths, kinds, strict=True)]

    def get_file_info_selector(self, selector: Any) -> list[Any]:  # noqa: ARG002 - Arrow calls it so
        """No directory."""
        return []

    def open_input_file(self, path: str) -> Any:  # noqa: ARG002 - there is one
        """The rows, after the callback."""
        self.opened()
        return pa.BufferReader(self._rows)

    open_input_stream = open_input_file

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise OSError("this file is only read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse
