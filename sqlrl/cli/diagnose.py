"""`sqlrl diagnose`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import Examples, Limit, Output
from sqlrl.ground.limits import GROUNDING_LIMIT

SAMPLING = "Sampling"

Threshold = Annotated[
    float, typer.Option("--threshold", metavar="X", help="The share of a bin above which a rule is marked.")
]
Shown = Annotated[
    int,
    typer.Option("--groundings", metavar="N", min=0, help="Groundings that show why, of each reason to mark a rule."),
]
Samples = Annotated[
    int, typer.Option("--samples", metavar="N", min=1, help="Worlds that each chain draws.", rich_help_panel=SAMPLING)
]
BurnIn = Annotated[
    int,
    typer.Option(
        "--burn-in", metavar="N", min=0, help="Worlds that each chain forgets first.", rich_help_panel=SAMPLING
    ),
]
Chains = Annotated[
    int, typer.Option("--chains", metavar="N", min=1, help="Independent ones.", rich_help_panel=SAMPLING)
]
FromSeed = Annotated[
    int, typer.Option("--random-state", metavar="N", min=0, help="Of the sampling.", rich_help_panel=SAMPLING)
]


@grouped
def diagnose(
    inputs: ModelInputs,
    output: Output,
    examples: Examples = None,
    threshold: Threshold = 0.1,
    shown: Shown = 3,
    samples: Samples = 100,
    burn_in: BurnIn = 20,
    chains: Chains = 4,
    seed: FromSeed = 0,
    limit: Limit = GROUNDING_LIMIT,
) -> None:
    """Tell which rules are wrong on the data: too general or too specific, for which predicate, and in which groundings.

    Each predicate in turn is taken for unknown, all others being evidence. Prints how many groundings of each rule speak for the truth, against it, or hold
    whatever it is; as JSON these rows alone. The database keeps them in sqlrl.diagnosis, and groundings in sqlrl.diagnosis_grounding.

    sqlrl diagnose people.duckdb --model rules.mln
    """
    with inputs.open(output, examples=examples, labels=True, reads=False) as job:
        found = job.db.diagnose(
            job.model,
            examples=job.examples,
            threshold=threshold,
            samples=samples,
            burn_in=burn_in,
            chains=chains,
            random_state=seed,
            shown=shown,
            limit=limit,
        )
        job.run.show(found.found.to_arrow(), title="diagnosis")
        if output.as_json:
            return
        if len(found.groundings):
            print()
            job.run.show(found.groundings.to_arrow(), title="groundings")
        job.run.message(str(found))
