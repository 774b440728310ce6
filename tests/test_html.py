"""What a notebook shows: every object that users meet has a small table, in which nothing of the data is markup."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl import markup
from sqlrl.deprecated import old_parameters
from sqlrl.ground.network import TiedRows
from sqlrl.report.charts import Plots
from tests.offered import OFFERED

ROOMS = ("sqlrl.engine.", "sqlrl.plan.", "sqlrl.logic.lexer", "sqlrl.learn.parameters", "sqlrl.learn.learner")
"""Where contracts between rooms live, which nobody calls for."""

DOORS = {
    *("session", "engine", "catalog", "records", "console", "learning", "program", "asked", "held", "network_atoms"),
    *("learner", "parameters", "rates", "learn", "select", "criteria", "drift", "rule", "source", "partition"),
    *("compiled", "reader", "sections"),
}
"""Attributes through which one room hands its parts to another: behind them is what no user calls for."""

DRAWN = {"Chart", "Message", "Report"}
"""What shows itself as a drawing and as a page, whose tests are those of `report`, and as a paragraph."""

TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "pre", "details", "summary"}

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (SCRIPT, '"><img src=x onerror=alert(1)>', "</td></table>&lt;b&gt;", "a'b\x1b[31m\u202e\nc")


# ---- which classes they are ---------------------------------------------------------------------------


@functools.cache
def typing_only(module: str) -> Mapping[str, tuple[str, str]]:
    """What a module imports for its annotations alone: name, and where it comes from."""
    tree = ast.parse(Path(inspect.getfile(importlib.import_module(module))).read_text(encoding="utf-8"))
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {
        alias.asname or alias.name: (str(each.module), alias.name)
        for block in blocks
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


def named(name: str, module: str) -> Any:
    """What a name in an annotation stands for, None if nothing of ours."""
    found = getattr(importlib.import_module(module), name, None)
    if found is None and name in typing_only(module):
        home, original = typing_only(module)[name]
        return getattr(importlib.import_module(home), original) if home.startswith("sqlrl") else None
    return found


def classes_in(annotation: Any, module: str) -> Iterator[type]:
    """The classes of ours that an annotation mentions."""
    if inspect.isclass(annotation):
        yield annotation
        if annotation.__module__.startswith("sqlrl.database."):  # whose kinds are classes below one
            yield from annotation.__subclasses__()
    elif isinstance(annotation, UnionType):
        for part in get_args(annotation):
            yield from classes_in(part, module)
    elif isinstance(annotation, str):
        for node in ast.walk(ast.parse(annotation, mode="eval")):
            if isinstance(node, ast.Name):
                yield from classes_in(found if not isinstance(found := named(node.id, module), str) else None, module)


def leads_to(kind: type) -> Iterator[tuple[str, type]]:
    """The attributes of a class and what its methods return, with their classes."""
    for base in kind.__mro__:
        if not base.__module__.startswith("sqlrl."):
            continue
        for name, annotation in inspect.get_annotations(base).items():
            yield from ((name, each) for each in classes_in(annotation, base.__module__))
        # Results name what they return as parameters of their base.
        for generic in vars(base).get("__orig_bases__", ()) if base.__module__.startswith("sqlrl.database.") else ():
            parts = [getattr(part, "__forward_arg__", part) for part in get_args(generic)]
            yield from (("results", each) for part in parts for each in classes_in(part, base.__module__))
        for name, value in vars(base).items():
            returned = getattr(called(value), "__annotations__", {}).get("return")
            yield from ((name, each) for each in classes_in(returned, base.__module__))


def called(value: Any) -> Any:
    """The function behind a method or property."""
    match value:
        case property():
            return value.fget
        case functools.cached_property():
            return value.func
        case classmethod() | staticmethod():
            return value.__func__
    return value


def is_shown(kind: type) -> bool:
    """Whether it is a class of ours whose objects are more than a word (an enum) and have a class that says what they are (no protocol)."""
    ours = kind.__module__.startswith("sqlrl.") and (not kind.__module__.startswith(ROOMS) or kind is sqlrl.Spark)
    return ours and not (
        kind.__name__.startswith("_")
        or issubclass(kind, enum.Enum)
        or ("_is_protocol" in vars(kind) and kind._is_protocol)
    )


@functools.cache
def met() -> Mapping[type, str]:
    """Every class that a user meets, with the way to it."""
    found: dict[type, str] = {}
    for name, value in OFFERED.items():
        if inspect.isclass(value):
            found[value] = name
        elif inspect.isfunction(value):
            found |= {
                each: f"{name}()"
                for each in classes_in(value.__annotations__["return"], value.__module__)
                if is_shown(each)
            }
    todo = list(found)
    while todo:
        kind = todo.pop()
        for name, each in leads_to(kind):
            public = not name.startswith("_") or name in {"__getitem__", "__iter__"}
            if public and name not in DOORS and each not in found and is_shown(each):
                found[each] = f"{kind.__name__}.{name}"
                todo.append(each)
    return found


@pytest.mark.slow
def test_the_walk_finds_what_users_hold() -> None:
    assert {sqlrl.Database, sqlrl.Prediction, sqlrl.Table, sqlrl.OSL, sqlrl.Model, sqlrl.SqlrlError} <= set(met())
    names = {kind.__name__ for kind in met()}
    assert {
        "Reasons",
        "Network",
        "SolverReport",
        "RankingComparison",
        "Rule",
        "Done",
        "Exported",
    } <= names
    assert len(met()) > 100


def test_each_class_that_users_meet_shows_itself_in_a_notebook() -> None:
    assert {
        f"{kind.__module__}.{kind.__name__}": way for kind, way in met().items() if not hasattr(kind, "_repr_html_")
    } == {}


# ---- one session with names that are markup -----------------------------------------------------------

NAMES = [f"d{i}{HOSTILE[i % len(HOSTILE)]}" for i in range(12)]
PLACES = list(range(0, 12, 4))
"""Of the names with the first hostile text: those whose word is the script."""


def quoted(text: str) -> str:
    """A constant as rules write it; they have no line breaks in constants."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def documents() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Word", [(d, HOSTILE[i % 4]) for i, d in enumerate(NAMES)], types=["doc", "word"], example="doc")
    db.load("Liked", [(NAMES[i],) for i in (0, 4, 8, 1)], types=["doc"], target=True)
    return db


def learned(folder: Path, *, few: bool = False) -> Iterator[object]:
    """What a session about documents gives, from data to explanations, with a few of the learners or all."""
    db = documents()
    yield db
    rules = (
        f"Word(doc, word)\nLiked(doc)\n1 Word(d, {quoted(SCRIPT)}) => Liked(d)\n-0.5 Liked(d)\nWord(d, +w) => Liked(d)"
    )
    model = sqlrl.parse_mln(rules)
    yield model
    yield from (
        sqlrl.choose_learner(db, model),
        sqlrl.AdaGrad(window=2),
        sqlrl.ILP(),
        sqlrl.ConstrainedTraining(sqlrl.CDA()),
    )
    if few:
        yield sqlrl.Likelihood(strength=1.0).fit(db, model)
    for learner in () if few else (
        sqlrl.AdaGrad(window=2), sqlrl.CDA(), sqlrl.baselines.MIRA(), sqlrl.baselines.Perceptron(), sqlrl.baselines.Subgradient(), sqlrl.baselines.ContrastiveDivergence(),
        sqlrl.Likelihood(strength=1.0), sqlrl.MaxMargin(), sqlrl.PSCG(max_iterations=2), sqlrl.baselines.VotedPerceptron(max_iterations=2),
        sqlrl.PseudoLikelihood(), sqlrl.ConstrainedTraining(sqlrl.CDA(), mode="none"),
    ):  # fmt: skip
        yield learner.fit(db, model)
    modes = sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")
    yield modes
    if not few:
        yield sqlrl.OSL(modes, then=sqlrl.Likelihood(strength=0.1)).fit(
            db, sqlrl.parse_mln("Word(doc, word)\nLiked(doc)")
        )
    bias = sqlrl.parse_bias("modeh(1, 'Liked'(+doc)). modeb(*, 'Word'(+doc,#word)).")
    yield bias
    if not few:
        yield sqlrl.ILP(bias, min_positive=1, min_score=0).fit(db, "Liked")
    fit = sqlrl.AdaGrad().fit(db, model)
    yield fit.clauses()["clause"]
    with pytest.warns(sqlrl.errors.CalibrationWarning):
        prediction, chances = db.predict(fit.model, margins=True), db.probabilities(fit.model)
    yield from (prediction, chances, db.evaluate(prediction), db.evaluate(chances))
    first, second = (
        sqlrl.score_rankings([True, False, False, True, True, True], scores, [0, 0, 1, 1, 2, 2], names=NAMES[:3])
        for scores in ([0.5, 0.25, 0.5, 0.75, 0.5, 0.5], [0.5, 0.75, 0.5, 0.75, 0.5, 0.5])
    )
    yield from (first, first.compare(second))
    kept = db.predict(fit.model, keep=True)
    _ = db.evaluate(kept)
    record = db.runs[db.sql("select max(run) from sqlrl.outcome").fetchall()[0][0]]
    yield from (record, record.report(), record.plot.outcomes(), fit.plot.weights())
    yield prediction.why(f"Liked({quoted(NAMES[0])})")
    yield from (
        model.plan(db),
        db.advanced.bind(model),
        db.advanced.ground(model),
        db.diagnose(model, kind="overlap"),
        db.count(model),
    )
    yield from (db.export(fit.model, folder / "<b>.wcnf"), db.split(0.4), sqlrl.k_fold(NAMES, 3), db.models())
    yield db.run(f"create table t as select '{SCRIPT}' as name; from t")
    words = sqlrl.connect()
    _ = words.sql("create table words as from (values ('a', '<b>'), ('b', 'y')) t(doc, word)")
    words.load("Word", "words", types=["doc", "word"])
    score = sqlrl.parse_mln(
        'Word(doc, word)\nLiked(doc)\n1.5 Word(d, "<b>") => Liked(d)\n2 Liked(d) ^ Liked(e) => d = e', query=["Liked"]
    )
    scorer = fit.model.compile(db)
    yield from (scorer, scorer.predict({"Word": [(NAMES[0], SCRIPT)]}))
    chain = sqlrl.connect()
    chain.load("Next", [("p", "q"), ("q", "r")], types=["place", "place"])
    chain.load("Tag", [(place, SCRIPT) for place in "pqr"] + [("p", "b")], types=["place", "tag"], target=True)
    tied = sqlrl.parse_mln("Next(place, place)\nTag(place, tag!)\nNext(p, q) ^ Tag(p, +f) => Tag(q, +g)")
    rows = chain.advanced.ground(tied).rows
    assert isinstance(rows, TiedRows)
    yield from (rows, *rows.tied)
    yield words.export(score, format="sql", options=sqlrl.SQLOptions(tables={"Word": "words"}, partial=True))
    yield model.rules + score.rules


def others() -> Iterator[object]:
    """Sessions about links: an audit, a diagnosis, clauses of all kinds, soft logic, subgraphs."""
    links = [(NAMES[i], NAMES[j]) for i, j in ((0, 1), (0, 4), (1, 5), (5, 0), (4, 1), (4, 5))]
    db = sqlrl.connect()
    db.load("Likes", links, types=["person", "person"], target=True)
    db.load("LikedBy", [pair[::-1] for pair in links], types=["person", "person"])
    yield db.audit("Likes", folds=2)
    birds = sqlrl.connect()
    birds.load("Bird", [(name,) for name in NAMES], types=["animal"])
    birds.load("Penguin", [(name,) for name in NAMES[:3]], types=["animal"])
    birds.load("Flies", [(name,) for name in NAMES[3:]], types=["animal"])
    rules = sqlrl.parse_mln("Bird(animal)\nPenguin(animal)\nFlies(animal)\n1 Bird(x) => Flies(x)")
    yield birds.diagnose(rules)
    yield birds.diagnose(rules, kind="paper")
    mapping = sqlrl.parse_mapping("Bird -> Bird\nPenguin -> Penguin\nFlies -> Flies")
    yield mapping
    yield sqlrl.Transfer(mapping=mapping).fit(birds, rules)
    yield sqlrl.MSL(literal_cost=0.05, max_literals=2).fit(birds)
    pages = sqlrl.connect()
    pages.load("Word", [(f"d{i}", HOSTILE[i % 2]) for i in range(40)], types=["doc", "word"], example="doc")
    pages.load("Tech", [(f"d{i}",) for i in range(0, 40, 2)], types=["doc"], target=True)
    templates = sqlrl.parse_grammar(f"TOPIC(d) = {{Word(d, {quoted(SCRIPT)})}}\nTOPIC(d) ^ Tech(d)")
    yield templates
    schema = sqlrl.parse_mln("Word(doc, word)\nTech(doc)")
    yield sqlrl.Resolwe(templates, min_support=5).fit(pages, schema)
    yield templates.expand(schema, "Tech")
    family = sqlrl.connect()
    family.load("Parent", [("a" + SCRIPT, "b"), ("b", "c"), ("d", "e"), ("e", "f")], types=["person", "person"])
    labels = [("a" + SCRIPT, "c", 1.0), ("d", "f", 1.0), ("a" + SCRIPT, "b", 0.0), ("d", "c", 0.0)]
    family.load("Grandparent", labels, columns=[0, 1], types=["person", "person"], value=2, target=True)
    family.scope("Grandparent", [row[:2] for row in labels])
    for method in ("ppll", "gls"):
        yield sqlrl.SoftStructure(method=method, length=2, min_targets=1).fit(family, "Grandparent")
    soft = sqlrl.parse_psl(
        "1: Parent(A, B) & Parent(B, C) -> Grandparent(A, C) ^2\n1: !Grandparent(A, B) ^2\n1: Grandparent(A, +B) <= 1"
    )
    yield soft
    for learner in (
        sqlrl.SoftPseudoLikelihood(strength=0.1),
        sqlrl.SoftMapLikelihood(max_iterations=2),
        sqlrl.SoftPiecewiseLikelihood(),
    ):
        yield learner.fit(family, soft)
    truths = family.predict(soft)
    yield from (truths, family.evaluate(truths), truths.why(f"Grandparent({quoted('a' + SCRIPT)}, {quoted('c')})"))
    yield sqlrl.HingeOptions()
    yield from languages()
    graph = duckdb.connect()
    _ = graph.execute("create table friends as from (values ('Ann', ?), (?, 'Carl')) t(a, b)", [SCRIPT, SCRIPT])
    ego = sqlrl.EgoNetworks(graph, "friends", target="Friend", centres="select 'Ann'")
    yield from (
        ego,
        ego.cut(0, 1),
        sqlrl.SubgraphQueries(
            graph, "select a from friends", {"Knows": "select example, b from centres join friends on a = example"}
        ),
    )
    one = quoted(SCRIPT)
    subgraphs = [{"Friend": pa.table({"example": [SCRIPT], "person": ["b"]})}]
    yield from (
        sqlrl.SubgraphTables(subgraphs),
        sqlrl.Spark("sc://localhost:15002", storage=f"/tmp/{SCRIPT}"),
        sqlrl.ServerFiles(f"s3://{SCRIPT}/*.parquet"),
    )
    yield from (sqlrl.Evidence(f"P({one})"), sqlrl.SoftData(sqlrl.parse_psl("1: P(X)")), sqlrl.OutsideSolution(SCRIPT))
    yield from (sqlrl.Roles(drop=[SCRIPT]), sqlrl.SQLOptions(), family.models, family.runs)
    yield sqlrl.errors.Parameter("limit", SCRIPT)
    yield sqlrl.errors.InputError(f"no {SCRIPT}")
    with pytest.raises(sqlrl.errors.ParseError) as raised:
        sqlrl.parse_mln(f"P(a)\n1 P({SCRIPT}")
    yield raised.value


def languages() -> Iterator[object]:
    """Every kind of formula, rule and coefficient."""
    one = quoted(SCRIPT)
    formulas = f"1 P(x) <=> Q(x)\nFORALL y (P(x) v Q(y))\nEXIST y (P(y) ^ y != {one})\n*P(x) v Q(x)"
    yield sqlrl.parse_mln(f"P(t)\nQ(t)\n{formulas}")
    sums = "1: @Max[|Y|, 2] * A(X, +Y) <= 1 {Y: B(Y) & C(Y)}\n1: A(X, +Y) <= 1 {Y: B(Y) || C(Y)}"
    yield sqlrl.parse_psl(f"{sums}\n1: A(X, Y) & (X % Y) & (X != Y) -> B(X)\n1: A(X, '{SCRIPT}') -> B(X)")
    # A disjunction stays in filters of models that were saved before it was a rule for each part.
    yield sqlrl.parse_psl(
        '// sqlrl {"predicates": {"A/2": null, "B/1": null, "C/1": null}, "rules": "as written"}\n'
        "1: A(X, +Y) <= 1 {Y: B(Y) || C(Y)}"
    )
    data = {"predicates": {"B/1": {"targets": [[SCRIPT]]}}, "rules": ["1: B(X)"]}
    yield sqlrl.parse_psl(json.dumps(data))
    yield sqlrl.PredicateMapping({"P": "Q"}, {"t": {SCRIPT: "b"}})
    yield sqlrl.SqlrlError(SCRIPT)


def inside(value: object) -> Iterator[object]:
    """What a value holds for others to read."""
    if isinstance(value, Mapping):
        yield from list(value.values())[:20]
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield from value[:20]
    for name, _ in leads_to(type(value)) if type(value) in met() else ():
        if name.startswith("_") or name in DOORS or name in old_parameters(type(value)):
            continue
        found = getattr(value, name, None)
        # Charts are called only to say that one is to be named.
        yield from [found] if isinstance(found, Plots) or not callable(found) else []


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[type, list[Any]]:
    """The objects of a short session by class, with what they hold."""
    return by_class([*learned(tmp_path_factory.mktemp("session"), few=True), *languages(), sqlrl.ServerFiles(SCRIPT)])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[type, list[Any]]:
    """The objects of long sessions by class, with what they hold."""
    return by_class([*learned(tmp_path_factory.mktemp("session")), *others()])


def by_class(todo: list[object]) -> dict[type, list[Any]]:
    found: dict[type, list[Any]] = {}
    # With the values, since an object that is gone leaves its number to another one.
    seen: dict[int, object] = {}
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        todo += inside(value)
        if type(value) in met():
            found.setdefault(type(value), []).append(value)
    return found


class Page(HTMLParser):
    """The text of some HTML, which must be a table, and closed; `rows` counts those of its tables."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text, self.rows, self.tables = "", 0, 0
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert all(each in {("style", "text-align: left"), ("style", "text-align: right")} for each in attrs)
        self.open.append(tag)
        self.rows, self.tables = self.rows + (tag == "tr"), self.tables + (tag == "table")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data: str) -> None:
        self.text += data


def look_at_tables(objects: dict[type, list[Any]]) -> None:
    """Look at what each object shows: a small table without markup of the data."""
    for kind, values in objects.items():
        for value in values:
            html = value._repr_html_()
            assert SCRIPT not in html, kind
            if kind.__name__ in DRAWN:
                continue
            page = Page(html)
            assert page.tables >= 1, kind
            assert page.rows <= 120, kind
            assert len(html.encode("utf-8")) <= 60_000, kind
            assert all(c.isprintable() or c == "\n" for c in html), kind


def names_in_text(objects: dict[type, list[Any]]) -> set[str]:
    """The classes that show a name of the data."""
    return {
        kind.__name__
        for kind, values in objects.items()
        if kind.__name__ not in DRAWN and any(SCRIPT in Page(each._repr_html_()).text for each in values)
    }


@pytest.mark.slow
def test_an_object_is_a_small_table_without_markup_of_the_data(few: dict[type, list[Any]]) -> None:
    assert len(few) > 60
    look_at_tables(few)


@pytest.mark.slow
def test_each_object_is_a_small_table_without_markup_of_the_data(session: dict[type, list[Any]]) -> None:
    # A mention is a parameter or a phrase.
    kinds = met().keys() - {sqlrl.errors.Mention}
    missing = [kind.__name__ for kind in kinds if not any(issubclass(held, kind) for held in session)]
    assert not missing, f"nothing in the session is one of {missing}"
    look_at_tables(session)


def test_names_of_data_are_there_as_text(few: dict[type, list[Any]]) -> None:
    found = {
        "Table",
        "Model",
        "Reasons",
        "Likelihood",
        "Rule",
        "SoftModel",
        "Fold",
        "ServerFiles",
        "Column",
        "Constant",
    }
    assert found - names_in_text(few) == set()


@pytest.mark.slow
def test_names_of_the_data_are_there_as_text(session: dict[type, list[Any]]) -> None:
    names = names_in_text(session)
    assert {
        "Table",
        "Model",
        "Reasons",
        "OSL",
        "Likelihood",
        "ILP",
        "Rule",
        "Resolwe",
        "SoftModel",
        "Pushes",
        "Fold",
    } <= names
    assert {"ServerFiles", "InputError", "Column", "Constant"} <= names


@given(st.text(), st.text(alphabet=st.sampled_from("<>&\"'/;!-= script")))
def test_any_text_is_text(one: str, other: str) -> None:
    @dataclass
    class Holder:
        first: str
        second: tuple[str, ...]
        third: dict[str, str]
        _repr_html_ = markup.field_table

    html = Holder(one, (other, one), {one: other})._repr_html_()
    text = Page(html).text
    assert markup.visible(one) in text or len(one) > 100
    assert other in text or len(other) > 100
    html.encode("utf-8")
    for made in (markup.report(one, other, [one]), markup.numbered(one, [other], 3), markup.pairs([(one, other)])):
        Page(made)


def test_secrets_are_not_shown() -> None:
    server = sqlrl.Spark("sc://user.example:443/;use_ssl=true;token=geheim", storage="s3://bucket/sqlrl")
    assert "geheim" not in server._repr_html_()
    assert "s3://bucket/sqlrl" in server._repr_html_()

    @dataclass
    class Login:
        name: str
        password: str = field(repr=False)
        _repr_html_ = markup.field_table

    @dataclass
    class Holder:
        login: Login
        _repr_html_ = markup.field_table

    assert "geheim" not in Login("Ann", "geheim")._repr_html_() + Holder(Login("Ann", "geheim"))._repr_html_()


def test_what_is_long_is_described() -> None:
    @dataclass
    class Long:
        array: Any
        few: Any
        rows: Any
        items: Any
        text: str
        nested: Any = None
        _repr_html_ = markup.field_table

    values = Long(np.zeros((3000, 2)), np.arange(3), pa.table({"a": range(5000)}), range(10**6), "x" * 10**6)
    values.nested = values
    text = Page(values._repr_html_()).text
    assert "3,000 x 2 of float64" in text
    assert "0, 1, 2" in text
    assert "5,000 rows of a" in text
    assert "0, 1, 2, 3, 4, 5, … 999,994 more" in text
    assert len(text) < 2000
