"""Reports and onions have fixed sizes, and open only unchanged, with the right key, task and position."""

import hashlib
import random

import pytest

from shuffledp.collect.crypto import keys as module
from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.crypto.keys import KeyPair, info, public_key, seal, unseal
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task.report import open_report, seal_onion, seal_report
from shuffledp.errors import ParameterError
from tests.collect.crypto.hpke_by_hand import opened_by_hand
from tests.collect.tasks import small_task

RFC_EXAMPLE = (
    "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
    "4f6465206f6e2061204772656369616e2055726e",
    "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
    "436f756e742d30",
    "4265617574792069732074727574682c20747275746820626561757479",
)
"""RFC 9180, appendix A.1.1: private key, info, encapsulated key, ciphertext, associated data and text."""

ID, TIME = bytes(range(16)), 3600 * 475_000
KEPT = small_task()
every_chain = pytest.mark.parametrize("shufflers", [1, 2, 3])


def sealed(kept, symbols, **changes):
    return seal_report(kept.task, symbols, **{"report_id": ID, "time": TIME, **changes})


def sealed_by_hand(kept, inside, *, key=None, position=0, task_id=None):
    public = (key or kept.keys[0]).private.public_key()
    return seal(inside, public, info(task_id or kept.task.id, position))


def refused(kept, content, *, key=None):
    with pytest.raises(Refused) as caught:
        open_report(kept.task, content, key or kept.keys[0])
    return caught.value.reason


@every_chain
def test_a_report_goes_through_the_whole_chain(shufflers):
    kept = small_task(shufflers=shufflers)
    symbols = [3, 1, 4, 1, 0, 2]
    report = open_report(kept.task, sealed(kept, symbols), kept.keys[0])
    assert (report.report_id, report.time, report.number) == (ID, TIME, len(symbols))
    block = report.onions
    for position in range(1, shufflers + 1):
        assert len(block) == len(symbols) * kept.task.onion_length(position)
        block, lost = kept.layer(position).open_block(block)
        assert lost == 0
    assert list(block) == symbols


@every_chain
@pytest.mark.parametrize("number", [1, 2, 7])
def test_sizes_depend_on_the_number_of_messages_only(shufflers, number):
    kept = small_task(shufflers=shufflers)
    lengths = {len(sealed(kept, [symbol] * number)) for symbol in range(kept.task.alphabet)}
    assert lengths == {48 + 24 + number * (1 + 48 * shufflers)}
    assert {len(seal_onion(kept.task, symbol)) for symbol in range(kept.task.alphabet)} == {kept.task.onion_length(0)}


def test_sealing_is_randomized():
    assert len({seal_onion(KEPT.task, 0) for _ in range(50)}) == 50
    assert len({sealed(KEPT, [0]) for _ in range(20)}) == 20


def test_the_context_is_version_task_and_place():
    assert info(KEPT.task.id, 2) == b"shuffledp collection 1" + KEPT.task.id + b"\x02"


def test_hpke_matches_the_rfc():
    """Compare with our implementation of the RFC's steps, which opens the RFC's own example."""
    private, info, enc, sealed, aad, text = (bytes.fromhex(part) for part in RFC_EXAMPLE)
    assert opened_by_hand(enc + sealed, private, info, aad=aad) == text
    pair = KeyPair.generate()
    content = seal(b"text", pair.private.public_key(), b"info")
    assert len(content) == 32 + 4 + 16
    assert unseal(content, pair.private, b"info") == opened_by_hand(content, pair.private_bytes, b"info") == b"text"


def test_the_wrong_key_task_or_place_is_refused():
    content, other = sealed(KEPT, [1, 2]), small_task(users=201)
    assert refused(KEPT, content, key=KEPT.keys[1]) is Reason.CANNOT_BE_OPENED
    assert refused(KEPT, content, key=KeyPair.generate()) is Reason.CANNOT_BE_OPENED
    inside = ID + TIME.to_bytes(8) + seal_onion(KEPT.task, 1)
    assert open_report(KEPT.task, sealed_by_hand(KEPT, inside), KEPT.keys[0]).number == 1
    assert refused(KEPT, sealed_by_hand(KEPT, inside, task_id=other.task.id)) is Reason.CANNOT_BE_OPENED
    assert refused(KEPT, sealed_by_hand(KEPT, inside, position=1)) is Reason.CANNOT_BE_OPENED


@every_chain
def test_an_onion_opens_only_at_its_place_of_its_task(shufflers):
    kept, other = small_task(shufflers=shufflers), small_task(shufflers=shufflers, users=201)
    onion = seal_onion(kept.task, 1)
    right = kept.layer(1)
    assert right.open_block(onion)[1] == 0
    for field, value in (("task_id", other.task.id), ("position", 2), ("position", 0),
                         ("private_bytes", kept.keys[0].private_bytes), ("length", right.length - 1)):  # fmt: skip
        layer = type(right)(**{**vars(right), field: value})
        opened, lost = layer.open_block(onion)
        assert opened == b""
        assert lost >= 1


def test_every_flipped_byte_of_a_report_is_refused():
    content = sealed(KEPT, [1, 2])
    rng = random.Random(3)
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= rng.randrange(1, 256) if at != 31 else rng.randrange(1, 128)
        assert refused(KEPT, bytes(changed)) is Reason.CANNOT_BE_OPENED, at


def test_the_one_bit_that_x25519_ignores_does_not_make_a_second_report():
    """X25519 masks the top bit of a public key, but HPKE also binds the bytes of the key."""
    content = bytearray(sealed(KEPT, [1, 2]))
    content[31] ^= 128
    assert refused(KEPT, bytes(content)) is Reason.CANNOT_BE_OPENED


@every_chain
def test_every_flipped_byte_of_an_onion_is_refused(shufflers):
    kept = small_task(shufflers=shufflers)
    onion = seal_onion(kept.task, 2)
    for at in range(len(onion)):
        changed = bytearray(onion)
        changed[at] ^= 1 << (at % 8)
        assert kept.layer(1).open_block(bytes(changed)) == (b"", 1), at


def test_truncated_and_prolonged_reports_are_refused():
    content = sealed(KEPT, [1, 2])
    for length in range(len(content)):
        assert refused(KEPT, content[:length]) is Reason.CANNOT_BE_OPENED
    assert refused(KEPT, content + b"\0") is Reason.CANNOT_BE_OPENED
    assert refused(KEPT, content + bytes(KEPT.task.longest_report)) is Reason.TOO_LARGE


PADDED = small_task(protocol="hist", shufflers=2)


def test_a_padded_report_has_exactly_most_messages():
    """Padding messages look like all others until the last layer is opened."""
    most, nothing = PADDED.task.most_messages, PADDED.task.nothing
    symbols = [nothing, 1, *[nothing] * (most - 3), 4]
    report = open_report(PADDED.task, sealed(PADDED, symbols), PADDED.keys[0])
    assert report.number == most
    block = report.onions
    for position in (1, 2):
        block, lost = PADDED.layer(position).open_block(block)
        assert lost == 0
    assert list(block) == symbols
    assert len({len(seal_onion(PADDED.task, symbol)) for symbol in (0, nothing)}) == 1


@pytest.mark.parametrize("fewer", range(1, PADDED.task.most_messages))
def test_fewer_messages_than_a_padded_report_holds_are_refused(fewer):
    """The number would reveal something, so clients do not send it and shufflers refuse it."""
    number = PADDED.task.most_messages - fewer
    with pytest.raises(ParameterError, match=f"{PADDED.task.most_messages} messages, got {number}"):
        sealed(PADDED, [0] * number)
    inside = ID + TIME.to_bytes(8) + b"".join(seal_onion(PADDED.task, 0) for _ in range(number))
    assert refused(PADDED, sealed_by_hand(PADDED, inside)) is Reason.MALFORMED


def test_more_messages_than_a_padded_report_holds_are_refused():
    inside = ID + TIME.to_bytes(8) + seal_onion(PADDED.task, 0) * (PADDED.task.most_messages + 1)
    assert refused(PADDED, sealed_by_hand(PADDED, inside)) is Reason.TOO_MANY_MESSAGES
    with pytest.raises(ParameterError):
        sealed(PADDED, [0] * (PADDED.task.most_messages + 1))


def test_only_padded_tasks_have_a_padding_message():
    sealed(PADDED, [PADDED.task.nothing] * PADDED.task.most_messages)
    with pytest.raises(ParameterError, match="whole numbers from 0 to 5"):
        sealed(PADDED, [PADDED.task.nothing + 1] * PADDED.task.most_messages)
    with pytest.raises(ParameterError, match="whole numbers from 0 to 4"):
        sealed(KEPT, [KEPT.task.nothing])


ONION = seal_onion(KEPT.task, 0)


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (b"", Reason.MALFORMED),
        (ID, Reason.MALFORMED),
        (ID + TIME.to_bytes(8), Reason.MALFORMED),
        (ID + TIME.to_bytes(8) + ONION[:-1], Reason.MALFORMED),
        (ID + TIME.to_bytes(8) + ONION + b"\0", Reason.MALFORMED),
        (ID + (TIME + 1).to_bytes(8) + ONION, Reason.MALFORMED),
        (ID + TIME.to_bytes(8) + ONION * (KEPT.task.most_messages), None),
    ],
    ids=["nothing", "an id", "no onion", "half an onion", "a byte more", "a time between steps", "the most messages"],
)  # explicit names: the bytes differ between processes
def test_what_is_inside_has_its_form(inside, reason):
    content = sealed_by_hand(KEPT, inside)
    if reason is None:
        assert open_report(KEPT.task, content, KEPT.keys[0]).number == KEPT.task.most_messages
    else:
        assert refused(KEPT, content) is reason


def test_one_message_too_many():
    inside = ID + TIME.to_bytes(8) + ONION * (KEPT.task.most_messages + 1)
    assert refused(KEPT, sealed_by_hand(KEPT, inside)) is Reason.TOO_MANY_MESSAGES
    assert refused(KEPT, sealed_by_hand(KEPT, inside) + b"\0") is Reason.TOO_LARGE


@pytest.mark.parametrize(
    "changes",
    [{"symbols": []}, {"symbols": [5]}, {"symbols": [-1]}, {"symbols": [0] * 200}, {"report_id": b"x"},
     {"time": TIME + 1}, {"time": -3600}],
)  # fmt: skip
def test_invalid_parameters_of_seal_report_are_refused(changes):
    arguments = {"symbols": [1], "report_id": ID, "time": TIME, **changes}
    with pytest.raises(ParameterError):
        seal_report(KEPT.task, arguments.pop("symbols"), **arguments)


def test_a_digest_is_of_what_is_inside():
    contents = [sealed(KEPT, [1]), sealed(KEPT, [1]), sealed(KEPT, [1], report_id=bytes(16)), sealed(KEPT, [1], time=0)]
    opened = [open_report(KEPT.task, content, KEPT.keys[0]) for content in contents]
    assert len({report.digest for report in opened}) == 4
    first = opened[0]
    inside = first.report_id + first.time.to_bytes(8) + first.onions
    assert first.digest == hashlib.sha256(inside).digest()[:16]
    assert first.digest == open_report(KEPT.task, contents[0], KEPT.keys[0]).digest


def test_nothing_can_be_sealed_to_a_point_of_low_order():
    for content in (bytes(32), b"\1" + bytes(31), (2**255 - 20).to_bytes(32, "little")):
        assert not module.is_public_key(content)
        with pytest.raises(ValueError, match=r"."):
            seal(b"", public_key(content), b"")
    assert not module.is_public_key(b"")
    own = KeyPair.generate().public_bytes
    assert module.is_public_key(own)
    assert not module.is_public_key(own[:31] + bytes([own[31] | 128]))


HEAD = BatchHead(bytes(range(32)), bytes(16), 1, 2**40)


def test_the_head_of_a_batch():
    content = HEAD.to_bytes()
    assert len(content) == HEAD_BYTES == 18 + 32 + 16 + 1 + 8
    assert BatchHead.from_bytes(content + b"onions") == HEAD
    for broken in (b"", content[:-1], b"x" + content[1:], b"shuffledp batch 2\n" + content[18:]):
        with pytest.raises(Refused) as caught:
            BatchHead.from_bytes(broken)
        assert caught.value.reason is Reason.MALFORMED


def test_every_reason_has_a_status_and_a_meaning():
    assert len({reason.value for reason in Reason}) == len(Reason)
    for reason in Reason:
        assert 400 <= reason.status <= 503
        assert reason.meaning.endswith(".")
    assert {reason for reason in Reason if reason.try_again} == {
        Reason.NOT_YET_OPEN, Reason.WRONG_TIME, Reason.TOO_MANY_REQUESTS, Reason.UNAVAILABLE, Reason.NO_RELEASE
    }  # fmt: skip
