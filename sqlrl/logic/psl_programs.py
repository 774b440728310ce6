"""The rules of a program of probabilistic soft logic as PSL counts them.

PSL keeps one rule of each logical form, the first: the order of literals, the side of the arrow on which they stand and the weight make
no other rule, but the names of variables do, and the order of the terms of a sum. A filter with a disjunction is a rule for each part
of it. What sqlrl saved has its rules as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlrl.errors import LoadWarning, warn
from sqlrl.logic.copies import warn_of_copies
from sqlrl.logic.lexer import SourceText
from sqlrl.logic.psl import SoftRule, counted_once
from sqlrl.logic.psl_declarations import Declarations, Reading, read_header
from sqlrl.logic.psl_parser import RuleParser

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)


def parse_rules(source: SourceText) -> tuple[list[SoftRule], Declarations]:
    r"""Parse a rule file; return its rules and predicates."""
    known = read_header(source)
    if include := _INCLUDE.search(source.text):
        warn(
            f"{source.path}: line {source.position(include.start())[0]} is a comment, since PSL has no #include: write the rules of that file here, or name "
            "several rule files in a program in JSON",
            LoadWarning,
        )
    rules = RuleParser(source, known, written=known.rules != "program").rules()
    return as_read(rules, known.rules), known


def as_read(rules: Sequence[SoftRule], reading: Reading) -> list[SoftRule]:
    """Return the rules that count; a RepeatedRuleWarning names those that are repeated."""
    kept, copies = counted_once(rules)
    if reading == "program":
        if copies:
            warn_of_copies(copies, str, "PSL keeps the first of equal rules, so the others do not count; remove them")
        return kept
    if copies and reading == "written":
        consequence = (
            "all of them count, since sqlrl saved this file before it read rules as PSL does; remove the copies, or save the model again, which "
            "keeps them without this warning"
        )
        warn_of_copies(copies, str, consequence)
    return list(rules)
