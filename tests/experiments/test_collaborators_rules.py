"""The experiment on collaborators: what resolwe counts against SQL by hand, what formulations say, and the arithmetic of its table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import collaborators
import duckdb
import numpy as np
import pytest
from collaborators import BASELINES, JOBS, PAPER, Job, Outcome, make_jobs, parts, probabilities, scores, summarise
from collaborators_grammar import (
    GRAMMAR,
    MODEL,
    PLANTED,
    Ranked,
    on_top,
    precision_and_recall,
    ranking,
    statement,
    tables_of,
)
from collaborators_graph import Chances, Sizes, generate_graph, open_graph, write_graph
from collaborators_subgraphs import PATTERNS, TARGET, centres, held, sums, window
from harness import Measured, Options

import sqlrl
from sqlrl.evaluate import score_rankings

GRAPH = Sizes(editors=700, articles=60, contributions=2_800, largest=130, talks=7_000, links=400)
SEED = 21

# A rule may have no ground clause in the few subgraphs that learn weights.
pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("graph")
    write_graph(generate_graph(GRAPH, seed=SEED), folder)
    return open_graph(folder)


@pytest.fixture(scope="module")
def chosen(con: duckdb.DuckDBPyConnection) -> list[int]:
    return centres(con, 34, seed=SEED)


def fitted(con: duckdb.DuckDBPyConnection, chosen: list[int], *, everything: bool = False, size: int = 10) -> Any:
    # A window has its subgraphs in the order of their names: which ones choose is said by where windows end.
    cut = [*parts(chosen[:-4], size), chosen[-4:]]
    return sqlrl.Resolwe(sqlrl.parse_grammar(GRAMMAR), select=len(chosen) - 4, threshold=0.7).fit(
        sqlrl.connect(progress=False),
        sqlrl.parse_mln(MODEL),
        examples=sqlrl.SubgraphTables([tables_of(con, part, everything=everything) for part in cut]),
    )


@pytest.fixture(scope="module")
def fit(con: duckdb.DuckDBPyConnection, chosen: list[int]) -> sqlrl.Resolwe:
    found: sqlrl.Resolwe = fitted(con, chosen)
    return found


# ---- what is counted -------------------------------------------------------------------------------------------------


def formulation(text: str) -> str | None:
    """Return the formulation of the grammar for a pattern that was written by hand; its last literal is the one that is weighed."""
    if text == "modifies(a, u)":
        return None
    *evidence, last = text.split(" ^ ")
    if "centre(c)" in evidence:
        evidence.remove("centre(c)")
        return " ^ ".join(["project(a)", "centre(c)", *evidence, last])
    if not evidence[-1].startswith("modifies"):
        return " ^ ".join([*evidence, last])
    *evidence, given = evidence
    if evidence[0].startswith("userTalk"):
        pair = ["modifies(a, v)", "modifies(a, u)"]
        evidence = ["project(a)", *evidence]
    else:
        pair = ["modifies(b, u)", "modifies(a, u)"]
        if evidence[0].startswith("category"):
            evidence.reverse()
        evidence = ["collaborator(u)", *evidence]
    assert {given, last} == set(pair)
    return " ^ ".join([*evidence, *(f"!{x}" if x == last else x for x in pair)])


def test_what_resolwe_counts_is_what_queries_by_hand_count(
    con: duckdb.DuckDBPyConnection, chosen: list[int], fit: sqlrl.Resolwe
) -> None:
    counted = sums([held(window(con, part)) for part in parts(chosen[: len(chosen) - 4], 15)])
    found = {x["formula"]: x for x in fit.formulations_.to_arrow().to_pylist()}
    seen = 0
    for each in counted:
        text = formulation(each.pattern.text)
        if text is None:
            continue
        assert text in found, text
        assert (found[text]["support"], found[text]["matched"]) == (each.groundings, each.true), text
        assert each.groundings > 0
        seen += 1
    assert seen == len(PATTERNS) - 1


def test_contributions_that_nothing_relates_change_no_count(
    con: duckdb.DuckDBPyConnection, chosen: list[int], fit: sqlrl.Resolwe
) -> None:
    few, all_ = (tables_of(con, chosen[:5], everything=x) for x in (False, True))
    assert few["contributesOther"].num_rows < 0.9 * all_["contributesOther"].num_rows
    # In windows of another size, too.
    whole = fitted(con, chosen, everything=True, size=17)
    assert whole.formulations_.to_arrow().equals(fit.formulations_.to_arrow())
    assert whole.n_statements_ < fit.n_statements_


def test_formulations_of_one_statement_hold_equally_often(fit: sqlrl.Resolwe) -> None:
    found: dict[object, set[tuple[int, int]]] = {}
    texts: dict[object, int] = {}
    for row in fit.formulations_.to_arrow().to_pylist():
        said = statement(fit.candidates_[row["candidate"]], row["implied"])
        found.setdefault(said, set()).add((row["support"], row["matched"]))
        texts[said] = texts.get(said, 0) + 1
    assert all(len(counts) == 1 for counts in found.values())
    assert sum(x > 1 for x in texts.values()) > 25
    # And statements that are not the same are told apart by their counts, but for a few that nothing selects.
    some = [counts for counts in found.values() if max(counts)[0] > 100]
    assert len({frozenset(x) for x in some}) > 0.9 * len(some)


def test_narrower_statements_select_fewer_of_what_is_planted(fit: sqlrl.Resolwe) -> None:
    support = {}
    for row in fit.formulations_.to_arrow().to_pylist():
        support[statement(fit.candidates_[row["candidate"]], row["implied"])] = row["support"]
    for planted in PLANTED:
        narrower = [x for x in support if x.narrows(planted.statement)]
        assert not planted.statement.narrows(planted.statement)
        assert all(support[x] <= support[planted.statement] for x in narrower)
    names = {x.text: x.kind for x in ranking(fit)}
    for text, kind in {
        "contributesOther(b, u) ^ verySimilar(b, a) ^ modifies(a, u)": "planted",
        "articleTalk(b, u) ^ verySimilar(b, a) ^ modifies(a, u)": "narrower",
        "contributesOther(b, u) ^ hyperLink(b, a) ^ verySimilar(b, a) ^ modifies(a, u)": "narrower",
        "articleTalk(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)": "planted",
        "articleEdit(b, u) ^ articleTalk(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)": "narrower",
        "contributesOther(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)": "other",
        "articleTalk(b, u) ^ hyperLink(a, b) ^ similar(b, a) ^ modifies(a, u)": "other",
        "project(a) ^ centre(c) ^ userTalk(u, c) ^ modifies(a, u)": "other",
        "project(a) ^ userTalk(u, v) ^ userTalk(v, u) ^ modifies(a, u) => modifies(a, v)": "planted",
        "project(a) ^ userTalk(u, v) ^ userTalk(v, u) ^ modifies(a, v) ^ modifies(a, u)": "other",
        "project(a) ^ userTalk(u, v) ^ modifies(a, u) => modifies(a, v)": "other",
        "collaborator(u) ^ verySimilar(b, a) ^ modifies(a, u) => modifies(b, u)": "planted",
        "collaborator(u) ^ verySimilar(b, a) ^ category(b, k) ^ category(a, k) ^ modifies(a, u) => modifies(b, u)": "narrower",
        "collaborator(u) ^ verySimilar(b, a) ^ modifies(b, u) ^ modifies(a, u)": "other",
    }.items():
        assert names[text] == kind, text


def test_planted_rules_are_found_with_their_chances_before_all_others(fit: sqlrl.Resolwe) -> None:
    ranked, chances = ranking(fit), Chances()
    assert [x.bound for x in ranked] == sorted((x.bound for x in ranked), reverse=True)
    planted = [x for x in ranked if x.kind == "planted"]
    assert len(planted) == len(PLANTED)
    for each in planted:
        assert each.chance is not None
        # Who is in a subgraph contributes to one of its articles, so that pairs are true more often there than in the graph.
        assert each.probability > getattr(chances, each.chance) - 0.05
        assert each.kept == (each.bound >= 0.7)
    assert on_top(ranked) == on_top(ranked, 1) == on_top(ranked, 2) == 1.0
    assert all(0 < x.bound <= x.probability for x in ranked if x.support)


# ---- the arithmetic --------------------------------------------------------------------------------------------------


def made(*rows: tuple[str, int, float]) -> list[Ranked]:
    return [
        Ranked(f"s{i}", n, kind, None, 100, bound, bound, True)  # type: ignore[arg-type]
        for i, (kind, n, bound) in enumerate(rows)
    ]


def test_shares_on_top_leave_narrower_statements_out() -> None:
    ranked = made(
        ("narrower", 1, 0.95), ("planted", 1, 0.9), ("other", 2, 0.85), ("narrower", 2, 0.84), ("planted", 2, 0.8),
        ("other", 1, 0.7), ("planted", 1, 0.6), ("planted", 2, 0.4), ("other", 1, 0.3),
    )  # fmt: skip
    few = [replace(ranked[0], kind="other", support=9), *ranked]
    # Of the four highest two are planted; with one literal the first of two; with two the second of two.
    assert (on_top(ranked), on_top(ranked, 1), on_top(ranked, 2)) == (0.5, 0.5, 0.5)
    assert precision_and_recall(ranked, 0.75) == (pytest.approx(2 / 3), 2 / 5)
    assert precision_and_recall(ranked, 0.6) == (pytest.approx(3 / 5), 3 / 5)
    assert precision_and_recall(ranked, 0.99) == precision_and_recall(few, 0.99) == (1.0, 0.0)
    assert precision_and_recall([replace(few[0], support=10), *ranked], 0.9) == (0.5, 1 / 5)


def outcome(ranked: list[Ranked], seconds: float) -> Measured[Outcome]:
    found = Outcome(
        ranked, 108, 30, 10, 250, {"graph": 1.0, "step_2": seconds, "cpu_2": 2 * seconds, "step_3": 30.0, "cpu_3": 6.0}
    )
    return Measured(found, 100.0, 400.0 + seconds)


def test_the_table_has_means_and_deviations_over_seeds() -> None:
    good = made(*[("planted", 1, 0.9)] * 3, *[("planted", 2, 0.8)] * 2, ("other", 1, 0.6))
    bad = made(*[("planted", 1, 0.9)] * 3, ("planted", 2, 0.8), ("other", 1, 0.78), ("planted", 2, 0.7))
    job = replace(JOBS["tenth"], select=300)
    rows = summarise([job, replace(job, seed=1)], [outcome(good, 60.0), outcome(bad, 120.0)])
    assert [(x["name"], x["whose"], x["minutes"]) for x in rows[:3]] == [
        ("resolwe", "paper", PAPER["resolwe"]["minutes"]),
        ("skipSelection", "paper", 3236.4),
        ("resolwe, tenth", "ours", 2.0),
    ]
    ours = rows[2]
    assert (ours["runs"], ours["subgraphs"], ours["statements"], ours["queries_a_window"]) == (2, 300, 6, 25.0)
    assert (ours["on_top"], ours["sd_on_top"]) == (0.9, round(0.1 * 2**0.5, 3))
    assert (ours["on_top_1"], ours["on_top_2"]) == (1.0, 1.0)
    # At 0.75: all five and nothing else; four and the other one.
    assert (ours["precision_75"], ours["recall_75"]) == (0.9, 0.9)
    assert (ours["lowest"], ours["highest"]) == (0.7, 0.78)
    assert (ours["step_2"], ours["cpu_2"], ours["step_3"], ours["cpu_3"]) == (1.5, 3.0, 0.5, 0.1)
    assert ours["memory_mb"] == 520
    # The rules of the last run.
    assert [(x["whose"], x["rank"]) for x in rows[3:]] == [
        *[("planted", k) for k in (1, 2, 3, 4)],
        ("other", 5),
        ("planted", 6),
    ]


def test_jobs_are_those_of_the_paper_s_sizes() -> None:
    jobs = make_jobs(Options(Path(), seed=3))
    assert [(x.graph, x.seed) for x in jobs] == [
        *(("tenth", 3 + k) for k in range(5)), *(("tenth-weaker", 3 + k) for k in range(5)), ("full", 3),
    ]  # fmt: skip
    full = jobs[-1]
    assert (full.select, full.test, full.sizes.editors, full.sizes.talks) == (1_339, 1_785 - 1_339, 280_000, 8_000_000)
    assert [x.graph for x in make_jobs(Options(Path(), chosen={"graph": "full"}))] == ["full"]
    assert all(x.everything for x in make_jobs(Options(Path(), more=frozenset({"everything"}))))
    assert [len(x) for x in parts(list(range(7)), 3)] == [3, 3, 1]


# ---- prediction ------------------------------------------------------------------------------------------------------


def test_baselines_are_those_of_sets_and_probabilities_need_no_labels(
    con: duckdb.DuckDBPyConnection, chosen: list[int]
) -> None:
    test = chosen[:3]
    tables = tables_of(con, test)
    model = sqlrl.parse_mln(
        f"{MODEL}\n-1 modifies(a, u)\n2 contributesOther(b, u) ^ verySimilar(b, a) ^ modifies(a, u)", query=(TARGET,)
    )
    found = scores(con, tables, model)
    rows = {name: list(zip(*table.to_pydict().values(), strict=True)) for name, table in tables.items()}
    known = set(con.sql("SELECT article, editor FROM contributes").fetchall())
    tied = {
        (c, *pair) for x in ("hyperLink", "similar", "verySimilar") for c, a, b in rows[x] for pair in ((a, b), (b, a))
    }
    twins = {x[:3] for x in rows["verySimilar"]}
    talks = set(rows["userTalk"])
    articles: dict[tuple[int, int], set[int]] = {}
    for c, b, u in rows["contributesOther"]:
        articles.setdefault((c, u), set()).add(b)
    everywhere: dict[int, set[int]] = {}
    for a, u in known:
        everywhere.setdefault(u, set()).add(a)
    for k, (c, a, u, truth) in enumerate(rows[TARGET]):
        assert (found["example"][k], found["truth"][k]) == (c, truth)
        assert truth == ((a, u) in known)
        others = articles.get((c, u), set())
        numbers = (
            len(everywhere[u] - everywhere[c]),
            sum((c, a, b) in tied for b in others),
            ((c, u, c) in talks) + ((c, c, u) in talks),
        )
        assert tuple(found[name][k] for name in BASELINES) == numbers
        n = sum((c, b, a) in twins for b in others)
        assert found["resolwe"][k] == pytest.approx(1 / (1 + np.exp(1 - 2 * n)))
    for name in (*BASELINES, "resolwe"):
        assert len(set(found[name])) > 1
    turned = {
        **tables,
        TARGET: tables[TARGET].set_column(3, "truth", [[not x for x in tables[TARGET]["truth"].to_pylist()]]),
    }
    assert probabilities(turned, model).equals(probabilities(tables, model))


def test_the_script_prints_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job("full", GRAPH, Chances(), 0, 20, 6, 5, 10, threshold=0.7)
    result = collaborators.run(job)
    assert {x.kind for x in result.ranked} == {"planted", "narrower", "other"}
    assert (result.windows, result.queries) == (2, 50)
    monkeypatch.setattr(collaborators, "QUICK", {"full": job})
    monkeypatch.setattr(collaborators, "run_jobs", lambda *_, **__: [Measured(result, 1.0, 300.0)])
    arguments = [
        "--quick",
        "--quiet",
        "--data",
        str(tmp_path),
        "--json",
        str(tmp_path / "t.json"),
        "--db",
        str(tmp_path / "t.db"),
    ]
    monkeypatch.setattr("sys.argv", ["collaborators.py", *arguments])
    collaborators.main()
    rows = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [x["name"] for x in rows[:3]] == ["resolwe", "skipSelection", "resolwe, full"]
    assert {x["name"] for x in rows if x["what"] == "ranking"} == {*BASELINES, "resolwe", "nothing"}
    nothing = next(x for x in rows if x["name"] == "nothing")
    assert (nothing["auc"], nothing["subgraphs"]) == (0.5, 5)
    assert sum(x["whose"] == "planted" for x in rows if x["what"] == "rule") == len(PLANTED)
    assert "skipSelection" in capsys.readouterr().out
    with duckdb.connect(str(tmp_path / "t.db")) as kept:
        assert kept.sql("SELECT count(*) FROM experiment.collaborators_runs").fetchall() == [(len(result.ranked),)]
        ((parameters,),) = kept.sql("SELECT parameters FROM experiment.run").fetchall()
    assert json.loads(parameters)["jobs"][0]["sizes"]["editors"] == 700
    # What is printed of a ranking is what its scores say.
    truth = np.array([True, False, False, True])
    one = collaborators._predictions({"x": score_rankings(truth, [3, 1, 2, 0], [1, 1, 1, 1])})
    assert (one[0]["map"], one[0]["auc"]) == (0.75, 0.5)
