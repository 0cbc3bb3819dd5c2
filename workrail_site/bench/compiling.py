"""How long a large workflow takes to compile, and a published one to load: ratios to parsing the same bytes."""

import json

from teams_app.engine.actors import Actor
from workflows_app.engine.compile import compile_source
from workflows_app.engine.program import program_bytes, program_from_bytes
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.selectors.programs import load_program, program_cache_info
from workflows_app.selectors.workflows import find_published
from workrail_site.bench.figures import best_seconds

STEPS = 300
DOCUMENT_BYTES = 100_000
ROUNDS = 20


def large_document() -> bytes:
    """A workflow of 300 steps and 100 kB, with conditions, guidance and validation as authors write them."""
    step_bytes = DOCUMENT_BYTES // STEPS
    steps = [_step(number, step_bytes) for number in range(STEPS)]
    document = {
        "id": "bench.large",
        "name": "A large workflow",
        "description": "As large as workflows get.",
        "version": "1.0.0",
        "steps": steps,
    }
    return json.dumps(document).encode()


def _step(number: int, size: int) -> dict[str, object]:
    step: dict[str, object] = {"id": f"step-{number}", "title": f"Step {number}", "prompt": ""}
    if number % 5 == 0:
        step["runCondition"] = {"var": f"flag{number}", "not_equals": "no"}
    if number % 7 == 0:
        step["guidance"] = ["Name the file and the line."]
    room = size - len(json.dumps(step)) - 2
    step["prompt"] = ("Look at the part at hand and write down what you see. " * 20)[: max(room, 40)]
    return step


def compile_report() -> str:
    data = large_document()
    source = Source(format=SourceFormat.STEPS_JSON, files={"large.json": data})
    compilation = compile_source(source=source, library=Library())
    if compilation.program is None:
        raise RuntimeError(f"The benchmark's workflow does not compile: {compilation.errors[:3]}")
    stored = program_bytes(compilation.program)
    parse = best_seconds(lambda: json.loads(data), rounds=ROUNDS)
    compiled = best_seconds(lambda: compile_source(source=source, library=Library()), rounds=ROUNDS)
    decoded = best_seconds(lambda: program_from_bytes(stored), rounds=ROUNDS)
    return "\n".join(
        [
            f"A workflow of {STEPS} steps, {len(data)} bytes; json.loads of the same bytes is 1.0 ({parse * 1e3:.2f} ms).",
            f"  compile                  {compiled / parse:8.1f}  ({compiled * 1e3:.2f} ms)",
            f"  load, first time         {decoded / parse:8.2f}  ({decoded * 1e3:.2f} ms)",
        ],
    )


def load_report(*, actor: Actor, workflow_id: str) -> str:
    """Loading the published program for a request, again and again: hits and no parse."""
    published = find_published(actor=actor, workflow_id=workflow_id)
    data = program_bytes(load_program(published.workflow_hash))
    before = program_cache_info()
    parse = best_seconds(lambda: json.loads(data), rounds=ROUNDS)
    calls = 10_000
    hit = best_seconds(lambda: [load_program(published.workflow_hash) for _ in range(calls)], rounds=3) / calls
    after = program_cache_info()
    return (
        f"  load, cached             {hit / parse:8.5f}  ({hit * 1e6:.2f} us; {after.hits - before.hits} hits, "
        f"{after.misses - before.misses} misses)"
    )
