"""What an error may not show."""


def shows_nothing(caught, *values):
    """Whether an error, its causes and its arguments are without these values."""
    error, said = caught.value, []
    while error is not None:
        said += [str(error), repr(error.args)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return not any(value in text for value in values for text in said)
