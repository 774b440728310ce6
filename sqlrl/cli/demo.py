"""`sqlrl demo`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.options import DatabaseOptions, Summary, grouped, option
from sqlrl.cli.results import progressive
from sqlrl.cli.session import CommandSession, print_json, session
from sqlrl.errors import InputError

if TYPE_CHECKING:
    from sqlrl.database.database import Database as Opened

HELD_OUT = 0.25
"""The share of the citations that is held out, the last ones."""

QUESTION = r"""select regexp_extract(clause, 'InField\(c, (\w+), p\)', 1) as field,
       arg_max(regexp_extract(clause, 'Token\((.+), p, c\)', 1), weight) as strongest_token,
       max(weight) as weight,
       count(*) filter (weight <> 0) as clauses
from sqlrl.strongest_clauses
where clause like 'Token%'
group by field
order by weight desc"""

Citations = Annotated[
    int, typer.Option("--citations", metavar="N", min=20, help="Number of citations that are generated.")
]
Seed = Annotated[int, typer.Option("--random-state", metavar="N", help="The same seed gives the same citations.")]
Directory = Annotated[
    Path | None, option("--directory", "DIR", "Keep the Parquet files, the database and the model there.")
]


@grouped
def demo(citations: Citations = 600, seed: Seed = 0, directory: Directory = None, *, output: Summary) -> None:
    """Run the main job on a bibliography that sqlrl generates: load, learn, predict, ask.

    sqlrl demo --directory bibliography
    """
    with session(output) as run, _folder(directory) as folder:
        _demo(run, folder, citations, seed, keep=directory is not None)


@contextmanager
def _folder(directory: Path | None) -> Iterator[Path]:
    """Make the folder, or a temporary one; InputError if it is a file, or has a database of that name already."""
    if directory is None:
        with TemporaryDirectory(prefix="sqlrl-demo-") as name:
            yield Path(name)
        return
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file: name a folder in --directory, or remove it")
    if (directory / "cite.duckdb").exists():
        raise InputError(f"{directory / 'cite.duckdb'} exists already: name another --directory, or remove it")
    directory.mkdir(parents=True, exist_ok=True)
    yield directory


def _demo(run: CommandSession, folder: Path, citations: int, seed: int, *, keep: bool) -> None:
    """Generate, load, learn, predict, ask; print each step."""
    from sqlrl.demo import MODEL, generate
    from sqlrl.learn import AdaGrad
    from sqlrl.logic.mln import parse_mln
    from sqlrl.logic.saving import save_model

    start = time.perf_counter()
    if keep:
        # What is kept is written before anything is printed, to a pipe that may be closed.
        (folder / "model.mln").write_text(MODEL, encoding="utf-8")
    bibliography = generate(citations, seed=seed)
    paths = bibliography.write(folder)
    names = bibliography.citations
    cut = len(names) - round(HELD_OUT * len(names))
    _say(
        run,
        f"{citations} noisy citations, {len(bibliography.token):,} tokens, as Parquet: {', '.join(p.name for p in paths.values())}",
    )
    with run.database(folder / "cite.duckdb", DatabaseOptions(), create=True, whole=not keep) as db:
        with run.working("loading"):
            db.load("Token", paths["token"], types=("token", "position", "bib"), example="bib")
            db.load("Next", paths["next"], types=("position", "position"))
            db.load("InField", paths["field"], types=("bib", "field", "position"), target=True)
        _say(run, f"The model, to be learned from the first {cut} citations:\n")
        _say(run, MODEL)
        fit = AdaGrad(random_state=seed).fit(db, parse_mln(MODEL), examples=names[:cut])
        if keep:
            save_model(fit.model_, folder / "learned.mln")
        _tables(run, fit.clauses().to_arrow(), progressive(fit.steps_))
        with run.working("predicting"):
            prediction = db.predict(fit.model_, examples=names[cut:], into="predictions")
            scores = db.evaluate(prediction)
        _say(run, f"\nThe {len(names) - cut} citations that were held out: {scores}\n")
        answer = _ask(run, db)
    seconds = time.perf_counter() - start
    if keep:
        run.message(f"model.mln, learned.mln and cite.duckdb are in {folder}")
    learning = fit.seconds_["grounding"] + fit.seconds_["learning"]
    run.message(f"{seconds:.1f} s, of which grounding and learning {learning:.1f} s")
    if run.as_json:
        held_out = {"f1": 100 * scores.f1, "example_accuracy": 100 * scores.example_accuracy}
        print_json([{"citations": citations, "seed": seed, "clauses": len(fit.weights_), **held_out, "fields": answer}])


def _say(run: CommandSession, text: str) -> None:
    """Print a part of the story."""
    if not run.as_json:
        print(text, flush=True)


def _tables(run: CommandSession, clauses: object, steps: object) -> None:
    """Print what was learned."""
    if not run.as_json:
        run.show(clauses, title="strongest clauses")
        print()
        run.show(steps, title="progressive validation: each citation predicted before it was learned")


def _ask(run: CommandSession, db: Opened) -> list[dict[str, object]]:
    """Ask about the learned clauses in SQL."""
    answer = db.sql(QUESTION).to_arrow_table()
    if not run.as_json:
        print(f"{QUESTION}\n")
        run.show(answer)
    rows: list[dict[str, object]] = answer.to_pylist()
    return rows
