"""The definitions that a call reads: what a run began with, where the call names one by its state, else what is published now."""

from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.services.moves import steered
from workflows_app.engine.activities.references import find_among, owner_named, resource_names
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.catalog import find_program, read_published
from workrail_site.mcp.calling import acting

# Before the name of a file of the same workflow, as links between files are written.
_OWN_FOLDERS = frozenset({"resources", "templates", ".."})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLibrary:
    """`run` is the program of the run that was named. A run keeps it when the workflow is published anew, or retired."""

    state: str = ""
    run: Program | None = None

    @property
    def named(self) -> dict[str, str]:
        """What a call has to name as well that reads on in the same."""
        return {"state": self.state} if self.state else {}

    def program(self, workflow_id: str) -> Program:
        if self.run is None:
            return read_published(actor=acting(), workflow_id=workflow_id)
        if self._is_of_run(workflow_id):
            return self.run
        found = read_published(actor=acting(), workflow_id=workflow_id, beside=self.run.id)
        return self.run if found.id == self.run.id else found

    def borrower(self, workflow_id: str) -> Program | None:
        """The run, where this is another workflow: what that lent to it is held as it was when the run began."""
        return None if self.run is None or self._is_of_run(workflow_id) else self.run

    def owners(self, workflow_id: str) -> tuple[str, ...]:
        """By which names the run may know what this workflow lent to it: a bare one means first what has it in the same namespace."""
        namespace, _, name = workflow_id.rpartition(".")
        is_beside = self.run is not None and namespace == self.run.id.rpartition(".")[0]
        return (workflow_id, name) if namespace and is_beside else (workflow_id,)

    def find(self, workflow_id: str, kind: ContentKind, name: str) -> tuple[Attachment, str] | None:
        """A guide or template, and by what it is found in its workflow. `meta/03` is of the workflow that it names."""
        owner, slash, rest = name.partition("/")
        other = "" if owner in _OWN_FOLDERS else owner
        own = self._first(self._owned(workflow_id, kind), rest.rpartition("/")[2] if slash and not other else name)
        if own is not None or not slash or not other:
            return own
        return self._first(self._owned_elsewhere(other, kind, beside=workflow_id), rest.rpartition("/")[2])

    @staticmethod
    def _first(places: Iterator[list[Attachment]], name: str) -> tuple[Attachment, str] | None:
        for held in places:
            found = find_among(held, name)
            if found is not None:
                return found, resource_names(held)[found]
        return None

    def _owned(self, workflow_id: str, kind: ContentKind) -> Iterator[list[Attachment]]:
        borrower = self.borrower(workflow_id)
        if borrower is not None:
            yield from (owned_by(owner, borrower, kind) for owner in self.owners(workflow_id))
        program = self.program(workflow_id)
        yield owned_by(program.id, program, kind)

    def _owned_elsewhere(self, owner: str, kind: ContentKind, *, beside: str) -> Iterator[list[Attachment]]:
        """What a workflow was compiled with of another one, then what that one has now."""
        program = self.program(beside)
        yield owned_by(owner, program, kind)
        for near in (program.id, ""):
            found = find_program(actor=acting(), workflow_id=owner, beside=near)
            if found is not None:
                yield owned_by(found.id, found, kind)

    def _is_of_run(self, workflow_id: str) -> bool:
        return self.run is not None and owner_named(workflow_id, self.run.id) == self.run.id


def library_at(state: str | None) -> RunLibrary:
    """Of the run that this state is of; of none, where none is given."""
    if state is None or not state.strip():
        return RunLibrary()
    return RunLibrary(state=state, run=steered.read_program(actor=acting(), state_token=state))


def owned_by(owner: str, program: Program, kind: ContentKind) -> list[Attachment]:
    held = program.templates if kind is ContentKind.TEMPLATE else program.resources
    return [item for item in held if item.owner == owner]
