"""Faults of what the pages of both servers share."""

from mutants.fault import Fault

FAULTS = (
    Fault(
        name="pages-load-from-anywhere",
        harm="A page may load things from anybody, who then learns who looks at it.",
        file="collect/web/assets.py",
        old=""""default-src": "'none'",""",
        new=""""default-src": "*",""",
        tests=("tests/collect/web/pages/test_responses.py",),
    ),
    Fault(
        name="pages-run-inline-scripts",
        harm="A label that got into a page unescaped runs as a script.",
        file="collect/web/assets.py",
        old=""""script-src": "'self'" if""",
        new=""""script-src": "'self' 'unsafe-inline'" if""",
        tests=("tests/collect/web/pages/test_responses.py",),
    ),
    Fault(
        name="pages-stand-in-frames",
        harm="Somebody else's page shows ours in a frame and lets people click on what they do not see.",
        file="collect/web/assets.py",
        old=""""frame-ancestors": "'none'",""",
        new=""""frame-ancestors": "*",""",
        tests=("tests/collect/web/pages/test_responses.py",),
    ),
    Fault(
        name="pages-are-kept-on-the-way",
        harm="A copy of an operator's page stays in the cache of a browser or a proxy after the session.",
        file="collect/web/assets.py",
        old='"cache-control": "no-store", ',
        new="",
        tests=("tests/collect/web/pages/test_responses.py",),
    ),
    Fault(
        name="every-file-of-a-folder-is-served",
        harm="Whatever lies beside a script can be fetched by anybody.",
        file="collect/web/assets.py",
        old="if path.suffix in _TYPES:",
        new="if path.is_file() and _TYPES.setdefault(path.suffix, 'text/plain'):",
        tests=("tests/collect/web/pages/test_assets.py",),
    ),
)
