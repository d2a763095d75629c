"""A page as its reader sees it: the main text, with headings, lists, tables, code and links; nothing hidden.

The tree is walked without recursion, because a page may be nested deeper than any stack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...safety.urls import Address, AddressRefused, check, follow
from ...types.base import Value
from .hidden import Sheet
from .markdown import Table, Writing, fenced
from .survey import COMMENT, NEVER, SHORT, SPACES, TEXT, Survey, walk

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "aside", "nav", "figure", "figcaption", "form"}
    | {"fieldset", "address", "dl", "dt", "details", "summary", "body", "center", "legend", "hgroup", "caption"}
)
_GAPS = frozenset({"p", "figure", "article", "section", "dl", "details", "blockquote"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LONGEST_TEXT = 2_000_000
_LONGEST_LINK = 1_000


class Readable(Value, frozen=True, kw_only=True):
    """The text of a page; `hidden` counts the characters that a reader would not see; `cut` says that it goes on."""

    title: str
    text: str
    hidden: int
    cut: bool


def readable(html: str, url: str, *, full: bool = False) -> Readable:
    """The main text of a page, or with `full` all that can be seen of it."""
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(html)
    top = parser.root
    if top is None:
        return Readable(title="", text="", hidden=0, cut=False)
    head = _Head(url)
    walk(top, head.enter, lambda node: None)
    body = parser.body or top
    survey = Survey(head.sheet, None if body is top else top)
    walk(body, survey.enter, survey.leave)
    written = _written(body, head.base, survey, survey.hidden) if full else _main(body, head.base, survey)
    return Readable(title=head.title, text=written.text(), hidden=survey.unseen, cut=written.full)


def _main(body: LexborNode, base: Address, survey: Survey) -> _Page:
    """The main part; when that is next to nothing of a page that says more, the whole page."""
    main = _written(survey.main or body, base, survey, survey.hidden | survey.aside)
    if len(main.text()) >= SHORT or survey.total < 3 * max(len(main.text()), 1):
        return main
    return _written(body, base, survey, survey.hidden)


def _written(node: LexborNode, base: Address, survey: Survey, skipped: frozenset[int] | set[int]) -> _Page:
    page = _Page(base, skipped, survey.unreadable)
    walk(node, page.enter, page.leave)
    return page


class _Head:
    """What a page says about itself, and its style sheets."""

    def __init__(self, url: str) -> None:
        self.title = ""
        self.base = check(url)
        self.sheet = Sheet()
        self._based = False

    def enter(self, node: LexborNode) -> bool:
        match node.tag:
            case "title" if not self.title:
                self.title = SPACES.sub(" ", _inner(node)).strip()
            case "style":
                self.sheet.read(_inner(node))
            case "link" if "stylesheet" in (node.attributes.get("rel") or "").lower():
                self.sheet.incomplete = True
            case "base" if not self._based:
                self._based = True
                try:
                    self.base = follow(self.base, node.attributes.get("href") or "")
                except AddressRefused:
                    return False
            case "svg" | "math":
                return False
        return True


class _Page:
    """The text of a page while it is written."""

    def __init__(self, base: Address, skipped: frozenset[int] | set[int], unreadable: set[int]) -> None:
        self.full = False
        self._base = base
        self._skipped = skipped
        self._unreadable = unreadable
        self._writings = [Writing()]
        self._tables: list[Table] = []
        self._links: list[tuple[int, int]] = []
        self._lists: list[int] = []
        self._whole: str | None = None

    def text(self) -> str:
        if self._whole is None:
            self._whole = self._writings[0].text()
        return self._whole

    def enter(self, node: LexborNode) -> bool:
        tag = node.tag or ""
        if self.full or tag == COMMENT or tag in NEVER or node.mem_id in self._skipped:
            return False
        writing = self._writings[-1]
        if tag == TEXT:
            if node.mem_id not in self._unreadable:
                writing.add(node.text_content or "")
                self.full = sum(each.size for each in self._writings) > _LONGEST_TEXT
            return False
        if tag == "pre":
            writing.literal(fenced(self._code(node).strip("\n"), _language(node)))
            return False
        self._open(tag, node, writing)
        return True

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        writing = self._writings[-1]
        match tag:
            case "a":
                self._link(node, writing)
            case "code" | "kbd" | "samp" | "tt":
                writing.add("`")
            case "q":
                writing.add('"')
            case "ul" | "ol":
                self._lists.pop()
                writing.flush()
            case "li" | "blockquote" | "dd":
                writing.leave()
            case "tr":
                writing.flush()
            case "td" | "th":
                self._cell(writing)
            case "table":
                self._table(writing)
            case _ if tag in _HEADINGS:
                writing.leave()
        if tag in _GAPS or tag in _HEADINGS:
            writing.gap()
        elif tag in _BLOCKS:
            writing.flush()

    def _open(self, tag: str, node: LexborNode, writing: Writing) -> None:
        if tag in _GAPS or tag in _HEADINGS:
            writing.gap()
        elif tag in _BLOCKS:
            writing.flush()
        match tag:
            case "a":
                self._links.append((writing.mark(), writing.flushed))
            case "code" | "kbd" | "samp" | "tt":
                writing.add("`")
            case "q":
                writing.add('"')
            case "br":
                writing.turn()
            case "hr":
                writing.literal("---")
            case "img":
                alternative = SPACES.sub(" ", node.attributes.get("alt") or "").strip()
                if alternative:
                    writing.add(f"[image: {alternative[:120]}]")
            case "ul" | "ol":
                (writing.flush if self._lists else writing.gap)()
                self._lists.append(0 if tag == "ol" else -1)
            case "li":
                self._item(writing)
            case "blockquote":
                writing.enter("> ")
            case "dd":
                writing.enter("  ")
            case "table":
                self._begin_table(node, writing)
            case "tr" if self._tables:
                self._tables[-1].row()
            case "td" | "th" if self._nests():
                self._writings.append(Writing())
            case _ if tag in _HEADINGS:
                writing.enter("", _HEADINGS[tag])

    def _item(self, writing: Writing) -> None:
        if self._lists and self._lists[-1] >= 0:
            self._lists[-1] += 1
            marker = f"{self._lists[-1]}. "
        else:
            marker = "- "
        writing.enter(" " * len(marker), marker)

    def _link(self, node: LexborNode, writing: Writing) -> None:
        mark, flushed = self._links.pop()
        try:
            target = follow(self._base, node.attributes.get("href") or "").url
        except AddressRefused:
            return
        if (node.attributes.get("href") or "#").lstrip().startswith("#") or len(target) > _LONGEST_LINK:
            return
        if writing.flushed != flushed:
            writing.add(f" ({target})")
            return
        words = writing.since(mark)
        label = words.strip()
        if label:
            before = " " if words[:1].isspace() else ""
            writing.add(f"{before}[{label}]({target})" + (" " if words[-1:].isspace() else ""))

    def _begin_table(self, node: LexborNode, writing: Writing) -> None:
        writing.gap()
        role = (node.attributes.get("role") or "").lower()
        self._tables.append(Table(layout=role in ("presentation", "none")))

    def _nests(self) -> bool:
        """Whether a cell is a stream of its own; beyond some depth, tables in tables are only text."""
        return bool(self._tables) and len(self._tables) <= _DEEPEST and len(self._writings) == len(self._tables)

    def _cell(self, writing: Writing) -> None:
        if self._tables and len(self._writings) == len(self._tables) + 1:
            self._writings.pop()
            self._tables[-1].cell(writing.text())
        else:
            writing.flush()

    def _table(self, writing: Writing) -> None:
        table = self._tables.pop()
        table.write(writing)

    def _code(self, top: LexborNode) -> str:
        pieces: list[str] = []

        def enter(node: LexborNode) -> bool:
            tag = node.tag or ""
            if tag == TEXT and node.mem_id not in self._unreadable:
                pieces.append(node.text_content or "")
            elif tag == "br":
                pieces.append("\n")
            return tag not in NEVER and tag != COMMENT and node.mem_id not in self._skipped

        walk(top, enter, lambda node: None)
        text = "".join(pieces)
        self._writings[-1].size += len(text)
        return text


_DEEPEST = 6


def _inner(node: LexborNode) -> str:
    child = node.first_child
    return (child.text_content or "") if child is not None and child.tag == TEXT else ""


def _language(node: LexborNode) -> str:
    inner = node.first_child
    names = f"{node.attributes.get('class') or ''} "
    if inner is not None and inner.tag == "code":
        names += inner.attributes.get("class") or ""
    found = re.search(r"(?:language|lang|highlight-source)-([A-Za-z0-9+#]{1,20})", names[:300])
    return found[1] if found else ""
