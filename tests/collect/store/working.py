"""A program that adds reports and closes batches concurrently with others; prints the outcomes as JSON.

Arguments: the address of a store, and the seed of the order of reports.
"""

import json
import random
import sys
from collections import Counter

from shuffledp.collect.store import open_report_store
from tests.collect.store.made_up import arrival, task_of

USERS = 7
TASK = task_of(USERS)
REPORTS = [
    arrival(TASK, report_id=at.to_bytes(16), onions=at.to_bytes(48), number=1, admission_hash=at.to_bytes(32))
    for at in range(150)
]


def main(address, seed):
    reports = random.Random(seed).sample(REPORTS, len(REPORTS))
    outcomes, batches = Counter(), []
    with open_report_store(address) as store:
        store.prepare(TASK)
        print("ready", flush=True)
        sys.stdin.readline()
        for at in range(0, len(reports), 5):
            outcomes.update(outcome.value for outcome in store.add(reports[at : at + 5]))
            if batch := store.close_batch(TASK.id, USERS):
                batches.append(batch.hex())
                store.keep_mixed(TASK.id, batch, USERS, list(store.onions(batch)), {})
    print(json.dumps({"outcomes": outcomes, "batches": batches}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
