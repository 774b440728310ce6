"""Cora references in the form of the CiteSeer data, so that the model for isolated segmentation applies to them.

McCallum's references have thirteen labels, punctuation as tokens, and no features. What they become, view by view:

- fields: author and title stay; venue, volume, pages, publisher, location, editor, institution, tech and note are the venue, as in
  CiteSeer, where the venue is all that follows the title; a date is venue if it follows the title, and has no field if it does not
  (CiteSeer's years after the authors have none); `none` is no field;
- tokens: words, numbers and parentheses are positions; other punctuation says what follows the word before it (`FollowBy`,
  `HasPunc`, `HasComma`). Words are in lower case and not stemmed, as those of CiteSeer are;
- `FirstNonAuthorTitleTkn`: the first word that speaks of a venue (the words that have this role in CiteSeer, and their long
  forms), or the length; `FirstIn`: the first "in", or the length; `LastInitial`: the last single letter before the former, or 0;
  `Center`: halfway between `LastInitial` and the first of both, where there is one. On CiteSeer's own facts this rule
  gives 960 of the 1,159 centres;
- references of more than 60 words, two run together or with long notes, are left out (42 of 1,879).
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

LONGEST = 60
"""The most positions of a reference."""

VENUE_WORDS = (
    "conf", "conference", "dissertation", "ieee", "journal", "nips", "press", "proc", "proceedings", "publisher", "publishers",
    "report", "rpt", "tech", "technical", "thesis", "trans", "transactions", "vol", "volume",
)  # fmt: skip

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip

VIEWS = """
CREATE MACRO is_position(token) AS regexp_matches(token, '[A-Za-z0-9]') OR token IN ('(', ')', '&');
CREATE MACRO place(i) AS 'p' || lpad(CAST(i AS VARCHAR), 2, '0');
CREATE MACRO word(token) AS 't' || CASE token WHEN '(' THEN 'lparen' WHEN ')' THEN 'rparen' WHEN '&' THEN 'and'
    ELSE regexp_replace(lower(token), '[^a-z0-9]', '', 'g') END;

CREATE TABLE placed AS
SELECT bib, position AS raw, token, field, is_position(token) AS own,
    count(*) FILTER (is_position(token)) OVER (PARTITION BY bib ORDER BY position) - 1 AS i,
    coalesce(min(position) FILTER (field = 'title') OVER (PARTITION BY bib), 0) AS title
FROM tagged
QUALIFY count(*) FILTER (is_position(token)) OVER (PARTITION BY bib) BETWEEN 1 AND getvariable('longest');

CREATE TABLE words AS
SELECT bib, i, word(token) AS token, count(*) OVER (PARTITION BY bib) AS length,
    CASE WHEN field IN ('author', 'title') THEN 'f' || field
        WHEN field = 'none' OR (field = 'date' AND raw < title) THEN NULL
        ELSE 'fvenue' END AS field
FROM placed WHERE own;

CREATE TABLE marks AS
SELECT DISTINCT p.bib, p.i, CASE p.token WHEN '.' THEN 'tperiod' WHEN ',' THEN 'tcomma' WHEN ':' THEN 'tcolon' WHEN '"' THEN 'tdquote'
    ELSE 'tother' END AS mark, length(w.token) = 2 AND w.token >= 'ta' AS initial
FROM placed p JOIN words w ON w.bib = p.bib AND w.i = p.i WHERE NOT p.own;

CREATE TABLE starts AS
SELECT bib, any_value(length) AS length,
    coalesce(min(i) FILTER (list_contains(getvariable('venue_words'), substr(token, 2))), any_value(length)) AS first_venue,
    coalesce(min(i) FILTER (token = 'tin'), any_value(length)) AS first_in
FROM words GROUP BY bib;

CREATE TABLE last_initials AS
SELECT s.bib, coalesce(max(w.i) FILTER (length(w.token) = 2 AND w.token >= 'ta' AND w.i < s.first_venue), 0) AS i
FROM starts s JOIN words w ON w.bib = s.bib GROUP BY s.bib;

CREATE VIEW "Token" AS SELECT token, place(i) AS position, bib FROM words;
CREATE VIEW "InField" AS SELECT bib, field, place(i) AS position FROM words WHERE field IS NOT NULL;
CREATE VIEW "FollowBy" AS SELECT bib, place(i) AS position, mark AS token FROM marks WHERE mark <> 'tother';
CREATE VIEW "HasPunc" AS
SELECT DISTINCT bib, place(i) AS position FROM marks WHERE NOT (initial AND mark = 'tperiod')
UNION
SELECT w.bib, place(w.i) FROM words w LEFT JOIN words n ON n.bib = w.bib AND n.i = w.i + 1
WHERE w.token IN ('tlparen', 'trparen') OR n.token IN ('tlparen', 'trparen');
CREATE VIEW "HasComma" AS SELECT DISTINCT bib, place(i) AS position FROM marks WHERE mark = 'tcomma';
CREATE VIEW "FirstNonAuthorTitleTkn" AS SELECT bib, place(first_venue) AS position FROM starts;
CREATE VIEW "FirstIn" AS SELECT bib, place(first_in) AS position FROM starts;
CREATE VIEW "LastInitial" AS SELECT bib, place(i) AS position FROM last_initials;
CREATE VIEW "Center" AS
SELECT s.bib, place(CAST(ceil((l.i + least(s.first_venue, s.first_in)) / 2) AS INTEGER)) AS position
FROM starts s JOIN last_initials l USING (bib) WHERE least(s.first_venue, s.first_in) < s.length;
CREATE VIEW "IsDate" AS SELECT DISTINCT token FROM words
WHERE regexp_matches(token, '^t(1[89][0-9][0-9]|20[0-2][0-9])$') OR list_contains(getvariable('months'), substr(token, 2));
CREATE VIEW "IsDigit" AS SELECT DISTINCT token FROM words
WHERE regexp_matches(token, '^t[0-9]') AND token NOT IN (SELECT token FROM "IsDate");
CREATE VIEW "IsAlphaChar" AS SELECT DISTINCT token FROM words WHERE length(token) = 2 AND token >= 'ta';
CREATE VIEW "Next" AS SELECT place(a.range + 1) AS p1, place(a.range) AS p2 FROM range(getvariable('longest')) a;
CREATE VIEW "LessThan" AS SELECT place(a.range) AS p1, place(b.range) AS p2 FROM range(getvariable('longest') + 1) a, range(getvariable('longest') + 1) b
WHERE a.range < b.range;
"""


def derive(folder: str | Path) -> dict[str, pa.Table]:
    """Return the predicates of the model for isolated segmentation, made from the tagged references.

    Parameters
    ----------
    folder : path
        Has `token.parquet`: bib, position, token, field.

    Returns
    -------
    dict of str to pyarrow.Table
        By predicate, columns in the order of its arguments.
    """
    values = {"longest": LONGEST, "venue_words": list(VENUE_WORDS), "months": list(MONTHS)}
    with duckdb.connect(":memory:") as connection:
        connection.read_parquet(str(Path(folder) / "token.parquet")).create("tagged")
        for name, value in values.items():
            connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
        connection.execute(VIEWS)
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL").fetchall()
        found = {name: connection.table(name) for (name,) in views}
        # Examples come in the order of the rows of the first predicate that is loaded.
        return {
            name: rows.order("bib, position" if "bib" in rows.columns else "ALL").to_arrow_table()
            for name, rows in found.items()
        }
