// Package runs reads what the Strands Agents SDKs store of an
// orchestrator, a Graph or a Swarm, as a timeline of node executions.
//
// An orchestrator has one record that is written over and over, and no history.
// But the record says which nodes ran, in which order, and with what result, so
// that a history can be worked out of it: one snapshot for each node execution.
//
// # The record
//
// The Python SDK writes what serialize_state gives, to multi_agent.json and,
// the same, to data.state of a multiAgent snapshot:
//
//	{"type": "graph", "id", "status", "completed_nodes", "failed_nodes",
//	 "interrupted_nodes", "node_results": {NODE: RESULT}, "next_nodes_to_execute",
//	 "current_task", "execution_order": [NODE], …, "_internal_state"}
//	{"type": "swarm", "id", "status", "node_history": [NODE], "node_results",
//	 "next_nodes_to_execute", "current_task", …, "context", "_internal_state"}
//
// The TypeScript SDK writes to data.state of a multiAgent snapshot
//
//	{"startTime", "steps", "results": [RESULT], "app", "nodes": {NODE: {…}}}
//
// and neither the orchestrator's id nor whether it is a Graph or a Swarm.
// Which of the two records it is shows by its members.
//
// # The order
//
// The order is execution_order, node_history or results. completed_nodes comes
// from a set, and its order says nothing. Behind the order come the nodes that
// ran or stopped without a place in it: failed ones, then those that wait for
// an answer. A record in which nothing ran yet is one snapshot, of the beginning.
//
// A node may run several times. A Python record keeps only the result of its
// last run; the runs before are listed, and their results are gone. A run that
// failed, or stopped to ask, replaces the result of the run before it too.
//
// Edges are not stored. A Graph is a line in order of completion here, which is
// why its parents carry model.MarkInferred; a Swarm hands over from one node to
// the next, and its line is the true one. All of a record is one turn, because
// it is about one task: every TurnIndex is 0.
//
// # The states
//
// The state of the newest snapshot is the record, byte for byte without the
// white space between its values. An earlier one holds, in the record's own
// order, names and bytes, what the record tells of that moment and no more:
//
//	type, id, current_task, execution_order or node_history up to there,
//	node_results of the runs up to there                            (Python)
//	startTime, results up to there, _pendingInput                (TypeScript)
//
// A node whose result was replaced by a run later than the snapshot is not in
// the snapshot's node_results: what it held then is not known. The difference
// between two states so is what one node added. Everything else in the record
// (status, usage, shared context, what waits for an answer) is known as of now
// and no earlier, and is in the newest state only.
//
// A state has no list of messages: the conversations of the nodes' agents are
// not stored, and begin anew with every run. What is stored of them is the last
// message of each, at node_results/NODE/result/message or results/N/content,
// and, where a node waits for an answer, its whole conversation: at
// _internal_state/interrupt_state/context/NODE/messages (Python) and
// nodes/NODE/interruptedSnapshot/data/messages (TypeScript). Package conversation
// finds them there and gives them under the names of their nodes; nothing is put
// together here that is not in the record.
//
// # The ids
//
// The id of a snapshot is the SHA-256 of the orchestrator's id, the number of
// the execution, the node's id and the compact bytes of the result, without the
// "usage" of a TypeScript result, to which that SDK adds with later runs of the
// node. It does not depend on what runs later, except that a run whose result was
// replaced is not the snapshot any more that it was.
//
// # What the SDKs do with a record
//
// A record whose next_nodes_to_execute is empty is not gone on with: the next
// start resets everything and runs the entry points. One that names nodes is
// loaded, and the nodes run. The TypeScript SDK always loads. [Run.Faults] says
// for all that is odd in a record what an SDK does about it; the verdicts were
// seen by running Python 1.62.0 and TypeScript 1.19.0.
//
// # Putting a record back
//
// [Run.planRewind] gives a record that the SDK goes on with from an earlier execution,
// [Run.Mend] one on which it starts. Both take bytes and give bytes: what they do not
// have to change stays as it was written.
//
// # In a store
//
// [Format] is what a store does with records: it reads all versions of one, those in the
// tree and those that the journal has, and plans what changes it. The rows are those of
// the version that the SDK loads; behind the row at which another version left it come the
// rows that this one alone has. The number of a row is that of its execution, also on a
// branch. Where the files lie, and what changes with them, says [Files], which each kind
// has for itself.
package runs
