"""Faults of collections that only the whole shows: layers together, what servers leave on disks and in logs, kills."""

from mutants.fault import Fault

_LAW = "tests/collect/test_collected_law.py"
_LAYERS = "tests/collect/test_layers_mix.py"
_LEAKS = "tests/collect/test_nothing_leaks.py"
_BAD = "tests/collect/test_bad_input.py"
_UP = "tests/collect/test_one_machine.py"

_MIXED = (
    Fault(
        name="a-batch-is-mixed-only-by-whole-reports",
        harm="The analyzer sees which messages are of one person: noise and answer can be told apart.",
        file="collect/crypto/batch.py",
        old="order = shuffle(kept)",
        new="order = np.concatenate([np.sort(part) for part in np.array_split(kept, max(1, kept.size // 5))])",
        tests=(f"{_LAYERS}::test_both_layers_mix",),
    ),
    Fault(
        name="an-analyzer-takes-half-a-batch",
        harm="A shuffler that hands on incomplete batches is not noticed, and half of the noise is missing.",
        file="collect/analyzer/worker.py",
        old="< task.honest_users:",
        new="< task.honest_users // 4:",
        tests=(f"{_LAW}::test_a_shuffler_that_hands_on_incomplete_batches_is_noticed",),
    ),
    Fault(
        name="a-store-closes-batches-of-too-few",
        harm="Batches go out with half of the people, and half of the noise.",
        file="collect/store/batches.py",
        old="*(batch_id, task, users),",
        new="*(batch_id, task, users := -(-users // 2)),",
        tests=(f"{_LAW}::test_what_is_collected_follows_the_law[dummy]",),
    ),
)

_LEFT_BEHIND = (
    Fault(
        name="a-shuffler-prints-who-sent-a-report",
        harm="Addresses, user agents and tokens of people are in the shuffler's log.",
        file="collect/shuffler/app.py",
        old="return Response(status_code=201)",
        new="return print(request.client, request.headers) or Response(status_code=201)",
        tests=(f"{_LEAKS}::test_nothing_personal_is_on_a_disk_or_in_a_log",),
    ),
    Fault(
        name="anybody-may-fetch-batches",
        harm="Whoever asks gets the encrypted messages, and can delete them before the analyzer has them.",
        file="collect/shuffler/app.py",
        old='if bearer(request.headers.get("authorization")) not in self._next_hops:',
        new='if request.headers.get("authorization") == "":',
        tests=(f"{_BAD}::test_without_the_token_nobody_gets_anything",),
    ),
    Fault(
        name="a-full-disk-is-acknowledged",
        harm="Reports are acknowledged that are on no disk.",
        file="collect/shuffler/ingest.py",
        old="waiting.set_exception(Refused(Reason.UNAVAILABLE))",
        new="waiting.set_result(Outcome.STORED)",
        tests=(f"{_BAD}::test_a_full_disk_acknowledges_nothing_and_loses_nothing",),
    ),
)

_ONE_MACHINE = (
    Fault(
        name="up-leaves-what-its-servers-started",
        harm="Processes that hold keys go on after everything has ended.",
        file="collect/simulation/processes.py",
        old="os.killpg(each.process.pid, signal.SIGKILL)",
        new="each.process.kill()",
        tests=(f"{_UP}::test_whoever_does_not_end_when_asked_is_ended",),
    ),
    Fault(
        name="servers-go-on-when-up-is-killed",
        harm="Processes that hold keys go on for ever, and nobody knows of them.",
        file="collect/simulation/processes.py",
        old='preexec_fn=_end_with_parent() if sys.platform == "linux" else None,',
        new="preexec_fn=None,",
        tests=(f"{_UP}::test_servers_end_when_up_is_killed",),
    ),
    Fault(
        name="up-leaves-its-keys-on-the-disk",
        harm="Private keys and stores stay in a folder for temporary files.",
        file="collect/simulation/one_machine.py",
        old="if self._given is None:\n                ending.callback(shutil",
        new="if self._given is not None:\n                ending.callback(shutil",
        tests=(f"{_UP}::test_an_interrupt_ends_everything_and_leaves_nothing",),
    ),
    Fault(
        name="up-goes-on-without-a-server",
        harm="A server that died is not noticed, and whoever waits is told nothing.",
        file="collect/simulation/processes.py",
        old="if code is not None and not (self.ends and code in _HAS_RESULT):",
        new="if code is not None and code > 0:",
        tests=(f"{_UP}::test_a_server_that_dies_is_named_with_the_reason",),
    ),
)

FAULTS = (*_MIXED, *_LEFT_BEHIND, *_ONE_MACHINE)
