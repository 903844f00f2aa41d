"""Has the models of Harbor 0.26 read documents in ATIF, and says how many there are.

    python validate.py FOLDER
"""

import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory

files = sorted(Path(sys.argv[1]).glob("*.json"))
for file in files:
    try:
        whole = Trajectory.model_validate_json(file.read_text())
    except ValueError as error:
        raise SystemExit(f"{file.name}: {error}")
    for result in (r for step in whole.steps for r in (step.observation.results if step.observation else [])):
        for ref in result.subagent_trajectory_ref or []:
            if ref.trajectory_id not in {child.trajectory_id for child in whole.subagent_trajectories or []}:
                raise SystemExit(f"{file.name}: a result names {ref.trajectory_id}, which is not there")
print(len(files), "documents")
