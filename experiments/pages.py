"""What the experiments on web pages share: the pages of four universities, their model, and the folds.

The pages were rebuilt from the original HTML, so that they are 4,152 with 10,322 links, where the thesis has 4,165 and 10,935, and
the class `staff` stands for its `professor`. Each university is one example: every fact says which one it is of.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

import sqlrl
from sqlrl.evaluate import Fold, leave_one_group_out

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
"""The folds."""

WEBKB: dict[str, tuple[str, ...]] = {
    "Has": ("word", "page", "university"),
    "Linked": ("page", "page", "university"),
    "PageClass": ("class", "page", "university"),
}
"""The predicates, with the types of their arguments in the order of the views' columns."""

NOTE = "pages rebuilt from the HTML: 4,152 pages and 10,322 links (thesis: 4,165 and 10,935), `staff` for `professor`"
"""What every table says of the data."""

RULES = """\
Has(+word, page, u) => PageClass(+class, page, u)
!Has(+word, page, u) => PageClass(+class, page, u)
PageClass(+c1, p1, u) ^ Linked(p1, p2, u) => PageClass(+c2, p2, u)
"""
"""The model of Lowd and Domingos (2007), with the university as one more argument."""

VIEWS = """
CREATE VIEW chosen AS SELECT page, university FROM page_file
QUALIFY row_number() OVER (
    PARTITION BY university ORDER BY page NOT IN (SELECT page FROM page_class_file), page
) <= $most;
CREATE VIEW "Has" AS SELECT word, page, university FROM has_file JOIN chosen USING (page);
CREATE VIEW "Linked" AS SELECT page1, page2, a.university FROM linked_file
JOIN chosen AS a ON a.page = page1 JOIN chosen AS b ON b.page = page2;
CREATE VIEW "PageClass" AS SELECT class, page, university FROM page_class_file JOIN chosen USING (page);
"""


def read_pages(folder: str | Path, most: int | None = None) -> dict[str, pa.Table]:
    """Read the facts of all predicates, and the pages.

    Parameters
    ----------
    folder : path
        Has the Parquet files of the pages.
    most : int, optional
        The most pages of a university, those with a class first: most have none, and few pages would have next to no classes.

    Returns
    -------
    dict of str to pyarrow.Table
        By predicate, columns in the order of its arguments; and "Page": page, university.
    """
    with duckdb.connect(":memory:") as connection:
        for name in ("page", "has", "linked", "page_class"):
            connection.read_parquet(str(Path(folder) / f"{name}.parquet")).create(f"{name}_file")
        connection.execute(VIEWS.replace("$most", str(most if most is not None else 1 << 40)))
        found = {name: connection.table(name).order("ALL").to_arrow_table() for name in WEBKB}
        return found | {"Page": connection.table("chosen").order("ALL").to_arrow_table()}


def load_pages(db: sqlrl.Database, pages: dict[str, pa.Table]) -> None:
    """Load the pages: one example a university, `PageClass` the target of every page and class."""
    for name, types in WEBKB.items():
        db.load(name, pages[name], types=types, example="university", target=name == "PageClass")
    # Some pages have neither words nor links nor a class: as facts of their own they are in the domain, and so in the scope.
    db.load("Page", pages["Page"], types=("page", "university"), example="university")


def starting_model() -> sqlrl.Model:
    """Return the model without weights."""
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in WEBKB.items())
    return sqlrl.parse_mln(f"{declared}\n{RULES}", query=("PageClass",))


def university_folds() -> list[Fold[str]]:
    """Return the four folds, a university held out in each."""
    return leave_one_group_out(UNIVERSITIES, UNIVERSITIES)
