"""The data that a program of probabilistic soft logic names, loaded and refused."""

from __future__ import annotations

import json
import warnings

import pytest

import sqlrl
from sqlrl.errors import InputError, LabelWarning, LoadError

RULES = ["1: Near(A, B) & Likes(A) -> Likes(B) ^2", "0.1: !Likes(A) ^2"]


def program(folder, predicates):
    path = folder / "program.json"
    path.write_text(json.dumps({"rules": RULES, "predicates": predicates}), encoding="utf-8")
    return sqlrl.read_psl(path)


def files(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def test_partitions_are_facts_values_scopes_and_labels(tmp_path):
    files(
        tmp_path,
        near="a\tb\t0.5\nb\tc\n".replace("b\tc\n", "b\tc\t1\n"),
        seen="a\n",
        targets="b\nc\n",
        truth="b\t0.25\nc\t1\n",
    )
    model = program(
        tmp_path,
        {
            "Near/2": {"observations": ["near.txt"]},
            "Likes/1": {"observations": ["seen.txt"], "targets": ["targets.txt"], "truth": ["truth.txt"]},
        },
    )
    db = sqlrl.connect(progress=False)
    found = db.load(model)
    assert found == {"Near": {"observations": 2}, "Likes": {"observations": 1, "targets": 2, "truth": 2}}
    prediction = db.predict(model)
    assert [p.atom_count for p in prediction.layout.predicates.values() if p.open] == [2]
    # (0.5 - b)^2 + max(0, b - c)^2 + 0.1 b^2 + 0.1 c^2: 2.1 b - c = 0.5, 1.1 c = b.
    b = 0.5 / (2.1 - 1 / 1.1)
    assert prediction.atoms()["value"].to_pylist() == pytest.approx([b, b / 1.1], abs=1e-3)
    scores = prediction.evaluate()
    assert scores.mean_absolute_error == pytest.approx((abs(b - 0.25) + abs(b / 1.1 - 1)) / 2, abs=1e-3)


def test_files_of_another_task_are_left_alone(tmp_path):
    files(tmp_path, near="a\tb\n", targets="b\n", others="a\nb\n")
    predicates = {
        "Near/2": {"observations": ["near.txt"]},
        "Likes/1": {"targets": {"infer": ["targets.txt"], "learn": ["others.txt"]}},
    }
    model = program(tmp_path, predicates)
    for split, size in (("infer", 1), ("learn", 2)):
        assert sqlrl.connect(progress=False).load(sqlrl.SoftData(model, split=split))["Likes"] == {"targets": size}


def test_data_of_another_task_are_not_loaded_beside_those_of_the_first(tmp_path):
    files(tmp_path, near="a\tb\n", seen="a\n", targets="b\n", others="c\n")
    predicates = {
        "Near/2": {"observations": ["near.txt"]},
        "Likes/1": {
            "observations": {"learn": ["seen.txt"]},
            "targets": {"infer": ["targets.txt"], "learn": ["others.txt"]},
        },
    }
    model = program(tmp_path, predicates)
    db = sqlrl.connect(progress=False)
    db.load(sqlrl.SoftData(model, split="learn"))
    with pytest.raises(InputError, match=r"Likes has observed values in this database.*connect\(\)"):
        db.load(sqlrl.SoftData(model, split="infer"))


def test_targets_without_a_truth_are_counted(tmp_path):
    files(tmp_path, near="a\tb\n", targets="b\nc\n", truth="b\t1\n")
    model = program(
        tmp_path,
        {"Near/2": {"observations": ["near.txt"]}, "Likes/1": {"targets": ["targets.txt"], "truth": ["truth.txt"]}},
    )
    with pytest.warns(LabelWarning, match="1 of 2 targets of Likes has no truth"):
        sqlrl.connect(progress=False).load(model)


def test_a_file_in_another_encoding_is_refused_with_its_name(tmp_path):
    files(tmp_path, targets="b\n")
    (tmp_path / "near.txt").write_bytes(b"a\xff\tb\t0.5\n")
    model = program(tmp_path, {"Near/2": {"observations": ["near.txt"]}, "Likes/1": {"targets": ["targets.txt"]}})
    with pytest.raises(LoadError, match=r"near\.txt: .*UTF-?8"):
        sqlrl.connect(progress=False).load(model)


WRONG = [
    ({"near": "a\tb\nb\n"}, LoadError, r"near\.txt: row 2 has 1 column, and the first row 2"),
    ({"near": "a\n"}, LoadError, r"its first row has 1 column, expected the 2 constants of Near"),
    ({"near": "a\tb\t1.5\n"}, LoadError, r"row 1 has the truth '1.5'"),
    ({"near": "a\tb\tx\n"}, LoadError, r"row 1 has the truth 'x'"),
    ({"near": "a\tb\tnan\n"}, LoadError, r"row 1 has the truth 'nan'"),
    ({"near": "a\tb\t0.5\na\tb\t0.6\n"}, LoadError, "Near"),
    ({"seen": "b\n"}, LoadError, r"1 target is observed, too: Likes\(b\)"),
    ({"truth": ""}, LoadError, "truth partition has no rows"),
]


@pytest.mark.parametrize(("texts", "kind", "message"), WRONG)
def test_wrong_files_are_refused_with_their_places(tmp_path, texts, kind, message):
    files(tmp_path, **({"near": "a\tb\n", "seen": "a\n", "targets": "b\n", "truth": "b\t1\n"} | texts))
    model = program(
        tmp_path,
        {
            "Near/2": {"observations": ["near.txt"]},
            "Likes/1": {"observations": ["seen.txt"], "targets": ["targets.txt"], "truth": ["truth.txt"]},
        },
    )
    with pytest.raises(kind, match=message):
        sqlrl.connect(progress=False).load(model)


def test_missing_files_are_named_together(tmp_path):
    model = program(tmp_path, {"Near/2": {"observations": ["x.txt", "y.txt"]}, "Likes/1": {"targets": ["z.txt"]}})
    with pytest.raises(InputError, match=r"3 files .* are not there: .*x\.txt.*y\.txt.*z\.txt"):
        sqlrl.connect(progress=False).load(model)


def test_a_program_without_data_is_refused():
    with pytest.raises(InputError, match="says of no predicate where its data are"):
        sqlrl.connect(progress=False).load(sqlrl.parse_psl(RULES[0]))


EXAMPLES = ("citeseer", "friendship")
FURTHER = ("epinions", "knowledge-graph-identification", "lastfm", "trust-prediction")


@pytest.mark.parametrize("name", [*EXAMPLES, *(pytest.param(name, marks=pytest.mark.slow) for name in FURTHER)])
def test_programs_of_psl_run_on_tiny_data(data_folder, name):
    model = sqlrl.read_psl(next((data_folder / "psl" / name / "cli").glob("*.json")))
    roles = {p: {part.role for part in model.partitions if part.predicate == p} for p in model.predicates}
    with pytest.raises(InputError, match=r"are not there|is not there"):
        sqlrl.connect(progress=False).load(model)
    db = sqlrl.connect(progress=False)
    for predicate, declared in model.predicates.items():
        arity = len(declared.types)
        every = [tuple(f"c{(i + j) % 3}" for j in range(arity)) for i in range(3)]
        every += [("c0",) * arity] if arity > 1 else []
        inferred = "targets" in roles[predicate]
        if inferred:
            db.scope(predicate, every[1:])
        if "observations" in roles[predicate] or not inferred:
            rows = [(*row, 0.75) for row in (every[:1] if inferred else every)]
            db.load(predicate, rows, columns=list(range(arity)), types=declared.types, value=arity, given=inferred)
        if "truth" in roles[predicate]:
            db.load(
                predicate,
                [(*row, 1.0) for row in every[1:3]],
                columns=list(range(arity)),
                types=declared.types,
                value=arity,
                target=True,
            )
    with warnings.catch_warnings(action="ignore"):
        # A few rows are no program's data: rules reach atoms that they do not list.
        prediction = db.predict(model, missing="false")
    assert prediction.status.value == "optimal"
    assert prediction.result.violated == 0
    if any("truth" in r for r in roles.values()):
        assert prediction.evaluate().atoms > 0
