"""The names that types allow are those of the catalogue."""

from typing import get_args

from shuffledp.data import files
from shuffledp.protocols import CATALOGUE
from shuffledp.protocols.protocol import CentralName, EngineName, EstimatorName, LocalName, ShuffledName, TrustName
from shuffledp.release.choose import MODEL_OF


def test_the_types_of_names_are_those_of_the_catalogue():
    assert set(get_args(ShuffledName)) == {name for name, entry in CATALOGUE.items() if entry.model == "shuffled"}
    assert set(get_args(CentralName)) == {name for name, entry in CATALOGUE.items() if entry.model == "central"}
    assert set(get_args(LocalName)) == {name for name, entry in CATALOGUE.items() if entry.model == "local"}
    assert set(get_args(TrustName)) == set(MODEL_OF)
    assert set(get_args(EstimatorName)) == {entry.estimator for entry in CATALOGUE.values()}
    assert set(get_args(EngineName)) == {"local", "spark"}
    assert set(get_args(files.FormatName)) == set(files._NAMES)
