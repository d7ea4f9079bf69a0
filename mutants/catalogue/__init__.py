"""All mutants, one module per topic, of code that privacy or exactness depends on."""

from mutants.catalogue import (
    accounting,
    answers,
    collection,
    estimators,
    javascript,
    ledger,
    local_data,
    noise,
    protocols,
    randomness,
    replays,
    series,
    sets,
    trends,
)

MUTANTS = (
    *randomness.MUTANTS,
    *noise.MUTANTS,
    *accounting.MUTANTS,
    *protocols.MUTANTS,
    *estimators.MUTANTS,
    *local_data.MUTANTS,
    *ledger.MUTANTS,
    *collection.MUTANTS,
    *answers.MUTANTS,
    *replays.MUTANTS,
    *trends.MUTANTS,
    *series.MUTANTS,
    *sets.MUTANTS,
    *javascript.MUTANTS,
)
