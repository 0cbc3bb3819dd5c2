"""What stops a start, said so that a person can act on it."""


class SetupProblem(Exception):  # noqa: N818 - it is shown to people, and a set-up has problems, not errors
    """A sentence about what is wrong, and the next move. The starter prints both and exits with 1."""

    def __init__(self, message: str, *, next_move: str) -> None:
        super().__init__(message)
        self.message = message
        self.next_move = next_move

    def as_text(self) -> str:
        return f"workrail: {self.message}\n  next: {self.next_move}"
