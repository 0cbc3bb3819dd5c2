"""How the tests of the Studio read a page: its own content without the shell, and what it says was done."""

import html
import re


def content_of(page):
    """What stands between the shell's bars; a page without the shell is all content."""
    start = page.find('<main id="main"')
    return page if start < 0 else page[start : page.index("</main>", start)]


def said_on(page):
    """Toasts, then banners: (success | warning | error, words)."""
    kinds = {"toast": "success", "banner": "warning", "banner is-stop": "error"}
    found = re.findall(
        r'<(?:div|p) class="(toast|banner|banner is-stop)"[^>]*>\s*<svg.*?</svg>\s*<span>(.*?)</span>', page, re.DOTALL
    )
    said = [(kinds[kind], html.unescape(re.sub(r"<[^>]+>", "", words)).strip()) for kind, words in found]
    return sorted(said, key=lambda each: each[0] != "success")


def count_in_menu(page):
    found = re.search(r"Inbox(?:<span class=\"count\"[^>]*>(\d+)</span>)?</a>", page)
    return int(found[1] or 0)
