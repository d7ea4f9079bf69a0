"""The fixture `spark`: a session on this machine, unless a test is parametrized with another one."""

import pytest

from tests.data.spark_sessions import LOCAL, start


@pytest.fixture
def spark(request):
    return start(getattr(request, "param", LOCAL))
