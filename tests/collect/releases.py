"""Read the releases in a store, and show one as the console does."""


def releases_of(store, task_id):
    """All releases of a task, the oldest first."""
    return [store.release(task_id, each.number) for each in store.listed(task_id)]


def rendered_release(release):
    """The result of a release as the console shows it."""
    from shuffledp.collect.web.console_context import _rendered

    return _rendered(release.to_json().encode()).result
