"""Begins a run in a pipeline, waits for a person's approval where the workflow asks for one, and goes on.

WORKRAIL_URL=https://rails.example.com WORKRAIL_KEY=wr_key_… python wait_for_approval.py team.release "Release 1.4"
"""

import os
import sys

from workrail_client import Step, Workrail


def work_on(step: Step) -> str:
    """Put your own work here: run what the prompt asks for, and say what came of it."""
    return f"Done by the pipeline: {step.step_id}"


def main(workflow_id: str, goal: str) -> int:
    with Workrail(os.environ["WORKRAIL_URL"], key=os.environ["WORKRAIL_KEY"]) as rails:
        step = rails.start(workflow_id, goal=goal)
        while not step.is_complete:
            if step.is_blocked:
                print(f"{step.step_id} is blocked: {step.value['blockers']}", file=sys.stderr)
                return 1
            if step.waits_for_person:
                print(f"{step.step_id} waits for a person in the Studio")
                step = rails.wait_for_person(step, timeout_seconds=3600)
            else:
                print(f"{step.step_id}: {step.prompt[:80]}")
                step = rails.done(step, notes=work_on(step))
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
