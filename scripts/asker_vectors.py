"""The test vectors of the fields about who asks (docs/reference/wire-format.md, "Who asks")."""

from collections.abc import Callable


def wrong_askers(other: Callable[..., str], *, kind: str, others: str = "") -> dict[str, tuple[str, str]]:
    """Return corrupted files by name, each with a part of its error message.

    `other` is a file of version 2 with these fields, `kind` a task or a series, and `others` names more fields that a
    file of version 2 may have.
    """
    line, tag = "one line of printable characters", "language must be a tag"
    mail = "contact must be a mail address or an address with https://"
    asker, purpose = "asker must have 1 to 200 characters", "purpose must have 1 to 1,000 characters"
    edge = "must not begin or end with a space"

    def first(**fields: str) -> str:
        return other(**fields).replace('"version": 2', '"version": 1')

    return {
        "version-2-without-a-reason": (
            other(), f"a {kind} of version 2 must have one of the fields {others}asker, purpose, contact, language"),
        "an-asker-in-version-1": (first(asker="A"), "version 1 has no field `asker`"),
        "a-language-in-version-1": (first(language="de"), "version 1 has no field `language`"),
        "an-empty-asker": (other(asker=""), asker),
        "an-asker-that-is-nothing": (other(asker=None), "`asker` must be text, got nothing (null)"),
        "an-asker-that-is-a-number": (other(asker=1), "`asker` must be text, got a whole number"),
        "an-asker-that-is-too-long": (other(asker="\N{PILE OF POO}" * 201), asker),
        "an-asker-of-spaces": (other(asker="\u3000"), edge),
        "an-asker-with-a-space-behind": (other(asker="A\u00a0"), edge),
        "an-asker-of-two-lines": (other(asker="A\nB"), line),
        "an-asker-of-two-paragraphs": (other(asker="A\u2029B"), line),
        "an-asker-with-a-control-character": (other(asker="A\u0085B"), line),
        "an-asker-that-is-turned-around": (other(asker="A \u202eknaB ruoY"), line),
        "an-asker-in-an-isolate": (other(asker="A \u2067B\u2069 C"), line),
        "an-asker-with-an-unpaired-surrogate": (
            other(asker="A!B").replace("A!B", "A\\ud800B"), "unpaired surrogate"),
        "an-empty-purpose": (other(purpose=""), purpose),
        "a-purpose-that-is-too-long": (other(purpose="a" * 1001), purpose),
        "a-purpose-of-two-lines": (other(purpose="a\rb"), line),
        "an-empty-contact": (other(contact=""), mail),
        "a-contact-that-is-a-name": (other(contact="Ann"), mail),
        "a-contact-without-a-domain": (other(contact="ann@localhost"), mail),
        "a-contact-that-is-a-telephone": (other(contact="tel:+49221"), mail),
        "a-contact-with-more-in-its-link": (other(contact="ann@a.example?bcc=eve@b.example"), mail),
        "a-contact-with-a-line-end": (other(contact="ann@a.example\n"), mail),
        "a-contact-that-is-a-program": (other(contact="javascript:alert(1)"), mail),
        "a-contact-without-encryption": (other(contact="http://a.example/"), mail),
        "a-contact-in-large-letters": (other(contact="HTTPS://a.example/"), mail),
        "a-contact-with-a-password": (other(contact="https://a:b@c.example/"), "name or a password"),
        "a-contact-with-a-query": (other(contact="https://a.example/?who=me"), "the contact must be such as"),
        "a-contact-with-a-space": (other(contact="https://a.example/a b"), "the address of the contact"),
        "a-contact-of-other-letters": (other(contact="https://xn--a.example"), "without xn--"),
        "a-contact-that-is-too-long": (other(contact="https://a.example/" + "a" * 240), "at most 254"),
        "an-empty-language": (other(language=""), tag),
        "a-language-in-words": (other(language="German"), tag),
        "a-language-of-one-letter": (other(language="d"), tag),
        "a-language-in-large-letters": (other(language="DE"), tag),
        "a-region-in-small-letters": (other(language="pt-br"), tag),
        "a-language-with-an-underscore": (other(language="pt_BR"), tag),
        "a-language-with-an-extension": (other(language="de-u-co-phonebk"), tag),
        "a-language-with-a-line-end": (other(language="de\n"), tag),
        "a-language-that-is-too-long": (other(language="de" + "-abcdefgh" * 4), tag),
    }  # fmt: skip
