"""Records the workflows of testdata/dbos with DBOS 3.4.0 and a scripted agent:

    pip install dbos==3.4.0
    python record.py system.db
    python record.py postgresql://…     and, by pg_dump, of testdata/dbos/postgres.sql

w1  four steps; a fork of it runs from step 3 again
w2  fails in its second step
w3  starts w3-1, and waits for a message that does not come
"""
import sys

from dbos import DBOS, SetWorkflowID

to = sys.argv[1] if "://" in sys.argv[1] else "sqlite:///" + sys.argv[1]
DBOS(config={"name": "agent", "system_database_url": to, "run_admin_server": False, "log_level": "ERROR"})


@DBOS.step()
def model(messages):
    return {"role": "assistant", "content": f"said {messages[-1]['content']} ☂"}


@DBOS.step()
def tool(city):
    if city == "Nowhere":
        raise ValueError("no such city")
    return f"rain in {city}"


@DBOS.workflow()
def agent(question):
    messages = [{"role": "user", "content": question}]
    messages.append(model(messages))
    messages.append({"role": "tool", "content": tool(question)})
    messages.append(model(messages))
    DBOS.set_event("messages", messages)
    return messages


@DBOS.workflow()
def parent(question):
    answer = DBOS.start_workflow(agent, question).get_result()
    return [answer, DBOS.recv("approve", timeout_seconds=1)]


DBOS.launch()
with SetWorkflowID("w1"):
    agent("Oslo")
with SetWorkflowID("w2"):
    try:
        agent("Nowhere")
    except ValueError:
        pass
with SetWorkflowID("w3"):
    parent("Rome")
DBOS.fork_workflow("w1", 3).get_result()
DBOS.destroy()
