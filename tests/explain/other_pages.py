"""Pages with parts that the report lacks: releases over time, a history of releases, and all controls."""

from datetime import date

import numpy as np

from shuffledp import Trend
from shuffledp.explain.history import Past, history
from shuffledp.explain.html import style
from tests.explain.cases import HOSTILE, hostile
from tests.release.trends import protocol_of, release_of

OPENING = f'<!doctype html><html lang="en"><head><style>{style()}</style></head><body class="shuffledp">'

TO_BE_DONE = f"""{OPENING}<a class="skip" href="#main">Skip</a>
<header class="top"><a class="brand" href="#x">shuffledp</a><nav><ul><li><a href="#y">Tasks</a></li></ul></nav>
<form><button class="quiet">Log out</button></form></header><main id="main"><h1>{"long" * 40}</h1>
<div class="cards"><div class="card"><b>1</b><span>person</span></div></div><progress value="1" max="3"></progress>
<p class="note">Note <a href="#z">link</a></p><p class="good">Good</p><p class="warning">Warning</p>
<p class="open">No</p><p><span class="status good">runs</span> <span class="status bad">does not</span></p>
<div class="panel"><p class="soft">Bytes</p><pre class="sealed">{"0f" * 400}</pre></div>
<fieldset class="choices"><legend>Question</legend>
<label class="choice"><input type="radio" name="answer"><span>yes</span></label>
<label class="choice"><input type="radio" name="answer" checked><span>{"no" * 100}</span></label></fieldset>
<label class="field">Token <input type="password"></label>
<div class="buttons"><button>Answer</button><a class="button quiet" href="#c">CSV</a>
<button disabled>Sent</button></div>
</main><footer>Words</footer><p class="banner">The server does not answer.</p></body></html>"""
"""Everything of the look that the report itself does not use."""


def over_time():
    """The report of three rounds with hostile labels."""
    rng = np.random.default_rng(1)
    counts = ([1000, 600, 399, 1], [1000, 600, 380, 20], [1200, 410, 390, 0])
    releases = [release_of(protocol_of("dummy"), each, rng=rng, labels=HOSTILE[4:8]) for each in counts]
    return Trend.of(releases, rounds=12).to_html()


def several():
    """A history of two releases with hostile labels."""
    past = [Past(number, date(2026, 11, number), hostile().estimate.people, hostile()) for number in (1, 2)]
    return f"{OPENING}{history(past)}</body></html>"
