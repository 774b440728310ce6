"""The language: terms, formulas, models, their parsers and printers, clausal form, shapes."""

from __future__ import annotations

from sqlrl.logic.bias import Bias
from sqlrl.logic.bias_parser import parse_bias, read_bias
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.evidence import EvidenceAtom, format_evidence, parse_evidence, read_evidence
from sqlrl.logic.expansions import expand
from sqlrl.logic.files import models_equal, read_model
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.grammar import Grammar, Symbol
from sqlrl.logic.grammar_parser import parse_grammar, read_grammar
from sqlrl.logic.mapping import PredicateMapping
from sqlrl.logic.mapping_parser import parse_mapping, read_mapping
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.modes import Mode, Modes, parse_modes, read_modes
from sqlrl.logic.printer import format_formula, format_model
from sqlrl.logic.psl import LogicalRule, Partition, SoftModel
from sqlrl.logic.psl_arithmetic import ArithmeticRule
from sqlrl.logic.psl_files import parse_psl, read_psl
from sqlrl.logic.saving import save_model
from sqlrl.logic.signs import split_model
from sqlrl.logic.terms import Clause, Constant, Feature, Literal, Predicate, Variable

__all__ = [
    "ArithmeticRule",
    "Bias",
    "Clause",
    "Constant",
    "EvidenceAtom",
    "Expansions",
    "Feature",
    "Grammar",
    "Literal",
    "LogicalRule",
    "Mode",
    "Model",
    "Modes",
    "Partition",
    "Predicate",
    "PredicateMapping",
    "Rule",
    "SoftModel",
    "Symbol",
    "Variable",
    "compile_rule",
    "expand",
    "format_evidence",
    "format_formula",
    "format_model",
    "models_equal",
    "parse_bias",
    "parse_evidence",
    "parse_formula",
    "parse_grammar",
    "parse_mapping",
    "parse_mln",
    "parse_modes",
    "parse_psl",
    "read_bias",
    "read_evidence",
    "read_grammar",
    "read_mapping",
    "read_mln",
    "read_model",
    "read_modes",
    "read_psl",
    "save_model",
    "split_model",
]
