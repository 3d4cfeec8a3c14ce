"""Import of hierarchy files of ARX, the open-source tool for anonymising data.

Such a file has no header and one line for each value; column i is level i. ARX writes semicolons, double quotes that
are escaped by doubling (class `CSVSyntax` of ARX), and usually `*` as the last column. Files whose levels are not
monotone are refused, and so are columns with values that the file does not list. ARX refuses both too
(`GeneralizationHierarchy.checkMonotonicity`, and the constructor of that class).
"""

from pathlib import Path

from discreet.anonymity.generalisation.hierarchies.category_tree import (
    CategoryHierarchy,
    hierarchy_of,
    read_rows,
    read_text,
)
from discreet.errors import ParameterError, short_traceback


@short_traceback
def from_arx(path: str | Path, *, delimiter: str = ";", quote: str = '"', encoding: str = "utf-8") -> CategoryHierarchy:
    r"""Hierarchy from a CSV file that ARX wrote or reads.

    Values are compared as text: the number 5 is the line that begins with `5`. A missing cell needs no line; it stays
    missing until the highest level. The text `NULL` is a value like others.

    Args:
        path: Path of the file: one line for each value, column i is level i, without a header.
        delimiter: Character between cells. Default `;`, as in ARX.
        quote: Character around cells; doubled inside them. Default `"`, as in ARX.
        encoding: Character set of the file. Default UTF-8.

    Returns:
        A hierarchy; its highest level is `*`, whether or not the file has that column.

    Raises:
        ParameterError: If lines differ in length or contradict each other, or if the levels are not monotone.
        SourceError: If the file cannot be read.

    Example:
        >>> import discreet as dp
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "education.csv"
        ...     _ = file.write_text("Masters;Graduate;*\nDoctorate;Graduate;*\nBachelors;Undergraduate;*\n")
        ...     dp.anonymity.hierarchies.from_arx(file).height
        2
    """
    for name, value in (("delimiter", delimiter), ("quote", quote)):
        if len(value) != 1:
            raise ParameterError(
                f"{name}={value!r}", because=f"{name} is one character", instead='delimiter=";", quote=\'"\''
            )
    rows = read_rows(read_text(Path(path), encoding), str(path), delimiter=delimiter, quote=quote)
    return hierarchy_of(rows, repr(str(path)))
