"""The experiment with structure of soft models: labels, folds and the table, on a generated graph."""

from __future__ import annotations

import json
from pathlib import Path

import psl_structure
import pytest

from tests.experiments.test_kg_completion import generated, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drugs that share an enzyme interact; and the graph of `test_kg_completion`."""
    place = write(tmp_path_factory.mktemp("data"), generated())
    drugs = place / "drug-interactions"
    drugs.mkdir()
    enzyme = {f"d{i}": f"e{i % 4}" for i in range(24)}
    pairs = [(a, b, int(enzyme[a] == enzyme[b])) for a in enzyme for b in enzyme if a != b]
    (drugs / "interacts.csv").write_text("drug1,drug2,label\n" + "".join(f"{a},{b},{x}\n" for a, b, x in pairs))
    (drugs / "enzyme.csv").write_text("a0,a1\n" + "".join(f"{e},{d}\n" for d, e in enzyme.items()))
    return place


def test_pairs_of_drugs_are_unordered_and_in_one_fold_each(folder: Path) -> None:
    found = psl_structure.drugs(folder / "drug-interactions", 0, quick=False)
    pairs = [pair[:2] for part in found.folds for pair in part]
    assert len(pairs) == len(set(pairs)) == 24 * 23 // 2
    assert all(a < b for a, b in pairs)
    assert max(map(len, found.folds)) - min(map(len, found.folds)) <= 1
    assert found.symmetric
    assert len(psl_structure.both_ways(found, found.folds[0])) == 2 * len(found.folds[0])


def test_labels_of_a_graph_are_its_facts_and_as_many_pairs_without(folder: Path) -> None:
    found = psl_structure.graph(folder / "kg" / "umls", None, 0, quick=False)
    assert found.target == "knows"  # the relation with the most facts
    facts = {(h, t) for triples in generated().values() for h, r, t in triples if r == "knows"}
    labels = {pair[:2]: pair[2] for part in found.folds for pair in part}
    assert {pair for pair, value in labels.items() if value} == facts
    false = {pair for pair, value in labels.items() if not value}
    assert len(false) == len(facts)
    assert {a for a, _ in false} <= {a for a, _ in facts}
    assert {b for _, b in false} <= {b for _, b in facts}
    assert set(found.facts) == {"works_at", "lies_in", "lives_in"}


def test_names_of_relations_differ_by_more_than_their_case() -> None:
    found = psl_structure.relation_names(["/a/B", "a_b", "x/y", "9z"])
    assert found == {"/a/B": "a_B", "9z": "z", "a_b": "a_b_2", "x/y": "x_y"}


def test_a_run_ranks_pairs_by_the_planted_rule(folder: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    psl_structure.main(
        ["--data", str(folder), "--task", "drugs", "--quick", "--quiet", "--variants", "--json", str(rows)]
    )
    found = [row for row in json.loads(rows.read_text()) if row["whose"] != "paper, DDI-INTERACTS"]
    table = {(row["system"], row["weights"]): row for row in found}
    assert set(table) == {
        *(("ppll", weights) for weights in ("maximum", "150 steps", "linear", "l1")),
        *(("gls", weights) for weights in ("maximum", "15 steps", "linear", "l1")),
        ("degrees", None),
    }
    best = table["ppll", "maximum"]
    assert best["auc"] == 1.0
    assert best["auc"] > table["degrees", None]["auc"] + 0.2
    # Hinges that are linear tie at their ends.
    assert table["ppll", "linear"]["tied"] >= best["tied"]
