"""Programs of probabilistic soft logic as files: rules, and the JSON and YAML in which PSL has predicates, rules and where its data are.

PSL 3 has one file (`.json`, `.yaml`) with `predicates`, `rules` and `options`, whose predicates have their partitions of data; earlier
versions have the rules in a file by itself and a `.data` file (YAML) with `predicates` and one entry for each partition. Both are read by
the same code. A predicate with targets is open; one without is closed.

JSON that was saved is another one: `schemas/model.schema.json` describes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args
from typing import Literal as OneOf

from sqlrl.errors import InputError, ModelError, Parameter, UnsupportedError
from sqlrl.logic.documents import (
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    WORD,
    Document,
    Node,
    QuotedText,
    is_json,
    parse_json_document,
    parse_yaml_document,
)
from sqlrl.logic.files import check_json
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.lexer import SourceText, check_text, nearest, read_text
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.psl import (
    CONSTANT_KINDS,
    DataPartition,
    Role,
    SoftModel,
    SoftRule,
    Split,
    check_declarations,
    untyped,
)
from sqlrl.logic.psl_constants import EXPECTED, constant_text
from sqlrl.logic.psl_declarations import Declarations, read_declaration, reading_of
from sqlrl.logic.psl_parser import RuleParser
from sqlrl.logic.psl_programs import as_read, parse_rules
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.paths import is_file, leads_into
from sqlrl.wording import counted, shortened

ROLES: tuple[Role, ...] = get_args(Role)
Task = OneOf["infer", "learn"]

_SPLITS: dict[str, Split] = {"all": "all", "learn": "learn", "infer": "infer", "eval": "infer"}
_TASKS = {"infer": ("infer", "eval"), "learn": ("learn",)}
_TOP = ("rules", "predicates", "options", "learn", "infer", "eval", *ROLES)
_OF_PREDICATES = ("arity", "types", "force-open", "evaluations", "options", *ROLES)
_INTEGER_IDS = "runtime.db.intids"
"""The option of PSL by which constants are integers where no type is declared."""

_FOREIGN = {
    "function": "it is computed by Java code",
    "implementation": "it is computed by Java code",
    "model": "it is computed by a neural model",
    "modeltype": "it is computed by a neural model",
    "config": "it is computed by a neural model",
}
"""What PSL lets predicates be that has no facts, and what that is."""


def parse_psl(text: str, *, path: str = "<text>", query: str | Iterable[str] = (), trusted: bool = True) -> SoftModel:
    r"""Parse a program of probabilistic soft logic: PSL's rules, or the JSON in which PSL has rules and predicates.

    A logical rule implies a disjunction by a conjunction (`->`, `>>`, or the other way round `<-`, `<<`), or is a disjunction alone;
    `!` or `~` negate, and `X == Y`, `X != Y` (`X - Y`) and `X % Y` (`X ^ Y`: X comes before Y) compare. An arithmetic rule holds linear
    expressions of atoms against each other with `=`, `<=` or `>=`: `+X` sums, `|X|` is how many constants a sum goes through, `@Max[a, b]`
    and `@Min[a, b]` choose, and `{X: condition}` behind the rule filters. A rule starts with a weight and a colon and may end with `^2`,
    or it ends with `.` and is hard. Constants have quotes; `//`, `#` and `/* */` mark comments.

    Predicates need no declaration. Case does not tell two of them apart, and each has one number of arguments.

    Rules count as in PSL, once for each logical form. Commuted literals, a literal moved between body and head and another weight make no
    other rule: the first stands. Other variables do, and so do an exponent, the order of the terms of a sum, and a weight beside none. A
    filter with `|` is a rule for each part, and a literal that is repeated in a rule counts once. What `SoftModel.save` wrote keeps its
    rules as they are.

    Parameters
    ----------
    text : str
        Rules; JSON if it starts with a brace.
    path : str
        The file, or a name for the text, in errors.
    query : str or iterable of str
        Predicates that are open, beside those that the text declares as open.
    trusted : bool
        False for a text that a stranger may have written: it names no rule file, and its data files are loaded from a folder alone, as in
        `read_psl`.

    Returns
    -------
    SoftModel

    Raises
    ------
    ParseError
        The text does not parse. The message shows the line with a caret.
    ModelError
        Rules that parse, and are none: a weight below 0 or not finite, another exponent than 1 or 2, a variable or sum that is unbound,
        coefficients that cancel, a division by zero, another number of arguments. Like the others it shows the line with a caret.
    UnsupportedError
        Weights that are atoms.

    Warns
    -----
    RepeatedRuleWarning
        Rules that repeat others, with both lines.

    Examples
    --------
    >>> from sqlrl import parse_psl
    >>> model = parse_psl('''
    ...     // Neighbours have one category.
    ...     1.5: HasCat(A, C) && Link(A, B) && A - B >> HasCat(B, C) ^2
    ...     HasCat(B, '1') << HasCat(A, "1") & Link(A, B) .
    ...     HasCat(A, +C) = 1 .   # sums to 1
    ... ''')
    >>> print(model)
    1.5: HasCat(A, C) & Link(A, B) & A != B -> HasCat(B, C) ^2
    HasCat(A, '1') & Link(A, B) -> HasCat(B, '1') .
    HasCat(A, +C) = 1 .
    <BLANKLINE>
    >>> parse_psl("1: HasCat(A, C) ^3")
    Traceback (most recent call last):
        ...
    sqlrl.errors.ModelError: <text>:1:18: the exponent is 3: expected 1 or 2
      1: HasCat(A, C) ^3
                       ^
    """
    check_text(text, "a program", "read files with read_psl")
    if is_json(text):
        return _read_document(text, path, None, query, "infer", trusted=trusted)
    rules, known = parse_rules(SourceText(text, path))
    return known.model(rules, query)


def read_psl(
    path: str | Path,
    *,
    data: str | Path | None = None,
    query: str | Iterable[str] = (),
    task: Task = "infer",
    trusted: bool = True,
) -> SoftModel:
    r"""Read a program of probabilistic soft logic: a rule file, PSL's JSON or YAML, or what `SoftModel.save` wrote.

    Parameters
    ----------
    path : str or Path
        `.json`, `.yaml`, `.yml` or `.data` (YAML); any other name is that of a rule file.
    data : str or Path, optional
        The `.data` file that belongs to a rule file: it declares the predicates, and says where their data are.
    query : str or iterable of str
        Predicates that are open, beside those that the file declares as open.
    task : {"infer", "learn"}
        Whose rules and options a configuration's are, beside those of both.
    trusted : bool
        False for a file that a stranger may have written: it names no rule file outside of its folder, and the data files that it names
        are loaded only with `SoftData(model, folder=...)`, from that folder.

    Returns
    -------
    SoftModel
        Its `partitions` say where observations, targets and truths are; their files are not opened. Constants at arguments of the types
        UniqueIntID, Integer, Long, Double and Date are values: `007` is `7`, in rules and in the data.

    Raises
    ------
    ParseError
        As in `parse_psl`; also for a missing file, names that a configuration cannot have, and rows of a wrong length.
    ModelError
        As in `parse_psl`; also for rules of predicates that a configuration does not declare, and truths outside of [0, 1].
    UnsupportedError
        As in `parse_psl`; also for predicates that Java code or a neural model computes.
    InputError
        PyYAML is not installed, and the file needs it.

    Warns
    -----
    RepeatedRuleWarning
        As in `parse_psl`.

    Examples
    --------
    >>> import tempfile
    >>> from sqlrl import read_psl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "smokers.json").write_text(
    ...         '''{
    ...         "rules": ["0.5: Smokes(X) -> Cancer(X) ^2"],  // one of them
    ...         "predicates": {
    ...             "Smokes/1": {"observations": [["Anna"]]},
    ...             "Cancer/1": {"targets": [["Anna"]], "truth": [["Anna", 1]]}
    ...         }}'''
    ...     )
    ...     model = read_psl(Path(folder, "smokers.json"))
    >>> print(model)
    // sqlrl {"predicates": {"Smokes/1": "closed", "Cancer/1": "open"}}
    0.5: Smokes(X) -> Cancer(X) ^2
    <BLANKLINE>
    >>> [(part.role, part.rows) for part in model.partitions]
    [('observations', (('Anna',),)), ('targets', (('Anna',),)), ('truth', (('Anna', '1'),))]
    """
    if task not in get_args(Task):
        raise InputError(f"{Parameter('task', task)} is none of PSL: expected 'infer' or 'learn'")
    text, name = read_text(path, parse="sqlrl.parse_psl"), str(path)
    ending = Path(path).suffix.lower()
    if ending in (".json", ".yaml", ".yml", ".data"):
        if data is not None:
            raise InputError(f"{Parameter('data', str(data))} belongs to a rule file, and {name} is none: leave it out")
        return _read_document(text, name, Path(path), query, task, trusted=trusted)
    if data is None:
        rules, known = parse_rules(SourceText(text, name))
        return known.model(rules, query)
    whole = _Configuration(
        _document(read_text(data), str(data), Path(data).suffix.lower()), Path(data), task, trusted=trusted
    )
    if whole.rule_nodes:
        raise InputError(f"{data} has rules of its own: read it alone, without {name}")
    if not whole.known.strict:
        raise InputError(f"{data} declares no predicates: expected an entry 'predicates', as in Knows/2: open")
    return whole.model(as_read(whole.rules_of(SourceText(text, name)), whole.known.rules), query)


def _document(text: str, name: str, ending: str) -> Document:
    source = SourceText(text.removeprefix("\ufeff"), name)
    return parse_json_document(source) if ending == ".json" else parse_yaml_document(source)


def _read_document(
    text: str, name: str, path: Path | None, query: str | Iterable[str], task: Task, *, trusted: bool
) -> SoftModel:
    document = _document(text, name, ".json" if path is None else path.suffix.lower())
    if any(key.value == "version" for key, _ in document.root.pairs):
        return soft_model_from_json(parse_json(document.source.text, path=name), path=name, query=query)
    whole = _Configuration(document, path, task, trusted=trusted)
    return whole.model(as_read(whole.rules(), whole.known.rules), query)


# ---- what was saved ----------------------------------------------------------------------------------


def soft_model_from_json(value: Any, *, path: str = "<json>", query: str | Iterable[str] = ()) -> SoftModel:
    """Return the model that JSON values describe, the inverse of `soft_model_to_json`."""
    check_json(value, path, soft=True)
    known = Declarations(strict=True)
    for each in value["predicates"]:
        if each["name"].casefold() in known.spelled:
            raise ModelError(f"{path}: the predicate {each['name']} is declared twice: remove one of the two")
        known.declare(
            Predicate(each["name"], tuple(Argument(a["type"]) for a in each["arguments"]), each.get("closed", False))
        )
    known.query |= set(value["query"])
    try:
        check_declarations(known.predicates, known.query)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    return known.model([_saved_rule(rule, known, path) for rule in value["rules"]], query)


def _saved_rule(value: dict[str, Any], known: Declarations, path: str) -> SoftRule:
    formula, weight = value["formula"], value.get("weight")
    hard = value.get("hard", False)
    if hard == (weight is not None):
        what = "is hard and has a weight: remove one of them" if hard else "has no weight: give it one, or make it hard"
        raise ModelError(f"{path}: the rule {shortened(formula)} {what}")
    # What was saved keeps what it meant: each rule stands as it counts.
    return RuleParser(SourceText(formula, f"{path}: {shortened(formula)}"), known, written=True).partial(
        weight, squared=value.get("squared", False)
    )


# ---- configurations of PSL ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Declared:
    """What a configuration says of a predicate."""

    name: Node
    arity: int | None = None
    types: tuple[str, ...] | None = None
    closed: bool | None = None
    parts: list[DataPartition] = field(default_factory=list)


class _Configuration:
    """Reads predicates, rules and options of a document."""

    def __init__(self, document: Document, path: Path | None, task: Task, *, trusted: bool) -> None:
        self.document, self.path, self.task, self.trusted = document, path, task, trusted
        self.known = Declarations()
        self.partitions: list[DataPartition] = []
        self.options: dict[str, str] = {}
        self.rule_nodes: list[Node] = []
        self._declared: dict[str, _Declared] = {}
        self._rows: list[tuple[_Declared, str, Node]] = []
        self._read()

    def model(self, rules: Iterable[SoftRule], query: str | Iterable[str]) -> SoftModel:
        """Return the model with rules."""
        return self.known.model(rules, query, partitions=tuple(self.partitions), options=self.options)

    def _read(self) -> None:
        root = self.document.expect(self.document.root, OBJECT, what="a program of PSL")
        top = {name.value: (name, value) for name, value in self.document.members(root, "the file")}
        for key, (name, _) in top.items():
            if key not in _TOP:
                hint = nearest(key, _TOP) or f"; expected one of {', '.join(_TOP)}"
                self.document.fail(f"PSL knows no entry {shortened(key)!r}{hint}", name)
        tasks = [key for key in ("learn", "infer", "eval") if key in top]
        for key in tasks:
            for name, value in self.document.members(top[key][1], key):
                if name.value not in ("rules", "options"):
                    self.document.fail(f"{key} has {name}: expected 'rules' or 'options'", name)
                if key in _TASKS[self.task]:
                    self._section(name.value, value)
        for key in ("rules", "options"):
            if key in top:
                self._section(key, top[key][1], first=True)
        if "predicates" in top:
            self._predicates(top["predicates"][1])
        for role in ROLES:
            if role in top:
                self._partition_entry(role, top[role][1])
        self._declare()

    def _section(self, key: str, value: Node, *, first: bool = False) -> None:
        """Read rules or options; those of all tasks come first."""
        if key == "rules":
            self.document.expect(value, LIST, TEXT, what="rules")
            self.rule_nodes = [value, *self.rule_nodes] if first else [*self.rule_nodes, value]
            return
        found = {
            name.value: self._scalar(each, f"the option {name}")
            for name, each in self.document.members(value, "options")
        }
        self.options = found | self.options if first else self.options | found

    def _scalar(self, node: Node, what: str) -> str:
        text: str = self.document.expect(node, TEXT, NUMBER, WORD, what=what).value
        return text

    # ---- rules ----

    def rules(self) -> list[SoftRule]:
        """Read the rules, each a text, or all of them in a file."""
        found: list[SoftRule] = []
        for node in self.rule_nodes:
            if node.kind == TEXT:
                found += self._rule_file(node)
            for each in node.items:
                if each.kind != TEXT:
                    self.document.fail(f"expected a rule as a text, found {each}: put it into quotes", each)
                parser = RuleParser(QuotedText(each, self.document.source), self.known)
                rules = parser.rules()
                if len(rules) != 1:
                    self.document.fail(f"expected one rule in each text, found {counted(len(rules), 'rule')}", each)
                found += rules
        return found

    def _rule_file(self, node: Node) -> list[SoftRule]:
        folder = self.path.parent if self.path is not None else Path()
        target = folder / node.value
        if not (self.trusted or (self.path is not None and leads_into(target, folder))):
            where = (
                "no file can be named in a text"
                if self.path is None
                else f"the rule file {node} is outside of the folder of a program"
            )
            self.document.fail(
                f"{where} read with {Parameter('trusted', False)}: move its rules into the program", node
            )
        if not is_file(target):
            self.document.fail(f"the rule file does not exist: {target}; rules themselves stand in a list", node)
        # Any file may be named: what is wrong with it is told without its lines if it is no rule file.
        return self.rules_of(
            SourceText(read_text(target), str(target), quotable=target.resolve().suffix.lower() == ".psl")
        )

    def rules_of(self, source: SourceText) -> list[SoftRule]:
        """Read the rules of a rule file; those of one that sqlrl saved stand as they count."""
        self.known.rules = reading_of(source)
        return RuleParser(source, self.known, written=self.known.rules != "program").rules()

    # ---- predicates ----

    def _predicates(self, node: Node) -> None:
        self.known.strict = True
        for name, value in self.document.members(node, "predicates"):
            declaration = read_declaration(name.value)
            if declaration is None or not is_identifier(declaration[0]):
                problem = (
                    f"{name} declares no predicate: expected a name of letters, digits and underscores, as Knows/2"
                )
                self.document.fail(problem, name)
            text, kinds = declaration
            key = text.casefold()
            if key in self._declared:
                self.document.fail(
                    f"the predicate {text} is declared twice, as PSL heeds no case: remove one of the two", name
                )
            found = _Declared(replace(name, value=text))
            self._declared[key] = found
            if isinstance(kinds, int):
                found.arity = kinds
            elif kinds is not None:
                found.types = kinds
            for property_, said in self._properties(value):
                self._property(found, property_, said)

    def _properties(self, value: Node) -> Iterator[tuple[Node, Node | None]]:
        """Yield what is said of a predicate: words alone, as `open`, have no value."""
        if value.kind == OBJECT:
            yield from self.document.members(value, "a predicate")
        elif value.kind == LIST:
            for each in value.items:
                if each.kind == OBJECT:
                    yield from self.document.members(each, "a predicate")
                else:
                    yield each, None
        else:
            yield value, None

    def _property(self, declared: _Declared, name: Node, value: Node | None) -> None:
        key, predicate = name.value, declared.name.value
        fail = self.document.fail
        if key in _FOREIGN or (key == "type" and (value is None or value.value != "StandardPredicate")):
            why = _FOREIGN.get(key, "it is computed by a neural model")
            problem = f"{predicate} has {key!r}, which is not supported: {why}; load what it computes as observations"
            raise self.document.source.error(UnsupportedError, problem, name.offset)
        if value is None:
            if key in ("open", "closed"):
                if declared.closed is not None:
                    fail(f"{predicate} is declared as open or closed twice: remove one of the two", name)
                declared.closed = key == "closed"
            elif key != "block":  # which hints at parallel grounding, and means nothing to the model
                fail(f"PSL knows no property {name} of {predicate}: expected open, closed or types", name)
        elif key == "arity":
            text = self._scalar(value, f"the arity of {predicate}")
            arity = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
            if declared.arity not in (None, arity):
                fail(
                    f"{predicate} is declared with {declared.arity} arguments, and with {text}: remove one of the two",
                    value,
                )
            declared.arity = arity
        elif key == "types":
            declared.types = tuple(self._type(each) for each in self.document.expect(value, LIST, what="types").items)
        elif key == "force-open":
            if self._scalar(value, "force-open").casefold() == "true":
                declared.closed = False
        elif key in ROLES:
            declared.parts += self._parts(declared, key, value)
        elif key == "options":
            for option, said in self.document.members(value, "options"):
                self._scalar(said, f"the option {option}")
        elif key == "evaluations":
            self.document.expect(value, LIST, what="evaluations")
        elif key != "type":
            hint = nearest(key, _OF_PREDICATES) or f"; expected one of {', '.join(_OF_PREDICATES)}"
            fail(f"PSL knows no property {name} of {predicate}{hint}", name)

    def _type(self, node: Node) -> str:
        text = self._scalar(node, "a type")
        near = nearest(text, CONSTANT_KINDS) if text not in CONSTANT_KINDS else ""
        if not is_identifier(text) or near:
            self.document.fail(f"{node} is no type{near or ': expected a name'}", node)
        return text

    # ---- partitions ----

    def _partition_entry(self, role: Role, node: Node) -> None:
        """Read where a `.data` file says that the data of each predicate are."""
        for name, value in self.document.members(node, role):
            found = self._declared.get(name.value.casefold())
            if found is None:
                known = [each.name.value for each in self._declared.values()]
                hint = nearest(name.value, known) or "; declare it under 'predicates'"
                self.document.fail(f"there is no predicate {name}{hint}", name)
            found.parts += self._parts(found, role, value)

    def _parts(self, declared: _Declared, role: str, node: Node) -> list[DataPartition]:
        """Read a partition of a predicate, with or without its splits."""
        if node.kind != OBJECT:
            return [self._part(declared, role, "all", node)]
        parts = []
        for name, value in self.document.members(node, role):
            if name.value not in _SPLITS:
                self.document.fail(f"PSL knows no split {name} of {role}: expected all, learn or infer", name)
            parts.append(self._part(declared, role, _SPLITS[name.value], value))
        return parts

    def _part(self, declared: _Declared, role: str, split: Split, node: Node) -> DataPartition:
        items = node.items if node.kind == LIST else (node,)
        files, rows = [], []
        for each in items:
            if each.kind == LIST:
                rows.append(each)
            else:
                what = f"{role} of {declared.name.value}: a file, or a row"
                files.append(self._path(self.document.expect(each, TEXT, what=what).value))
        texts = tuple(tuple(self._cell(cell) for cell in row.items) for row in rows)
        self._rows.extend((declared, role, row) for row in rows)
        place = f"{self.document.source.path}:{self.document.source.position(node.offset)[0]}"
        kind: Role = "observations" if role == "observations" else "targets" if role == "targets" else "truth"
        return DataPartition(declared.name.value, kind, split, tuple(files), texts, place, trusted=self.trusted)

    def _path(self, text: str) -> Path:
        return (self.path.parent if self.path is not None else Path()) / text

    def _cell(self, node: Node) -> str:
        text = self._scalar(node, "a constant of a row")
        if node.kind == WORD and text == "null":
            self.document.fail("a row has null: expected a constant", node)
        return text

    # ---- what is declared, all together ----

    def _declare(self) -> None:
        integers = self.options.get(_INTEGER_IDS, "").casefold() == "true"
        for found in self._declared.values():
            self.known.declare(self._predicate(found))
            if not self.known.predicates[found.name.value].closed:
                self.known.query.add(found.name.value)
            kinds = self.known.kinds[found.name.value]
            if integers and found.types is None:
                kinds = self.known.kinds[found.name.value] = ("UniqueIntID",) * len(kinds)
            if not EXPECTED.keys().isdisjoint(kinds):
                found.parts = [replace(part, kinds=kinds) for part in found.parts]
            self.partitions += found.parts
        for found, role, row in self._rows:
            self._check_row(self.known.predicates[found.name.value], role, row)

    def _predicate(self, declared: _Declared) -> Predicate:
        name = declared.name
        if declared.types is not None and declared.arity not in (None, len(declared.types)):
            self.document.fail(
                f"{name.value} is declared with {counted(declared.arity or 0, 'argument')}, and with {counted(len(declared.types), 'type')}",
                name,
            )
        arity = declared.arity if declared.types is None else len(declared.types)
        if arity is None:
            self.document.fail(
                f"{name.value} is declared without its number of arguments: write {name.value}/2, say", name
            )
        if not 1 <= arity <= LONGEST_CLAUSE:
            self.document.fail(f"{name.value} has {arity} arguments: expected 1 to {LONGEST_CLAUSE}", name)
        targets = [part for part in declared.parts if part.role == "targets" and (part.files or part.rows)]
        closed = not targets if declared.closed is None else declared.closed
        if closed and targets:
            self.document.fail(f"{name.value} is declared as closed, and has targets: declare it as open", name)
        if declared.types is None:
            return untyped(name.value, arity, closed=closed)
        return Predicate(name.value, tuple(map(Argument, declared.types)), closed)

    def _check_row(self, predicate: Predicate, role: str, row: Node) -> None:
        arity = len(predicate.arguments)
        if len(row.items) not in (arity, arity + 1):
            problem = f"a row of {role} of {predicate.name} has {counted(len(row.items), 'value')}: expected {arity}, or {arity + 1} with a truth"
            self.document.fail(problem, row)
        for cell, kind in zip(row.items, self.known.kinds[predicate.name], strict=False):
            if constant_text(cell.value, kind) is None:
                self.document.fail(
                    f"a row of {role} of {predicate.name} has {cell} where {kind} is declared: expected {EXPECTED[kind]}",
                    cell,
                )
        if len(row.items) == arity + 1:
            cell = row.items[-1]
            try:
                truth = float(cell.value)
            except ValueError:
                truth = math.nan
            if not 0 <= truth <= 1:
                problem = f"the truth of a row of {predicate.name} is {cell}: expected a number from 0 to 1"
                raise self.document.source.error(ModelError, problem, cell.offset)
