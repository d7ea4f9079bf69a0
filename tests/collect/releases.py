"""Read the releases in a store."""


def releases_of(store, task_id):
    """All releases of a task, the oldest first."""
    return [store.release(task_id, each.number) for each in store.listed(task_id)]
