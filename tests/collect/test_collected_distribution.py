"""Collected tallies follow the distribution of `sample_tally`, through client, shuffler and analyzer.

Every answer has the same number of people, so each batch gives a sample for every answer. The false failure rate of
each comparison is at most 1e-6. Randomness cannot be seeded.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import poisson

from shuffledp.collect.analyzer.worker import BatchCounter, check_noise
from shuffledp.collect.client.making import new_report
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.store import ReportStore
from tests.collect.chain import NEXT_HOP, pulled, ready, shufflers
from tests.collect.tasks import small_task
from tests.oracles.goodness import FALSE_FAILURE_RATE, REJECTED_UNSEEDED, same_distribution_p_value

ANSWERS, EACH, BATCHES = 48, 2, 5
USERS = EACH * (ANSWERS + 2)


def task_with(protocol):
    return small_task(
        users=USERS,
        answers=tuple(f"theme {at}" for at in range(ANSWERS)),
        epsilon=3.0,
        delta=1e-3,
        protocol=protocol,
    )


def answers():
    """Two people for each answer, two with an unlisted answer, and two without one."""
    return [*(f"theme {at}" for at in range(ANSWERS)), "zebra", None] * EACH


def collected(kept, folder, *, batches=BATCHES, per_batch=1):
    """The tallies of batches that were sent over the network and counted by the analyzer."""
    task, tallies = kept.task, []
    counting = BatchCounter(task, kept.keys[-1], processes=1)
    with shufflers(kept, folder) as clients, ThreadPoolExecutor(8) as people:

        def report(answer):
            sealed = new_report(task, answer)
            return clients[0].post(f"/v1/tasks/{task.name}/reports", content=sealed).status_code

        for _ in range(batches):
            assert set(people.map(report, answers())) == {201}
            for batch in ready(clients[-1], task, per_batch):
                tallies.append(counting.count([pulled(clients[-1], task, batch)]).tally)
                at = f"/v1/tasks/{task.name}/batches/{batch}"
                assert clients[-1].delete(at, headers=NEXT_HOP).status_code == 204
    return tallies


def counts_of(task, tallies):
    """Counts of every answer in every tally, by kind of message; hashed messages are counted for all their values."""
    if task.protocol_used.name == "hashed":
        tallies = [task.protocol.decode(tally) for tally in tallies]
    dense = [tally.dense(bins=task.protocol.bins).counts.reshape(task.protocol.bins, -1) for tally in tallies]
    return np.concatenate(dense)


def p_values(task, tallies):
    """P-values for each kind of message, against samples of the distribution."""
    rng = np.random.default_rng(3)
    held = np.full(task.protocol.bins, EACH)
    drawn = counts_of(task, [task.protocol.sample_tally(held, rng=rng) for _ in range(400)])
    found = counts_of(task, tallies)
    if task.protocol_used.name == "hashed":
        return [same_distribution_p_value(between_pairs(found), between_pairs(drawn)), dummies_p_value(task, tallies)]
    return [same_distribution_p_value(found[:, kind], drawn[:, kind]) for kind in range(found.shape[1])]


def between_pairs(counts):
    """Differences between neighbouring values of a tally, which are independent of each other.

    One hash function in 59 has all values in one bucket, and adds the same number to all counts of a tally. So counts
    of one tally depend on each other: compared as if they did not, 7.5% of true samples fail.
    """
    return counts[0::2, 0] - counts[1::2, 0]


def dummies_p_value(task, tallies):
    """The exact p-value of the number of dummies in all tallies, which is a Poisson variable."""
    return poisson_p_value(sum(tally.messages - USERS for tally in tallies), expected_dummies(task, len(tallies)))


def expected_dummies(task, batches):
    return batches * USERS * (task.protocol.messages_per_user.expected - 1)


def poisson_p_value(number, expected):
    return 2 * min(poisson.cdf(number, expected), poisson.sf(number - 1, expected))


@pytest.mark.slow
def test_hashed_tallies_of_the_distribution_pass_and_other_noise_does_not():
    """The comparison of hashed messages: 200 true samples, then 30% too little and too much noise in 5 batches."""
    task, rng = task_with("hashed").task, np.random.default_rng(11)
    held = np.full(task.protocol.bins, EACH)
    true = [between_pairs(counts_of(task, [task.protocol.sample_tally(held, rng=rng)])) for _ in range(1_400)]
    sample = np.concatenate(true[:400])
    found = [same_distribution_p_value(np.concatenate(true[at : at + 5]), sample) for at in range(400, 1_400, 5)]
    assert min(found) > 1e-4  # the smallest of 200 p-values is below with probability 0.02; the seed is fixed
    assert np.mean(np.array(found) < 0.1) < 0.2
    expected = expected_dummies(task, BATCHES)
    assert all(poisson_p_value(round(factor * expected), expected) < FALSE_FAILURE_RATE for factor in (0.7, 1.3))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["dummy", "dummy-poisson", "sparse", "hashed"])
def test_collected_tallies_follow_the_distribution(protocol, tmp_path):
    kept, batches = (
        task_with(protocol),
        2 if protocol == "sparse" else BATCHES,
    )  # fewer, since reports are padded to many messages
    tallies = collected(kept, tmp_path, batches=batches)
    assert len(tallies) == batches
    for tally in tallies:
        check_noise(kept.task, tally)
    assert min(p_values(kept.task, tallies)) > REJECTED_UNSEEDED


@pytest.mark.slow
def test_incomplete_batches_are_detected(tmp_path, monkeypatch):
    """Half batches: the distribution of the counts differs, and the analyzer detects the missing noise."""
    kept = task_with("dummy-poisson")
    close, waiting = ReportStore._close, ReportStore._waiting
    monkeypatch.setattr(ReportStore, "_waiting", lambda self, transaction, task: 2 * waiting(transaction, task))
    monkeypatch.setattr(
        ReportStore, "_close", lambda self, given, task, users, **more: close(self, given, task, users // 2, **more)
    )
    monkeypatch.setattr(ReportStore, "_check_users", staticmethod(lambda *_: None))
    tallies = collected(kept, tmp_path, per_batch=2)
    assert len(tallies) == 2 * BATCHES
    assert min(p_values(kept.task, tallies)) < REJECTED_UNSEEDED
    for tally in tallies:
        with pytest.raises(Refused) as refused:
            check_noise(kept.task, tally)
        assert refused.value.reason is Reason.TOO_FEW_MESSAGES


@pytest.mark.slow
def test_clients_without_noise_are_detected(tmp_path, monkeypatch):
    """The negative control: clients that send their answers without noise."""
    kept = task_with("dummy-poisson")
    monkeypatch.setattr("shuffledp.collect.client.making.messages_of", lambda task, answer: [task.bin_of(answer)])
    assert min(p_values(kept.task, collected(kept, tmp_path, batches=3))) < REJECTED_UNSEEDED
