"""Faults of what is printed."""

from mutants.fault import Fault

_WORDS = "tests/test_formatting.py"
_SENTENCES = "tests/protocols/test_sentences.py"
_DOMAIN = "tests/histogram/test_tally_and_domain.py"
_CONTRACT = "tests/protocols/test_contract.py"

FAULTS = (
    Fault(
        name="bounds-rounded-to-the-nearest",
        harm="A printed bound on errors holds less often than it says.",
        file="words.py",
        old='f"{math.ceil(bound):,}"',
        new='f"{round(bound):,}"',
        tests=(f"{_WORDS}::test_a_printed_number_of_people_is_an_upper_bound",),
    ),
    Fault(
        name="epsilons-rounded-to-the-nearest",
        harm="A printed epsilon, delta or share is smaller than the true one.",
        file="words.py",
        old="return _rounded(bound, digits, ROUND_CEILING)",
        new="return _rounded(bound, digits, 'ROUND_HALF_EVEN')",
        tests=(f"{_WORDS}::test_a_printed_share_is_an_upper_bound_and_close",),
    ),
    Fault(
        name="percentages-rounded-down",
        harm="A printed percentage of people who may be off is too small.",
        file="words.py",
        old="up = Context(prec=digits, rounding=ROUND_CEILING)",
        new='up = Context(prec=digits, rounding="ROUND_FLOOR")',
        tests=(f"{_WORDS}::test_a_printed_percentage_is_an_upper_bound_and_close",),
    ),
    Fault(
        name="probabilities-rounded-up",
        harm="A printed probability with which something holds is larger than the true one.",
        file="words.py",
        old="Context(prec=3, rounding=ROUND_CEILING)",
        new='Context(prec=3, rounding="ROUND_FLOOR")',
        tests=(f"{_WORDS}::test_a_printed_probability_is_a_lower_bound_and_close",),
    ),
    Fault(
        name="error-in-words-rounded-to-the-nearest",
        harm="The error in an explanation is smaller than what is promised.",
        file="protocols/guarantee.py",
        old="no estimate is off by more than {people_at_most(error)} ",
        new="no estimate is off by more than {error:,.0f} people ",
        tests=(_SENTENCES,),
    ),
    Fault(
        name="factor-in-words-rounded-to-the-nearest",
        harm="The factor in an explanation is smaller than what is promised.",
        file="protocols/guarantee.py",
        old="by at most {share_at_most(math.exp(promised.epsilon), digits=3)}{rest}.",
        new="by at most {math.exp(promised.epsilon):.3g}{rest}.",
        tests=(_SENTENCES,),
    ),
    Fault(
        name="value-in-the-error-of-a-domain",
        harm="A person's value stands in an error message, and so in logs.",
        file="histogram/domain.py",
        old="            return np.array([self._bin(value) for value in _listed(values)], dtype=np.int64)\n"
        "        except (KeyError, TypeError):\n            raise _outside() from None",
        new="            return np.array([self._bin(value) for value in _listed(values)], dtype=np.int64)\n"
        "        except (KeyError, TypeError) as error:\n"
        "            raise DataError(f'not in the domain: {error}') from None",
        tests=(f"{_DOMAIN}::test_values_outside_the_domain_are_refused_without_showing_them",),
    ),
    Fault(
        name="value-in-the-chain-of-an-error",
        harm="A traceback shows the value that was looked up.",
        file="histogram/domain.py",
        old="        except (KeyError, TypeError):\n            raise _outside() from None",
        new="        except (KeyError, TypeError):\n            raise _outside()",
        tests=("tests/test_personal_values.py",),
    ),
    Fault(
        name="value-in-the-error-of-a-randomizer",
        harm="A person's value stands in an error message, and so in logs.",
        file="histogram/inputs.py",
        old='            f"a {what} is not a bin between 0 and {readable(bins - 1)} "',
        new='            f"a {what} {numbers.tolist()} is not a bin between 0 and {readable(bins - 1)} "',
        tests=(f"{_CONTRACT}::test_foreign_values_and_messages_are_refused_without_showing_them[response]",),
    ),
    Fault(
        name="labels-in-the-name-of-a-domain",
        harm="The labels of a domain stand wherever it is printed.",
        file="histogram/domain.py",
        old='return f"Domain.of(<{self.size} labels>)"',
        new='return f"Domain.of({self._labels.tolist()})"',
        tests=(f"{_DOMAIN}::test_representations_show_no_labels",),
    ),
)
