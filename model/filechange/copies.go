package filechange

import (
	"bytes"
	"cmp"
	"slices"
	"time"
	"unicode/utf8"
)

// Copies are the changes of files that an agent's own copies of them tell: the sum of several snapshots.
type Copies struct {
	// Snapshots are the ids of the snapshots whose calls made the changes, in their order.
	Snapshots []string
	// Dir is the folder that relative paths in the calls are of, or "".
	Dir string
	// At is when the agent made the changes, and it alone. It is zero where a person may have made some.
	At time.Time
	// Changes are of one file each. Their Before and After are told where the copies have them.
	Changes []Change
	// Versions are texts that files had one after the other, by their paths. What lies between two need not be a
	// call's: so they complete the changes that lead from one to the next, and tell of no others.
	Versions map[string][]string
}

// Between returns the change of a file that had a text, or was not there, where the text is nil.
func Between(path string, before, after *string) Change {
	c := Change{Path: path, Before: before, After: after}
	var old, now string
	if before == nil {
		c.Kind = Created
	} else {
		old = *before
	}
	if after == nil {
		c.Kind = Deleted
	} else {
		now = *after
	}
	c.Hunks = Compare(old, now)
	return c
}

// TextIn returns the text of a file, nil for a binary file.
func TextIn(data []byte) *string {
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil
	}
	text := string(data)
	return &text
}

// JoinMoves makes a move of a file that was deleted and one that was created with the same lines.
func JoinMoves(list []Change) []Change {
	for i := range list {
		if list[i].Kind != Deleted || len(list[i].Hunks) == 0 {
			continue
		}
		from := Change{Kind: Created, Hunks: list[i].Invert().Hunks}
		k := slices.IndexFunc(list, func(c Change) bool {
			return c.Kind == Created && slices.EqualFunc(c.Hunks, from.Hunks, func(a, b Hunk) bool { return slices.Equal(a.Lines, b.Lines) })
		})
		if k < 0 {
			continue
		}
		list[k].Kind, list[k].From, list[k].Hunks = Moved, list[i].Path, nil
		if text, whole := textOfCreated(&from); whole {
			list[k].Before, list[k].After = &text, &text
		}
		list[i].Path = ""
	}
	return slices.DeleteFunc(list, func(c Change) bool { return c.Path == "" && c.More == 0 })
}

// ForgetTexts leaves the whole texts out of the changes that are recorded: their hunks tell what changed.
func (e *Effect) ForgetTexts() {
	for i := range e.Changes {
		if c := &e.Changes[i]; c.Known == Recorded {
			c.Before, c.After = nil, nil
		}
	}
}

// textOfCreated returns the text of a file that a change creates.
func textOfCreated(c *Change) (text string, whole bool) {
	f := NewFold("")
	f.Add(c)
	return f.Text()
}

// Merge completes the changes of effects by their sum in the copies, and returns the changes that none of the
// effects tells of. A change that is only inferred becomes the one that the copies prove.
func (s *Copies) Merge(effects []*Effect) (rest []Change) {
	for path, texts := range s.Versions {
		s.matchVersions(effects, path, texts)
	}
	commands := slices.ContainsFunc(effects, func(e *Effect) bool { return e.Command != "" })
	left := s.completeMoves(effects)
	for i := range left {
		c := &left[i]
		touching := s.changesOf(effects, c)
		if len(touching) == 0 {
			rest = append(rest, *c)
			continue
		}
		steps, end, known := s.followTexts(touching, c)
		recorded := !slices.ContainsFunc(touching, func(t *Change) bool { return t.Known != Recorded })
		same := known && (end == nil) == (c.After == nil) && (end == nil || *end == *c.After)
		switch {
		case recorded && c.Before == nil && c.After == nil: // the patch of each call tells more than a patch of all
		case same, known && c.Known == NotRecorded && c.Before != nil: // then the copies have no text after it
			replaceAll(touching, steps)
		case c.Known == NotRecorded:
		case known && (commands || len(touching) > 1):
			replaceAll(touching, steps)
			rest = append(rest, Between(c.Path, end, c.After))
		default:
			*touching[len(touching)-1] = *c
			for _, t := range touching[:len(touching)-1] {
				t.Path, t.More = "", 0
			}
		}
	}
	for _, e := range effects {
		e.Changes = slices.DeleteFunc(e.Changes, func(c Change) bool { return c.Path == "" && c.More == 0 })
	}
	return JoinMoves(rest)
}

// matchVersions completes the changes of a file that lead from one of its texts to the next.
func (s *Copies) matchVersions(effects []*Effect, path string, texts []string) {
	for _, t := range s.changesOf(effects, &Change{Path: path}) {
		for i := 0; i+1 < len(texts); i++ {
			before, after := &texts[i], &texts[i+1]
			if t.Kind == Created && *before == "" {
				before = nil
			}
			c := Between(t.Path, before, after)
			if _, end, known := s.followTexts([]*Change{t}, &c); known && end != nil && *end == *after {
				*t, texts = c, texts[i+1:]
				break
			}
		}
	}
}

func replaceAll(to []*Change, by []Change) {
	for i := range to {
		*to[i] = by[i]
	}
}

// pathOf returns a path by which the same file is known in calls and copies.
func (s *Copies) pathOf(path string) string {
	rel, _ := PathIn(s.Dir, path)
	return rel
}

// changesOf returns the changes of effects that are of the file of a change.
func (s *Copies) changesOf(effects []*Effect, c *Change) (list []*Change) {
	path := s.pathOf(c.Path)
	for _, e := range effects {
		for i := range e.Changes {
			if t := &e.Changes[i]; t.Path != "" && (s.pathOf(t.Path) == path || t.From != "" && s.pathOf(t.From) == path) {
				list = append(list, t)
			}
		}
	}
	return list
}

// followTexts applies changes to the text before them. It returns each as a change between two texts, and the last of these.
func (s *Copies) followTexts(list []*Change, c *Change) (steps []Change, end *string, known bool) {
	text := c.Before
	if text == nil && c.Kind != Created {
		return nil, nil, false
	}
	for _, t := range list {
		f := NewFold("")
		if f.exists = absent; text != nil {
			f.exists = present
			f.setText(*text)
		} else {
			f.cells = nil
		}
		f.existed = f.exists
		was := *t
		was.Before = nil
		if text == nil && was.Known == Inferred {
			was.Kind = Created
		}
		f.Add(&was)
		next, whole := f.Text()
		if f.Err() != nil || !whole || t.Kind == Moved {
			return nil, nil, false
		}
		var after *string
		if f.exists == present {
			after = &next
		}
		if text == nil && after == nil {
			return nil, nil, false
		}
		step := Between(cmp.Or(t.Path, c.Path), text, after)
		steps, text = append(steps, step), after
	}
	return steps, text, true
}

// completeMoves sets the texts of the changes that move a file, and returns the changes of other files.
func (s *Copies) completeMoves(effects []*Effect) (left []Change) {
	left = slices.Clone(s.Changes)
	find := func(path string, kind Kind) int {
		return slices.IndexFunc(left, func(c Change) bool {
			return c.Kind == kind && c.Known == Recorded && s.pathOf(c.Path) == s.pathOf(path)
		})
	}
	for _, e := range effects {
		for i := range e.Changes {
			m := &e.Changes[i]
			if m.Kind != Moved || m.From == "" {
				continue
			}
			from, to := find(m.From, Deleted), find(m.Path, Created)
			if from < 0 || to < 0 || left[from].Before == nil || left[to].After == nil {
				continue
			}
			m.Before, m.After, m.Known = left[from].Before, left[to].After, Recorded
			m.Hunks, m.Replaced, m.Spelling = Compare(*m.Before, *m.After), nil, Exact
			left = slices.Delete(left, max(from, to), max(from, to)+1)
			left = slices.Delete(left, min(from, to), min(from, to)+1)
		}
	}
	return left
}
