"""What a store of an analyzer has released."""


def releases_of(store, task_id):
    """All releases of a task, the first one first."""
    return [store.release(task_id, each.number) for each in store.listed(task_id)]
