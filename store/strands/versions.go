package strands

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"hindcast/store"
)

// The SDK for Python does not do the same in all its versions. What differs is a
// rule that holds since one of them, and nothing else in this package knows versions:
// the table below was made by starting the SDK of 25 versions on the sessions of
// testdata/strands, and by calling it at every kind of last message. Its tests hold it
// to eight of them.

// rule is something that the SDK does since a version.
type rule uint8

const (
	// takesNoText: a call without a text stores no message. Before, agent(None) and
	// agent([]) store one of the user whose content is null or [], and from 1.15 on no
	// agent starts over the former.
	takesNoText rule = iota
	// keepsInterrupts: agent.json has _internal_state, with interrupts.
	keepsInterrupts
	// runsCalls: agent(None) runs the tool calls of the last message. Before, the model
	// is sent the calls as they are.
	runsCalls
	// answersCalls: agent([]) and agent("…") write an error for each tool call of the
	// last message, and a start puts one in for each call amid the log that has no result.
	answersCalls
	// dropsLeading: a start drops a first message that has tool results.
	dropsLeading
	// keepsModelState: agent.json has model_state.
	keepsModelState
	// raisesCheckpoint: a checkpoint of another schema is a CheckpointException.
	raisesCheckpoint
	// decodesAgent: what stands for bytes in agent.json is decoded.
	decodesAgent
	// refusesLinks: a file that is a symbolic link is not read.
	refusesLinks
	// ordersResults: where results are not for exactly the calls before them, all are put
	// anew, in the order of the calls. Before, what is missing comes behind the rest, and
	// what is too much stays.
	ordersResults
	// dropsOrphans: a start drops each tool result that follows no tool call, and of a
	// first message the results alone; it looks at the role of every message.
	dropsOrphans
	// readsPending: the context of the interrupts is read at the start, and what waits in
	// pending_tool_execution.
	readsPending
)

var since = [...]release{
	takesNoText:      {1, 6},
	keepsInterrupts:  {1, 13},
	runsCalls:        {1, 14},
	answersCalls:     {1, 15},
	dropsLeading:     {1, 20},
	keepsModelState:  {1, 34},
	raisesCheckpoint: {1, 43},
	decodesAgent:     {1, 47},
	refusesLinks:     {1, 48},
	ordersResults:    {1, 47},
	dropsOrphans:     {1, 55},
	readsPending:     {1, 55},
}

// before says in words up to where a rule does not hold.
func (r rule) before() string { return "before " + since[r].String() }

// earlier says in brackets what was before the rule, whatever versions are in question.
func (r rule) earlier(text string) string { return " (" + r.before() + ": " + text + ")" }

// release is a version of the SDK without its patches.
type release struct{ major, minor int }

func (v release) compare(o release) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor))
}

func (v release) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// previous returns the version before, of those that have the same major number.
func (v release) previous() release { return release{v.major, v.minor - 1} }

// parseVersion reads "1.30" or "1.30.2".
func parseVersion(text string) (v release, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return v, false
	}
	for i, to := range []*int{&v.major, &v.minor, new(int)}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return release{}, false
		}
		*to = int(n)
	}
	return v, true
}

// span is the versions in question: that which is said to run, or all from the one on
// that wrote agent.json. What is shown is what the newest of them does.
type span struct {
	from release
	// only says that from is the one.
	only bool
}

// always reports whether all versions in question follow a rule.
func (s span) always(r rule) bool { return s.from.compare(since[r]) >= 0 }

// shown reports whether the newest version in question follows a rule.
func (s span) shown(r rule) bool { return !s.only || s.always(r) }

// verdict returns what is said of something that depends on a rule: what the newest
// version in question does, and in brackets what those do before the rule.
func (s span) verdict(r rule, now, before string) string {
	switch {
	case s.always(r):
		return now
	case s.only:
		return before
	}
	for _, kind := range []string{repaired, loads} {
		if strings.HasPrefix(now, kind) {
			before = strings.TrimPrefix(before, kind) // it is said once
		}
	}
	return now + r.earlier(before)
}

// sdkName is how the SDK for Python is called where a version of it is given.
const sdkName = "strands-python"

// Assume implements store.Versioned, for versions of "strands-python".
func (s *Store) Assume(sdk, text string) error {
	v, ok := parseVersion(text)
	if sdk != sdkName || !ok || v.compare(release{1, 0}) < 0 {
		return fmt.Errorf("strands: %.40q %.40q: %w: give %s@1.30, of 1.0 or later", sdk, text, store.ErrUnknownSDK, sdkName)
	}
	s.running.Store(&v)
	return nil
}

// Assumed implements store.Versioned.
func (s *Store) Assumed() string {
	if v := s.running.Load(); v != nil {
		return sdkName + " " + v.String()
	}
	return ""
}
