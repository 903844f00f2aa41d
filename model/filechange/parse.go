package filechange

import (
	"fmt"
	"strconv"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// HunksOf returns the hunks of a list of {oldStart, newStart, lines}, as Claude Code records them.
func HunksOf(t *jsontape.Tape, list jsontape.Node) (hunks []Hunk) {
	if t.Kind(list) != jsontape.Array {
		return nil
	}
	for n := t.First(list); n >= 0; n = t.Next(n) {
		h := Hunk{Old: intOf(t, t.Find(n, "oldStart")), New: intOf(t, t.Find(n, "newStart"))}
		lines := t.Find(n, "lines")
		if t.Kind(lines) != jsontape.Array {
			continue
		}
		for line := t.First(lines); line >= 0; line = t.Next(line) {
			h.Lines = append(h.Lines, strings.ReplaceAll(t.Text(line), "\n", " "))
		}
		hunks = append(hunks, h)
	}
	return hunks
}

// intOf returns the number of a line, or -1.
func intOf(t *jsontape.Tape, n jsontape.Node) int {
	if n < 0 {
		return -1
	}
	i, err := strconv.Atoi(string(t.Raw(n)))
	if err != nil || i < 0 || i > endless/2 {
		return -1
	}
	return i
}

// ParseUnified returns the changes of a unified diff. The hunks before any name of a file are of a change without a
// Path.
func ParseUnified(text string) (list []Change) {
	var c *Change
	begin := func() *Change {
		list = append(list, Change{})
		return &list[len(list)-1]
	}
	var old, now int // the lines that the hunk has left
	named := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if old > 0 || now > 0 || strings.HasPrefix(line, `\`) && c != nil && len(c.Hunks) > 0 {
			sign := line[:min(len(line), 1)]
			h := &c.Hunks[len(c.Hunks)-1]
			switch sign {
			case "-":
				old--
			case "+":
				now--
			case `\`:
			case " ", "":
				old, now = old-1, now-1
			default:
				old, now = 0, 0
				continue
			}
			h.Lines = append(h.Lines, line)
			continue
		}
		switch {
		case strings.HasPrefix(line, "diff --git "):
			c, named = nil, ""
		case strings.HasPrefix(line, "--- "):
			c, named = begin(), nameIn(line)
			c.Path = named
		case strings.HasPrefix(line, "+++ ") && c != nil:
			name := nameIn(line)
			switch {
			case named == "":
				c.Kind, c.Path = Created, name
			case name == "":
				c.Kind = Deleted
			case name != named:
				c.Kind, c.From, c.Path = Moved, named, name
			}
		case strings.HasPrefix(line, "@@ "):
			h := Hunk{}
			var ok bool
			if h.Old, old, h.New, now, ok = spansIn(line); !ok {
				old, now = 0, 0
				continue
			}
			if c == nil {
				c = begin()
			}
			c.Hunks = append(c.Hunks, h)
		}
	}
	return list
}

// nameIn returns the name in a line of a unified diff that begins with +++ or ---, "" of /dev/null.
func nameIn(line string) string {
	name, _, _ := strings.Cut(line[len("+++ "):], "\t")
	if name = strings.TrimSuffix(name, "\r"); strings.HasPrefix(name, `"`) {
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
	}
	if strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") {
		name = name[len("a/"):]
	}
	if name == "/dev/null" || name == "dev/null" { // Copilot CLI writes a/dev/null
		return ""
	}
	return name
}

// spansIn reads "@@ -1,2 +3 @@".
func spansIn(line string) (old, oldLines, now, newLines int, ok bool) {
	var a, b string
	if n, _ := fmt.Sscanf(line, "@@ -%s +%s @@", &a, &b); n != 2 {
		return 0, 0, 0, 0, false
	}
	span := func(text string) (from, n int, ok bool) {
		at, count, both := strings.Cut(text, ",")
		from, err := strconv.Atoi(at)
		if n = 1; both && err == nil {
			n, err = strconv.Atoi(count)
		}
		return from, n, err == nil && from >= 0 && n >= 0
	}
	old, oldLines, first := span(a)
	now, newLines, second := span(b)
	return old, oldLines, now, newLines, first && second
}

// ParsePatch returns the changes of a patch in the form of Codex. Its hunks have no places.
//
//	*** Add File: PATH        lines with +
//	*** Delete File: PATH
//	*** Update File: PATH     *** Move to: PATH, and hunks behind @@
func ParsePatch(text string) (list []Change) {
	_, text, _ = strings.Cut(text, conversation.PatchBegin)
	var c *Change
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "*** End Patch") {
			break
		}
		is, path, named := strings.Cut(strings.TrimPrefix(line, "*** "), ": ")
		switch {
		case strings.HasPrefix(line, "*** End of File"):
		case strings.HasPrefix(line, "*** ") && named:
			switch is {
			case "Add File", "Delete File", "Update File":
				list = append(list, Change{Path: path, Known: Inferred, Kind: map[string]Kind{"Add File": Created, "Delete File": Deleted}[is]})
				c = &list[len(list)-1]
			case "Move to":
				if c != nil {
					c.Kind, c.From, c.Path = Moved, c.Path, path
				}
			}
		case c == nil:
		case strings.HasPrefix(line, "@@"):
			c.Hunks = append(c.Hunks, Hunk{Old: -1, New: -1})
		default:
			if len(c.Hunks) == 0 {
				c.Hunks = append(c.Hunks, Hunk{Old: -1, New: -1})
			}
			h := &c.Hunks[len(c.Hunks)-1]
			if h.Lines = append(h.Lines, line); line == "" {
				h.Lines[len(h.Lines)-1] = " "
			}
		}
	}
	for i := range list {
		c := &list[i]
		for k := range c.Hunks {
			if c.Kind == Created {
				c.Hunks[k].Old, c.Hunks[k].New = 0, 1
			}
		}
	}
	return list
}
