"""sqlrl learns weighted first-order rules from relational data and predicts with them, inside DuckDB.

Names are imported when first used, so that `import sqlrl` is quick.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = (
    False  # to import `typing` takes longer than all the rest here, before the command line could look at Ctrl-C
)
if TYPE_CHECKING:
    from typing import Any

    from sqlrl.catalog.evidence import Evidence
    from sqlrl.catalog.roles import Roles
    from sqlrl.catalog.server_files import ServerFiles
    from sqlrl.database.audit import Audit
    from sqlrl.database.constrained_training import ConstrainedTraining
    from sqlrl.database.database import Database, connect
    from sqlrl.database.ego_networks import EgoNetworks
    from sqlrl.database.holdout import Split
    from sqlrl.database.learner_choice import choose_learner
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.predictions import Prediction
    from sqlrl.database.scorer import CompiledScorer, ScoredExamples, load_scorer
    from sqlrl.database.soft_data import SoftData
    from sqlrl.database.soft_predictions import SoftPrediction
    from sqlrl.database.subgraph_views import parse_subgraphs, read_subgraphs
    from sqlrl.engine.spark.server import Spark
    from sqlrl.errors import SqlrlError
    from sqlrl.evaluate import (
        ProbabilityScores,
        RankingScores,
        Scores,
        SoftScores,
        auc_roc,
        average_precision,
        k_fold,
        leave_one_group_out,
        score_probabilities,
        score_rankings,
        score_values,
    )
    from sqlrl.learn import CDA, AdaGrad
    from sqlrl.learn.batch.likelihood import Likelihood
    from sqlrl.learn.batch.pscg import PSCG
    from sqlrl.learn.margin.estimator import MaxMargin
    from sqlrl.learn.pseudo.estimator import PseudoLikelihood
    from sqlrl.learn.soft.map_likelihood import SoftMapLikelihood
    from sqlrl.learn.soft.piecewise import SoftPiecewiseLikelihood
    from sqlrl.learn.soft.pseudo_likelihood import SoftPseudoLikelihood
    from sqlrl.logic.bias import Bias
    from sqlrl.logic.bias_parser import parse_bias, read_bias
    from sqlrl.logic.files import models_equal, read_model
    from sqlrl.logic.grammar import Grammar
    from sqlrl.logic.grammar_parser import parse_grammar, read_grammar
    from sqlrl.logic.mapping import PredicateMapping
    from sqlrl.logic.mapping_parser import parse_mapping, read_mapping
    from sqlrl.logic.mln import parse_mln, read_mln
    from sqlrl.logic.model import Model
    from sqlrl.logic.modes import Modes, parse_modes, read_modes
    from sqlrl.logic.psl import LogicalRule, SoftModel
    from sqlrl.logic.psl_arithmetic import ArithmeticRule
    from sqlrl.logic.psl_files import parse_psl, read_psl
    from sqlrl.logic.saving import save_model
    from sqlrl.logic.templates import Symbol
    from sqlrl.plan.view_options import SQLOptions
    from sqlrl.report import Table
    from sqlrl.solve.exchange.solutions import OutsideSolution
    from sqlrl.solve.hinge.result import HingeOptions
    from sqlrl.structure.beam.estimator import MSL
    from sqlrl.structure.diagnosis.diagnosis import Diagnosis
    from sqlrl.structure.diagnosis.estimator import Transfer
    from sqlrl.structure.diagnosis.quality import RuleQuality
    from sqlrl.structure.ilp.estimator import ILP
    from sqlrl.structure.osl.estimator import OSL
    from sqlrl.structure.resolwe.estimator import Resolwe
    from sqlrl.structure.soft.estimator import SoftStructure
    from sqlrl.training.subgraphs import SubgraphQueries, SubgraphTables

_HOMES = {
    "SoftData": "sqlrl.database.soft_data",
    "SQLOptions": "sqlrl.plan.view_options",
    "OutsideSolution": "sqlrl.solve.exchange.solutions",
    "Roles": "sqlrl.catalog.roles",
    "Evidence": "sqlrl.catalog.evidence",
    "AdaGrad": "sqlrl.learn",
    "ArithmeticRule": "sqlrl.logic.psl_arithmetic",
    "Audit": "sqlrl.database.audit",
    "Bias": "sqlrl.logic.bias",
    "CDA": "sqlrl.learn",
    "ConstrainedTraining": "sqlrl.database.constrained_training",
    "Database": "sqlrl.database.database",
    "Diagnosis": "sqlrl.structure.diagnosis.diagnosis",
    "EgoNetworks": "sqlrl.database.ego_networks",
    "Grammar": "sqlrl.logic.grammar",
    "ILP": "sqlrl.structure.ilp.estimator",
    "Likelihood": "sqlrl.learn.batch.likelihood",
    "LogicalRule": "sqlrl.logic.psl",
    "MSL": "sqlrl.structure.beam.estimator",
    "Marginals": "sqlrl.database.marginals",
    "MaxMargin": "sqlrl.learn.margin.estimator",
    "Model": "sqlrl.logic.model",
    "Modes": "sqlrl.logic.modes",
    "OSL": "sqlrl.structure.osl.estimator",
    "PSCG": "sqlrl.learn.batch.pscg",
    "PredicateMapping": "sqlrl.logic.mapping",
    "Prediction": "sqlrl.database.predictions",
    "ProbabilityScores": "sqlrl.evaluate",
    "PseudoLikelihood": "sqlrl.learn.pseudo.estimator",
    "RankingScores": "sqlrl.evaluate",
    "RuleQuality": "sqlrl.structure.diagnosis.quality",
    "Resolwe": "sqlrl.structure.resolwe.estimator",
    "ScoredExamples": "sqlrl.database.scorer",
    "CompiledScorer": "sqlrl.database.scorer",
    "Scores": "sqlrl.evaluate",
    "ServerFiles": "sqlrl.catalog.server_files",
    "SoftModel": "sqlrl.logic.psl",
    "Split": "sqlrl.database.holdout",
    "SqlrlError": "sqlrl.errors",
    "SubgraphQueries": "sqlrl.training.subgraphs",
    "SoftMapLikelihood": "sqlrl.learn.soft.map_likelihood",
    "SoftPiecewiseLikelihood": "sqlrl.learn.soft.piecewise",
    "SoftPrediction": "sqlrl.database.soft_predictions",
    "SoftStructure": "sqlrl.structure.soft.estimator",
    "Spark": "sqlrl.engine.spark.server",
    "SoftPseudoLikelihood": "sqlrl.learn.soft.pseudo_likelihood",
    "HingeOptions": "sqlrl.solve.hinge.result",
    "SubgraphTables": "sqlrl.training.subgraphs",
    "Symbol": "sqlrl.logic.templates",
    "Table": "sqlrl.report",
    "Transfer": "sqlrl.structure.diagnosis.estimator",
    "choose_learner": "sqlrl.database.learner_choice",
    "auc_roc": "sqlrl.evaluate",
    "average_precision": "sqlrl.evaluate",
    "connect": "sqlrl.database.database",
    "k_fold": "sqlrl.evaluate",
    "leave_one_group_out": "sqlrl.evaluate",
    "load_scorer": "sqlrl.database.scorer",
    "models_equal": "sqlrl.logic.files",
    "parse_bias": "sqlrl.logic.bias_parser",
    "parse_grammar": "sqlrl.logic.grammar_parser",
    "parse_mapping": "sqlrl.logic.mapping_parser",
    "parse_mln": "sqlrl.logic.mln",
    "parse_modes": "sqlrl.logic.modes",
    "parse_psl": "sqlrl.logic.psl_files",
    "parse_subgraphs": "sqlrl.database.subgraph_views",
    "read_bias": "sqlrl.logic.bias_parser",
    "read_grammar": "sqlrl.logic.grammar_parser",
    "read_mapping": "sqlrl.logic.mapping_parser",
    "read_mln": "sqlrl.logic.mln",
    "read_model": "sqlrl.logic.files",
    "read_modes": "sqlrl.logic.modes",
    "read_psl": "sqlrl.logic.psl_files",
    "read_subgraphs": "sqlrl.database.subgraph_views",
    "save_model": "sqlrl.logic.saving",
    "score_probabilities": "sqlrl.evaluate",
    "score_rankings": "sqlrl.evaluate",
    "score_values": "sqlrl.evaluate",
    "SoftScores": "sqlrl.evaluate",
}

_MODULES = ("baselines", "evaluate")
"""Rooms that are there without being imported by name."""

__all__ = [
    "CDA",
    "ILP",
    "MSL",
    "OSL",
    "PSCG",
    "AdaGrad",
    "ArithmeticRule",
    "Audit",
    "Bias",
    "CompiledScorer",
    "ConstrainedTraining",
    "Database",
    "Diagnosis",
    "EgoNetworks",
    "Evidence",
    "Grammar",
    "HingeOptions",
    "Likelihood",
    "LogicalRule",
    "Marginals",
    "MaxMargin",
    "Model",
    "Modes",
    "OutsideSolution",
    "PredicateMapping",
    "Prediction",
    "ProbabilityScores",
    "PseudoLikelihood",
    "RankingScores",
    "Resolwe",
    "Roles",
    "RuleQuality",
    "SQLOptions",
    "ScoredExamples",
    "Scores",
    "ServerFiles",
    "SoftData",
    "SoftMapLikelihood",
    "SoftModel",
    "SoftPiecewiseLikelihood",
    "SoftPrediction",
    "SoftPseudoLikelihood",
    "SoftScores",
    "SoftStructure",
    "Spark",
    "Split",
    "SqlrlError",
    "SubgraphQueries",
    "SubgraphTables",
    "Symbol",
    "Table",
    "Transfer",
    "__version__",
    "auc_roc",
    "average_precision",
    "choose_learner",
    "connect",
    "k_fold",
    "leave_one_group_out",
    "load_scorer",
    "models_equal",
    "parse_bias",
    "parse_grammar",
    "parse_mapping",
    "parse_mln",
    "parse_modes",
    "parse_psl",
    "parse_subgraphs",
    "read_bias",
    "read_grammar",
    "read_mapping",
    "read_mln",
    "read_model",
    "read_modes",
    "read_psl",
    "read_subgraphs",
    "save_model",
    "score_probabilities",
    "score_rankings",
    "score_values",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sqlrl")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"sqlrl.{name}")
    from sqlrl.deprecated import MODULES, moved

    if f"sqlrl.{name}" in MODULES:
        return moved(f"sqlrl.{name}")
    from sqlrl.slips import no_name

    raise no_name("sqlrl", name, __all__)


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic `%%sqlrl`."""
    from sqlrl.script.magic import load_ipython_extension as load

    load(shell)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
