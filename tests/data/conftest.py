"""The Spark session of tests that ask for `spark`: on this machine, unless they are parametrized with another one."""

import pytest

from tests.data.spark_sessions import LOCAL, start


@pytest.fixture
def spark(request):
    return start(getattr(request, "param", LOCAL))
