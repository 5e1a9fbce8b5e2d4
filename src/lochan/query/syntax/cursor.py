"""The parser's position in the text: it looks ahead, takes tokens, goes back and reports what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lochan.query.ast import Literal, Span
from lochan.query.checkpoint import checkpoint
from lochan.query.errors import QueryError
from lochan.query.syntax.tokens import END, LITERAL, QUOTED_NAME, SYMBOL, WORD, Token, after_blanks, token_at

DEPTH_MAX = 64  # levels of parentheses, brackets and branches


class Cursor:
    def __init__(self, text: str) -> None:
        self.text = text
        self._at = after_blanks(text, 0)
        self._tokens: dict[int, Token] = {}
        self._ended = 0  # the end of the last token that was taken
        self._depth = 0
        self.aggregates = False  # whether aggregates may be called here
        self.searching = False  # whether `a /b` and `a* b` are two terms
        self.in_switch = False  # `case` and `default` end a search there

    # ── looking ──

    @property
    def at(self) -> int:
        """The place where the next token begins."""
        return self._at

    def peek(self) -> Token:
        found = self._tokens.get(self._at)
        if found is None:
            found = self._tokens[self._at] = token_at(self.text, self._at)
        return found

    def symbol(self, *symbols: str) -> bool:
        """Returns whether one of these symbols is next."""
        token = self._peek_or_none()
        return token is not None and token.kind == SYMBOL and token.text in symbols

    def word(self, *words: str) -> bool:
        token = self._peek_or_none()
        return token is not None and token.kind == WORD and token.text in words

    def ended(self) -> bool:
        return self._at >= len(self.text)

    def unreadable(self) -> bool:
        """Returns whether the next text is not a token."""
        return self._peek_or_none() is None

    def touching(self, symbol: str) -> bool:
        """Returns whether the symbol follows the last token without a blank, as a call's parenthesis does."""
        return self.text.startswith(symbol, self._ended)

    def after_next(self) -> str:
        """Returns the symbol or word after the next token, or an empty text if there is none."""
        start = after_blanks(self.text, self.peek().stop)
        try:
            token = token_at(self.text, start)
        except QueryError:
            return ""
        return token.text if token.kind in (WORD, SYMBOL) else ""

    # ── taking ──

    def take(self) -> Token:
        checkpoint()
        token = self.peek()
        self.jump(token.stop)
        return token

    def accept(self, symbol: str) -> bool:
        found = self.symbol(symbol)
        if found:
            self.take()
        return found

    def accept_word(self, word: str) -> bool:
        found = self.word(word)
        if found:
            self.take()
        return found

    def accept_flag(self, letter: str) -> bool:
        """Takes a flag such as `-r`, if it has no blank inside and no name continues it."""
        found = self.text.startswith(f"-{letter}", self._at)
        if found and not self.text[self._at + 2 : self._at + 3].isalnum():
            self.jump(self._at + 2)
            return True
        return False

    def expect(self, symbol: str, why: str = "") -> Token:
        if not self.symbol(symbol):
            raise self.unexpected(f"`{symbol}`{why}")
        return self.take()

    def expect_word(self, word: str, why: str = "") -> Token:
        if not self.word(word):
            raise self.unexpected(f"`{word}`{why}")
        return self.take()

    def is_name(self) -> bool:
        token = self._peek_or_none()
        return token is not None and token.kind in (WORD, QUOTED_NAME)

    def name(self, what: str = "a field's name") -> str:
        """Takes a bare name or one in backticks."""
        token = self.peek()
        if token.kind not in (WORD, QUOTED_NAME):
            raise self.unexpected(what)
        self.take()
        return self.text[token.start : token.stop] if token.kind == WORD else token.text  # as it is written

    def literal(self, kind: str, what: str) -> Literal:
        token = self.peek()
        if token.kind != LITERAL or token.literal is None or token.literal.kind != kind:
            raise self.unexpected(what)
        self.take()
        return token.literal

    def jump(self, to: int) -> None:
        """Moves the cursor behind text that was read without tokens, or back."""
        self._ended = to
        self._at = after_blanks(self.text, to)

    # ── places and errors ──

    def since(self, start: int) -> Span:
        return Span(start, max(start, self._ended))

    def unexpected(self, expected: str, hint: str = "") -> QueryError:
        token = self.peek()
        hint = hint or _FOREIGN.get(token.text, "")
        found = "the query ends" if token.kind == END else f"found {_token_text(token)}"
        return QueryError(f"expected {expected}, but {found}", self.text, token.span, hint=hint)

    def error(self, message: str, span: Span, hint: str = "") -> QueryError:
        return QueryError(message, self.text, span, hint=hint)

    @contextmanager
    def deeper(self, start: int) -> Iterator[None]:
        """Limits nesting, before Python's own stack overflows."""
        if self._depth >= DEPTH_MAX:
            raise self.error(f"nested more than {DEPTH_MAX} deep", Span(start, start + 1))
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def aggregates_allowed(self, allowed: bool = True) -> Iterator[None]:
        before, self.aggregates = self.aggregates, allowed
        try:
            yield
        finally:
            self.aggregates = before

    @contextmanager
    def searching_terms(self) -> Iterator[None]:
        before, self.searching = self.searching, True
        try:
            yield
        finally:
            self.searching = before

    def lopsided(self) -> bool:
        """Returns whether the next symbol has a blank on one side only."""
        around = self.text[self._at - 1 : self._at + 2 : 2]
        return self._at > 0 and around[:1].isspace() != (around[1:] or " ").isspace()

    def _peek_or_none(self) -> Token | None:
        """Returns the next token, or None. A text that is not a token is an error only for a caller that needs one: it
        may be a search word."""
        try:
            return self.peek()
        except QueryError:
            return None


_FOREIGN = {
    "(": "a function is called without a blank behind its name",
    "=": "two values are compared by ==",
    "is": "a value is compared with null as with any other: e == null",
}


def _token_text(token: Token) -> str:
    text = token.text if len(token.text) <= 40 else token.text[:40] + "…"
    return f"`{text}`" if token.kind != LITERAL else text
