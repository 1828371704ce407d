"""Prove it: attacks, error rates, fidelity and utility of a result, whoever made it."""

from faceveil.evaluation.evaluate import Options, evaluate
from faceveil.evaluation.gate import Verdict, certify
from faceveil.evaluation.results import AttackResult, Results

__all__ = ["AttackResult", "Options", "Results", "Verdict", "certify", "evaluate"]
