"""Words of agents and strangers as HTML that can do nothing: no markup of their own, no images, no scripts, no styles.

Everything that a person is shown of notes goes through here, and nothing else makes HTML of what was handed in.
"""

from html import unescape

import nh3
from markdown_it import MarkdownIt

# Headings of a text stand below those of the page that shows it: its highest is this one.
_HIGHEST_HEADING = 3
_DEEPEST_HEADING = 6
_TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def plain_words(text: str) -> str:
    """The words of a text on one line, without its Markdown. No HTML: a template escapes it as any other words."""
    return " ".join(unescape(nh3.clean(render_markdown(text), tags=set())).split())


def render_markdown(text: str) -> str:
    """Safe to be put into a page as it is. The same text always gives the same HTML."""
    tokens = _PARSER.parse(text)
    headings = [token for token in tokens if token.type in {"heading_open", "heading_close"}]
    highest = min((int(token.tag[1:]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(int(token.tag[1:]) - highest + _HIGHEST_HEADING, _DEEPEST_HEADING)}"
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
