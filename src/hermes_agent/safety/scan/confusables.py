"""Letters that look like Latin ones, whatever script or style they come from, folded to plain lower-case Latin.

Styled letters (mathematical, circled, small capitals) are recognised by their Unicode names and decompositions, so the
next block of such letters needs no change here. Only letters of real alphabets that merely look alike need a table.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_ALIKE = (
    "аa вb сc еe ёe һh іi їi јj ӏl кk мm нh оo рp ѕs тt уy хx ԁd ԛq ԝw ьb гr пn ѵv ԍg ԏt ґr қk ңh ҳx үy ұy ӧo ӓa ӱy "
    "АA ВB СC ЕE ЁE ҺH ІI ЇI ЈJ ӀI КK МM НH ОO РP ЅS ТT УY ХX ԚQ ԜW ҮY ҰY ԌG ЬB "
    "αa βb εe ηn ιi κk νv οo ρp τt υu χx γy ωw ςc σo ϲc ϳj ϱp ϵe ɑa "
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ϿC ͿJ "
    "օo սu ոn հh ցg յj զq տs քp աw ւi Օo Սu Տs Լl Ցg "
    "ᎪA ᏴB ᏟC ᎠD ᎬE ᏀG ᎻH ᎥI ᎫJ ᏦK ᏞL ᎷM ᏢP ᏒR ᏚS ᎢT ᏙV ᎳW ᏃZ ᎩY ᏂH ᏎA ᎦS ᏏB "
    "ꓐB ꓑP ꓒD ꓓD ꓔT ꓖG ꓗK ꓙJ ꓚC ꓜZ ꓝF ꓟM ꓠN ꓡL ꓢS ꓣR ꓦV ꓧH ꓪW ꓫX ꓬY ꓮA ꓰE ꓲI ꓳO ꓴU "
    "ⲁa ⲃb ⲉe ⲏh ⲓi ⲕk ⲙm ⲛn ⲟo ⲣp ⲥc ⲧt ⲩy ⲭx ⲱw ⲀA ⲂB ⲈE ⲎH ⲒI ⲔK ⲘM ⲚN ⲞO ⲢP ⲤC ⲦT ⲨY ⲬX "
    "ꞵb ꭺa ꮟb ꮯc ꭰd ꭼe ꮋh ꭵi ꭻj ꮶk ꮮl ꮇm ꮲp ꮢr ꮪs ꭲt ꮩv ꮃw ꮓz ꮁg ꭹy"
)
_TABLE = {pair[0]: pair[1].lower() for pair in _ALIKE.split()}
_NAMED = re.compile(
    r"(?:COMBINING |NEGATIVE |CROSSED |SQUARED |CIRCLED |PARENTHESIZED |TURNED |MODIFIER LETTER "
    r"|REGIONAL INDICATOR SYMBOL )*"
    r"(?:LATIN )?(?:(?:SMALL|CAPITAL|SUBSCRIPT|SUPERSCRIPT) )*LETTER (?:SMALL CAPITAL |SMALL |CAPITAL |OPEN |SCRIPT "
    r"|DOTLESS |REVERSED |TURNED |LONG |CLOSED |STRETCHED |INSULAR |VISIGOTHIC |SIDEWAYS |BARRED )*"
    r"([A-Z])(?: WITH .*)?$"
)
_PLAIN_LATIN = 0x250


@functools.lru_cache(maxsize=4096)
def letter(char: str) -> str:
    """The plain text `char` stands for: lower-case Latin where it looks like Latin, else its own compatible form."""
    alike = _TABLE.get(char)
    if alike is not None:
        return alike
    plain = unicodedata.normalize("NFKD", char)
    bare = "".join(_TABLE.get(one, one) for one in plain if unicodedata.category(one) not in ("Mn", "Me", "Mc"))
    if bare.isascii() and bare:
        return bare.lower()
    named = _NAMED.match(unicodedata.name(char, ""))
    if named:
        return named[1].lower()
    return bare.lower()


def is_alphabet_alike(char: str) -> bool:
    """A letter of another alphabet that looks Latin."""
    return char in _TABLE and char not in "ɑ"


@functools.lru_cache(maxsize=4096)
def is_styled(char: str) -> bool:
    """A Latin letter in disguise: mathematical, circled, small capital, full width; not an ordinary accented one."""
    if ord(char) < _PLAIN_LATIN or char in _TABLE:
        return False
    if 0x1E00 <= ord(char) <= 0x1EFF:
        return False
    plain = letter(char)
    return len(plain) == 1 and plain.isascii() and plain.isalpha()


def is_full_width(char: str) -> bool:
    """Full-width Latin, ordinary in Chinese, Japanese and Korean text."""
    return 0xFF00 <= ord(char) <= 0xFF5E
