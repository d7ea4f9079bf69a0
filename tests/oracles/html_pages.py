"""An HTML parser that fails on unclosed elements, and collects elements and texts."""

from html.parser import HTMLParser

_VOID = {"meta", "br", "link", "img", "hr", "input"}


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.texts.append(data)

    def attributes(self, tag):
        """Return the attributes of every element with this name."""
        return [attributes for name, attributes in self.seen if name == tag]


def read_page(text):
    """Return the parsed page; fail if an element is not closed, or closed by another."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open, reader.open
    return reader
