"""Python and JavaScript accept the same tasks and compute the same ids, over many files, most of them invalid."""

import base64
import copy
import json

import pytest

from shuffledp.collect.task import task_of
from shuffledp.errors import TaskError
from tests.clients.running import VECTORS
from tests.clients.scripts import run_script

READ = """
import { readTask } from "./src/task.js";
for (const [name, content] of asked) {
  try {
    const task = await readTask(Uint8Array.from(atob(content), (each) => each.charCodeAt(0)));
    const sizes = [task.values, task.alphabet].map((size) => String(BigInt(size)));
    results[name] = [task.name, ...sizes, task.symbolBytes, task.longestReport, task.padded, task.levels];
  } catch (error) {
    results[name] = error.name;
  }
}
"""

LOW_ORDER = (
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
"""All points of low order in their one spelling: of the orders 2, 4, 4, 8 and 8, on the curve or on its twist."""

KEYS = (
    *LOW_ORDER,
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  # 0 in another spelling
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0900000000000000000000000000000000000000000000000000000000000080",  # with the bit that is not used
    "0900000000000000000000000000000000000000000000000000000000000000",
    "0a00000000000000000000000000000000000000000000000000000000000000",
    "09",
    "",
)

ADDRESSES = (
    "http://a", "HTTPS://Host.example:443/path/", "https://a?", "https://a#", "https://a/b?#", "https://a?q",
    "https://a#f",
    "https://a/?q=1", "https://[::1]:8080/x", "https://[::1", "https://::1]", "https://a:", "https://a:0",
    "https://a:00",
    "https://a:65535", "https://a:65536", "https://a:x", "https://a:1:2", "https://", "https:///a", "https:/a",
    "https:a",
    "//a", "a", "", "ftp://a", "http:/\\a", "https://a b", "https://a\\b", "https://a\tb", " https://a", "https://a ",
    "https://ä.example", "https://u@a", "https://u:p@a", "https://@a", "https://:@a", "https://a@", "https://a/@",
    "https://a/b:c", "https://a/%20", "javascript:alert(1)", "https://a\n", "https://127.0.0.1:1", "https://a/ü",
    "https://a//b", "https://a/../b", "https://a/b;c", "http://a:080",
    "http://a^b", "http://a|b", "http://a%2fb", "http://%41", "http://a..b", "http://a.", "http://.", "http://a_b.c-d",
    "http://256.1.1.1", "http://1.2.3.4.5", "http://1.2.3", "http://4294967296", "http://0x7f.1", "http://01.2.3.4",
    "http://1.2.3.4.", "http://a.0x", "http://a.1", "http://0.0.0.0:8", "http://999.0.0.1", "http://[v1.a]",
    "http://[fe80::1%25en0]", "http://[::ffff:1.2.3.4]", "http://[::]:8/x", "http://[1::2::3]", "http://[12345::]",
    "http://[]", "http://a[1]", "http://-", "http://H.EXAMPLE", "http://xn--a", "http://xn--", "http://a.XN--nxasmq6b",
    "http://axn--b", "http://xn-a",
    "http://[::1];a", "http://[::1],a", "http://[::1]a:1", "http://[::1]:", "http://a;[::1]", "http://a;[v1.b]:1",
    *(f"http://a/{chr(at)}" for at in range(0x21, 0x7f)),
)  # fmt: skip

MAILS = (
    "a@b.c", "a@b", "@b.c", "a@", "a@b.c.", "a@.c", "a@b..c", "a b@c.d", "a@b@c.d", "a@b_c.d", "\u00e9@b.c",
    "a@b.\u00e9", "a@b.c?subject=d", "mailto:a@b.c", "<a@b.c>", "a@b.c\n",
    "a" * 64 + "@b.c", "a" * 65 + "@b.c", "a'b@c.d", "a%b@c.d",
)  # fmt: skip

LANGUAGES = (
    "de", "DE", "d", "deu", "germ", "de-DE", "de-de", "de-419", "de-41", "zh-Hant", "zh-hant", "zh-Hant-TW",
    "zh-TW-Hant", "de-1901", "de-190", "de-a901", "ca-valencia", "ca-VALENCIA", "sl-rozaj-biske-1994", "de-x-own",
    "x-own", "de-u-co-phonebk", "i-klingon", "en-GB-oed", "de-", "-de", "de_DE", "de DE", "de\n", "de-" + "a" * 8,
    "de-" + "a" * 9, "de" + "-abcdefgh" * 3, "de" + "-abcdefgh" * 4, "\u217e\u217e",
)  # fmt: skip

TIMES = (
    "2027-01-31T12:00:00Z", "2027-02-29T12:00:00Z", "2028-02-29T12:00:00Z", "2027-01-31T24:00:00Z",
    "2027-01-31T12:60:00Z",
    "2027-01-31T23:59:60Z", "2027-1-31T12:00:00Z", "2027-01-31T12:00:00", "2027-01-31T12:00:00+00:00",
    "2027-00-31T12:00:00Z",
    "2027-13-01T12:00:00Z", "0999-01-31T12:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
    "2027-01-31 12:00:00Z",
    "2027-01-31T12:00:00z", "2027-01-31T12:00:00.0Z", " 2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z\n", "",
)  # fmt: skip

TEXTS = (
    "a", "", " ", "\x1c", "\x85", "\u3000", "\ufeff", "\u200b", "\x00", "a\nb", "a\rb", "a\u2028b", "\u2028",
    "(other)", "(none)",
    "(Other)", "é", "e\u0301", "\U0001f4a9", "\uff5e", "yes", "__proto__", "constructor", '"', "\\", "\x7f",
    "</script>",
)  # fmt: skip

NUMBERS = (
    -1, 0, 1, 2, 3, 180, 200, 201, 2**32 - 1, 2**32, 10**12, 10**12 + 1, 2**53 - 1, 2**53, -(2**53), 10**400,
    True, None, "200", [200], {}, 366 * 86_400, 366 * 86_400 + 1,
)  # fmt: skip

FRACTIONS = (
    "0", "1", "1/2^1", "1/2^2", "3/2^2", "1/2^53", "1/2^54", "9007199254740991/2^54", "2/2^2", "100000", "100001",
    "1/2^1074", "1/2^1075", "9007199254740993/2^60", "0.5", "-1", "", 1, None, ["1"],
)  # fmt: skip

DECIMALS = (
    "0", "1", "0.001", "0.0009999", "50", "50.1", "0.0010", "1e-3", "1e-20", "9.9e-21", "0.999999", "1e-400",
    "999999999",
    "1e-06", "1E-6", ".5", "nan", 1, "1.", "1e-999", "0.99999999999999999999999",
)  # fmt: skip

GRID = 2**40
WEIGHTS = (
    [GRID], [GRID, 0], [0, GRID], [GRID - 1, 1], [GRID + 1, -1], [-1, GRID + 1], [GRID - 1], [], [1.5], [True,
    GRID - 1],
    ["1"], "1", None, [GRID] * 2, [GRID * 2**20, 0], [1] * (2**15) + [GRID - 2**15], [0] * (2**15 - 1) + [GRID],
)  # fmt: skip


def plain(name):
    return json.loads((VECTORS / "tasks" / f"{name}.json").read_text(encoding="utf-8"))


def changed(name, *path_and_value):
    *path, last, value = path_and_value
    task = copy.deepcopy(plain(name))
    part = task
    for step in path:
        part = part[step]
    part[last] = value
    return task


def variants():
    """Yield valid and almost valid tasks by name, as Python objects."""
    yield from ((f"as it is: {name}", plain(name)) for name in ("hist", "dummy", "dummy-poisson", "sparse-best"))
    for at, address in enumerate(ADDRESSES):
        yield f"address {at}", changed("hist", "analyzer", "address", address)
        yield f"address of the list {at}", changed("dummy", "answers", "address", address)
    for at, key in enumerate(KEYS):
        yield f"key {at}", changed("hist", "shufflers", 0, "key", key)
    for at, time in enumerate(TIMES):
        yield f"time {at}", changed("hist", "opens", time)
        yield f"end {at}", changed("hist", "closes", time)
    for at, text in enumerate(TEXTS):
        yield f"question {at}", changed("hist", "question", text)
        yield f"answer {at}", changed("hist", "answers", "values", ["yes", text])
        for field in ("asker", "purpose", "contact", "language"):
            yield f"{field} {at}", changed("hist", field, text) | {"version": 2}
    for at, address in enumerate((*ADDRESSES, *MAILS)):
        yield f"contact with an address {at}", changed("hist", "contact", address) | {"version": 2}
    for at, language in enumerate(LANGUAGES):
        yield f"a language {at}", changed("hist", "language", language) | {"version": 2}
    for code in (*range(0xA1), 0xAD, 0x61C, *range(0x2000, 0x2070), 0x3000, 0xFEFF, 0xFFFE, 0xE0001):
        yield f"asker with {code:x}", changed("hist", "asker", f"a{chr(code)}b") | {"version": 2}
        yield f"purpose that ends with {code:x}", changed("hist", "purpose", f"a{chr(code)}") | {"version": 2}
    for field, length in (("asker", 200), ("purpose", 1000), ("contact", 254)):
        for more in (0, 1):
            text = "a@a." + "a" * (length - 4 + more) if field == "contact" else "\U0001f4a9" * (length + more)
            yield f"{field} of {length + more}", changed("hist", field, text) | {"version": 2}
    for length in (1000, 1001):
        yield f"question of {length}", changed("hist", "question", "\U0001f4a9" * length)
    for at, number in enumerate(NUMBERS):
        for field in ("version", "users", "honest_users", "most_messages", "time_precision"):
            yield f"{field} {at}", changed("dummy-poisson", field, number)
        yield f"start {at}", changed("dummy-poisson", "answers", "start", number)
        yield f"stop {at}", changed("dummy-poisson", "answers", "stop", number)
        yield f"size {at}", changed("dummy", "answers", "size", number)
    for at, text in enumerate(FRACTIONS):
        yield f"missing_probability {at}", changed("hist", "protocol", "parameters", "missing_probability", text)
        yield f"dummy_probability {at}", changed("dummy", "protocol", "parameters", "dummy_probability", text)
        yield f"rate {at}", changed("sparse-best", "protocol", "parameters", "lone", "rate", text)
    for at, text in enumerate(DECIMALS):
        yield f"epsilon {at}", changed("hist", "guarantee", "epsilon", text)
        yield f"delta {at}", changed("hist", "guarantee", "delta", text)
    for at, weights in enumerate(WEIGHTS):
        yield f"weights {at}", changed("sparse-best", "protocol", "parameters", "pairs", "size_weights", weights)
        yield f"dummies {at}", changed("dummy-poisson", "protocol", "parameters", "dummies", "size_weights", weights)
    for name in (
        "hist",
        "hist-unbiased",
        "sparse",
        "sparse-best",
        "dummy",
        "dummy-poisson",
        "hashed",
        "central",
        "",
        "__proto__",
    ):
        yield f"protocol {name}", changed("sparse-best", "protocol", "name", name)
    for kind in ("list", "range", "listed-at", "text", "List", "", None, 1):
        yield f"kind {kind}", changed("hist", "answers", "kind", kind)
        yield f"kind of a text task {kind}", changed("text-list", "answers", "kind", kind)
    for admission in ("anybody", "secret", "tokens", "Anybody", "", None):
        yield f"admission {admission}", changed("hist", "admission", admission)
    for field in plain("hist"):
        yield f"without {field}", {name: part for name, part in plain("hist").items() if name != field}
        yield f"{field} is null", changed("hist", field, None)
        yield f"{field} is a list", changed("hist", field, [])
        yield f"{field} is an object", changed("hist", field, {})
    for path in ((), ("answers",), ("protocol",), ("protocol", "parameters"), ("guarantee",), ("analyzer",)):
        yield f"a field too many in {path}", changed("hist", *path, "__proto__", 1)
    for number in (0, 1, 8, 9):
        servers = [{"address": "http://a", "key": f"{at:02x}" + "00" * 31} for at in range(9, 9 + number)]
        yield f"{number} shufflers", changed("hist", "shufflers", servers)
    for number in (100_000, 100_001):
        values = [str(at) for at in range(number)]
        yield f"{number} answers", changed("dummy-poisson", "answers", {"kind": "list", "values": values})
    for stop in (253, 254, 255, 65_533, 65_534, 2**24, 2**32 - 2, 2**32 - 1):
        yield f"range up to {stop}", changed("dummy-poisson", "answers", "stop", stop)
        yield (
            f"padded range up to {stop}",
            changed("sparse-best", "answers", {"kind": "range", "start": 0, "stop": stop}),
        )
    yield from ((f"not an object {at}", part) for at, part in enumerate(([], "task", 1, None, True)))


PIECES = (
    ["a"], ["a", "a"], [], [""], ["ab", "b", " "], ["A"], ["\u0130"], ["e\u0301"], ["\u0301"], ["\U0001f4a9"],
    ["\u2028"], ["\u200b"], ["\xa0"], ["\xad"], ["\ue000"], ["\x7f"], ["a\nb"], [1], [None], "ab", None, {}, ["\uff21"],
    ["\u01c5"], ["\u00df", "\u1e9e"], ["\u0345"], ["\u212b"], ["\ud55c"], ["\u1112\u1161\u11ab"], ["(other)"],
    ["\u0378"], [str(at) for at in range(2**14 - 3)], [str(at) for at in range(2**14 - 2)],
)  # fmt: skip
"""Pieces of texts, valid and almost valid."""

ALPHABETS = (
    ("a", 1), ("abc", 4), ("abcdefghijklm", 3), ("abcdefghijklm", 4), ("a" * 2, 1), ("", 1), ("a", 0), ("a", 5),
    ("a", -1), ("aA", 1), ("a\u0301", 2), ("\U0001f4a9\U0001f4aa", 2), ("\U0001f4a9\U0001f4a9", 1), (None, 1),
    ("a", None), ("a", "1"), ("a b", 1), ("a\tb", 1), (["a"], 1),
)  # fmt: skip

STEPS = (
    [], ["trim"], ["lower"], ["trim", "lower"], ["lower", "trim"], ["trim", "trim"],
    ["trim", "lower", "query", "slash"], ["query"], ["slash", "query"], ["Trim"], [1], None, "trim", ["nfc"],
)  # fmt: skip

BUCKETS = (
    2, 3, 15, 17, 83, 1621, 1643, 1657, 6997, 2**23 + 9, 2**24 - 3, 2**24, 2**24 + 43, 2**53 - 111, 0, 1, -7, "17",
    None, True, [17],
)  # fmt: skip


def texts():
    """Yield valid and almost valid tasks with texts, or with hashed messages."""
    names = ("hashed", "hashed-two-digits", "text-alphabet", "text-list", "text-as-typed")
    yield from ((f"as it is: {name}", plain(name)) for name in names)
    for at, pieces in enumerate(PIECES):
        for normalisation in (["trim", "lower"], []):
            task = changed("text-list", "answers", "normalisation", normalisation)
            task["protocol"]["parameters"]["buckets"] = 16_411
            task["answers"]["pieces"]["values"] = pieces
            yield f"pieces {at} {normalisation}", task
    for at, (characters, width) in enumerate(ALPHABETS):
        alphabet = {"kind": "alphabet", "characters": characters, "width": width}
        yield f"alphabet {at}", changed("text-alphabet", "answers", "pieces", alphabet)
    for at, steps in enumerate(STEPS):
        yield f"normalisation {at}", changed("text-alphabet", "answers", "normalisation", steps)
    for number in (*range(-1, 18), 63, 64, 65, 255, 256, 257, 2**53 - 1, None, "8", True):
        for field in ("levels", "longest"):
            yield f"{field} {number!r}", changed("text-as-typed", "answers", field, number)
    for at, buckets in enumerate(BUCKETS):
        for name in names:
            yield f"buckets {at} of {name}", changed(name, "protocol", "parameters", "buckets", buckets)
    for name in ("hist", "sparse", "dummy-poisson"):
        yield f"texts with {name}", changed("text-list", "protocol", plain("hist")["protocol"] | {"name": name})
    for at, weights in enumerate(WEIGHTS):
        yield f"hashed dummies {at}", changed("hashed", "protocol", "parameters", "dummies", "size_weights", weights)
    for at, rate in enumerate(FRACTIONS):
        yield f"hashed rate {at}", changed("hashed", "protocol", "parameters", "dummies", "rate", rate)
    for kind in ("alphabet", "list", "text", None):
        yield f"kind of pieces {kind}", changed("text-list", "answers", "pieces", "kind", kind)
    for field in ("kind", "longest", "levels", "pieces", "normalisation"):
        task = plain("text-list")
        del task["answers"][field]
        yield f"texts without {field}", task
    for path in (("answers",), ("answers", "pieces"), ("protocol", "parameters")):
        yield f"texts with a field too many in {path}", changed("text-list", *path, "more", 1)
    for stop in (1, 2, 89_999, 2**20, 2**32 - 2):
        yield f"hashed range up to {stop}", changed("hashed", "answers", {"kind": "range", "start": 0, "stop": stop})


EDGES = (
    "0", "0,1", "0,1,2", "0:3:1", "0:120:5", "-1:1:0.25", "0.1,0.25,0.375", "1E-30,1", "1" + "0" * 299, "0:99998:1",
    "0:99999:1", "0:999999:1",
    "", ",", "0,", "0;1", "a", "1,0", "1,1", "0,1,2,3", "0:2:1", "0:3:1.0", " 0,1", "0,1 ", "+0,1", "-0,1", "00,1",
    "0.0,1", "1e3", "1E3", "0:10:3", "0:10:0", "0:10:-1", "10:0:1", "0:1000000:1", "0:1", "0:1:2:3", "0x1,0x2", "inf",
    "nan", "\uff11,\uff12", "1" + "0" * 300, "1E-301", 0, None, ["0"], {}, "\x00", "0,1\n", "-5,-4,-3.5",
)  # fmt: skip

QUANTILES = (
    [], ["0.5"], ["0.5", "0.9"], ["1e-3"], ["0.5", "0.50"], ["0.9", "0.5"], ["0"], ["1"], ["0.0"], [".5"], ["50%"],
    [0], [None], None, "0.5", {}, ["1e-20", "0.99999999999999999999999"], ["0.999999999999"],
    [f"0.{at:03}" for at in range(1, 101)], [f"0.{at:03}" for at in range(1, 102)], ["0.3", "0.30000000000000000001"],
)  # fmt: skip

BRANCHINGS = (2, 3, 5, 16, 123, 124, 125, 2**53 - 1, 1, 0, -2, "5", None, True, [5])
CHOICES = (2, 3, 4, 5, 6, 1, 0, -1, 64, 65, "3", None, True, [3], 2**53 - 1)


def several():
    """Yield valid and almost valid tasks with numbers or choices."""
    names = (
        "ranges",
        "ranges-decimals",
        "ranges-many",
        "choices",
        "choices-dummy",
        "choices-sparse",
        "choices-poisson",
    )
    yield from ((f"as it is: {name}", plain(name)) for name in names)
    for at, edges in enumerate(EDGES):
        task = changed("ranges", "answers", "edges", edges)
        task["protocol"]["parameters"]["branching"] = 2
        yield f"edges {at}", task
    for at, quantiles in enumerate(QUANTILES):
        yield f"quantiles {at}", changed("ranges", "answers", "quantiles", quantiles)
    for at, branching in enumerate(BRANCHINGS):
        yield f"branching {at}", changed("ranges", "protocol", "parameters", "branching", branching)
    for at, most in enumerate(CHOICES):
        for name in ("choices", "choices-sparse", "choices-poisson"):
            yield f"most {at} of {name}", changed(name, "answers", "most", most)
    for at, text in enumerate(TEXTS):
        yield f"choice {at}", changed("choices", "answers", "values", ["yes", "no", "maybe", text])
    for number in (64, 65, 100_000, 100_001):
        values = [str(at) for at in range(number)]
        yield f"{number} choices", changed("choices-poisson", "answers", "values", values)
        yield f"64 of {number} choices", changed("choices-poisson", "answers", {"kind": "choices", "values": values,
                                                                                "most": 64})  # fmt: skip
    everything = ("hist", "sparse-best", "dummy", "dummy-poisson", "hashed", "text-list", "ranges", "choices")
    for name in everything:
        for other in everything:
            yield f"answers of {name}, noise of {other}", plain(name) | {"protocol": plain(other)["protocol"]}
            yield f"noise of {name}, answers of {other}", plain(name) | {"answers": plain(other)["answers"]}
    for name in ("ranges", "choices"):
        for field in plain(name)["answers"]:
            task = plain(name)
            del task["answers"][field]
            yield f"{name} without {field}", task
        yield f"{name} with a field too many", changed(name, "answers", "more", 1)
        yield f"{name} with a parameter too many", changed(name, "protocol", "parameters", "more", "1")
        for kind in ("list", "range", "text", "numbers", "choices", "number", None):
            yield f"kind of {name} {kind}", changed(name, "answers", "kind", kind)


def raw():
    """Yield files with unusual bytes."""
    text = (VECTORS / "tasks" / "hist.json").read_text(encoding="utf-8")
    whole = text.encode()
    yield "spaces around it", b" \r\n\t" + whole + b"\n \t"
    yield "other spaces around it", whole + "\u00a0".encode()
    yield "a form feed", b"\f" + whole
    yield "a byte order mark", b"\xef\xbb\xbf" + whole
    yield "UTF-16", text.encode("utf-16")
    yield "not UTF-8", whole.replace(b"yes", b"\xff")
    yield "an overlong character", whole.replace(b"yes", b"\xc0\x80")
    yield "a surrogate in UTF-8", whole.replace(b"yes", b"\xed\xa0\x80")
    yield "an escaped surrogate", whole.replace(b"yes", rb"\ud800")
    yield "an escaped pair", whole.replace(b"yes", rb"\ud83d\ude00")
    yield "an escaped letter", whole.replace(b"yes", rb"\u0079es")
    yield "an escaped slash", whole.replace(b"yes", rb"\/yes")
    yield "an escape that is none", whole.replace(b"yes", rb"\xyes")
    yield "a control character", whole.replace(b"yes", b"\x01")
    yield "an escaped control character", whole.replace(b"yes", rb"\u0001")
    yield "a name twice", whole.replace(b'"users": 200', b'"users": 200, "users": 200')
    yield "a name twice, once escaped", whole.replace(b'"users": 200', rb'"users": 200, "\u0075sers": 200')
    yield "a float", whole.replace(b'"users": 200', b'"users": 200.0')
    yield "an exponent", whole.replace(b'"users": 200', b'"users": 2e2')
    yield "a leading zero", whole.replace(b'"users": 200', b'"users": 0200')
    yield "a number that is none", whole.replace(b'"users": 200', b'"users": NaN')
    yield "too many digits", whole.replace(b'"users": 200', b'"users": ' + b"1" * 10_000)
    yield (
        "minus zero",
        json.dumps(changed("dummy-poisson", "answers", "start", 0)).replace('"start": 0', '"start": -0').encode(),
    )
    yield "a comma too many", whole.replace(b'"users": 200,', b'"users": 200,,')
    yield "nested", b"[" * 50_000 + b"]" * 50_000
    yield "empty", b""
    yield "only spaces", b" \n"
    yield "reversed names", json.dumps(dict(reversed(plain("hist").items()))).encode()
    yield "two tasks", whole * 2


@pytest.fixture(scope="module")
def files():
    everything = {
        name: json.dumps(task, ensure_ascii=False).encode() for name, task in (*variants(), *texts(), *several())
    }
    return everything | dict(raw())


def of_python(content):
    try:
        task = task_of(content)
    except TaskError:
        return "TaskError"
    sizes = [str(task.protocol.bins), str(task.alphabet)]
    return [task.name, *sizes, task.symbol_bytes, task.longest_report, task.padded, task.values_per_person]


@pytest.mark.slow
def test_both_read_the_same_tasks(files):
    asked = [[name, base64.b64encode(content).decode()] for name, content in files.items()]
    found = run_script(READ, asked)
    expected = {name: of_python(content) for name, content in files.items()}
    different = {name: (found[name], expected[name]) for name in files if found[name] != expected[name]}
    assert different == {}
    valid = sum(result != "TaskError" for result in expected.values())
    assert min(valid, len(expected) - valid) > 100


def test_keys_of_low_order_are_refused_as_such():
    for key in LOW_ORDER:
        with pytest.raises(TaskError, match="no public key"):
            task_of(json.dumps(changed("hist", "analyzer", "key", key)).encode())
