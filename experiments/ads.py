"""Hotel ads in the form that field segmentation asks for: what is derived from tokens and labels.

The Craigslist ads of the papers are not available. `hotel-ads` are hotel postings with three fields (star rating, hotel name, local
area); a token is labelled `none` where it is in no field. View by view:

- `Token`: the paper replaces numbers, dates, times, telephone numbers, URLs and e-mail addresses, found by regular expressions; so
  it is here, prices are numbers of their own, and all other tokens stay as they are (they are in lower case);
- `Next(p1, p2)`: p2 comes right after p1, as the papers write it;
- `HasPunc`: a position whose token is punctuation or ends with it. Here punctuation has positions of its own;
- `InField`: the labels, without `none`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

import sqlrl

ADS: dict[str, tuple[str, ...]] = {
    "Token": ("token", "position", "ad"),
    "Next": ("position", "position"),
    "HasPunc": ("ad", "position"),
    "InField": ("ad", "field", "position"),
}
"""The predicates, with the types of their arguments in the order of the views' columns."""

DECLARED = "\n".join(f"{name}({', '.join(types)})" for name, types in ADS.items())

EXCLUSION = "InField(c, f1, p) ^ f1 != f2 => !InField(c, f2, p)."
"""At most one field a position."""

ISM = """\
Token(+t, p, c) => InField(c, +f, p)
Next(p1, p2) ^ !HasPunc(c, p1) ^ InField(c, +f, p1) => InField(c, +f, p2)
"""
"""The linear chain with transitions within fields alone, and punctuation as boundaries (Huynh and Mooney 2011, section 4.2)."""

MODES = """\
modeP(2, Token(#-,+,.))
modeP(1, Next(-,-))
modeP(2, HasPunc(.,+))
modeP(2, InField(.,#.,+))
"""
"""The lines of CiteSeer's `osl-modes.txt` for the predicates that there are."""

VIEWS = r"""
CREATE MACRO place(i) AS 'p' || lpad(CAST(i AS VARCHAR), 2, '0');
CREATE MACRO class(token) AS CASE
    WHEN regexp_full_match(token, '(https?://|www\.)\S+') THEN '<url>'
    WHEN regexp_full_match(token, '[^@\s]+@[^@\s]+\.[a-z]+') THEN '<email>'
    WHEN regexp_full_match(token, '\(?\d{3}\)?[-./]?\d{3}[-.]\d{4}') THEN '<phone>'
    WHEN regexp_full_match(token, '\d{1,2}:\d{2}([ap]m)?|\d{1,2}[ap]m') THEN '<time>'
    WHEN regexp_full_match(token, '\d{1,2}/\d{1,2}(/(\d{2}|\d{4}))?|\d{1,2}-\d{1,2}-(\d{2}|\d{4})') THEN '<date>'
    WHEN regexp_full_match(token, '\$\d+(,\d{3})*(\.\d+)?|\d+(\.\d+)?\$') THEN '<price>'
    WHEN regexp_full_match(token, '\d+(,\d{3})*(\.\d+)?') THEN '<number>'
    ELSE token END;

CREATE VIEW "Token" AS SELECT class(token) AS token, place(position) AS position, ad FROM tagged;
CREATE VIEW "Next" AS SELECT DISTINCT place(position) AS p1, place(position + 1) AS p2 FROM tagged
WHERE position < (SELECT max(position) FROM tagged);
CREATE VIEW "HasPunc" AS
SELECT ad, place(position) AS position FROM tagged WHERE regexp_matches(token, '[[:punct:]]$') AND NOT regexp_matches(token, '\d\*$');
CREATE VIEW "InField" AS SELECT ad, field, place(position) AS position FROM tagged WHERE field <> 'none';
"""


def derive(folder: str | Path) -> dict[str, pa.Table]:
    """Derive the facts of all predicates.

    Parameters
    ----------
    folder : path
        Has `token.parquet`: ad, position, token, field.

    Returns
    -------
    dict of str to pyarrow.Table
        By predicate, columns in the order of its arguments.
    """
    with duckdb.connect(":memory:") as connection:
        connection.read_parquet(str(Path(folder) / "token.parquet")).create("tagged")
        connection.execute(VIEWS)
        found = {name: connection.table(name) for name in ADS}
        # Examples come in the order of the rows of the first predicate that is loaded.
        return {
            name: rows.order("ad, position" if "ad" in rows.columns else "ALL").to_arrow_table()
            for name, rows in found.items()
        }


def load_ads(db: sqlrl.Database, folder: str | Path) -> None:
    """Load the ads: one example an ad, `InField` the target."""
    tables = derive(folder)
    for name, types in ADS.items():
        db.load(name, tables[name], types=types, example="ad" if "ad" in types else None, target=name == "InField")


def starting_model(start: str) -> sqlrl.Model:
    """Return the model that a learner starts from: "ISM" or "Empty"; a position has at most one field in both."""
    rules = ISM if start == "ISM" else ""
    return sqlrl.parse_mln(f"{DECLARED}\n{rules}{EXCLUSION}", query=("InField",))
