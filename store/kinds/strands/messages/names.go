package messages

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The journal puts down which messages a log had when it was written to, see
// [journal.Draft.Was]: agents write between two writes, and at any number. It has
// their numbers as they stand in the names, with commas between them; "4..13" stands
// for all from 4 to 13.

// run is numbers without a gap.
type run struct{ first, last int64 }

// names are the names of a log's messages.
type names struct {
	runs []run // in order
	// odd are numbers that are written in another way than Go writes them.
	odd map[string]bool
}

// plain returns the number of a file if it is small and written as Go writes it.
func (f messageFile) plain() (int64, bool) {
	text := f.text()
	return f.value, f.small && (text[0] != '0' || len(text) == 1)
}

// namesOf returns the journal's notation of the names of files, which are in order.
func namesOf(files []messageFile) string {
	var text []byte
	for i := 0; i < len(files); {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, files[i].text()...)
		first, plain := files[i].plain()
		n := 1
		for ; plain && i+n < len(files); n++ {
			if next, ok := files[i+n].plain(); !ok || next != first+int64(n) {
				break
			}
		}
		if n > 1 {
			text = append(text, ".."...)
			text = append(text, files[i+n-1].text()...)
		}
		i += n
	}
	return string(text)
}

// namesFrom reads what the journal has of names; nil for nothing.
func namesFrom(text string) *names {
	if text == "" {
		return nil
	}
	n := &names{odd: map[string]bool{}}
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "..")
		if !several {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, failed := strconv.ParseInt(to, 10, 64)
		if cmp.Or(err, failed) == nil && (several || from == strconv.FormatInt(first, 10)) {
			n.runs = append(n.runs, run{first, last})
		} else {
			n.odd[part] = true
		}
	}
	slices.SortFunc(n.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	return n
}

// has reports whether the log had a file; nothing known is everything.
func (n *names) has(f messageFile) bool {
	if n == nil {
		return true
	}
	number, plain := f.plain()
	if !plain {
		return n.odd[f.text()]
	}
	i, found := slices.BinarySearchFunc(n.runs, number, func(r run, number int64) int { return cmp.Compare(r.first, number) })
	return found || i > 0 && number <= n.runs[i-1].last
}
