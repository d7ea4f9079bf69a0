"""Faults of the shuffler as a server, and of what servers share."""

from mutants.fault import Fault

_AT = "tests/collection/shuffler"
_REPORTS, _BATCHES, _CHAIN = f"{_AT}/test_reports.py", f"{_AT}/test_batches.py", f"{_AT}/test_chain.py"
_ADMISSION, _PUBLIC, _STARTING = f"{_AT}/test_admission.py", f"{_AT}/test_public.py", f"{_AT}/test_starting.py"
_PULLING, _SERVING = "tests/collection/service/test_pulling.py", "tests/collection/service/test_serving.py"
_LIMITS, _TOKENS = "tests/collection/service/test_limits.py", "tests/collection/service/test_tokens.py"
_PROBLEMS = "tests/collection/service/test_problems.py"

FAULTS = (
    Fault(
        name="acknowledged-before-it-is-stored",
        harm="A person is told that the answer counts, and it is lost when the machine stops.",
        file="collection/shuffler/ingestion.py",
        old="        outcome = await self._commits.add(_arrival(served.task, opened, spent))\n",
        new="        import asyncio\n\n"
        "        self._later = asyncio.ensure_future(self._commits.add(_arrival(served.task, opened, spent)))\n"
        "        outcome = Outcome.STORED\n",
        tests=(_REPORTS,),
    ),
    Fault(
        name="a-failed-commit-is-acknowledged",
        harm="While the disk is full everybody is told that the answer counts.",
        file="collection/shuffler/group_commit.py",
        old="waiting.set_exception(Refused(Reason.UNAVAILABLE))",
        new="waiting.set_result(Outcome.STORED)",
        tests=(_REPORTS,),
    ),
    Fault(
        name="a-batch-of-one-person-less",
        harm="A batch has less noise than was promised.",
        file="collection/stores/report_store.py",
        old="            return batching.close(transaction, task, users)",
        new="            return batching.close(transaction, task, users - 1)",
        tests=(_BATCHES,),
    ),
    Fault(
        name="what-is-left-is-handed-on-when-the-task-closes",
        harm="The last few people of a task are handed on in a batch that is too small to hide them.",
        file="collection/stores/report_store.py",
        old="batching.close(transaction, task, left, state=DROPPED)",
        new="batching.close(transaction, task, left)",
        tests=(_BATCHES,),
    ),
    Fault(
        name="batches-keep-their-order",
        harm="Messages of one person stay together, and the analyzer sees whose they are.",
        file="collection/shuffler/closing.py",
        old="blocks = until(stopping, mixed.blocks())",
        new="blocks = until(stopping, self._store.onions(batch_id))",
        tests=(_BATCHES,),
    ),
    Fault(
        name="blocks-of-a-batch-are-mixed-by-themselves",
        harm="A person hides only among those whose reports were read from the disk at the same time.",
        file="collection/shuffler/closing.py",
        old="            blocks = until(stopping, mixed.blocks())\n",
        new="            width, parts = self._task.onion_length(0), []\n"
        "            for block in self._store.onions(batch_id):\n"
        "                with mix([block], width) as part:\n"
        "                    parts += part.blocks()\n"
        "            blocks = until(stopping, parts)\n",
        tests=(_BATCHES,),
    ),
    Fault(
        name="a-later-shuffler-keeps-the-order",
        harm="Of two shufflers the second adds nothing: the first one and the analyzer together see who sent what.",
        file="collection/shuffler/relay.py",
        old="until(stopping, mixed.blocks()), counted)",
        new="until(stopping, [mixed.onions.tobytes()]), counted)",
        tests=(_CHAIN,),
    ),
    Fault(
        name="layers-are-not-bound-to-their-place",
        harm="The second shuffler opens layers that are meant for another place in the chain.",
        file="collection/shuffler/relay.py",
        old="        self._layer = layer_of(served.task, served.key)\n",
        new="        self._layer = layer_of(served.task, served.key)\n"
        '        object.__setattr__(self._layer, "position", self._position + 1)\n',
        tests=(_CHAIN,),
    ),
    Fault(
        name="acknowledged-upstream-before-it-is-kept",
        harm="A batch is deleted at one shuffler before the next has it: everybody in it is lost.",
        file="collection/shuffler/relay.py",
        old="            if not self._store.has_batch(batch.batch_id):\n"
        "                self._take(batch, stopping)\n"
        "            self._upstream.acknowledge(self._task, batch.batch_id)\n",
        new="            if not self._store.has_batch(batch.batch_id):\n"
        "                try:\n"
        "                    self._take(batch, stopping)\n"
        "                finally:\n"
        "                    self._upstream.acknowledge(self._task, batch.batch_id)\n"
        "            self._upstream.acknowledge(self._task, batch.batch_id)\n",
        tests=(_CHAIN,),
    ),
    Fault(
        name="never-acknowledged-upstream",
        harm="The first shuffler keeps ciphertexts that it should have deleted.",
        file="collection/shuffler/relay.py",
        old="            self._upstream.acknowledge(self._task, batch.batch_id)\n",
        new="",
        tests=(_CHAIN,),
    ),
    Fault(
        name="batches-for-anybody",
        harm="Whoever asks gets the mixed messages.",
        file="collection/shuffler/endpoints.py",
        old="            raise Refused(Reason.NO_TOKEN)\n",
        new="            pass\n",
        tests=(_BATCHES,),
    ),
    Fault(
        name="batches-to-be-deleted-by-anybody",
        harm="Whoever asks can delete a batch before the next hop has it.",
        file="collection/shuffler/endpoints.py",
        old="        self._check_next_hop(request)\n        batch_id = _batch_id(request)\n",
        new="        batch_id = _batch_id(request)\n",
        tests=(_BATCHES,),
    ),
    Fault(
        name="no-token-is-a-token",
        harm="Where the hash of nothing is configured by mistake, everybody gets the batches.",
        file="collection/service/tokens.py",
        old="return token is not None and any(matches)",
        new="return any(matches)",
        tests=(_TOKENS,),
    ),
    Fault(
        name="any-scheme-is-a-token",
        harm="A password of another kind is taken for the token.",
        file="collection/service/tokens.py",
        old="authorization[: len(_SCHEME)].lower() != _SCHEME",
        new="len(authorization) < len(_SCHEME)",
        tests=(_TOKENS,),
    ),
    Fault(
        name="an-acknowledged-batch-stays",
        harm="Ciphertexts that the next hop has are kept for whoever steals the disk.",
        file="collection/shuffler/endpoints.py",
        old="            await run_in_threadpool(self._store.acknowledge, batch_id)\n",
        new="            pass\n",
        tests=(_BATCHES,),
    ),
    Fault(
        name="reports-sent-again-count-again",
        harm="Whoever sends the same answer twice counts twice, and spends privacy twice.",
        file="collection/shuffler/ingestion.py",
        old="        report_id=opened.report_id,\n        digest=opened.digest,\n",
        new="        report_id=__import__('os').urandom(16),\n        digest=opened.digest,\n",
        tests=(_REPORTS,),
    ),
    Fault(
        name="other-bytes-of-the-same-id-are-taken",
        harm="Whoever draws again under the same id is told that the second answer counts.",
        file="collection/shuffler/ingestion.py",
        old="    Outcome.OTHER_BYTES: Reason.OTHER_BYTES,\n",
        new="",
        tests=(_REPORTS,),
    ),
    Fault(
        name="clocks-are-ignored",
        harm="Reports recorded or made for another time are taken.",
        file="collection/shuffler/ingestion.py",
        old="        check_time(served.task, opened.time, now=self._clock())\n",
        new="",
        tests=(_REPORTS,),
    ),
    Fault(
        name="any-time-ahead-is-taken",
        harm="Reports whose time is years ahead are taken.",
        file="collection/shuffler/ingestion.py",
        old=" or time > now + task.time_precision:",
        new=":",
        tests=(_REPORTS,),
    ),
    Fault(
        name="the-first-step-of-a-task-is-refused",
        harm="People who answer as soon as a task opens are refused.",
        file="collection/shuffler/ingestion.py",
        old="first = task.opens.timestamp() // task.time_precision * task.time_precision",
        new="first = task.opens.timestamp()",
        tests=(_REPORTS,),
    ),
    Fault(
        name="a-closed-task-takes-reports",
        harm="People answer after the end that they were told, and nobody counts them.",
        file="collection/shuffler/ingestion.py",
        old="            raise Refused(Reason.CLOSED)\n",
        new="            pass\n",
        tests=(_REPORTS,),
    ),
    Fault(
        name="a-task-opens-early",
        harm="Reports are taken before the task opens.",
        file="collection/shuffler/ingestion.py",
        old="            raise Refused(Reason.NOT_YET_OPEN)\n",
        new="            pass\n",
        tests=(_REPORTS,),
    ),
    Fault(
        name="tokens-are-spent-by-nobody",
        harm="One token admits any number of forged reports.",
        file="collection/shuffler/ingestion.py",
        old="        admission_hash=spent,\n",
        new="        admission_hash=None,\n",
        tests=(_ADMISSION,),
    ),
    Fault(
        name="admission-is-not-asked-for",
        harm="Whoever does not know the secret is let in, and can fill a batch around one person.",
        file="collection/shuffler/admission.py",
        old="        if token not in self.secret:\n",
        new="        if token is not None and token not in self.secret:\n",
        tests=(_ADMISSION,),
    ),
    Fault(
        name="bodies-are-read-whatever-their-length",
        harm="A single request fills the memory of the server, and nobody else is served.",
        file="collection/service/limits.py",
        old="                if size > most:\n",
        new="                if size > 2**40:\n",
        tests=(_LIMITS,),
    ),
    Fault(
        name="any-number-per-second",
        harm="The limit that the operator set does not hold.",
        file="collection/service/limits.py",
        old="        self._left -= 1\n",
        new="        self._left -= 0\n",
        tests=(_LIMITS, f"{_REPORTS}::test_more_per_second_than_allowed_are_refused"),
    ),
    Fault(
        name="addresses-are-logged",
        harm="The log says from which addresses reports came, and when.",
        file="collection/shuffler/endpoints.py",
        old="        self._rate.take()\n",
        new="        self._rate.take()\n"
        "        from shuffledp.collection.service.logs import _write\n\n"
        '        _write({"event": request.client.host if request.client else ""})\n',
        tests=(_PUBLIC,),
    ),
    Fault(
        name="access-logs-are-on",
        harm="The log has a line with the address of everybody who sends a report.",
        file="collection/service/serving.py",
        old="        log_config=None,\n        access_log=False,\n",
        new="        access_log=True,\n",
        tests=(_PUBLIC,),
    ),
    Fault(
        name="errors-are-logged-with-their-message",
        harm="Whatever an error speaks of, such as a token or an address, is in the log.",
        file="collection/service/logs.py",
        old='"error": type(error).__name__}',
        new='"error": repr(error)}',
        tests=(_PUBLIC, _PROBLEMS),
    ),
    Fault(
        name="errors-are-answered-with-their-message",
        harm="Whoever provokes an error is told what the server was doing for somebody else.",
        file="collection/service/problems.py",
        old="            await plain_problem(HTTPStatus.INTERNAL_SERVER_ERROR)(scope, receive, send)\n",
        new='            document = {"detail": repr(error)}\n'
        "            await _answer(document, HTTPStatus.INTERNAL_SERVER_ERROR, None)(scope, receive, send)\n",
        tests=(_PROBLEMS,),
    ),
    Fault(
        name="a-batch-that-ends-early-is-whole",
        harm="Messages that were lost on the way are missing in the release, and so is their noise.",
        file="collection/service/pulling.py",
        old="    if left:\n",
        new="    if left < 0:\n",
        tests=(_PULLING,),
    ),
    Fault(
        name="any-batch-is-the-one-asked-for",
        harm="A batch of another task or for another place is counted.",
        file="collection/service/pulling.py",
        old="    if (head.task_id, head.batch_id, head.position) != (task.id, batch_id, position):\n",
        new="    if False:\n",
        tests=(_PULLING,),
    ),
    Fault(
        name="a-batch-without-an-end",
        harm="A hop upstream can fill the disk.",
        file="collection/service/pulling.py",
        old="    if head.number > task.users * task.most_messages:\n",
        new="    if False:\n",
        tests=(_PULLING,),
    ),
    Fault(
        name="a-stop-cancels-requests-under-way",
        harm="People whose report is on its way when a server stops are not served.",
        file="collection/service/serving.py",
        old="        timeout_graceful_shutdown=GRACE,\n",
        new="        timeout_graceful_shutdown=0,\n",
        tests=(_SERVING,),
    ),
    Fault(
        name="a-stop-forgets-requests-under-way",
        harm="People whose report is on its way when a server stops get no answer.",
        file="collection/service/serving.py",
        old="        self.should_exit = True\n",
        new="        self.should_exit = self.force_exit = True\n",
        tests=(f"{_AT}/test_command.py",),
    ),
    Fault(
        name="a-broken-promise-is-served",
        harm="A shuffler takes part in a collection that gives less privacy than it claims.",
        file="collection/shuffler/starting.py",
        old="                served.task.check()\n",
        new="",
        tests=(_STARTING,),
    ),
    Fault(
        name="the-analyzers-key-mixes",
        harm="One server mixes and counts, so that it sees who sent what.",
        file="collection/shuffler/starting.py",
        old="        if key.public == task.analyzer.key:\n",
        new="        if False:\n",
        tests=(_STARTING,),
    ),
    Fault(
        name="keys-of-two-shufflers-in-one-hand",
        harm="One server holds the keys of both shufflers, of which at least one should be somebody else's.",
        file="collection/shuffler/starting.py",
        old="    if len(found) > 1:\n",
        new="    if False:\n",
        tests=(_STARTING,),
    ),
    Fault(
        name="what-was-being-mixed-is-forgotten",
        harm="After a restart a closed batch is not mixed for a long time.",
        file="collection/shuffler/closing.py",
        old="self._own = set(store.closing(task.id))",
        new="self._own: set[bytes] = set()",
        tests=(_BATCHES,),
    ),
    Fault(
        name="refusals-are-lost-at-a-stop",
        harm="The public count of refused reports is too small.",
        file="collection/shuffler/app.py",
        old="            self.refusals.write()\n",
        new="            pass\n",
        tests=(_REPORTS,),
    ),
)
