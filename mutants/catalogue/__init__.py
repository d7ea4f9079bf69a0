"""All mutants, one module per topic, of code that privacy or exactness depends on."""

from mutants.catalogue import (
    accounting,
    budget,
    collection,
    deployment,
    estimators,
    javascript,
    ledger,
    local_data,
    noise,
    operation,
    protocols,
    randomness,
    replays,
    series,
    several_values,
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
    *operation.MUTANTS,
    *deployment.MUTANTS,
    *budget.MUTANTS,
    *replays.MUTANTS,
    *trends.MUTANTS,
    *series.MUTANTS,
    *several_values.MUTANTS,
    *javascript.MUTANTS,
)
