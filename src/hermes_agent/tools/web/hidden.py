"""Which parts of a page its reader does not see: what a page says to machines only is not passed on.

Styles are read from the element and from simple rules of the page's own style sheets (one tag, class or id). What an
outside style sheet or a script hides is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...types.base import Value

Style = dict[str, str]
_RULES = 5_000
_CSS_BYTES = 1_000_000
_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?(?:([.#])([A-Za-z_][\w-]*))?")
_NUMBER = re.compile(r"(-?\d*\.?\d+)\s*(px|em|rem|pt|%|vw|vh|ch)?")
_RGB = re.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+%?))?\s*\)")
_BRACE = re.compile(r"[{}]")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
_NO_FONT = re.compile(r"(?:[a-z]+\s+)*0(?:px|em|pt|rem|%)?(?:/|\s)")
_AWAY = re.compile(r"translate(?:x|y|3d)?\([^)]{0,60}-\d{4,}|scale[xy]?\(0[,)]")
_HSL = re.compile(r"hsla?\(\s*[\d.]+(?:deg)?[\s,]+[\d.]+%[\s,]+([\d.]+)%")
# What widely used style sheets call their hidden elements.
_HIDDEN_CLASSES = frozenset(
    {
        "sr-only",
        "visually-hidden",
        "visuallyhidden",
        "screen-reader-text",
        "d-none",
        "is-hidden",
        "u-hidden",
        "invisible",
    }
)
_NAMED = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "floralwhite": (255, 250, 240),
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 128, 0),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "navy": (0, 0, 128),
}
_ALIKE = 36
_FAR = -200.0
_FAINT = 0.05
Colour = tuple[int, int, int]
_UNKNOWN: Colour = (-1000, -1000, -1000)


def declarations(text: str) -> Style:
    """The declarations of a style, lower case, comments and escapes resolved; the last of a name counts."""
    text = text[:10_000]
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "/*" in text:
        text = _without_comments(text)
    found: Style = {}
    for part in text.lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    if _NO_FONT.match(found.get("font", "")):
        found["font-size"] = "0"
    return found


class Sheet:
    """The rules of a page's own style sheets that can hide something; `incomplete` if it has others elsewhere."""

    def __init__(self) -> None:
        self.incomplete = False
        self._rules: dict[tuple[str, str, str], Style] = {}
        self._left = _CSS_BYTES

    def read(self, css: str) -> None:
        """Take in one `<style>` element."""
        css = css[: self._left]
        self._left -= len(css)
        for selectors, body in _plain_rules(css):
            style = {name: value for name, value in declarations(body).items() if name in _TELLING}
            if not style:
                continue
            for selector in selectors.split(","):
                found = _SELECTOR.fullmatch(selector.strip().replace(":root", "html"))
                if found and found[0] and len(self._rules) < _RULES:
                    self._rules.setdefault((found[1] or "", found[2] or "", found[3] or ""), {}).update(style)

    def style_of(self, tag: str, attributes: Mapping[str, str | None]) -> Style:
        """What is declared for an element: by rules first, then by its own style."""
        style: Style = {}
        if self._rules:
            for key in _keys(tag, attributes):
                style.update(self._rules.get(key, {}))
        own = attributes.get("style")
        if own:
            style.update(declarations(own))
        return style


def hides(tag: str, attributes: Mapping[str, str | None], style: Style) -> bool:
    """Whether an element and all in it cannot be seen."""
    if not attributes:
        return tag == "dialog"
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if "popover" in attributes or (tag == "dialog" and "open" not in attributes):
        return True
    if (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if not _HIDDEN_CLASSES.isdisjoint((attributes.get("class") or "").split()):
        return True
    return bool(style) and (_not_drawn(style) or _too_small(style) or _moved_away(style))


class Look(Value, frozen=True, kw_only=True):
    """How text looks at some place of the page. `text` is None for the reader's default colour."""

    text: Colour | None = None
    ground: Colour = (255, 255, 255)
    tiny: bool = False

    def inside(self, attributes: Mapping[str, str | None], style: Style) -> Look:
        """The look inside an element at this place."""
        wish = style.get("color") or (attributes.get("color") or "").lower()
        ground = style.get("background-color") or style.get("background") or (attributes.get("bgcolor") or "").lower()
        size = style.get("font-size", "")
        if not (wish or ground or size):
            return self
        return Look(
            text=(colour(wish) or self.text) if wish else self.text,
            ground=(colour(ground) or _UNKNOWN) if ground else self.ground,
            tiny=_tiny_letters(size, self.tiny) if size else self.tiny,
        )

    def of_page(self, attributes: Mapping[str, str | None], style: Style, sheet: Sheet) -> Look:
        """The look inside the page's outermost elements. White there means a dark ground that an unseen sheet sets."""
        look = self.inside(attributes, style)
        return Look(text=look.text, ground=_UNKNOWN) if sheet.incomplete and look.unreadable() else look

    def unreadable(self) -> bool:
        """Whether nobody can read text of this look."""
        if self.tiny:
            return True
        if self.text is None:
            return False
        return sum(abs(one - other) for one, other in zip(self.text, self.ground, strict=True)) <= _ALIKE


def colour(value: str) -> Colour | None:
    """A colour as numbers; None for what is no plain colour."""
    value = value.strip()
    if value.startswith("#"):
        digits = value[1:].split()[0] if value[1:] else ""
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits[:3])
        try:
            return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) >= 6 else None
        except ValueError:
            return None
    rgb = _RGB.match(value)
    if rgb:
        return (int(rgb[1][:3]), int(rgb[2][:3]), int(rgb[3][:3]))
    hsl = _HSL.match(value)
    if hsl:
        light = _size(hsl[1]) or 0.0
        return (255, 255, 255) if light >= 97 else (0, 0, 0) if light <= 3 else None
    return _NAMED.get(value.split()[0]) if value else None


_TELLING = frozenset(
    {"display", "visibility", "opacity", "font-size", "width", "height", "max-width", "max-height", "overflow"}
    | {"position", "left", "top", "right", "text-indent", "clip", "clip-path", "transform", "color", "background"}
    | {"background-color", "margin-left", "content-visibility", "overflow-x", "overflow-y", "filter"}
)


def _plain_rules(css: str) -> Iterator[tuple[str, str]]:
    """Selector and body of each rule, without comments; of blocks for screens the rules inside, of others none."""
    place = 0
    css = _without_comments(css)
    while (opened := css.find("{", place)) != -1:
        head = css[place:opened].rsplit("}", 1)[-1].rsplit(";", 1)[-1].strip()
        if head.startswith("@"):
            screen = head.startswith(("@media screen", "@media all", "@layer", "@supports"))
            place = opened + 1 if screen else _block_end(css, opened)
            continue
        closed = css.find("}", opened)
        if closed == -1:
            return
        yield head, css[opened + 1 : closed]
        place = closed + 1


def _unescaped(found: re.Match[str]) -> str:
    if not found[1]:
        return found[2]
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _without_comments(css: str) -> str:
    kept: list[str] = []
    place = 0
    while (opened := css.find("/*", place)) != -1:
        kept.append(css[place:opened])
        closed = css.find("*/", opened + 2)
        if closed == -1:
            return "".join(kept)
        place = closed + 2
    kept.append(css[place:])
    return "".join(kept)


def _block_end(css: str, opened: int) -> int:
    depth = 0
    for found in _BRACE.finditer(css, opened):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    return len(css)


def _keys(tag: str, attributes: Mapping[str, str | None]) -> Iterator[tuple[str, str, str]]:
    yield tag, "", ""
    for name in (attributes.get("class") or "").split()[:40]:
        yield "", ".", name
        yield tag, ".", name
    own = attributes.get("id")
    if own:
        yield "", "#", own
        yield tag, "#", own


def _not_drawn(style: Style) -> bool:
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("content-visibility") == "hidden"
        or _faint(style.get("opacity", "1"))
        or style.get("filter", "").replace(" ", "").startswith(("opacity(0)", "opacity(0%)"))
        or _AWAY.search(style.get("transform", "").replace(" ", "")) is not None
        or style.get("color") == "transparent"
        or _clear(style.get("color", ""))
    )


def _faint(opacity: str) -> bool:
    number = _size(opacity)
    return number is not None and number <= (100 * _FAINT if opacity.endswith("%") else _FAINT)


def _clear(value: str) -> bool:
    if value.startswith("#") and len(value) in (5, 9):
        return value.endswith("0" if len(value) == 5 else "00")
    rgb = _RGB.match(value)
    return rgb is not None and rgb[4] is not None and _size(rgb[4]) == 0


def _tiny_letters(size: str, around: bool) -> bool:
    number = _size(size)
    if number is None:
        return around and size in ("inherit", "smaller", "larger")
    if number == 0:
        return True
    if size.endswith(("em", "%")) and not size.endswith("rem"):
        return around or number <= (10 if size.endswith("%") else 0.1)
    return number <= 1.0 and size.endswith(("px", "pt"))


def _too_small(style: Style) -> bool:
    if _size(style.get("width", "1")) == 0 and _size(style.get("height", "1")) == 0:
        return True
    cut = any(style.get(name, "").startswith(("hidden", "clip")) for name in ("overflow", "overflow-x", "overflow-y"))
    return cut and any(_no_room(style.get(name, "")) for name in ("width", "height", "max-width", "max-height"))


def _no_room(value: str) -> bool:
    number = _size(value)
    return number is not None and (number == 0 or (number <= 1.0 and value.endswith("px")))


def _moved_away(style: Style) -> bool:
    if style.get("clip", "").replace(" ", "").startswith(("rect(0", "rect(1px,1px,1px,1px", "rect(1px1px1px1px")):
        return True
    if style.get("clip-path", "").replace(" ", "").startswith(("inset(50%", "inset(100%", "circle(0", "polygon(00")):
        return True
    indent = _size(style.get("text-indent", ""))
    if indent is not None and indent <= _FAR:
        return True
    placed = style.get("position") in ("absolute", "fixed", "relative")
    moves = [_size(style.get(name, "")) for name in ("left", "top", "right", "margin-left")]
    return any(move is not None and move <= _FAR for move in (moves if placed else moves[3:]))


def _size(value: str) -> float | None:
    found = _NUMBER.match(value)
    return float(found[1]) if found else None
