package agentframework

import (
	"fmt"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/checkpoints"
)

// Codes of the faults.
const (
	// FaultTime: a checkpoint has no time, or one that cannot be compared with others.
	FaultTime = "checkpoint-time"
	// FaultName: the file of a checkpoint is not called as it is.
	FaultName = "checkpoint-name"
	// FaultMembers: a checkpoint has members that the SDK does not know.
	FaultMembers = "unknown-members"
	// FaultPickle: a pickle in a checkpoint cannot be read.
	FaultPickle = "damaged-pickle"
	// FaultTwice: two files have one checkpoint id.
	FaultTwice = "checkpoint-twice"
	// FaultCalls: a history ends with tool calls that have no result.
	FaultCalls = "missing-tool-result"
)

// Faults implements checkpoints.Format.
func (format) Faults(items []checkpoints.Item, head int) []model.Fault {
	var list store.FaultList
	add := func(it *checkpoints.Item, code string, severity model.Severity, meaning, verdict string) {
		list.Add(model.Fault{Code: code, Severity: severity, File: it.File, Meaning: meaning, Verdict: verdict})
	}
	if o := ownOf(&items[head]); len(o.Open) > 0 {
		add(&items[head], FaultCalls, model.Loses, fmt.Sprintf("the history ends with %d tool calls without a result", len(o.Open)), "sends the calls without results, which most providers refuse")
	}
	if !isWorkflow(&items[0]) {
		return list.All()
	}
	files, zones := map[string]string{}, map[bool]bool{}
	for i := range items {
		it, o := &items[i], ownOf(&items[i])
		at, zoned := timeOf(o.Stamp)
		if zones[zoned] = true; at.IsZero() {
			add(it, FaultTime, model.Stops, fmt.Sprintf("%.40q is no time", o.Stamp), "get_latest raises ValueError for the whole workflow; a checkpoint that is named is loaded")
		}
		if o.Misnamed {
			add(it, FaultName, model.Loses, "the file is not called as the checkpoint in it", "lists the checkpoint, and does not find it when it is named")
		}
		if len(o.Unknown) > 0 {
			add(it, FaultMembers, model.Loses, "it has the members "+nameList(o.Unknown)+", which version 1.23.0 does not know", "passes the checkpoint over, with a line in its log")
		}
		for _, leaf := range o.Leaves {
			list.Add(model.Fault{Code: FaultPickle, Severity: model.Loses, File: it.File, Path: leaf, Meaning: "a pickle cannot be read", Verdict: "passes the checkpoint over, with a line in its log"})
		}
		if files[it.ID] != "" {
			add(it, FaultTwice, model.Odd, "the checkpoint is in "+files[it.ID]+", too", "lists both, and loads the one that is called as it is")
		}
		files[it.ID] = it.File
	}
	if zones[true] && zones[false] {
		add(&items[head], FaultTime, model.Stops, "some checkpoints have times with a zone and some without", "get_latest raises TypeError: such times cannot be compared")
	}
	return list.All()
}

func nameList(list []string) string {
	quoted := make([]string, 0, len(list))
	for _, name := range list[:min(len(list), 5)] {
		quoted = append(quoted, fmt.Sprintf("%.60q", name))
	}
	return strings.Join(quoted, ", ")
}

// Facts implements checkpoints.Format.
func (format) Facts(data []byte, of *checkpoints.Item) (facts model.Facts) {
	o := ownOf(of)
	if o.Line > 0 {
		facts.Add("line", strconv.Itoa(o.Line))
		return facts
	}
	if o.Graph == "" {
		return facts
	}
	t, err := parseJSON(data)
	if err == nil {
		if n := t.Find(0, "iteration_count"); n >= 0 {
			facts.Add("superstep", string(t.Raw(n)))
		}
		facts.Add("format", textMember(t, 0, "version"))
	}
	facts.Add("waits for", strings.Join(o.Requests, ", "))
	facts.Add("needs allowed", strings.Join(o.Types, ", "))
	facts.Add("graph", o.Graph)
	return facts
}
