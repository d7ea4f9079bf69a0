"""The privacy curve of the JavaScript client for people who hold several values: equal to the Python package."""

import pytest

from shuffledp.collect.task.guarantee import write_parameters
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.shuffled_histogram import chance_of_more
from shuffledp.protocols.target import Target
from tests.clients.test_promise import asked, in_node

PROTOCOLS = ("hist", "dummy", "dummy-poisson", "sparse")
MOST = 47


def protocol_for(name, values, users, honest):
    """Return a protocol whose people hold this number of values."""
    return named(name).make(
        Target(
            users=users,
            bins=40 + values,
            epsilon=1.0,
            delta=1e-6,
            honest_users=honest,
            padding_bins=0,
            values_per_person=values,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(("users", "honest"), [(20_000, 18_000), (10**6, 10**6)])
def test_several_values_have_the_curve_of_the_python_package(users, honest):
    protocols = [(name, protocol_for(name, values, users, honest)) for name in PROTOCOLS for values in (1, 2, 3, 5, 8)]
    epsilons = (0.0, 0.5, 1.0, 2.0)
    cases = [
        asked(
            name,
            write_parameters(name, protocol),
            users=users,
            honest=honest,
            values=protocol.bins,
            most=MOST,
            epsilons=epsilons,
        )
        | {"levels": protocol.values_per_person}
        for name, protocol in protocols
    ]
    for (_, protocol), found in zip(protocols, in_node(cases), strict=True):
        expected = [protocol.privacy.delta(epsilon) for epsilon in epsilons]
        assert found["deltas"] == pytest.approx(expected, rel=1e-9, abs=1e-25), protocol
        assert found["chance"] == pytest.approx(chance_of_more(protocol, MOST), rel=1e-9), protocol
        assert found["exact"] is protocol.privacy.exact
