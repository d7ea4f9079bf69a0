"""Headers and policies of pages: no other origins, no inline scripts, no frames, no caching."""

import pytest

from shuffledp.collect.web.pages import HEADERS, page_response, policy


def allowed(security):
    """The policy as a mapping from kinds of content to the sources allowed for them."""
    parts = [part.split() for part in security.split("; ")]
    return {name: sources for name, *sources in parts}


def test_the_default_policy_forbids_everything_else():
    sources = allowed(policy())
    assert sources.pop("default-src") == ["'none'"]
    assert sources.pop("frame-ancestors") == ["'none'"]
    assert sources.pop("base-uri") == ["'none'"]
    assert set(sources) == {"script-src", "style-src", "img-src", "connect-src", "form-action"}
    assert all(source == ["'self'"] for source in sources.values())


def test_no_policy_ever_allows_inline_scripts_or_everything():
    of_its_own = policy(styles=("'sha256-abc='",), connects=("'self'", "https://lists.example"))
    for security in (policy(), policy(scripts=False), of_its_own):
        assert "unsafe" not in security
        assert "*" not in security
        assert "data:" not in security


def test_a_page_without_scripts_runs_and_contacts_nothing():
    sources = allowed(policy(scripts=False))
    assert sources["script-src"] == sources["connect-src"] == ["'none'"]


def test_a_page_may_name_its_style_and_origins_to_contact():
    sources = allowed(policy(styles=("'sha256-abc='",), connects=("'self'", "https://lists.example")))
    assert sources["style-src"] == ["'sha256-abc='"]
    assert sources["connect-src"] == ["'self'", "https://lists.example"]


@pytest.mark.parametrize("status", [200, 404])
def test_every_page_has_the_headers_and_is_not_cached(status):
    answer = page_response("<p>ä</p>", status=status)
    assert answer.status_code == status
    assert answer.body.decode() == "<p>ä</p>"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == policy()
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_page_can_have_a_policy_and_headers_of_its_own():
    answer = page_response("", security=policy(scripts=False), headers={"x-more": "1"})
    assert answer.headers["content-security-policy"] == policy(scripts=False)
    assert answer.headers["x-more"] == "1"
