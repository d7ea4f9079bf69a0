"""All planted faults, by the stage of the pipeline that they are in."""

from __future__ import annotations

from collections.abc import Mapping

from mutants import (
    amplification,
    analyzer,
    audit,
    calibration,
    central,
    client,
    collection,
    collection_files,
    curator,
    curves,
    encoders,
    engines,
    envelopes,
    files,
    honest,
    jobs,
    ledger,
    margins,
    noise,
    protocol_curves,
    randomizers,
    randomness,
    ranges,
    readings,
    sets,
    several_values,
    shown,
    shuffler,
    shuffler_service,
    stores,
    tasks,
    turnout,
    words,
)
from mutants.fault import Fault

STAGES: Mapping[str, tuple[Fault, ...]] = {
    "Randomness": randomness.FAULTS,
    "Noise": noise.FAULTS,
    "What a person sends": randomizers.FAULTS,
    "The shuffler": shuffler.FAULTS,
    "Accounting": (*margins.FAULTS, *curves.FAULTS, *amplification.FAULTS, *protocol_curves.FAULTS),
    "Calibration": (*honest.FAULTS, *calibration.FAULTS, *central.FAULTS),
    "Several values per person": several_values.FAULTS,
    "Who reported, and how often": turnout.FAULTS,
    "Reading a tally": readings.FAULTS,
    "Ranges": ranges.FAULTS,
    "Reading files": files.FAULTS,
    "People and their values": engines.FAULTS,
    "Intervals, periods, pairs and conditions": encoders.FAULTS,
    "Sets of values": sets.FAULTS,
    "Releases": jobs.FAULTS,
    "Compositions and the ledger": ledger.FAULTS,
    "A trusted curator, and plans": curator.FAULTS,
    "Collections: tasks and what travels": (*tasks.FAULTS, *envelopes.FAULTS),
    "Collections: people's side": client.FAULTS,
    "Collections: stores": stores.FAULTS,
    "Collections: the shuffler": shuffler_service.FAULTS,
    "Collections: the analyzer": analyzer.FAULTS,
    "Collections: over files": collection_files.FAULTS,
    "Collections: the whole": collection.FAULTS,
    "What a release says": shown.FAULTS,
    "Words": words.FAULTS,
    "Checks": audit.FAULTS,
}

FAULTS: tuple[Fault, ...] = tuple(fault for stage in STAGES.values() for fault in stage)
