"""Has Agno write sessions, and go on with those that Hindcast made of them.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropAgno

runs it. `forks.py write DB` writes the sessions of record.py. `forks.py run -` reads a list of files, each with a call as
Hindcast prints it, makes the call, and prints the messages that the model is sent first: roles, texts and ids of calls.
"""
import contextlib
import json
import sys

import record


def run(of):
    agent, team = record.build(record.open_db(of["db"]))
    agent.num_history_runs = team.num_history_runs = 50
    record.SENT.clear()
    call, waits = of["call"], []
    if "continue_run" in call:
        owner = call.partition(".")[0]
        names = eval(call.replace(owner + ".continue_run", "dict").replace("[…]", "[]"))
        waits = {"agent": agent, "team": team}[owner].get_run_output(run_id=names["run_id"], session_id=names["session_id"]).requirements or []
        for one in waits:
            one.confirm()
        call = call.replace("[…]", "waits")
    eval(call, {"agent": agent, "team": team, "waits": waits})
    return record.SENT[0]


what, to = sys.argv[1:3]
with contextlib.redirect_stdout(sys.stderr):
    told = record.record(record.open_db(to)) if what == "write" else [run(of) for of in json.load(sys.stdin)]
json.dump(told, sys.stdout)
