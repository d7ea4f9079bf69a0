"""Series: the guarantee of all rounds together, and rounds that are bound to their series."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="series-total-of-one-round",
        harm="A series with the noise of one round claims its guarantee for all rounds.",
        target="shuffledp.collect.task.series:Series.privacy_of",
        pattern="whole('rounds', rounds)",
        replacement="1",
        tests=("tests/collect/task/test_series.py", "tests/collect/task/test_series_guarantee.py"),
    ),
    Mutant(
        name="series-total-not-checked",
        harm="A series may claim any guarantee of all rounds together.",
        target="shuffledp.collect.task.series:Series.check",
        pattern="partial(self.delta_of, self.rounds)",
        replacement="lambda epsilon: 0.0",
        tests=("tests/collect/task/test_series.py::test_false_claims_are_refused",),
    ),
    Mutant(
        name="series-limit-on-one-round",
        harm="The limit of a person holds for one round, and all rounds together exceed it.",
        target="shuffledp.collect.task.series:Series.check",
        pattern="partial(self.delta_of, self.rounds)",
        replacement="partial(self.delta_of, 1)",
        tests=("tests/collect/task/test_series.py::test_limits_are_limits_on_the_total",),
    ),
    Mutant(
        name="series-redrawn-once",
        harm="Sampling again is counted in one round only.",
        target="shuffledp.collect.task.series:Series.delta_of",
        pattern="LimitCost.of(self.protocol, self.most_messages).times(rounds)",
        replacement="LimitCost.of(self.protocol, self.most_messages)",
        tests=("tests/collect/task/test_series_guarantee.py::test_sampling_again_counts_in_every_round",),
    ),
    Mutant(
        name="series-id-not-in-tasks",
        harm="Two people who pinned the same series can be shown different rounds.",
        target="shuffledp.collect.task.series:Series._make",
        pattern="SeriesRound(self.name, number)",
        replacement="SeriesRound('00' * 32, number)",
        tests=("tests/collect/task/test_series.py",),
    ),
    Mutant(
        name="new-series-noise-of-one-round",
        harm="The noise of a new series is that of a single task.",
        target="shuffledp.collect.task.new_task:new_series.reached",
        pattern="[task.protocol.privacy] * rounds",
        replacement="[task.protocol.privacy]",
        tests=("tests/collect/task/test_series_guarantee.py::test_fewer_rounds_need_less_noise",),
    ),
    Mutant(
        name="plan-ignores-rounds",
        harm="A plan of several rounds shows the error of one.",
        target="shuffledp.release.plan_rows:one_round.reached",
        pattern="[protocol.privacy] * rounds",
        replacement="[protocol.privacy]",
        tests=("tests/release/test_plan_rounds.py::test_published_reference_figures",),
    ),
    Mutant(
        name="series-client-stays-in-first-round",
        harm="A client answers a round for which it has a report already, or one that is closed.",
        target="shuffledp.collect.client.client:Client._entered",
        pattern="self.task = open_task(self.series)",
        replacement="pass",
        tests=("tests/collect/client/test_series.py::test_each_round_once_with_one_client",),
    ),
    Mutant(
        name="series-servers-check-nothing",
        harm="A server serves a series that gives less privacy than it claims.",
        target="shuffledp.collect.server.settings:check_guarantees",
        pattern="check_guarantee(one)",
        replacement="pass",
        tests=("tests/collect/test_series_servers.py::test_a_false_series_is_not_served",),
    ),
)
