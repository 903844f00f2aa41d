// Package traces reads what the telemetry server of Genkit keeps in a project's
// .genkit folder, and finds in it what the snapshots of an agent do not tell: the
// tool iterations inside each turn.
//
//	traces/<traceId>           one JSON document, without extension
//	traces_idx/idx_*.json      a line of JSON for each trace: its id, type and times
//
// A trace is a tree of spans. Where an agent ran there is a span of subtype
// "agent" with the session's id; below it a span "runTurn-N" for each turn, which
// names the snapshot that the turn ended in; below that the calls of models and
// tools. Genkit nests the second round of a generation in the first, so what
// belongs together is found by the parents of the spans and by their times.
//
// A [Step] is a tool iteration: a model's answer that asked for tools, and the
// runs of these tools. Its state is derived, see [Traces.State].
//
// Traces are written in place while an agent runs, hold whole states many times
// over, and nothing ever sweeps them. So a file is read again only when it has
// changed, those in which no agent ran, as the index says, are not read at all,
// and what is remembered of the others is small.
package traces
