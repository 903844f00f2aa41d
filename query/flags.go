package query

import (
	"fmt"
	"strings"

	"hindcast/model/filechange"
)

// FlagKind is the kind of a flag.
type FlagKind string

// The kinds of flags.
const (
	// FlagRepeat: the same call got the same result three times or more in one turn, and in between no file changed and no
	// other command ran that may change one.
	FlagRepeat FlagKind = "repeat"
	// FlagErrorAgain: calls failed for the same reason as one before them, by [ErrorClass].
	FlagErrorAgain FlagKind = "error again"
	// FlagTakenBack: an edit puts back the lines that an earlier edit of the file replaced.
	FlagTakenBack FlagKind = "taken back"
)

// Flag points at calls of a run that may be wasted. It follows from the calls alone, and judges nothing.
type Flag struct {
	Kind FlagKind
	// Calls are the places of its calls, ascending.
	Calls []int
	// What tells the call, the class of the error, or the file. It is untrusted.
	What string
	// Tokens are the tokens of the answers that made its calls, without the first call of a repeat or of an error.
	Tokens float64
}

// leastRepeats is from how many times on the same call is a repeat.
const leastRepeats = 3

// Flags returns the flags of the run, by their first calls within each kind.
func (r *Run) Flags() []Flag {
	flags := append(append(r.findRepeats(), r.findErrorsAgain()...), r.findTakenBack()...)
	for i := range flags {
		f := &flags[i]
		counted := f.Calls
		if f.Kind != FlagTakenBack {
			counted = counted[1:]
		}
		for _, c := range counted {
			f.Tokens += r.Calls[c].Tokens
		}
	}
	return flags
}

// findRepeats finds the calls that were made again with the same result.
func (r *Run) findRepeats() (flags []Flag) {
	type series struct {
		calls    []int
		changing int // the calls before its last one that may change a file
	}
	running := map[string]*series{}
	var order []*series
	changing, turn := 0, -1
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Turn != turn {
			turn, running = c.Turn, map[string]*series{}
		}
		s := running[c.Fingerprint]
		isSame := s != nil && s.changing == changing && c.Result != 0 && len(c.Changes) == 0 && r.Calls[s.calls[0]].Result == c.Result
		if mayChange(c) {
			changing++
		}
		if !isSame {
			s = &series{}
			running[c.Fingerprint], order = s, append(order, s)
		}
		s.calls, s.changing = append(s.calls, i), changing
	}
	for _, s := range order {
		if len(s.calls) >= leastRepeats {
			flags = append(flags, Flag{Kind: FlagRepeat, Calls: s.calls, What: r.Calls[s.calls[0]].Text})
		}
	}
	return flags
}

// readers are the commands that change no file, by their first words.
var readers = map[string]bool{
	"ls": true, "cat": true, "head": true, "tail": true, "grep": true, "rg": true, "find": true, "wc": true, "pwd": true, "echo": true, "which": true,
	"sleep": true, "true": true, "false": true, "test": true, "stat": true, "file": true, "tree": true, "diff": true, "ps": true, "date": true,
	"git status": true, "git log": true, "git diff": true, "git show": true, "git branch": true, "go vet": true, "go test": true,
}

// mayChange reports whether a call may change a file: it did, or is a command that is not known to change none.
func mayChange(c *Call) bool {
	if len(c.Changes) > 0 {
		return true
	}
	if c.Command == "" {
		return false
	}
	words := strings.Fields(c.Command)
	if len(words) == 0 || strings.ContainsAny(c.Command, ">;&|`\n") || strings.Contains(c.Command, "$(") {
		return true
	}
	if words[0] == "find" && strings.Contains(c.Command, " -delete") || strings.Contains(c.Command, " -exec") {
		return true
	}
	return !readers[words[0]] && (len(words) < 2 || !readers[words[0]+" "+words[1]])
}

// findErrorsAgain finds the calls that failed for the same reason as one before them.
func (r *Run) findErrorsAgain() (flags []Flag) {
	places := map[string]int{}
	var all []Flag
	for i := range r.Calls {
		c := &r.Calls[i]
		if !c.Failed || c.Refused || c.Outcome == "" { // without a line there is no reason
			continue
		}
		at, known := places[c.Error]
		if !known {
			at = len(all)
			places[c.Error], all = at, append(all, Flag{Kind: FlagErrorAgain, What: c.Error})
		}
		all[at].Calls = append(all[at].Calls, i)
	}
	for _, f := range all {
		if len(f.Calls) > 1 {
			flags = append(flags, f)
		}
	}
	return flags
}

// findTakenBack finds the edits that put back what an earlier one replaced.
func (r *Run) findTakenBack() (flags []Flag) {
	edits := map[string]int{} // by the file and the lines, the newest
	for i := range r.Calls {
		c := &r.Calls[i]
		for k := range c.Changes {
			change := &c.Changes[k]
			removed, added := splitLines(change)
			if c.Failed || change.Kind != filechange.Changed || strings.TrimSpace(removed+added) == "" || removed == added {
				continue
			}
			back := change.Path + "\x00" + added + "\x00" + removed
			if before, is := edits[back]; is && before != i {
				flags = append(flags, Flag{Kind: FlagTakenBack, Calls: []int{before, i}, What: change.Path})
				delete(edits, back)
				continue
			}
			edits[change.Path+"\x00"+removed+"\x00"+added] = i
		}
	}
	return flags
}

// splitLines returns the lines that a change removes, and those that it adds.
func splitLines(c *filechange.Change) (removed, added string) {
	var out [2]strings.Builder
	for i := range c.Hunks {
		for _, line := range c.Hunks[i].Lines {
			switch {
			case strings.HasPrefix(line, "-"):
				out[0].WriteString(line[1:] + "\n")
			case strings.HasPrefix(line, "+"):
				out[1].WriteString(line[1:] + "\n")
			}
		}
	}
	return out[0].String(), out[1].String()
}

// Text tells a flag on one line: what it is of, and how often.
func (f *Flag) Text() string {
	if f.Kind == FlagTakenBack {
		return fmt.Sprintf("%s: %s", f.Kind, f.What)
	}
	return fmt.Sprintf("%s %d times: %s", f.Kind, len(f.Calls), f.What)
}
