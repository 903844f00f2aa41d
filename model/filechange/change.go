// Package filechange reads from the messages of an agent what its steps did to files, and folds the changes of
// several steps into one patch.
//
// A change repeats the tool: a patch, both texts, or only the call's own words. Git knows whether the disk has the
// same. Every path and every line is untrusted.
package filechange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model/conversation"
)

// Change describes the change of one file by one step.
type Change struct {
	// Path is the file as the tool names it, and From its path before a move, or "". Path is "" where not even the
	// names of More files are recorded.
	Path, From string
	// Kind is the kind of change, and Known how well it is known.
	Kind  Kind
	Known Known
	// Hunks are the lines that changed, in order; nil where they are not recorded.
	Hunks []Hunk
	// Before and After are the whole text before the step and after it; nil where they are not recorded, or not
	// asked for.
	Before, After *string
	// Replaced are the texts that an edit put in place of others, where no better is known of it or of its tabs.
	Replaced []Replacement
	// More counts files that changed and whose names are not recorded.
	More int
	// Spelling says whether the tool spelled the beginnings of the lines of Hunks in another way.
	Spelling Spelling
}

// Spelling says how the beginnings of lines stand in hunks.
type Spelling uint8

// The spellings of hunks.
const (
	// Exact: the lines stand as they are.
	Exact Spelling = iota
	// MaybeSpaces: two spaces may stand for each tab, and Spaces: they do.
	MaybeSpaces
	Spaces
	// Unindented: the white space is left out that all lines begin with.
	Unindented
)

// Kind is the kind of a change.
type Kind uint8

// The kinds of a change.
const (
	Changed Kind = iota
	Created
	Deleted
	Moved
)

var kindNames = [...]string{"changed", "created", "deleted", "moved"}

// String returns the kind in one word.
func (k Kind) String() string { return kindNames[k] }

// Known says how well a change is known.
type Known uint8

// How well a change is known.
const (
	// Recorded: the tool itself recorded a patch, or both texts.
	Recorded Known = iota
	// Inferred: only the input of the call tells of it.
	Inferred
	// NotRecorded: the file changed, and nothing tells how.
	NotRecorded
)

var (
	knownNames = [...]string{"recorded", "inferred", "not recorded"}
	knownWords = [...]string{"recorded", "inferred", "notRecorded"}
)

// String returns the degree in words for people.
func (k Known) String() string { return knownNames[k] }

// Word returns the degree in one word, for documents.
func (k Known) Word() string { return knownWords[k] }

// Replacement is a text that an edit puts in place of another one: once, or wherever it stands.
type Replacement struct {
	Old, New string
	All      bool
}

// Hunk is a part of a file with the lines that changed in it, and lines around them.
type Hunk struct {
	// Old and New are the numbers of its first line before and after the step, from 1; or of the line before it,
	// where it has no line of that side. They are -1 where the place in the file is not known.
	Old, New int
	// Lines have a sign before them: ' ', '-' or '+'. They have no end of line; a line of
	// "\ No newline at end of file" stands behind a last line without an end in the file.
	Lines []string
}

// noNewline stands behind a line without an end.
const noNewline = `\ No newline at end of file`

// Size returns how many lines the hunk has before and after the step.
func (h *Hunk) Size() (before, after int) {
	for _, line := range h.Lines {
		switch line[:min(len(line), 1)] {
		case "-":
			before++
		case "+":
			after++
		case `\`:
		default:
			before++
			after++
		}
	}
	return before, after
}

// Count returns how many lines a change adds and removes, as far as it is known.
func (c *Change) Count() (added, removed int) {
	for i := range c.Hunks {
		for _, line := range c.Hunks[i].Lines {
			switch line[:min(len(line), 1)] {
			case "+":
				added++
			case "-":
				removed++
			}
		}
	}
	return added, removed
}

// AppendHunks appends hunks in the lines of a unified diff, without the names of the files. A hunk without a place
// has a bare @@.
func AppendHunks(dst []byte, hunks []Hunk) []byte {
	for i := range hunks {
		h := &hunks[i]
		if h.Old < 0 {
			dst = append(dst, "@@\n"...)
		} else {
			before, after := h.Size()
			dst = fmt.Appendf(dst, "@@ -%s +%s @@\n", spanText(h.Old, before), spanText(h.New, after))
		}
		for _, line := range h.Lines {
			dst = append(append(dst, line...), '\n')
		}
	}
	return dst
}

// spanText returns a span of lines as a unified diff writes it.
func spanText(from, n int) string {
	if n == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, n)
}

// Invert returns the change that takes this one back.
func (c Change) Invert() Change {
	c.Before, c.After = c.After, c.Before
	switch c.Kind {
	case Created:
		c.Kind = Deleted
	case Deleted:
		c.Kind = Created
	case Moved:
		c.Path, c.From = c.From, c.Path
	}
	c.Hunks = slices.Clone(c.Hunks)
	for i := range c.Hunks {
		c.Hunks[i] = c.Hunks[i].invert()
	}
	c.Replaced = slices.Clone(c.Replaced)
	slices.Reverse(c.Replaced)
	for i, r := range c.Replaced {
		c.Replaced[i] = Replacement{r.New, r.Old, r.All}
	}
	return c
}

// invert returns the hunk that takes this one back. What is removed stands before what is added.
func (h Hunk) invert() Hunk {
	out := Hunk{Old: h.New, New: h.Old}
	var added []string
	last := byte(' ')
	for _, line := range h.Lines {
		switch sign := line[:min(len(line), 1)]; sign {
		case "-":
			added, last = append(added, "+"+line[1:]), '-'
		case "+":
			out.Lines, last = append(out.Lines, "-"+line[1:]), '+'
		case `\`:
			if last == '-' {
				added = append(added, line)
			} else {
				out.Lines = append(out.Lines, line)
			}
		default:
			out.Lines, added, last = append(append(out.Lines, added...), line), nil, ' '
		}
	}
	out.Lines = append(out.Lines, added...)
	return out
}

// Effect describes one call of a tool that ran a command or changed files.
type Effect struct {
	// ID and Tool are the id and the name of the call, untrusted.
	ID, Tool string
	// Command is the command that it ran, "" for a call that runs none. Text tells the call on one line.
	Command, Text string
	// Exit is the exit code of the command, "" where it is not known. Failed says that the tool failed.
	Exit   string
	Failed bool
	// Refused says that the person refused the call.
	Refused bool
	// Agent is the session of the sub-agent whose call it is, "" for the session's own.
	Agent string
	// Milliseconds is how long it took, by the agent's own record; -1 where that does not tell.
	Milliseconds float64
	// At is when it changed the files, where the agent's copies tell that; zero for the time of the snapshot.
	At time.Time
	// Changes are the files that it changed, in the order of the record.
	Changes []Change
}

// ByCopies is the Tool of an effect whose changes no call tells of: the agent's own copies of the files do.
const ByCopies = "the agent's copies of the files"

// How tells in a few words how the changes came: "Edit", "Bash: sed -i s/a/b/ a.txt", "sub-agent a1a2: Edit".
func (e *Effect) How() string {
	if e.Agent != "" {
		own := *e
		own.Agent = ""
		return "sub-agent " + conversation.OneLine(conversation.Cut(e.Agent[strings.LastIndexByte(e.Agent, '/')+1:], maxTool)) + ": " + own.How()
	}
	if e.Command == "" {
		return conversation.OneLine(conversation.Cut(e.Tool, maxTool))
	}
	return conversation.OneLine(conversation.Cut(e.Tool, maxTool)) + ": " + conversation.Cut(conversation.OneLine(conversation.Cut(e.Command, 2*maxCommand)), maxCommand)
}

const maxTool, maxCommand = 80, 100

// PathIn returns a path relative to a folder, with slashes; inside is false for a path outside of it, which is
// returned as the tool names it. A path that is relative is of the folder.
func PathIn(dir, path string) (rel string, inside bool) {
	rel = path
	if len(dir) > 1 && isDrive(dir) {
		dir, rel = strings.ReplaceAll(dir, `\`, "/"), strings.ReplaceAll(rel, `\`, "/")
	}
	if dir = strings.TrimSuffix(dir, "/"); dir != "" {
		if below, is := strings.CutPrefix(rel, dir+"/"); is {
			rel = below
		}
	}
	rel = strings.TrimPrefix(rel, "./")
	if rel == "" || rel[0] == '/' || isDrive(rel) || slices.ContainsFunc(strings.FieldsFunc(rel, isSlash), isUpward) || strings.HasSuffix(rel, "/") {
		return path, false
	}
	return rel, true
}

// IsOf reports whether a change is of a file, or moves it: by its whole path, or by its last names. dir is the folder
// that a relative path is of, or "".
func (c *Change) IsOf(path, dir string) bool {
	asked := strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "./")
	for _, p := range []string{c.Path, c.From} {
		if p = strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "./"); p == "" || asked == "" {
			continue
		}
		if p[0] != '/' && !isDrive(p) && dir != "" {
			p = strings.TrimSuffix(dir, "/") + "/" + p
		}
		if p == asked || strings.HasSuffix(p, "/"+asked) {
			return true
		}
	}
	return false
}

func isDrive(path string) bool {
	return len(path) > 1 && path[1] == ':' || strings.HasPrefix(path, `\`)
}
func isSlash(r rune) bool { return r == '/' || r == '\\' }
func isUpward(part string) bool {
	return part == ".." || part == "." || strings.EqualFold(part, ".git")
}

// signLines appends the lines of a text with a sign.
func signLines(dst []string, sign, text string) []string {
	for line := range strings.Lines(text) {
		dst = append(dst, sign+strings.TrimSuffix(line, "\n"))
		if !strings.HasSuffix(line, "\n") {
			dst = append(dst, noNewline)
		}
	}
	return dst
}
