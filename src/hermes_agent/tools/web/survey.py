"""A first look at a page: what is hidden, what is beside the matter, and where its main text is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .hidden import Look, Sheet, hides

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

TEXT, COMMENT = "-text", "-comment"
NEVER = frozenset(
    {"script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "head"}
    | {
        "select",
        "button",
        "textarea",
        "datalist",
        "input",
        "map",
        "title",
        "frameset",
        "noframes",
        "noembed",
        "progress",
        "meter",
    }
)
SHORT = 200
SPACES = re.compile(r"\s+")
_ASIDE = frozenset({"nav", "aside", "footer", "menu", "dialog"})
_ASIDE_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"})
_ASIDE_WORDS = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|breadcrumbs?|share|sharing|social|adverts?|ads?|promo|newsletter|sidebar|menu|nav|"
    r"navbar|navigation|footer|skip|pagination|related|toolbar)(?=$|[\s_-])",
    re.IGNORECASE,
)


def walk(top: LexborNode, enter: Callable[[LexborNode], bool], leave: Callable[[LexborNode], None]) -> None:
    """Visit every node; below those that `enter` declines nothing is visited, and they are not left.

    Without recursion, because a page may be nested deeper than any stack.
    """
    node, depth = top, 0
    while True:
        entered = enter(node)
        below = node.first_child if entered else None
        if below is not None:
            node, depth = below, depth + 1
            continue
        if entered:
            leave(node)
        while depth:
            beside = node.next
            if beside is not None:
                node = beside
                break
            above = node.parent
            if above is None:
                return
            node, depth = above, depth - 1
            leave(node)
        else:
            return


class Survey:
    """What is hidden, what is beside the matter, and where the main text is."""

    def __init__(self, sheet: Sheet, around: LexborNode | None) -> None:
        self.hidden: set[int] = set()
        self.aside: set[int] = set()
        self.unreadable: set[int] = set()
        self.unseen = 0
        self.total = 0
        self.main: LexborNode | None = None
        self._largest = 0
        self._sheet = sheet
        self._stack: list[_Part] = []
        attributes = around.attributes if around is not None else {}
        self._looks = [Look().of_page(attributes, sheet.style_of("html", attributes), sheet)]

    def enter(self, node: LexborNode) -> bool:
        tag = node.tag or ""
        if tag == TEXT:
            self._text(node)
            return False
        if tag == COMMENT or tag in NEVER:
            return False
        attributes = node.attributes
        style = self._sheet.style_of(tag, attributes)
        if hides(tag, attributes, style):
            self.hidden.add(node.mem_id)
            self.unseen += _visible_length(node)
            return False
        look = self._looks[-1]
        self._looks.append(
            look.of_page(attributes, style, self._sheet) if tag == "body" else look.inside(attributes, style)
        )
        self._stack.append(
            _Part(attributes=attributes, linked=tag == "a" or bool(self._stack and self._stack[-1].linked))
        )
        return True

    def leave(self, node: LexborNode) -> None:
        self._looks.pop()
        part = self._stack.pop()
        tag = node.tag or ""
        role = (part.attributes.get("role") or "").lower()
        if self._stack:
            above = self._stack[-1]
            above.length += part.length
            above.links += part.links
        else:
            self.total = part.length
        if self._beside(tag, role, part):
            self.aside.add(node.mem_id)
        elif (tag == "main" or role == "main" or tag == "article") and part.length > self._largest:
            self._largest, self.main = part.length, node
        if tag == "body" and self._largest < max(SHORT, part.length // 3):
            self.main = None

    def _text(self, node: LexborNode) -> None:
        length = len(SPACES.sub(" ", node.text_content or "").strip())
        if self._looks[-1].unreadable():
            if length:
                self.unreadable.add(node.mem_id)
                self.unseen += length
            return
        if self._stack:
            part = self._stack[-1]
            part.length += length
            part.links += length if part.linked else 0

    def _beside(self, tag: str, role: str, part: _Part) -> bool:
        if tag in _ASIDE or role in _ASIDE_ROLES:
            return True
        if tag in ("body", "main", "article", "h1", "h2", "h3") or not part.length:
            return False
        mostly_links = 2 * part.links > part.length
        if tag == "header":
            return mostly_links
        names = f"{part.attributes.get('class') or ''} {part.attributes.get('id') or ''}"[:500]
        return (mostly_links or part.length < SHORT) and _ASIDE_WORDS.search(names) is not None


class _Part:
    """How much an element says, and how much of that is links."""

    __slots__ = ("attributes", "length", "linked", "links")

    def __init__(self, *, attributes: Mapping[str, str | None], linked: bool) -> None:
        self.attributes = attributes
        self.length = 0
        self.links = 0
        self.linked = linked


def _visible_length(top: LexborNode) -> int:
    """How much text a hidden element holds."""
    count = 0

    def enter(node: LexborNode) -> bool:
        nonlocal count
        if node.tag == TEXT:
            count += len(SPACES.sub(" ", node.text_content or "").strip())
        return node.tag not in NEVER

    walk(top, enter, lambda node: None)
    return count
