"""Alert rules and the dashboard, against metrics that real servers had: the right alerts fire, and no other.

To see the alerts of every situation: python -m pytest -s tests/collect/test_alerts.py -k right
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.collect import situations

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/dashboard.json"
RUNBOOK = ROOT / "docs/how-to/monitor-a-collection.md"

HOURS = 24
"""Hours of metrics before the alerts are evaluated."""

STEP = 5
"""Minutes between two scrapes."""

EXPECTED = {
    "healthy": set(),
    "slow": {"ShuffledpBatchWillNotFill"},
    "closed_early": set(),
    "shuffler_down": {"ShuffledpUpstreamFailing", "ShuffledpProblems"},
    "analyzer_down": {"ShuffledpBatchesNotFetched"},
    "store_failing": {"ShuffledpStoreFailing", "ShuffledpProblems"},
    "not_mixed": {"ShuffledpBatchNotMixed", "ShuffledpProblems"},
    "key_gone": {"ShuffledpProblems"},
    "replays": {"ShuffledpMessagesReplayed", "ShuffledpBatchRefused", "ShuffledpProblems"},
    "over_budget": {"ShuffledpBudgetExceeded", "ShuffledpNoRelease", "ShuffledpProblems"},
    "restored": {
        "ShuffledpReleasesStopped",
        "ShuffledpMessagesReplayed",
        "ShuffledpBatchRefused",
        "ShuffledpProblems",
    },
}

OF_OPEN_TASKS = {"ShuffledpBatchWillNotFill", "ShuffledpNoRelease", "ShuffledpTokensSpent"}
"""Alerts that end when a task is closed early."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("alerts")]


def promtool(*words):
    path = shutil.which("promtool")
    assert path, "there is no promtool: make test installs Prometheus or says how"
    return subprocess.run([path, *map(str, words)], capture_output=True, text=True)


def rules():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return group["rules"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """The metrics in every situation."""
    return {name: getattr(situations, name)(tmp_path_factory.mktemp(name)) for name in EXPECTED}


def samples(recording):
    """Values by series, with times on the clock of promtool, which begins at 0 and ends at the recording."""
    shift = recording.at - HOURS * 3600
    found = {}
    for instance, text in recording.texts.items():
        found[f'up{{job="shuffledp",instance="{instance}"}}'] = 1.0
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = {**sample.labels, "job": "shuffledp", "instance": instance}
                series = f"{sample.name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"
                found[series] = sample.value - (shift if sample.name.endswith("_seconds") else 0)
    return found


def input_series(recordings, *, hours=HOURS):
    """The series of the last recording; they grew evenly from the first one in these hours."""
    first, last = samples(recordings[0]), samples(recordings[-1])
    steps, moving = HOURS * 60 // STEP, hours * 60 // STEP
    for series, value in last.items():
        before = value if "_seconds{" in series else first.get(series, value)
        change = (value - before) / moving
        still = f"{before!r}x{steps - moving} " if steps > moving else ""
        yield {"series": series, "values": f"{still}{before!r}+{change!r}x{moving}".replace("+-", "-")}


def firing(recordings, folder, *, hours=HOURS):
    """The names of the alerts that fire: promtool names them where they differ from none."""
    names = [rule["alert"] for rule in rules()]
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": f"{STEP}m",
        "tests": [
            {
                "interval": f"{STEP}m",
                "input_series": list(input_series(recordings, hours=hours)),
                "alert_rule_test": [{"eval_time": f"{HOURS}h", "alertname": name, "exp_alerts": []} for name in names],
            }
        ],
    }
    (folder / "tests.yml").write_text(yaml.safe_dump(tests))
    result = promtool("test", "rules", folder / "tests.yml")
    output = result.stdout + result.stderr
    found = set(re.findall(r"alertname: ?(\w+)", output))
    assert (result.returncode == 0) == (not found), output
    return found


def test_the_rules_are_valid():
    result = promtool("check", "rules", RULES)
    assert result.returncode == 0, result.stderr
    result = promtool("check", "config", ROOT / "deploy/prometheus/prometheus.yml")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", list(EXPECTED))
def test_the_right_alerts_fire(recordings, name, tmp_path):
    found = firing(recordings[name], tmp_path)
    print(f"{name}: {', '.join(sorted(found)) or 'no alert'}")
    assert found == EXPECTED[name]


def test_a_batch_that_fills_in_time_raises_no_alert(recordings, tmp_path):
    """The same two recordings, of reports that arrived within an hour."""
    assert firing(recordings["slow"], tmp_path, hours=1) == set()


@pytest.mark.parametrize("closed", [False, True])
def test_alerts_about_open_tasks_end_when_a_task_is_closed_early(recordings, closed, tmp_path):
    """A batch that will not fill, no release for long and no token left, at servers with different instances."""
    (recording,) = recordings["closed_early"]
    texts = dict(recording.texts)
    (task,) = set(re.findall(r'shuffledp_users{task="(\w+)"}', texts["analyzer"]))
    texts["analyzer"] += f'shuffledp_last_release_seconds{{task="{task}"}} {recording.at - 30 * 86400}\n'
    spent, short_by = f'shuffledp_tokens_spent{{task="{task}"}}', f'shuffledp_short_by{{task="{task}"}}'
    assert f"{spent} 0.0" in texts["shuffler-0"]
    assert f"{short_by} " in texts["shuffler-0"]
    kept = [line for line in texts["shuffler-0"].splitlines() if closed or not line.startswith(short_by)]
    texts["shuffler-0"] = "\n".join([*kept, ""]).replace(f"{spent} 0.0", f"{spent} 1.0")
    found = firing([situations.SimpleNamespace(at=recording.at, texts=texts)], tmp_path)
    assert found == (set() if closed else OF_OPEN_TASKS)


MIB, GIB = 2**20, 2**30
IN_MEMORY = (448 * MIB, 448 * MIB, 512 * MIB)


@pytest.mark.parametrize(
    ("store", "temporary", "expected"),
    [
        ((40 * GIB, 30 * GIB, 100 * GIB), IN_MEMORY, set()),
        ((GIB - 64 * MIB, GIB - 64 * MIB, 100 * GIB), IN_MEMORY, {"ShuffledpDiskNearlyFull"}),
        (
            (40 * GIB, 2 * GIB, 100 * GIB),
            (0, 0, 512 * MIB),
            {"ShuffledpDiskWillFill", "ShuffledpDiskNearlyFull"},
        ),
    ],
)
def test_a_disk_that_is_nearly_full_or_will_be_within_a_day(recordings, store, temporary, expected, tmp_path):
    """The free space a day ago, the free space now, and the size."""
    (recording,) = recordings["healthy"]
    found = []
    for moment in (0, 1):
        text = recording.texts["shuffler-0"]
        for of, space in (("store", store), ("temporary", temporary)):
            for what, number in (("free", space[moment]), ("size", space[2])):
                series = f'shuffledp_disk_{what}_bytes{{of="{of}"}}'
                text, changed = re.subn(f"^{re.escape(series)} .*$", f"{series} {number}", text, flags=re.M)
                assert changed == 1
        texts = recording.texts | {"shuffler-0": text}
        found.append(situations.SimpleNamespace(at=recording.at, texts=texts))
    assert firing(found, tmp_path) == expected


def test_a_store_of_one_of_several_processes_fails(tmp_path):
    """Every scrape is answered by one of them; a single failed commit counts for half a minute."""
    at = {"one of four": "0 0 0 1 " * 10, "a failed commit": "0x36 1 1 0 0"}
    series = [
        {"series": f'shuffledp_store_failing{{reason="disk-full",instance="{name}"}}', "values": values}
        for name, values in at.items()
    ]
    wanted = {"expr": 'count by (instance) (ALERTS{alertname="ShuffledpStoreFailing",alertstate="firing"})'}
    samples = [{"labels": '{instance="one of four"}', "value": 1}]
    group = {
        "interval": "30s",
        "input_series": series,
        "promql_expr_test": [{**wanted, "eval_time": "20m", "exp_samples": samples}],
    }
    (tmp_path / "tests.yml").write_text(
        yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [group]})
    )
    result = promtool("test", "rules", tmp_path / "tests.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_server_that_is_down(recordings, tmp_path):
    down = [situations.SimpleNamespace(at=recordings["healthy"][0].at, texts={})]
    assert firing(down, tmp_path) == set()
    series = [{"series": 'up{job="shuffledp",instance="shuffler"}', "values": f"0x{HOURS * 60}"}]
    expected = {
        "exp_labels": {"severity": "critical", "job": "shuffledp", "instance": "shuffler"},
        "exp_annotations": rules()[0]["annotations"] | {"summary": "shuffler does not answer"},
    }
    test = {"eval_time": "10m", "alertname": "ShuffledpServerDown", "exp_alerts": [expected]}
    (tmp_path / "down.yml").write_text(
        yaml.safe_dump(
            {
                "rule_files": [str(RULES)],
                "evaluation_interval": "1m",
                "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": [test]}],
            }
        )
    )
    result = promtool("test", "rules", tmp_path / "down.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_fired():
    fired = set().union(*EXPECTED.values()) | OF_OPEN_TASKS | {"ShuffledpServerDown"}
    fired |= {"ShuffledpDiskNearlyFull", "ShuffledpDiskWillFill"}
    assert fired == {rule["alert"] for rule in rules()}


def names_in(text):
    return set(re.findall(r"\bshuffledp_[a-z_]+", text))


def test_every_metric_of_the_rules_and_the_dashboard_exists(recordings):
    exported = {
        line.split()[2]
        for recorded in recordings.values()
        for each in recorded
        for text in each.texts.values()
        for line in text.splitlines()
        if line.startswith("# TYPE")
    }
    assert len(exported) > 20
    panels = json.loads(DASHBOARD.read_text())["panels"]
    used = names_in(" ".join(rule["expr"] for rule in rules()))
    used |= names_in(" ".join(target["expr"] for panel in panels for target in panel["targets"]))
    assert used - exported == set()


def anchor(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-")


def test_every_alert_says_what_to_do():
    headings = {anchor(line.lstrip("# ")) for line in RUNBOOK.read_text().splitlines() if line.startswith("#")}
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")
        assert "runbook_url" not in rule["annotations"]  # a link needs an address
        page, _, section = rule["annotations"]["runbook"].partition("#")
        assert ROOT / page == RUNBOOK
        assert section in headings, section
        assert f"`{rule['alert']}`" in RUNBOOK.read_text()


def test_the_dashboard_is_valid():
    dashboard = json.loads(DASHBOARD.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) >= 10
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    places = set()
    for panel in panels:
        assert {"title", "type", "description", "gridPos", "targets", "datasource"} <= set(panel)
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        places.add((panel["gridPos"]["x"], panel["gridPos"]["y"]))
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            assert set(re.findall(r"\$\{?(\w+)", target["expr"])) <= variables
    assert len(places) == len(panels)


def expressions():
    """The expressions of the dashboard, by panel and letter."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return {f"{panel['title']} {each['refId']}": each["expr"] for panel in panels for each in panel["targets"]}


def parse_errors(folder, wanted):
    """The names of the expressions that promtool cannot parse."""
    found = set()
    for name, expression in wanted.items():
        rule = {"record": "shuffledp:dashboard", "expr": expression.replace("$task", "x")}
        (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": [rule]}]}))
        result = promtool("check", "rules", folder / "rules.yml")
        assert (result.returncode == 0) == ("could not parse expression" not in result.stderr), result.stderr
        found |= {name} if result.returncode else set()
    return found


def without_samples(recordings, folder, wanted):
    """The names of the expressions that have no sample at the end of these recordings."""
    (task,) = {name for each in recordings[-1].texts.values() for name in re.findall(r'\btask="(\w+)"', each)}
    tests = [
        {"expr": f"vector({number}) and on () ({expression.replace('$task', task)})", "eval_time": f"{HOURS}h"}
        for number, expression in enumerate(wanted.values())
    ]
    group = {"interval": f"{STEP}m", "input_series": list(input_series(recordings)), "promql_expr_test": tests}
    (folder / "tests.yml").write_text(yaml.safe_dump({"evaluation_interval": f"{STEP}m", "tests": [group]}))
    result = promtool("test", "rules", folder / "tests.yml")
    output = result.stdout + result.stderr
    assert "FAILED" in output, output
    sampled = {int(number) for number in re.findall(r"expr: \"vector\((\d+)\).*\n.*\n *got: *\{\} \S", output)}
    return {name for number, name in enumerate(wanted) if number not in sampled}


ONLY_IN_FAILURES = {
    "Store failing A": "store_failing",
    "Messages refused by the analyzer A": "restored",
    "Upstream failing A": "shuffler_down",
}
"""Expressions without a sample while all is well, and the situation in which they have one."""


def test_promtool_parses_every_expression_of_the_dashboard(tmp_path):
    assert parse_errors(tmp_path, expressions()) == set()


def test_every_expression_of_the_dashboard_has_samples(recordings, tmp_path):
    assert without_samples(recordings["healthy"], tmp_path, expressions()) == set(ONLY_IN_FAILURES)
    for name, situation in ONLY_IN_FAILURES.items():
        assert without_samples(recordings[situation], tmp_path, {name: expressions()[name]}) == set()


def test_broken_and_empty_expressions_of_a_dashboard_are_noticed(recordings, tmp_path):
    broken = {"open": "sum((rate(x[5m]", "word": "rate(shuffledp_reports_total[1h]) times 3600", "good": "up"}
    assert parse_errors(tmp_path, broken) == {"open", "word"}
    empty = {"other": 'shuffledp_users{task="$task", job="other"}', "good": 'shuffledp_users{task=~"$task"}'}
    assert without_samples(recordings["healthy"], tmp_path, empty) == {"other"}
