"""Test vectors of hashed values and of texts: the buckets of values, the paths of texts, and tasks that are refused."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from shuffledp.collect.task import AnswerText, Task
from shuffledp.collect.task.answers import PieceAlphabet, PieceList
from shuffledp.histogram.hash_family import MOST_LEVELS, MOST_MODULUS, HashFamily
from shuffledp.histogram.text_code import LONGEST_TEXT

ALL_STEPS = ["trim", "lower", "query", "slash"]
ADDRESSES = AnswerText(32, 16, PieceAlphabet("abcdefghijklmnopqrstuvwxyz0123456789.-/:", 2), ALL_STEPS[:2])
SITES = AnswerText(
    24,
    5,
    PieceList(["https://", "www.", ".example", "news", "mail", "new", "s", "é", "\N{PILE OF POO}", "ß"]),
    ALL_STEPS,
)
AS_TYPED = AnswerText(8, 3, PieceList(["A", "a", "b", " ", "?", "/", "ab"]), [])

TEXTS: dict[str, list[str | None]] = {
    "text-alphabet": [
        "a", "example.org", "Example.ORG", "  example.org\u3000", "\u200bexample.org", "exampl e.org",
        "example.org/a?b#c", "a" * 32, "a" * 33, "ab" * 16,
        "K", "\u212a", "\u0130", "é", "a\u0000", "a\tb", "\t\n\x0b\x0c\r \x85\xa0", "",
        None, "\ud800", "a\ud83d", "\udca9", "\N{PILE OF POO}", "(other)", "(none)", "-0", "1e5",
    ],
    "text-list": [
        "news", "new", "snews", "https://www.news.example", "HTTPS://WWW.NEWS.EXAMPLE/", "https://news.example//",
        "https://news.example/?q=1", "news#top", "news?a#b", "#", "?", "/", "e\u0301", "E\u0301", "\u00c9", "é\u0301",
        "\N{PILE OF POO}" * 5, "\N{PILE OF POO}" * 6, "\N{PILE OF POO}" * 7, "ß", "SS", "\u1e9e", "mailmail",
        "s" * 5, "s" * 6, "newnewsnew", "ne", "news ", " ", None, "", "\udc00news", "news\ud800",
    ],
    "text-as-typed": [
        "A", "a", "ab", "aab", "aba", "abab", "ababab", "abababab", "bbbb", " ", "  ", " a ", "a?", "a/", "?", "/", "c",
        "AB", "", None, "\ud800",
    ],
}  # fmt: skip
"""Texts that are asked for each task; None is no answer."""


def number(value: int) -> int | str:
    """Return a whole number, as text from 2^53 on: readers in some languages would round it."""
    return value if value < 2**53 else str(value)


def texts_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield the normalised text, the path and the values of texts."""
    for name, texts in TEXTS.items():
        answers = tasks[name].answers
        assert isinstance(answers, AnswerText)
        yield {
            "task": name,
            "symbols": answers.code.symbols,
            "pieces": [answers.code.listed[at] for at in (0, 1, -1)],
            "texts": [
                {
                    "text": text,
                    "normalised": answers.code.normalise(text),
                    "path": answers.path(text),
                    "values": [number(int(value)) for value in answers.values_of(text)],
                }
                for text in texts
            ],
        }


FAMILIES: dict[str, dict[str, Any]] = {
    "five buckets for five values": {"modulus": 5, "values": 5},
    "fewer values than buckets": {"modulus": 13, "values": 4},
    "two digits": {"modulus": 93_787, "values": 10**6 + 2},
    "three digits": {"modulus": 1999, "values": 2**32},
    "two buckets": {"modulus": 2, "values": 1000},
    "expanded": {"modulus": 16_777_213, "values": 2**32},
    "texts": {"modulus": 13_963, "values": 1643 << 48, "pieces": 1643, "levels": 8},
    "texts of few pieces": {"modulus": 17, "values": 13 << 48, "pieces": 13, "levels": 3},
    "texts whose levels need expanded seeds": {"modulus": 31, "values": 13 << 48, "pieces": 13, "levels": 64},
}
"""Families by their numbers of buckets, values, pieces and levels."""


def hashes_vectors() -> Iterator[dict[str, Any]]:
    """Yield the coefficients of seeds, the digits and buckets of values, and the messages."""
    for name, sizes in FAMILIES.items():
        levels = sizes.get("levels", 1)
        family = HashFamily.of(**sizes)
        seeds = [0, 1, family.seeds // 3, family.seeds - 1]
        values = sorted({0, 1, family.values // 2, family.values - 1})
        asked = [
            (at % levels, seed, value)
            for at, (seed, value) in enumerate((seed, value) for seed in seeds for value in values)
        ]
        drawn, held = np.array([seed for _, seed, _ in asked]), np.array([value for _, _, value in asked])
        coefficients, digits = family.coefficients(drawn), family.digits_of(held)
        buckets = family.buckets(drawn, held)
        yield {
            "name": name,
            "buckets": family.modulus,
            "values": number(family.values),
            "pieces": family.pieces,
            "levels": levels,
            "seeds": number(family.seeds),
            "expanded": family.expanded,
            "hashes": [
                {
                    "level": level,
                    "seed": number(seed),
                    "coefficients": coefficients[at].tolist(),
                    "value": number(value),
                    "digits": digits[at].tolist(),
                    "bucket": int(buckets[at]),
                    "message": number((level * family.seeds + seed) * family.modulus + int(buckets[at])),
                }
                for at, (level, seed, value) in enumerate(asked)
            ],
        }


def corrupted_texts(tasks: dict[str, Task]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, content, reason and error of tasks of texts and of hashed values that are refused."""
    plain, listed, hashed = (
        json.loads(tasks[name].canonical) for name in ("text-alphabet", "text-list", "hashed-two-digits")
    )
    rate = plain["protocol"]["parameters"]["dummies"]["rate"]
    numerator, _, power = rate.partition("/2^")
    less = f"{int(numerator) * 98 // 100 | 1}/2^{power}"

    def answers(base: dict[str, Any] = plain, /, **fields: Any) -> str:
        return json.dumps({**base, "answers": {**base["answers"], **fields}}, ensure_ascii=False)

    def alphabet(characters: str, width: Any = 2) -> str:
        return answers(pieces={"kind": "alphabet", "characters": characters, "width": width})

    def pieces(*values: Any) -> str:
        return answers(listed, pieces={"kind": "list", "values": list(values)})

    def noise(base: dict[str, Any], **fields: Any) -> str:
        parameters = {**base["protocol"]["parameters"], **fields}
        return json.dumps({**base, "protocol": {"name": "hashed", "parameters": parameters}}, ensure_ascii=False)

    without = {name: part for name, part in plain["answers"].items() if name != "levels"}
    dummies = plain["protocol"]["parameters"]["dummies"]
    sparse = json.loads(tasks["sparse-one-shuffler"].canonical)["protocol"]
    no_task = {
        "text-without-levels": (json.dumps({**plain, "answers": without}), "the field `levels` of `answers` is"),
        "text-with-another-field": (answers(size=5), "is no field of `answers`"),
        "text-with-no-levels": (answers(levels=0), "levels must be"),
        "text-with-too-many-levels": (answers(levels=MOST_LEVELS + 1), "levels must be"),
        "text-with-levels-as-text": (answers(levels="16"), "`answers.levels` must be a whole number, got text"),
        "text-of-no-bytes": (answers(longest=0), "longest must be"),
        "text-of-too-many-bytes": (answers(longest=LONGEST_TEXT + 1), "longest must be"),
        "a-normalisation-of-no-list": (answers(normalisation="lower"), "`answers.normalisation` must be a list"),
        "an-unknown-step": (answers(normalisation=["trim", "upper"]), "`answers.normalisation[1]` must be trim, lower"),
        "steps-in-another-order": (answers(normalisation=["lower", "trim"]), "in this order"),
        "a-step-twice": (answers(normalisation=["trim", "trim"]), "in this order"),
        "pieces-of-no-kind": (answers(pieces={"characters": "ab", "width": 1}), "`kind` of `answers.pieces` is"),
        "pieces-of-an-unknown-kind": (answers(pieces={"kind": "words"}), "`answers.pieces.kind` must be"),
        "pieces-and-an-alphabet": (
            answers(pieces={"kind": "alphabet", "characters": "ab", "width": 1, "values": ["a"]}), "is no field of"),
        "pieces-that-are-numbers": (pieces("a", 1), "`answers.pieces.values[1]` must be text"),
        "an-empty-alphabet": (alphabet(""), "either pieces or an alphabet"),
        "an-empty-list-of-pieces": (pieces(), "either pieces or an alphabet"),
        "an-alphabet-with-a-character-twice": (alphabet("abca"), "one is there twice"),
        "an-alphabet-in-capitals": (alphabet("abC"), "is not normalised"),
        "an-alphabet-with-a-line-feed": (alphabet("ab\n"), "printable"),
        "an-alphabet-with-an-unpaired-surrogate": (alphabet("ab\ud800").replace("\ud800", "\\ud800"), "text"),
        "no-width": (alphabet("ab", 0), "width must be"),
        "too-large-a-width": (alphabet("ab", 5), "width must be"),
        "too-many-pieces-of-an-alphabet": (alphabet("abcdefghijkl", 4), "at most 16,381 pieces"),
        "a-piece-twice": (pieces("ab", "b", "ab"), "one is there twice"),
        "an-empty-piece": (pieces("ab", ""), "printable"),
        "a-piece-with-a-tab": (pieces("a\tb"), "printable"),
        "a-piece-in-capitals": (pieces("Ab"), "is not normalised"),
        "a-piece-that-is-not-composed": (pieces("e\u0301"), "is not normalised"),
        "texts-with-another-protocol": (json.dumps({**plain, "protocol": sparse}), "must be hashed, got sparse"),
        "buckets-that-are-not-prime": (noise(plain, buckets=13_965), "buckets must be a prime"),
        "buckets-that-are-not-prime-for-bins": (noise(hashed, buckets=91_001), "buckets must be a prime"),
        "fewer-buckets-than-symbols": (noise(plain, buckets=1621), "pieces must be 1 to the number of buckets"),
        "too-many-buckets": (noise(plain, buckets=MOST_MODULUS + 43), "buckets must be a prime"),
        "far-too-many-buckets": (noise(plain, buckets=2**53 - 111), "buckets must be a prime"),
        "one-bucket": (noise(hashed, buckets=1), "buckets must be a prime"),
        "no-bucket": (noise(hashed, buckets=0), "buckets must be a prime"),
        "buckets-below-zero": (noise(hashed, buckets=-7), "buckets must be a prime"),
        "buckets-as-text": (noise(hashed, buckets="93787"), "buckets must be a prime"),
        "buckets-that-are-true": (noise(hashed, buckets=True), "buckets must be a prime"),
        "too-many-messages-on-all-levels": (
            json.dumps({**plain, "answers": {**plain["answers"], "levels": 64},
                        "protocol": {"name": "hashed", "parameters": {"buckets": 16_777_213, "dummies": dummies}}}),
            "at most 2^62 messages"),
        "hashed-without-buckets": (
            json.dumps({**hashed, "protocol": {"name": "hashed", "parameters": {"dummies": dummies}}}),
            "must be buckets and dummies, and nothing else"),
        "hashed-with-a-seed": (noise(hashed, seeds=5), "must be buckets and dummies, and nothing else"),
        "hashed-dummies-in-clusters": (
            noise(hashed, dummies={**dummies, "size_weights": [2**40 - 1, 1]}), "must come one at a time"),
        "text-dummies-of-two-at-a-time": (
            noise(plain, dummies={**dummies, "size_weights": [0, 2**40]}), "must come one at a time"),
        "hashed-without-dummies": (noise(hashed, dummies={**dummies, "rate": "0"}), "cannot be used"),
    }  # fmt: skip
    broken = {
        "texts-with-fewer-dummies": (noise(plain, dummies={**dummies, "rate": less}), "which is weaker"),
        "texts-with-one-level-more": (
            json.dumps({**plain, "answers": {**plain["answers"], "levels": 17}, "most_messages": 300}),
            "which is weaker"),
        "texts-with-fewer-honest-people": (
            json.dumps({**plain, "honest_users": plain["honest_users"] * 98 // 100}), "which is weaker"),
        "texts-with-too-few-messages-allowed": (json.dumps({**plain, "most_messages": 90}), "is too small"),
        "hashed-with-fewer-dummies": (
            noise(hashed, dummies={**dummies, "rate": "42"}), "which is weaker"),
        "hashed-with-fewer-honest-people": (
            json.dumps({**hashed, "honest_users": hashed["honest_users"] * 98 // 100}), "which is weaker"),
        "hashed-with-too-few-messages-allowed": (json.dumps({**hashed, "most_messages": 12}), "is too small"),
    }  # fmt: skip
    for reason, cases in (("no-task", no_task), ("broken-promise", broken)):
        for case, (content, says) in cases.items():
            yield case, content, reason, says
