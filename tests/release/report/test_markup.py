"""Everything that is not HTML already is escaped."""

from html.parser import HTMLParser

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.release.report.markup import Markup, bullets, code, element, escape, inline, join, numbers, table, terms


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.words, self.values = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data):
        self.words.append(data)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text())
def test_no_text_becomes_an_element(text):
    reader = Reader()
    reader.feed(element("p", text, title=text))
    reader.close()
    assert reader.tags == ["p"]
    assert "".join(reader.words).isprintable()
    assert reader.values[0].isprintable()


def test_markup_stays_as_it_is():
    assert escape(Markup("<b>")) == "<b>"
    assert escape("<b>\n") == "&lt;b&gt;\\n"
    assert element("p", Markup("<b>x</b>"), "<", class_="a", aria_label='"', title=None) == (
        '<p class="a" aria-label="&quot;"><b>x</b>&lt;</p>'
    )
    assert join(["<", Markup("&amp;")], "&") == "&lt;&amp;&amp;"


def test_lists_tables_and_code():
    assert bullets([]) == ""
    assert bullets(["<"]) == "<ul><li>&lt;</li></ul>"
    assert numbers(["a"]) == "<ol><li>a</li></ol>"
    assert terms([("a", 1), ("a", 2)]) == "<dl><dt>a</dt><dd>1</dd><dd>2</dd></dl>"
    assert inline("run `a <b>` now") == "run <code>a &lt;b&gt;</code> now"
    assert code("a\n<b>") == '<pre tabindex="0"><code>a\n&lt;b&gt;</code></pre>'
    found = table("numbers", ("key", "n"), [("<", 5)], 1)
    assert '<th scope="col">key</th>' in found
    assert '<th scope="row">&lt;</th><td>5</td>' in found
    assert "<caption>numbers</caption>" in found
