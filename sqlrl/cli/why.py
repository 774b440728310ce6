"""`sqlrl why`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import FLAG, Examples, Output, ReadOnly
from sqlrl.cli.predicting import Solver, show_reasons

Atoms = Annotated[
    list[str],
    typer.Option(
        "--atom",
        "-a",
        metavar="ATOM",
        help="A query atom, such as 'Smokes(Anna)'; may be repeated.",
        show_default=False,
    ),
]
Example = Annotated[
    str | None,
    typer.Option(
        "--example",
        metavar="NAME",
        help="The example of the atoms, where their arguments do not say.",
        show_default=False,
    ),
]
Neutral = Annotated[
    bool, typer.Option("--neutral", metavar=FLAG, help="Also the ground clauses that other atoms decide.")
]
Keep = Annotated[
    bool,
    typer.Option("--keep", metavar=FLAG, help="Keep the prediction, and the reasons in the view sqlrl.explanation."),
]


@grouped
def why(
    atom: Atoms,
    inputs: ModelInputs,
    solver: Solver,
    output: Output,
    examples: Examples = None,
    example: Example = None,
    neutral: Neutral = False,
    keep: Keep = False,
    read_only: ReadOnly = False,
) -> None:
    """Say why atoms are predicted as they are: the ground clauses for and against each, and its margin.

    sqlrl why cite.duckdb --model learned.mln --atom 'InField("b0451", Title, 3)'

    sqlrl why --model prog.mln --evidence evidence.db --query Cancer --atom 'Cancer(Anna)'
    """
    if keep and (inputs.evidence or read_only):
        raise typer.BadParameter("--keep needs a database that can be written")
    with inputs.open(output, examples=examples, read_only=read_only, reads=not keep, rules=False) as job:
        # A misspelt atom fails before the work, not after it.
        job.db.advanced.check_atoms(job.model, atom, examples=job.examples, example=example, roles=job.roles)
        prediction = solver.predict(job, keep=keep)
        show_reasons(job.run, [prediction.why(each, example=example, neutral=neutral) for each in atom])
