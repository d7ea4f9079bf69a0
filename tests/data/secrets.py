"""A check that errors contain no personal value."""


def shows_nothing(caught, *values):
    """Return whether an error, its causes and its arguments contain none of these values."""
    error, texts = caught.value, []
    while error is not None:
        texts += [str(error), repr(error.args)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return not any(value in text for value in values for text in texts)
