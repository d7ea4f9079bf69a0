"""Faults of the pages about releases: labels that run, pictures that lie, words that are left out, policies."""

from mutants.fault import Fault

_POLICY = "tests/explain/test_page_in_browser.py::test_a_strict_policy_forbids_nothing_that_the_report_needs"

FAULTS = (
    Fault(
        name="label-of-a-bar-runs",
        harm="A value that somebody holds is a program, and runs in the browser of every reader.",
        file="explain/bars.py",
        old="<bdi>{escape(shown(bar.label, width=width))}</bdi>",
        new="<bdi>{shown(bar.label, width=width)}</bdi>",
        tests=("tests/explain/test_bars.py::test_labels_in_html_stay_text",),
    ),
    Fault(
        name="label-of-the-table-runs",
        harm="The same, in the table below the picture.",
        file="explain/page.py",
        old="<bdi>{escape(shown(row.label, width=200))}</bdi>",
        new="<bdi>{shown(row.label, width=200)}</bdi>",
        tests=("tests/explain/test_parts.py::test_each_is_whole_and_hostile_labels_stay_text_in_it",),
    ),
    Fault(
        name="label-of-a-history-runs",
        harm="A value that somebody holds leaves the words that describe a picture, and runs.",
        file="explain/history.py",
        old="name, last = escape(shown(label, width=60)), values[-1]",
        new="name, last = shown(label, width=60), values[-1]",
        tests=("tests/explain/test_history.py::test_labels_stay_text_and_every_picture_is_described",),
    ),
    Fault(
        name="interval-of-a-bar-ends-at-its-estimate",
        harm="The picture shows that a number cannot be higher than it is estimated.",
        file="explain/bars.py",
        old="for people in (bar.count, bar.low, bar.high))",
        new="for people in (bar.count, bar.low, bar.count))",
        tests=("tests/explain/test_bars.py::test_intervals_in_html_lie_where_their_numbers_do",),
    ),
    Fault(
        name="interval-of-a-history-ends-at-its-estimate",
        harm="A change that noise alone explains looks like one of people.",
        file="explain/history.py",
        old="x, down(each.highest), x, down(each.lowest)))",
        new="x, down(each.highest), x, down(each.place)))",
        tests=("tests/explain/test_history.py::test_dots_and_intervals_lie_where_their_numbers_do",),
    ),
    Fault(
        name="interval-of-a-history-rounded-inwards",
        harm="An interval in per cent is narrower than the one that holds.",
        file="explain/history.py",
        old="return min(1000, -(-1000 * self.high // max(self.people, 1)))",
        new="return min(1000, 1000 * self.high // max(self.people, 1))",
        tests=("tests/explain/test_history.py::test_dots_and_intervals_lie_where_their_numbers_do",),
    ),
    Fault(
        name="hidden-value-drawn-as-nobody",
        harm="A value that was too rare to be shown is drawn as one that nobody holds.",
        file="explain/history.py",
        old="return _Seen(count=None, low=0,",
        new="return _Seen(count=0.0, low=0,",
        tests=("tests/explain/test_history.py::test_dots_and_intervals_lie_where_their_numbers_do",),
    ),
    Fault(
        name="style-attribute-in-the-bars",
        harm="Under a strict policy the bars of a page have no length: every value looks alike.",
        file="explain/bars.py",
        old="""<rect class="bar" x="0" y="9%" width="{end:.2%}" height""",
        new="""<rect class="bar" x="0" y="9%" width="{end:.2%}" style="opacity:1" height""",
        tests=("tests/explain/test_bars.py::test_nothing_in_html_needs_a_style_attribute_or_a_script",),
    ),
    Fault(
        name="report-served-without-a-policy",
        harm="Should a label ever get out of its place, nothing stops it from running.",
        file="collect/analyzer/releases.py",
        old="""    if ending != "html":\n        return HEADERS""",
        new="""    if ending:\n        return HEADERS""",
        tests=("tests/collect/analyzer/test_app.py::test_releases_in_every_format",),
    ),
    Fault(
        name="policy-names-another-style",
        harm="The browser refuses the style of the report: its readers see a bare page, without bars.",
        file="explain/look.py",
        old="hashlib.sha256(LOOK.encode())",
        new="hashlib.sha256(LOOK.strip().encode())",
        tests=(_POLICY,),
    ),
    Fault(
        name="report-without-warnings",
        harm="The page says what is promised, and not what is amiss with it.",
        file="explain/page.py",
        old="{parts.cautions(release)}\n",
        new="",
        tests=("tests/explain/test_parts.py::test_a_page_has_every_warning_and_note_and_what_is_not_protected",),
    ),
    Fault(
        name="letters-too-faint",
        harm="Who sees less than others cannot read what the numbers mean.",
        file="explain/svg.py",
        old='"soft": "#55616f"',
        new='"soft": "#8a96a3"',
        tests=("tests/explain/test_look.py::test_letters_and_marks_can_be_told_from_what_is_behind_them",),
    ),
)
